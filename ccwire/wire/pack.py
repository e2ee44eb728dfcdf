"""The pack format: a session's exchange files in one deduplicated archive.

Each request repeats the one before, so a pack is a tar in one zstd frame whose window spans many
requests; `tar --zstd -xf` opens it too. The first member is the index. The name starts with the
highest number in the pack, so that a proxy that continues the session numbers behind it.
"""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import zstandard

from ccwire.wire.format import parse_file_name

PACK_SUFFIX = "_pack.tar.zst"
_INDEX = "index.json"
_WINDOW_LOG = 27  # the largest that zstd's own command opens without being asked
_LEAST_WINDOW_LOG = 20
_LEVEL = 9
_BUFFER = 1 << 20


class PackDamaged(Exception):
    """A pack does not contain what its index lists; the message names the file."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """An entry of the index: enough to restore a file and to prove that it is the same."""

    name: str
    size: int
    mode: int
    mtime_ns: int
    sha256: str


def exchange_files(folder: Path) -> list[Path]:
    """The unpacked exchange files in a session's folder, by number."""
    found = [path for path in folder.iterdir() if parse_file_name(path.name)]
    return sorted((path for path in found if not path.is_symlink()), key=lambda p: _order(p.name))


def packs(folder: Path) -> list[Path]:
    """The folder's packs, the newest first; more than one only where packing was interrupted."""
    found = folder.glob(f"*{PACK_SUFFIX}")
    return sorted((p for p in found if p.name[0] != "."), key=lambda p: -_number(p))


def described(path: Path) -> PackedFile:
    """The index entry of an unpacked file."""
    status = path.stat()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return PackedFile(
        path.name, status.st_size, status.st_mode & 0o7777, status.st_mtime_ns, digest
    )


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
            _add(tar, entry, path.read_bytes())
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
        target = folder / entry.name
        if not target.exists():
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
            entry, file = entries.get(member.name), tar.extractfile(member)
            if entry is None or file is None:
                raise PackDamaged(f"{pack.name} contains {member.name!r}, which its index lacks")
            yield entry, file.read()


def sync_folder(folder: Path) -> None:
    """Waits until renames and removals are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _index_of(pack: Path, tar: tarfile.TarFile) -> list[PackedFile]:
    first = tar.next()
    file = tar.extractfile(first) if first is not None and first.name == _INDEX else None
    if file is None:
        raise PackDamaged(f"{pack.name} does not begin with an index")
    index = [PackedFile(**entry) for entry in orjson.loads(file.read())]
    for entry in index:
        if parse_file_name(entry.name) is None or "/" in entry.name:  # a name is a path
            raise PackDamaged(f"{pack.name} lists {entry.name!r}, which is not an exchange file")
    return index


@contextmanager
def _writing(target: Path, size: int) -> Iterator[tarfile.TarFile]:
    window_log = max(_LEAST_WINDOW_LOG, min(_WINDOW_LOG, size.bit_length()))
    options = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, window_log=window_log, enable_ldm=True, write_checksum=True
    )
    descriptor = os.open(target, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
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
        pack.open("rb") as file,
        decompressor.stream_reader(file, read_size=_BUFFER, closefd=False) as stream,
    ):
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BUFFER) as tar:
                yield tar
        except (tarfile.TarError, zstandard.ZstdError, ValueError, TypeError) as error:
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
    temporary = target.with_name(f".{target.name}.tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    temporary.chmod(entry.mode)
    os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns))
    temporary.replace(target)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _order(name: str) -> tuple[int, str]:
    return parse_file_name(name) or (0, "")


def _number(pack: Path) -> int:
    number = pack.name.removesuffix(PACK_SUFFIX)
    return int(number) if number.isdigit() else 0
