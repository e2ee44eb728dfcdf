"""Reads the exchange files of a session's folder, whether they are open or in a pack.

While a session is captured, its files move from the folder into a pack; `ccwire pack --unpack`
moves them back. So a file that is not where it was a moment ago is looked for again.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ccwire.wire.format import parse_file_name
from ccwire.wire.pack.files import FileKey, PackDamaged, exchange_names
from ccwire.wire.pack.segment import SEGMENT_SUFFIX, Segment
from ccwire.wire.pack.tar import TAR_SUFFIX, TarPack
from ccwire.wire.regular_file import open_regular

_DIGITS = 12  # of the number that a pack's name begins with
_TRIES = 3  # to find a file that moves meanwhile

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
        self._packs: dict[FileKey, list[Pack]] = {}  # that have the file, the newest first
        self._damaged: dict[Path, str] = {}
        self._look()

    def all_keys(self) -> list[FileKey]:
        """The number and direction of every file, sorted."""
        self._look()
        return sorted(self._open.keys() | self._packs.keys())

    def names(self) -> list[str]:
        """The name of every file, by number."""
        return [name for key in self.all_keys() if (name := self.name(key))]

    def damaged(self) -> list[Path]:
        """The packs that are damaged: they lack files, or some of them cannot be read."""
        self._look()
        return list(self._damaged)

    def lost(self, numbers: Iterable[int]) -> list[int]:
        """Return which of these exchanges have no response because a pack is damaged."""
        there = {number for number, direction in self.all_keys() if direction == "resp"}
        return sorted(set(numbers) - there) if self._damaged else []

    def name(self, key: FileKey) -> str | None:
        """Return the name of a file; None if there is none, or if its pack is damaged."""
        for _ in range(2):
            if (name := self._open.get(key)) is not None:
                return name
            if packs := self._packs.get(key):
                return packs[0].by_key[key]
            self._look()
        return None

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file, by name, as it is or would be open."""
        found: dict[str, int] = {}
        for key in self.all_keys():
            if (name := self._open.get(key)) is not None:
                with suppress(FileNotFoundError):  # packed meanwhile
                    found[name] = (self._folder / name).stat().st_size
            elif packs := self._packs.get(key):
                with suppress(PackDamaged):
                    found[packs[0].by_key[key]] = packs[0].entry(packs[0].by_key[key]).size
        return found

    def file(self, key: FileKey) -> ExchangeFile:
        """Return a file; raise FileNotFoundError, or PackDamaged."""
        damage: PackDamaged | None = None
        for _ in range(_TRIES):
            if (name := self._open.get(key)) is not None:
                with suppress(FileNotFoundError):  # packed meanwhile
                    return _read_open(self._folder / name)
            for pack in self._packs.get(key, ()):
                try:
                    name = pack.by_key[key]
                    return ExchangeFile(name, pack.read(name), pack.entry(name).mtime_ns)
                except PackDamaged as found:  # another pack may have it too
                    damage = found
                except (FileNotFoundError, KeyError):
                    continue  # unpacked meanwhile
            self._look()
        raise damage or self._missing(key)

    def _missing(self, key: FileKey) -> Exception:
        number, direction = key
        for damage in self._damaged.values():
            return PackDamaged(f"{damage}; {direction} file {number:04d} is not in it")
        return FileNotFoundError(f"{self._folder.name} has no {direction} file {number:04d}")

    def _look(self) -> None:
        """Look where every file is: first and last among the open ones, as it may be moving."""
        before = self._list_open()
        self._packs, self._damaged = {}, {}
        for path in reversed(packs(self._folder)):
            try:
                pack = _opened(path)
            except FileNotFoundError:
                continue
            except PackDamaged as damage:
                self._damaged[path] = str(damage)
                continue
            except OSError as error:
                self._damaged[path] = f"{path.name} cannot be read: {error.strerror}"
                continue
            if pack.is_damaged:
                self._damaged[path] = f"{path.name} is damaged"
            for key in pack.by_key:
                self._packs.setdefault(key, []).append(pack)
        self._open = before | self._list_open()

    def _list_open(self) -> dict[FileKey, str]:
        return dict(exchange_names(self._folder)) if self._folder.is_dir() else {}


def read_exchange_file(path: Path) -> bytes:
    """Return the bytes of a file by its path while it is open; raise as `ExchangeFiles.file`.

    Unlike that, it does not list the folder unless the file is packed.
    """
    try:
        return _read_open(path).data
    except FileNotFoundError:
        key = parse_file_name(path.name)
        if key is None:
            raise
        return ExchangeFiles(path.parent).file(key).data


def packs(folder: Path) -> list[Path]:
    """The packs to read: the newest pack of the older format, and the segments by number.

    There are several of the older format only where packing was interrupted.
    """
    return [*tar_packs(folder)[:1], *segments(folder)]


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


def pack_number(pack: Path) -> int:
    number = pack.name.partition("_")[0]
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0


def _numbered(folder: Path, suffix: str) -> list[Path]:
    found: list[Path] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(suffix) and name[0] != "." and not entry.is_symlink():
                found.append(folder / name)
    return sorted(found, key=pack_number)


def _opened(path: Path) -> Pack:
    """Return the pack as it is now; the packs used last stay open."""
    status = path.stat()
    if path.name.endswith(TAR_SUFFIX):
        return _tar_pack(path, status.st_ino, status.st_mtime_ns)
    segment = _segment(path)
    segment.refresh()
    return segment


@lru_cache(maxsize=64)
def _segment(path: Path) -> Segment:
    return Segment(path)


@lru_cache(maxsize=2)
def _tar_pack(path: Path, inode: int, written: int) -> TarPack:
    return TarPack(path)


def _read_open(path: Path) -> ExchangeFile:
    with open_regular(path, follow=False, buffering=0) as file:
        return ExchangeFile(path.name, file.read(), os.fstat(file.fileno()).st_mtime_ns)
