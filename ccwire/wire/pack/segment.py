"""The segment format: exchange files in an append-only file that stores repeated content once.

Theory of operation. A segment has three streams of bytes: the content of requests, the content of
responses, and the index. A file is a list of ranges of its stream; a request refers to the ranges
that earlier requests of the segment have already stored. Each stream is a series of blocks, each
one zstd frame, so that a file is read without decompressing the others.

    segment  record record record …
    record   MAGIC, CRC-32 of all that follows, flags, then for each stream that has a piece in it:
             [offset of the block in the stream, if the piece begins one], size, stored size,
             and then the pieces
    index    one line of JSON per file: [name, size, mtime_ns, sha256, [start, length, …]]

Each append is one record, whose pieces continue the frames of the records before it: the
compressor is flushed, not ended. A record counts only if it is whole: what a kill or a full disk
has cut off is at the end, and is ignored. A damaged record breaks the blocks that it has a piece
of; reading goes on at the next record, and at the next block of each stream. Segments do not refer
to each other.
"""

import os
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson
import zstandard

from ccwire.wire.format import parse_file_name
from ccwire.wire.pack.files import (
    LARGEST_FILE,
    LARGEST_PACK,
    MODE,
    FileKey,
    PackDamaged,
    PackedFile,
    check,
    packed_file,
)
from ccwire.wire.regular_file import open_regular

SEGMENT_SUFFIX = "_pack.seg"
REQUESTS, RESPONSES, INDEX = STREAMS = range(3)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+\.json")
_MAGIC = b"\x9eccw"  # the first byte occurs in no JSON
_START = struct.Struct("!4sIB")  # magic, crc, flags
_BLOCK_OFFSET = struct.Struct("!Q")
_SIZES = struct.Struct("!II")  # of a piece: raw, stored
_MOST_HEAD = len(STREAMS) * (_BLOCK_OFFSET.size + _SIZES.size)
_BEGINS = 3  # the flag that a piece begins a block is so many bits above that it exists
_LARGEST_RECORD = 1 << 30
_LARGEST_LINE = 64 << 20
_STEP = 1 << 20
_KEPT = 32 << 20  # bytes of decompressed blocks
_MOST_WINDOW = 1 << 27


class Piece(NamedTuple):
    """What one record has of a stream: compressed bytes, and the size that they expand to."""

    size: int
    stored: bytes
    begins_at: int | None = None  # where in its stream a block begins with this piece


def encode_record(pieces: Sequence[Piece | None]) -> bytes:
    """Return a record with the pieces of each stream."""
    flags, head, stored = 0, b"", b""
    for stream, piece in enumerate(pieces):
        if piece is None:
            continue
        flags |= 1 << stream
        if piece.begins_at is not None:
            flags |= 1 << (stream + _BEGINS)
            head += _BLOCK_OFFSET.pack(piece.begins_at)
        head += _SIZES.pack(piece.size, len(piece.stored))
        stored += piece.stored
    rest = bytes([flags]) + head + stored
    return _MAGIC + struct.pack("!I", zlib.crc32(rest)) + rest


def encode_line(entry: PackedFile, ranges: Sequence[tuple[int, int]]) -> bytes:
    """Return the index line of a file."""
    numbers = [number for pair in ranges for number in pair]
    values = [entry.name, entry.size, entry.mtime_ns, entry.sha256, numbers]
    return orjson.dumps(values) + b"\n"


def is_packable(name: str) -> bool:
    """Whether it is a name as the recorder gives them, which the index has as it is."""
    return parse_file_name(name) is not None and _PLAIN_NAME.fullmatch(name) is not None


def stream_of(name: str) -> int:
    """Return the stream that has a file's content."""
    place = parse_file_name(name)
    return REQUESTS if place is not None and place[1] == "req" else RESPONSES


class _Stored(NamedTuple):
    """Where in the segment a piece is."""

    position: int
    stored: int
    size: int


@dataclass(slots=True)
class _Block:
    """A run of a stream: one zstd frame in one or more pieces."""

    start: int
    size: int = 0
    pieces: list[_Stored] = field(default_factory=list)


class Segment:
    """A segment being read; `refresh` takes in what was appended since."""

    def __init__(self, path: Path) -> None:
        """Raise OSError if the file cannot be read."""
        self.path = path
        self.inflated = 0  # bytes that were decompressed so far
        self._seen: os.stat_result | None = None
        self._start_over()
        self.refresh()

    def _start_over(self) -> None:
        self.end = 0  # of the last whole record
        self._last = (0, b"")  # where it begins, and its head
        self.is_damaged = False
        self.sizes = [0, 0, 0]  # of the streams, up to the last whole record
        self._blocks: tuple[list[_Block], ...] = ([], [], [])
        self._is_broken = [True, True, True]  # until the next block begins
        self.by_key: dict[FileKey, str] = {}  # the names of the files
        self._lines: dict[str, bytes] = {}  # of the index, by file name
        self._indexed = 0  # blocks of the index that are in `_lines`
        self._kept: dict[tuple[int, int], bytes] = {}

    @property
    def names(self) -> list[str]:
        """The names of the files, by number."""
        return [name for _, name in sorted(self.by_key.items())]

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def entry(self, name: str) -> PackedFile:
        return self._parsed(name)[0]

    def ranges(self, name: str) -> list[tuple[int, int]]:
        """Return where in its stream a file's content is: starts and lengths."""
        return self._parsed(name)[1]

    def read(self, name: str) -> bytes:
        """Return a file's bytes; raise PackDamaged if they are not what they were."""
        entry, ranges = self._parsed(name)
        stream = stream_of(name)
        with open_regular(self.path, follow=False, buffering=0) as file:
            parts = [self._range(file, stream, name, *place) for place in ranges]
        return check(entry, b"".join(parts), self.path.name)

    def forget(self) -> None:
        """Forget decompressed blocks, so that the next read is from the disk."""
        self._kept.clear()

    def refresh(self) -> None:
        """Read what was appended since; all of it anew if anything else has changed."""
        with open_regular(self.path, follow=False, buffering=0) as file:
            status = os.fstat(file.fileno())
            if not (self._may_be_appended_to(status) and self._is_the_same(file)):
                self._start_over()
            self._seen = status
            before = self.end
            for position, pieces in self._records(file, status.st_size):
                self._take(position, pieces)
            if self.end > before:
                self._read_index(file)

    def _may_be_appended_to(self, now: os.stat_result) -> bool:
        """Whether a file may be the one from before, with or without more at its end."""
        before = self._seen
        if before is None or (before.st_dev, before.st_ino) != (now.st_dev, now.st_ino):
            return False
        return now.st_size > before.st_size or (
            (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        )

    def _is_the_same(self, file: BinaryIO) -> bool:
        """Whether the last record is where it was: a new file may have a deleted one's inode."""
        position, head = self._last
        return _read_at(file, position, len(head)) == head

    @property
    def is_cut_off(self) -> bool:
        """Whether the segment ends in a record that is not whole, as a kill leaves it."""
        with open_regular(self.path, follow=False, buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return self.end < size and _is_cut_off(file, self.end, size)

    def _records(
        self, file: BinaryIO, size: int
    ) -> Iterator[tuple[int, list[tuple[int | None, int, int] | None]]]:
        """Yield the whole records from `end` on: the position of the content, and its pieces."""
        position = self.end
        while position < size:
            found = _record_at(file, position, size)
            if found is None:
                following = _next_record(file, position + 1, size)
                if following is None and _is_cut_off(file, position, size):
                    return
                self.is_damaged = True
                self._is_broken = [True, True, True]
                position = size if following is None else following
                continue
            content, pieces, end = found
            self._last = position, _read_at(file, position, content - position)
            self.end = position = end
            yield content, pieces

    def _take(self, position: int, pieces: list[tuple[int | None, int, int] | None]) -> None:
        for stream, piece in enumerate(pieces):
            if piece is None:
                continue
            begins_at, size, stored = piece
            blocks = self._blocks[stream]
            if begins_at is not None:
                if begins_at < self.sizes[stream]:
                    self.is_damaged = True  # blocks do not overlap
                    self._is_broken[stream] = True
                else:
                    blocks.append(_Block(begins_at))
                    self.sizes[stream] = begins_at
                    self._is_broken[stream] = False
            if not self._is_broken[stream]:
                blocks[-1].pieces.append(_Stored(position, stored, size))
                blocks[-1].size += size
                self.sizes[stream] += size
                self._kept.pop((stream, len(blocks) - 1), None)
            position += stored

    def _read_index(self, file: BinaryIO) -> None:
        blocks = self._blocks[INDEX]
        for number in range(max(0, self._indexed - 1), len(blocks)):
            try:
                data = self._inflate(file, blocks[number])
            except PackDamaged:
                self.is_damaged = True
                continue
            for line in data.split(b"\n"):
                if line:
                    self._note(line)
        self._indexed = len(blocks)

    def _note(self, line: bytes) -> None:
        end = line.find(b'"', 2)
        try:
            name = line[2:end].decode() if line.startswith(b'["') and end > 0 else ""
        except UnicodeDecodeError:
            name = ""
        key = parse_file_name(name)
        if key is None or not is_packable(name) or len(line) > _LARGEST_LINE:
            self.is_damaged = True
        elif self.by_key.setdefault(key, name) == name:
            self._lines[name] = line

    def _parsed(self, name: str) -> tuple[PackedFile, list[tuple[int, int]]]:
        pack = self.path.name
        try:
            values = orjson.loads(self._lines[name])
            listed, size, mtime_ns, sha256, numbers = values
            ranges = list(zip(numbers[::2], numbers[1::2], strict=True))
        except (ValueError, TypeError, LookupError) as error:
            raise PackDamaged(f"{pack} lists {name} in an unknown form") from error
        entry = packed_file(
            {"name": listed, "size": size, "mode": MODE, "mtime_ns": mtime_ns, "sha256": sha256},
            pack,
        )
        is_sound = all(
            isinstance(number, int) and 0 <= number <= LARGEST_PACK for number in numbers
        )
        if not is_sound or sum(length for _, length in ranges) != size or listed != name:
            raise PackDamaged(f"{pack} lists {name} with ranges that do not fit its size")
        return entry, ranges

    def _range(self, file: BinaryIO, stream: int, name: str, start: int, length: int) -> bytes:
        """Return a range of a stream, which may begin in one block and end in a later one."""
        blocks = self._blocks[stream]
        parts = []
        number = bisect_right(blocks, start, key=lambda block: block.start) - 1
        while length:
            block = blocks[number] if 0 <= number < len(blocks) else None
            if block is None or not block.start <= start < block.start + block.size:
                raise PackDamaged(f"{name} is in a damaged part of {self.path.name}")
            data = self._content(file, stream, number)
            part = data[start - block.start : start - block.start + length]
            parts.append(part)
            start, length, number = start + len(part), length - len(part), number + 1
        return b"".join(parts)

    def _content(self, file: BinaryIO, stream: int, number: int) -> bytes:
        key = (stream, number)
        if (data := self._kept.get(key)) is None:
            data = self._inflate(file, self._blocks[stream][number])
            self._kept[key] = data
            while sum(map(len, self._kept.values())) > _KEPT and len(self._kept) > 1:
                del self._kept[next(iter(self._kept))]
        return data

    def _inflate(self, file: BinaryIO, block: _Block) -> bytes:
        """Return the content of a block; its frame has no end while it is appended to."""
        if block.size > LARGEST_FILE:
            raise PackDamaged(f"{self.path.name} is too large to unpack")
        stored = b"".join(_read_at(file, piece.position, piece.stored) for piece in block.pieces)
        decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
        parts, left = [], block.size
        try:
            with decompressor.stream_reader(stored) as stream:
                while left and (part := stream.read(min(left, _STEP))):
                    parts.append(part)
                    left -= len(part)
        except (zstandard.ZstdError, MemoryError) as error:
            raise PackDamaged(f"{self.path.name} cannot be read: {error}") from error
        self.inflated += block.size - left
        if left:
            raise PackDamaged(f"{self.path.name} cannot be read: a block is cut off")
        return b"".join(parts)


def _record_at(
    file: BinaryIO, position: int, size: int
) -> tuple[int, list[tuple[int | None, int, int] | None], int] | None:
    """Return a record's content, pieces and end; None unless a whole one begins there."""
    data = _read_at(file, position, _START.size + _MOST_HEAD)
    parsed = _parse_head(data)
    if parsed is None:
        return None
    pieces, head = parsed
    content = position + head
    end = content + sum(piece[2] for piece in pieces if piece)
    if end > size or end - position > _LARGEST_RECORD:
        return None
    crc = zlib.crc32(data[_START.size - 1 : head])
    at = content
    while at < end:
        part = _read_at(file, at, min(_STEP, end - at))
        if not part:
            return None
        crc = zlib.crc32(part, crc)
        at += len(part)
    return (content, pieces, end) if crc == _START.unpack_from(data)[1] else None


def _parse_head(data: bytes) -> tuple[list[tuple[int | None, int, int] | None], int] | None:
    """Return the pieces of a record (begins at, size, stored size) and the size of its head."""
    if len(data) < _START.size or not data.startswith(_MAGIC):
        return None
    flags = _START.unpack_from(data)[2]
    at = _START.size
    pieces: list[tuple[int | None, int, int] | None] = []
    try:
        for stream in STREAMS:
            if not flags & 1 << stream:
                pieces.append(None)
                continue
            begins_at = None
            if flags & 1 << (stream + _BEGINS):
                (begins_at,) = _BLOCK_OFFSET.unpack_from(data, at)
                at += _BLOCK_OFFSET.size
            size, stored = _SIZES.unpack_from(data, at)
            at += _SIZES.size
            pieces.append((begins_at, size, stored))
    except struct.error:
        return None
    return pieces, at


def _next_record(file: BinaryIO, position: int, size: int) -> int | None:
    """Return where the next whole record begins."""
    overlap = len(_MAGIC) - 1
    while position < size:
        data = _read_at(file, position, _STEP)
        at = data.find(_MAGIC)
        while at >= 0:
            if _record_at(file, position + at, size) is not None:
                return position + at
            at = data.find(_MAGIC, at + 1)
        if position + len(data) >= size:
            return None
        position += max(1, len(data) - overlap)
    return None


def _is_cut_off(file: BinaryIO, position: int, size: int) -> bool:
    """Whether the file ends in the beginning of a record that was not written to its end."""
    data = _read_at(file, position, _START.size + _MOST_HEAD)
    if not _MAGIC.startswith(data[: len(_MAGIC)]):
        return False
    parsed = _parse_head(data)
    if parsed is None:
        return len(data) < _START.size + _MOST_HEAD
    return position + parsed[1] + sum(piece[2] for piece in parsed[0] if piece) > size


def _read_at(file: BinaryIO, position: int, size: int) -> bytes:
    file.seek(position)
    return file.read(size) or b""
