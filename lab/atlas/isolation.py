"""Disconnect this process and its children from every network but loopback (Linux only).

Needed because the oldest releases do not support a proxy and would call the real API.
"""

import fcntl
import os
import socket
import struct
from pathlib import Path

_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 0x1


def isolate() -> bool:
    """Isolate this process, which must have one thread only; return False if not permitted."""
    if not hasattr(os, "unshare"):
        return False
    uid, gid = os.geteuid(), os.getegid()
    try:
        os.unshare(os.CLONE_NEWNET if uid == 0 else os.CLONE_NEWUSER | os.CLONE_NEWNET)
        if uid != 0:
            _keep_identity(uid, gid)
        _bring_loopback_up()
    except OSError:
        return False
    return True


def _keep_identity(uid: int, gid: int) -> None:
    process = Path("/proc/self")
    (process / "setgroups").write_text("deny")
    (process / "uid_map").write_text(f"{uid} {uid} 1")
    (process / "gid_map").write_text(f"{gid} {gid} 1")


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
