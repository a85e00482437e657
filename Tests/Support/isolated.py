"""Runs a command where only one address can be reached, and no name can be resolved: that of a parent proxy.

    isolated.py PARENT_PORT COMMAND...

The command gets a network namespace of its own. Its only interface is a loopback, where nothing listens but port 8080 of 192.0.2.1,
which leads to 127.0.0.1:PARENT_PORT outside. /etc/resolv.conf and /etc/hosts are empty. The relay to the parent is relay.py, outside; it ends
with the command. Needs root, or user namespaces.
"""

import array
import ctypes
import fcntl
import os
import pathlib
import socket
import struct
import sys

NEW_USER, NEW_NET, NEW_MOUNTS = 0x10000000, 0x40000000, 0x00020000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter():
    """New namespaces, with one address on the loopback."""
    user, group = os.geteuid(), os.getegid()
    check(libc.unshare(NEW_NET | NEW_MOUNTS | (NEW_USER if user else 0)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path(f"/proc/self/{name}").write_text(text)
    check(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
    for path in (b"/etc/resolv.conf", b"/etc/hosts"):
        if os.path.exists(path):
            check(libc.mount(b"/dev/null", path, None, BIND, None))
    with socket.socket() as it:
        address = struct.pack("=16sH2s4s8x", b"lo", socket.AF_INET, b"\0\0", socket.inet_aton("192.0.2.1"))
        fcntl.ioctl(it, SIOCSIFADDR, address)
        flags = struct.unpack("=16sh", fcntl.ioctl(it, SIOCGIFFLAGS, struct.pack("=16sh14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(it, SIOCSIFFLAGS, struct.pack("=16sh14x", b"lo", flags | IFF_UP))


def relay(port, channel, life):
    """Outside: gets the listening socket from inside."""
    _, found, _, _ = channel.recvmsg(1, socket.CMSG_LEN(4))
    (listener,) = array.array("i", found[0][2])
    os.set_inheritable(listener, True)
    os.dup2(life, 0)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    program = pathlib.Path(__file__).with_name("relay.py")
    os.execv(sys.executable, [sys.executable, str(program), f"127.0.0.1:{port}", "--listener", str(listener)])


def main():
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ends, begins = os.pipe()
    if os.fork() == 0:
        near.close()
        os.close(begins)
        relay(int(sys.argv[1]), far, ends)
    enter()
    listener = socket.create_server(("192.0.2.1", 8080), backlog=64)
    near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))])
    listener.close()
    # The command's end closes it.
    os.set_inheritable(begins, True)
    os.execvp(sys.argv[2], sys.argv[2:])


main()
