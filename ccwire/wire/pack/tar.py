"""The older pack format, which is only read: a tar in one zstd frame, its first member the index.

It can only be read from its start. So the current position and the files read last are kept: a
request is often read together with the one before it.
"""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import zstandard

from ccwire.wire.format import parse_file_name
from ccwire.wire.pack.files import LARGEST_PACK, PackDamaged, PackedFile, check, packed_file
from ccwire.wire.regular_file import open_regular

TAR_SUFFIX = "_pack.tar.zst"
_INDEX = "index.json"
_MOST_WINDOW = 1 << 27
_BUFFER = 1 << 20
_LARGEST_INDEX = 64 << 20
_KEPT_BYTES = 64 << 20

# What tarfile and zstandard raise for bytes that they did not write.
_UNREADABLE = (
    *(tarfile.TarError, zstandard.ZstdError, ValueError, TypeError),
    *(EOFError, OverflowError, IndexError, KeyError, RecursionError, MemoryError),
)


class TarPack:
    """A pack being read: reading forwards is cheap, going far back restarts from the beginning."""

    def __init__(self, path: Path) -> None:
        """Raise PackDamaged if the index cannot be read."""
        self.path = path
        self.is_damaged = False
        with _reading(path) as tar:
            self._entries = _index_of(path, tar)
        self.by_key = {key: name for name in self._entries if (key := parse_file_name(name))}
        self._ahead: Iterator[tuple[str, bytes]] = iter(())
        self._passed: dict[str, bytes] = {}
        self._passed_bytes = 0
        self._reached: set[str] = set()
        self._damage: PackDamaged | None = None  # what ends reading, behind those reached

    @property
    def names(self) -> list[str]:
        """The names of the files, by number."""
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def entry(self, name: str) -> PackedFile:
        return self._entries[name]

    def read(self, name: str) -> bytes:
        """Return a file's bytes; raise PackDamaged if they are not what they were."""
        found = self._passed.get(name) or self._go_on(name)
        if found is None and (self._damage is None or name in self._reached):
            self._ahead = self._contents()
            found = self._go_on(name)
        if found is None and self._damage is not None:
            raise self._damage
        if found is None:
            raise PackDamaged(f"{self.path.name} does not contain {name}, which its index lists")
        return check(self._entries[name], found, self.path.name)

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        with _reading(self.path) as tar:
            left = dict(_index_of(self.path, tar))
            while (member := tar.next()) is not None:
                entry = left.pop(member.name, None)
                if entry is None or not member.isreg() or member.size != entry.size:
                    name = self.path.name
                    raise PackDamaged(f"{name} contains {member.name!r}, which its index lacks")
                yield entry.name, _content(tar, member)

    def _go_on(self, name: str) -> bytes | None:
        try:
            for passed, data in self._ahead:
                self._keep(passed, data)
                if passed == name:
                    return data
        except PackDamaged as damage:
            self._damage = damage
        return None

    def _keep(self, name: str, data: bytes) -> None:
        self._reached.add(name)
        if name in self._passed:
            return
        self._passed[name] = data
        self._passed_bytes += len(data)
        while self._passed_bytes > _KEPT_BYTES and len(self._passed) > 1:
            oldest = next(iter(self._passed))
            self._passed_bytes -= len(self._passed.pop(oldest))


def _index_of(pack: Path, tar: tarfile.TarFile) -> dict[str, PackedFile]:
    first = tar.next()
    if first is None or first.name != _INDEX or not first.isreg() or first.size > _LARGEST_INDEX:
        raise PackDamaged(f"{pack.name} does not begin with an index")
    listed = orjson.loads(_content(tar, first))
    if not isinstance(listed, list):
        raise PackDamaged(f"the index of {pack.name} is not a list")
    index = [packed_file(entry, pack.name) for entry in listed]
    by_name = {entry.name: entry for entry in index}
    if len(by_name) < len(index):
        raise PackDamaged(f"{pack.name} lists a file twice")
    if sum(entry.size for entry in index) > LARGEST_PACK:
        raise PackDamaged(f"{pack.name} is too large to unpack")
    return by_name


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return a member's bytes; its size has been checked, but the pack may be cut off."""
    file = tar.extractfile(member)
    data = file.read() if file is not None else b""
    if len(data) != member.size:
        raise tarfile.ReadError(f"{member.name} is cut off")
    return data


@contextmanager
def _reading(pack: Path) -> Iterator[tarfile.TarFile]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    with (
        open_regular(pack, follow=False) as file,
        decompressor.stream_reader(file, read_size=_BUFFER, closefd=False) as stream,
    ):
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BUFFER) as tar:
                yield tar
        except _UNREADABLE as error:
            raise PackDamaged(f"{pack.name} cannot be read: {error}") from error
