#!/bin/bash
# base.sh FILE: makes a bare Debian 12 with systemd as a tar archive, from this machine's mirror. What the package depends on is
# downloaded into it, but not installed: tests install the package without a network.
set -euo pipefail

depends="ca-certificates libcurl4 libgssapi-krb5-2 libkrb5-3 libnghttp2-14 libssl3 libstdc++6 libyaml-0-2 procps zlib1g"
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sed -n 's/ bookworm main$//p' | head -1)
archive=$(realpath -m "$1")
mkdir -p "$(dirname "$archive")"

# In memory: dpkg waits for the disk after each file, which takes minutes.
export mirror archive depends
unshare --mount bash -euo pipefail -c '
  root=$(mktemp -d)
  trap "umount --lazy $root; rmdir $root" EXIT
  mount -t tmpfs -o size=2g tmpfs "$root"
  debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}"
  echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/quick"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  export DEBIAN_FRONTEND=noninteractive
  chroot "$root" apt-get install --yes --no-install-recommends systemd
  chroot "$root" apt-get install --yes --no-install-recommends --download-only $depends
  tar -C "$root" -cf "$archive.new" .
' >&2
mv "$archive.new" "$archive"
