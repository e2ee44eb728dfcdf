"""The pack format: a session's exchange files in one deduplicated archive.

Each request repeats the one before, so a pack is a tar in one zstd frame whose window spans many
requests; `tar --zstd -xf` opens it too. The first member is the index. The name starts with the
highest number in the pack, so that a proxy that continues the session numbers behind it.
"""

import hashlib
import io
import os
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Annotated

import orjson
import zstandard

from ccwire.wire.checked import Between, FieldChecks
from ccwire.wire.format import parse_file_name
from ccwire.wire.regular_file import NO_LINKS, open_regular, read_regular

PACK_SUFFIX = "_pack.tar.zst"
_INDEX = "index.json"
_WINDOW_LOG = 27  # the largest that zstd's own command opens without being asked
_LEAST_WINDOW_LOG = 20
_LEVEL = 9
_MODE = 0o600  # of every exchange file, whatever an index lists
_BUFFER = 1 << 20
# A pack is untrusted: a small one can claim, or expand to, any size.
_LARGEST_FILE = 1 << 30
_LARGEST_PACK = 64 << 30  # unpacked
_LARGEST_INDEX = 64 << 20
_DIGITS = 12  # of the highest number
_LATEST = 2**63 - 1  # in nanoseconds, year 2262
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | NO_LINKS


# What tarfile and zstandard raise for bytes that they did not write.
_UNREADABLE = (
    *(tarfile.TarError, zstandard.ZstdError, ValueError, TypeError),
    *(EOFError, OverflowError, IndexError, KeyError, RecursionError, MemoryError),
)


class PackDamaged(Exception):
    """A pack does not contain what its index lists; the message names the file."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """An entry of the index: enough to restore a file and to prove that it is the same."""

    name: str
    size: Annotated[int, Between(0, _LARGEST_FILE)]
    mode: Annotated[int, Between(0, 0o7777)]
    mtime_ns: Annotated[int, Between(0, _LATEST)]
    sha256: str


_CHECKS = FieldChecks(PackedFile)


def exchange_files(folder: Path) -> list[Path]:
    """The unpacked exchange files in a session's folder, by number."""
    with os.scandir(folder) as entries:
        found = [
            Path(entry.path)
            for entry in entries
            if parse_file_name(entry.name) and entry.is_file(follow_symlinks=False)
        ]
    return sorted(found, key=lambda path: _order(path.name))


def packs(folder: Path) -> list[Path]:
    """The folder's packs, the newest first; more than one only where packing was interrupted."""
    found = [path for path in folder.glob(f"*{PACK_SUFFIX}") if path.name[0] != "."]
    return sorted((p for p in found if not p.is_symlink()), key=lambda p: -_number(p))


def described(path: Path) -> PackedFile:
    """The index entry of an unpacked file."""
    with open_regular(path, follow=False) as file:
        status = os.fstat(file.fileno())
        digest = hashlib.sha256()
        while piece := file.read(_BUFFER):
            digest.update(piece)
    if status.st_size > _LARGEST_FILE:
        raise PackDamaged(f"{path.name} is too large to pack")
    written_at = min(max(status.st_mtime_ns, 0), _LATEST)
    return PackedFile(path.name, status.st_size, _MODE, written_at, digest.hexdigest())


def write_pack(target: Path, before: Path | None, paths: Sequence[Path]) -> list[PackedFile]:
    """Writes the contents of an older pack and these files to `target`; returns the index."""
    new = [described(path) for path in paths]
    index = [*(read_index(before) if before else ()), *new]
    with _writing(target, sum(entry.size for entry in index)) as tar:
        listed = orjson.dumps([asdict(entry) for entry in index])
        _add(tar, PackedFile(_INDEX, len(listed), 0o600, 0, ""), listed)
        if before is not None:
            for entry, data in members(before):
                _add(tar, entry, data)
        for path, entry in zip(paths, new, strict=True):
            _add(tar, entry, read_regular(path, follow=False))
    return index


def verify(pack: Path) -> list[PackedFile]:
    """Reads a whole pack and checks every digest; returns its index, or raises PackDamaged."""
    read = []
    for entry, data in members(pack):
        if _digest(data) != entry.sha256:
            raise PackDamaged(f"{entry.name} in {pack.name} does not match its digest")
        read.append(entry)
    if read != read_index(pack):
        raise PackDamaged(f"{pack.name} lacks files that its index lists")
    return read


def restore(pack: Path, folder: Path) -> list[PackedFile]:
    """Restores every file byte for byte; one that is already unpacked must be identical."""
    index = read_index(pack)
    for entry, data in members(pack):
        if _digest(data) != entry.sha256:
            raise PackDamaged(f"{entry.name} in {pack.name} does not match its digest")
        target = folder / entry.name
        if not os.path.lexists(target):
            _restore_one(target, entry, data)
        elif described(target).sha256 != entry.sha256:
            raise PackDamaged(f"{entry.name} exists and differs from the one in {pack.name}")
    for entry in index:
        if described(folder / entry.name).sha256 != entry.sha256:
            raise PackDamaged(f"{entry.name} was not restored correctly from {pack.name}")
    sync_folder(folder)
    return index


def read_index(pack: Path) -> list[PackedFile]:
    with _reading(pack) as tar:
        return _index_of(pack, tar)


def members(pack: Path) -> Iterator[tuple[PackedFile, bytes]]:
    """The files in a pack, in order; raises PackDamaged if it cannot be read."""
    with _reading(pack) as tar:
        entries = {entry.name: entry for entry in _index_of(pack, tar)}
        while (member := tar.next()) is not None:
            entry = entries.pop(member.name, None)
            if entry is None or not member.isreg() or member.size != entry.size:
                raise PackDamaged(f"{pack.name} contains {member.name!r}, which its index lacks")
            yield entry, _content(tar, member)


def sync_folder(folder: Path) -> None:
    """Waits until renames and removals are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_LINKS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _index_of(pack: Path, tar: tarfile.TarFile) -> list[PackedFile]:
    first = tar.next()
    if first is None or first.name != _INDEX or not first.isreg() or first.size > _LARGEST_INDEX:
        raise PackDamaged(f"{pack.name} does not begin with an index")
    listed = orjson.loads(_content(tar, first))
    if not isinstance(listed, list):
        raise PackDamaged(f"the index of {pack.name} is not a list")
    index = [PackedFile(**_CHECKS.fitting(entry)) for entry in listed]
    for entry in index:
        if parse_file_name(entry.name) is None or "/" in entry.name:  # a name is a path
            raise PackDamaged(f"{pack.name} lists {entry.name!r}, which is not an exchange file")
    if len({entry.name for entry in index}) < len(index):
        raise PackDamaged(f"{pack.name} lists a file twice")
    if sum(entry.size for entry in index) > _LARGEST_PACK:
        raise PackDamaged(f"{pack.name} is too large to unpack")
    return index


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return a member's bytes; its size has been checked, but the pack may be cut off."""
    file = tar.extractfile(member)
    data = file.read() if file is not None else b""
    if len(data) != member.size:
        raise tarfile.ReadError(f"{member.name} is cut off")
    return data


@contextmanager
def _writing(target: Path, size: int) -> Iterator[tarfile.TarFile]:
    window_log = max(_LEAST_WINDOW_LOG, min(_WINDOW_LOG, size.bit_length()))
    options = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, window_log=window_log, enable_ldm=True, write_checksum=True
    )
    with _created(target) as file:
        compressor = zstandard.ZstdCompressor(compression_params=options)
        with (
            compressor.stream_writer(file, closefd=False) as stream,
            tarfile.open(
                fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_BUFFER
            ) as tar,
        ):
            yield tar
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _reading(pack: Path) -> Iterator[tarfile.TarFile]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    with (
        open_regular(pack, follow=False) as file,
        decompressor.stream_reader(file, read_size=_BUFFER, closefd=False) as stream,
    ):
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BUFFER) as tar:
                yield tar
        except _UNREADABLE as error:
            raise PackDamaged(f"{pack.name} cannot be read: {error}") from error


def _add(tar: tarfile.TarFile, entry: PackedFile, data: bytes) -> None:
    member = tarfile.TarInfo(entry.name)
    member.size = len(data)
    member.mode = entry.mode
    seconds, rest = divmod(entry.mtime_ns, 1_000_000_000)
    member.mtime = seconds
    member.pax_headers = {"mtime": f"{seconds}.{rest:09d}"}
    tar.addfile(member, io.BytesIO(data))


def _restore_one(target: Path, entry: PackedFile, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with _created(temporary) as file:
            file.write(data)
            file.flush()
            os.utime(file.fileno(), ns=(entry.mtime_ns, entry.mtime_ns))
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _created(path: Path) -> IO[bytes]:
    """Create a file that does not exist, with the one mode that files here have."""
    descriptor = os.open(path, _CREATE, _MODE)
    os.fchmod(descriptor, _MODE)
    return os.fdopen(descriptor, "wb")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _order(name: str) -> tuple[int, str]:
    return parse_file_name(name) or (0, "")


def _number(pack: Path) -> int:
    number = pack.name.removesuffix(PACK_SUFFIX)
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0
