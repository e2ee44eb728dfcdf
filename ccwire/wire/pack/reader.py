"""Reads the exchange files of a session's folder, whether they are open or in a pack.

While a session is captured, its files move from the folder into a pack; `ccwire pack --unpack`
moves them back. So a file that is not where it was a moment ago is looked for again.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ccwire.wire.format import parse_file_name
from ccwire.wire.pack.files import FileKey, PackDamaged, exchange_files
from ccwire.wire.pack.segment import SEGMENT_SUFFIX, Segment
from ccwire.wire.pack.tar import TAR_SUFFIX, TarPack
from ccwire.wire.regular_file import open_regular

_DIGITS = 12  # of the number that a pack's name begins with

Pack = Segment | TarPack


class ExchangeFile(NamedTuple):
    """An exchange file: its name, its bytes, and when it was written."""

    name: str
    data: bytes
    mtime_ns: int


class ExchangeFiles:
    """The exchange files of one session's folder, open or packed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[FileKey, str] = {}
        self._list()

    def all_keys(self) -> list[FileKey]:
        """The number and direction of every file, sorted."""
        found = set(self._open)
        for pack in self._packs():
            found.update(pack.by_key)
        return sorted(found)

    def names(self) -> list[str]:
        """The name of every file, by number."""
        return [name for key in self.all_keys() if (name := self.name(key))]

    def damaged(self) -> list[Path]:
        """The packs that are damaged: they lack files, or some of them cannot be read."""
        return [path for path in packs(self._folder) if _damage(path)]

    def name(self, key: FileKey) -> str | None:
        """Return the name of a file; None if there is none, or if its pack is damaged."""
        if (name := self._open.get(key)) is not None:
            return name
        found = self._packed(key)
        return found[1] if found else None

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file, by name, as it is or would be open."""
        found: dict[str, int] = {}
        for pack in self._packs():
            found |= {name: pack.entry(name).size for name in pack.names}
        for name in self._open.values():
            with suppress(FileNotFoundError):  # packed meanwhile
                found[name] = (self._folder / name).stat().st_size
        return found

    def file(self, key: FileKey) -> ExchangeFile:
        """Return a file; raise FileNotFoundError, or PackDamaged."""
        for _ in range(2):
            if (name := self._open.get(key)) is not None:
                try:
                    return _read_open(self._folder / name)
                except FileNotFoundError:
                    pass  # packed meanwhile
            if (found := self._packed(key)) is not None:
                pack, name = found
                return ExchangeFile(name, pack.read(name), pack.entry(name).mtime_ns)
            self._list()  # it may have been unpacked, or written, meanwhile
        raise self._missing(key)

    def _missing(self, key: FileKey) -> Exception:
        number, direction = key
        for path in packs(self._folder):
            if damage := _damage(path):
                return PackDamaged(f"{damage}; {direction} file {number:04d} is not in it")
        return FileNotFoundError(f"{self._folder.name} has no {direction} file {number:04d}")

    def _list(self) -> None:
        there = exchange_files(self._folder) if self._folder.is_dir() else []
        self._open = {key: path.name for path in there if (key := parse_file_name(path.name))}

    def _packed(self, key: FileKey) -> tuple[Pack, str] | None:
        for pack in self._packs():
            if (name := pack.by_key.get(key)) is not None:
                return pack, name
        return None

    def _packs(self) -> Iterator[Pack]:
        """Yield the packs that can be read."""
        for path in packs(self._folder):
            try:
                yield _opened(path)
            except (PackDamaged, OSError):
                continue


def packs(folder: Path) -> list[Path]:
    """The packs to read: the segments by number, and the newest pack of the older format.

    There are several of the older format only where packing was interrupted.
    """
    return [*segments(folder), *tar_packs(folder)[:1]]


def segments(folder: Path) -> list[Path]:
    return _numbered(folder, SEGMENT_SUFFIX)


def tar_packs(folder: Path) -> list[Path]:
    """The packs of the older format, the newest first."""
    return _numbered(folder, TAR_SUFFIX)[::-1]


def open_pack(path: Path) -> Pack:
    """Open a pack of either format; raise OSError, or PackDamaged if it has no readable index."""
    return Segment(path) if path.name.endswith(SEGMENT_SUFFIX) else TarPack(path)


def is_pack(name: str) -> bool:
    return name.endswith((SEGMENT_SUFFIX, TAR_SUFFIX))


def _numbered(folder: Path, suffix: str) -> list[Path]:
    found = [path for path in folder.glob(f"*{suffix}") if path.name[0] != "."]
    return sorted((path for path in found if not path.is_symlink()), key=pack_number)


def pack_number(pack: Path) -> int:
    number = pack.name.partition("_")[0]
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0


def _damage(path: Path) -> str | None:
    """Return what is wrong with a pack, as far as its index shows it."""
    try:
        return f"{path.name} is damaged" if _opened(path).is_damaged else None
    except PackDamaged as damage:
        return str(damage)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"


def _opened(path: Path) -> Pack:
    """Return the pack as it is now; the packs used last stay open."""
    status = path.stat()
    if path.name.endswith(TAR_SUFFIX):
        return _tar_pack(path, status.st_ino, status.st_mtime_ns)
    segment = _segment(path)
    segment.refresh()
    return segment


@lru_cache(maxsize=8)
def _segment(path: Path) -> Segment:
    return Segment(path)


@lru_cache(maxsize=2)
def _tar_pack(path: Path, inode: int, written: int) -> TarPack:
    return TarPack(path)


def _read_open(path: Path) -> ExchangeFile:
    with open_regular(path, follow=False, buffering=0) as file:
        return ExchangeFile(path.name, file.read(), os.fstat(file.fileno()).st_mtime_ns)
