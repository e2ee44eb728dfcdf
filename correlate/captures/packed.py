"""Read single files from a session's pack.

A pack can only be read from its start. So the current position and the files read last are kept: a
request is often read together with the one before it.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ccwire.wire.format import parse_file_name
from ccwire.wire.pack import PackDamaged, PackedFile, members, packs, read_index
from ccwire.wire.vocabulary import Direction

_KEPT_BYTES = 64 << 20

FileKey = tuple[int, Direction]


def packed_name(folder: Path, exchange: FileKey) -> str | None:
    """Return the name of a packed exchange file; None if there is none."""
    found = _reader_with(folder, exchange)
    return found.names[exchange] if found else None


def read_packed(folder: Path, exchange: FileKey) -> bytes | None:
    """Return the bytes of a packed exchange file; None if there is none."""
    found = _reader_with(folder, exchange)
    return found.read(exchange) if found else None


def _reader_with(folder: Path, exchange: FileKey) -> "_PackReader | None":
    readers = (_reader(pack, pack.stat().st_mtime_ns) for pack in packs(folder))
    return next((reader for reader in readers if exchange in reader.names), None)


@lru_cache(maxsize=2)
def _reader(pack: Path, written: int) -> "_PackReader":
    return _PackReader(pack)


class _PackReader:
    """A pack being read: reading forwards is cheap, going far back restarts from the beginning."""

    def __init__(self, pack: Path) -> None:
        self._pack = pack
        self.names = {
            known: entry.name
            for entry in read_index(pack)
            if (known := parse_file_name(entry.name)) is not None
        }
        self._ahead: Iterator[tuple[PackedFile, bytes]] = iter(())
        self._passed: dict[str, bytes] = {}
        self._passed_bytes = 0

    def read(self, exchange: FileKey) -> bytes:
        name = self.names[exchange]
        if name in self._passed:
            return self._passed[name]
        found = self._go_on(name)
        if found is None:
            self._ahead = members(self._pack)
            found = self._go_on(name)
        if found is None:
            raise PackDamaged(f"{self._pack.name} does not contain {name}, which its index lists")
        return found

    def _go_on(self, name: str) -> bytes | None:
        for entry, data in self._ahead:
            self._keep(entry.name, data)
            if entry.name == name:
                return data
        return None

    def _keep(self, name: str, data: bytes) -> None:
        if name in self._passed:
            return
        self._passed[name] = data
        self._passed_bytes += len(data)
        while self._passed_bytes > _KEPT_BYTES and len(self._passed) > 1:
            oldest = next(iter(self._passed))
            self._passed_bytes -= len(self._passed.pop(oldest))
