#!/bin/bash
# boot.sh ARCHIVE ROOT FOLDER: boots the Debian of base.sh's archive in the empty folder ROOT. Must be the first process of its own namespaces (unshare --fork with
# --mount --pid --net --uts --ipc --cgroup), so that all of it ends with this process. Its network is a loopback of its own; FOLDER is
# /packages.
set -euo pipefail

root=$2
mount -t tmpfs -o size=2g tmpfs "$root"
tar -C "$root" -xf "$1"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
# systemd needs cgroups that it may write, but no controllers.
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/packages"
mount --bind "$3" "$root/packages"
ip link set lo up
cd "$root"
echo "booting"
exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=lxc /lib/systemd/systemd --log-target=null > /dev/null 2>&1
