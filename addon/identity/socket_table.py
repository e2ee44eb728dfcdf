"""The Linux socket table: faster than listing the connections of every process.

A client may close a connection within milliseconds; after that its owner cannot be found. So the
kernel is asked for the one socket by netlink. `/proc/net/tcp` is only a fallback: it is long on a
busy machine, and reading it can miss a line while connections open and close.
"""

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

Address = tuple[str, int]

_SOCK_DIAG = 4  # the netlink protocol
_BY_FAMILY = 20
_REQUEST = 1
_ANY_COOKIE = (1 << 32) - 1


def is_there() -> bool:
    return os.path.exists("/proc/net/tcp")


class Socket(NamedTuple):
    """The client's end of a connection, and the user whose process opened it."""

    inode: int
    uid: int


def find(client: Address, proxy: Address) -> Socket | None:
    """Return the client's socket; None if it is closed, or not of this machine."""
    try:
        found = _asked(client, proxy)
    except OSError:  # a sandbox may forbid netlink
        found = None
    return found or _read(client, proxy)  # "not supported" and "not found" look the same


def owner(client: Address, proxy: Address, asked_first: Iterable[int]) -> int | None:
    """Return the pid that owns the client's socket; check `asked_first` before other processes."""
    found = find(client, proxy)
    if found is None or os.geteuid() not in (0, found.uid):
        return None  # the files of another user's processes cannot be read
    link = f"socket:[{found.inode}]"
    asked = list(asked_first)
    for pid in [*asked, *(pid for pid in _newest_first() if pid not in asked)]:
        if link in _open_files(pid):
            return _opener(pid, link)
    return None


def _opener(pid: int, link: str) -> int:
    """Return the process that opened the socket: a child has inherited it until it runs a program.

    The parent has it open too, and so on upwards.
    """
    while (parent := _parent(pid)) is not None and link in _open_files(parent):
        pid = parent
    return pid


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None  # exited


def _asked(client: Address, proxy: Address) -> Socket | None:
    """Ask the kernel for the socket between the two (`sock_diag(7)`)."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    ends = [
        socket.inet_pton(family, h.partition("%")[0]).ljust(16, b"\0") for h, _ in (client, proxy)
    ]
    between = struct.pack("!HH", client[1], proxy[1]) + b"".join(ends)
    wanted = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0)
    question = wanted + between + struct.pack("=III", 0, _ANY_COOKIE, _ANY_COOKIE)
    header = struct.pack("=IHHII", 16 + len(question), _BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.send(header + question)
        answer = kernel.recv(8192)
    (kind,) = struct.unpack_from("=H", answer, 4)
    if kind != _BY_FAMILY or len(answer) < 88:
        return None  # no such socket
    uid, inode = struct.unpack_from("=II", answer, 80)
    is_between = answer[20:24] == between[:4]  # else it is a listening socket
    return Socket(inode, uid) if is_between and inode else None


def _read(client: Address, proxy: Address) -> Socket | None:
    for family, table in ((socket.AF_INET, "/proc/net/tcp"), (socket.AF_INET6, "/proc/net/tcp6")):
        try:
            pair = f" {_hexadecimal(family, client)} {_hexadecimal(family, proxy)} "
            with open(table) as file:
                text = file.read()
        except OSError:
            continue
        start = text.find(pair)
        if start >= 0:
            fields = text[start:].split(maxsplit=9)
            found = Socket(inode=int(fields[8]), uid=int(fields[6]))
            return found if found.inode else None  # without one, it is closed already
    return None


def _hexadecimal(family: int, address: Address) -> str:
    """Format an address as the table does: 32-bit words in native byte order."""
    host, port = address
    if family == socket.AF_INET6 and ":" not in host:
        host = f"::ffff:{host}"
    packed = socket.inet_pton(family, host.partition("%")[0])
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def _newest_first() -> Iterator[int]:
    return iter(sorted((int(n) for n in os.listdir("/proc") if n.isdigit()), reverse=True))


def _open_files(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    links = set()
    try:
        for name in os.listdir(folder):
            try:
                links.add(os.readlink(f"{folder}/{name}"))
            except OSError:
                continue  # closed meanwhile
    except OSError:
        return set()  # exited, or not permitted
    return links
