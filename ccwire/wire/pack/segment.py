"""The segment format: exchange files in an append-only file that stores repeated content once.

Theory of operation. A segment has three streams of bytes: the content of requests, the content of
responses, and the index. A file is a list of ranges of its stream; a request refers to the ranges
that earlier requests of the segment have already stored. Each stream is a series of blocks, each
one zstd frame, so that a file is read without decompressing the others.

    segment  record record record …, each with a piece of every stream that grows (`records`)
    index    one line of JSON per file: [name, size, mtime_ns, sha256, [start, length, …]]

Each append is one record, whose pieces continue the frames of the records before it: the
compressor is flushed, not ended. A record counts only if it is whole: what a kill or a full disk
has cut off is at the end, and is ignored. A damaged record breaks the blocks that it has a piece
of; reading goes on at the next record, and at the next block of each stream. Segments do not refer
to each other.
"""

import itertools
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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
from ccwire.wire.pack.records import (
    INDEX,
    REQUESTS,
    RESPONSES,
    Record,
    is_cut_off,
    next_record,
    read_at,
    record_at,
)
from ccwire.wire.regular_file import open_regular

SEGMENT_SUFFIX = "_pack.seg"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+\.json")
# A segment is untrusted.
_LARGEST_INDEX_BLOCK = 32 << 20
_LARGEST_INDEX = 1 << 30
_MOST_CHECKED = 8  # times the size of a segment, to look for the records behind a damaged one
_STEP = 1 << 20
_MOST_WINDOW = 1 << 27


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


class _IndexLine(NamedTuple):
    """Where in the index a line is."""

    block: int
    start: int
    end: int


class _BlockCache:
    """The blocks that were decompressed last, of all segments."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._blocks: dict[tuple[int, int, int], bytes] = {}

    def get(self, key: tuple[int, int, int]) -> bytes | None:
        if (found := self._blocks.pop(key, None)) is not None:
            self._blocks[key] = found  # the newest is the last
        return found

    def add(self, key: tuple[int, int, int], data: bytes) -> None:
        self.remove(key)
        self._blocks[key] = data
        self._size += len(data)
        while self._size > self._most and len(self._blocks) > 1:
            self.remove(next(iter(self._blocks)))

    def remove(self, key: tuple[int, int, int]) -> None:
        self._size -= len(self._blocks.pop(key, b""))

    def forget(self, segment: int) -> None:
        for key in [key for key in self._blocks if key[0] == segment]:
            self.remove(key)


_CACHE = _BlockCache(16 << 20)
_NUMBERS = itertools.count()


class Segment:
    """A segment being read; `refresh` takes in what was appended since."""

    def __init__(self, path: Path) -> None:
        """Raise OSError if the file cannot be read."""
        self.path = path
        self.inflated = 0  # bytes that were decompressed so far
        self._number = next(_NUMBERS)  # in the cache
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
        self._lines: dict[str, _IndexLine] = {}
        self._indexed = 0  # blocks of the index that are in `_lines`
        _CACHE.forget(self._number)

    @property
    def names(self) -> list[str]:
        """The names of the files, by number."""
        return [name for _, name in sorted(self.by_key.items())]

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def entry(self, name: str) -> PackedFile:
        listed, size, mtime_ns, sha256, _ = self._listed(name)
        return packed_file(
            {"name": listed, "size": size, "mode": MODE, "mtime_ns": mtime_ns, "sha256": sha256},
            self.path.name,
        )

    def ranges(self, name: str) -> list[tuple[int, int]]:
        """Return where in its stream a file's content is: starts and lengths."""
        *_, numbers = self._listed(name)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def read(self, name: str) -> bytes:
        """Return a file's bytes; raise PackDamaged if they are not what they were."""
        entry = self.entry(name)
        try:
            data = self.content(stream_of(name), self.ranges(name))
        except PackDamaged as damage:
            raise PackDamaged(f"{name} cannot be read: {damage}") from damage
        return check(entry, data, self.path.name)

    def content(self, stream: int, ranges: Iterable[tuple[int, int]]) -> bytes:
        """Return ranges of a stream; raise PackDamaged if they are not there."""
        with open_regular(self.path, follow=False, buffering=0) as file:
            return b"".join(part for place in ranges for part in self._range(file, stream, *place))

    def forget(self) -> None:
        """Forget decompressed blocks, so that the next read is from the disk."""
        _CACHE.forget(self._number)

    def refresh(self) -> None:
        """Read what was appended since; all of it anew if anything else has changed."""
        with open_regular(self.path, follow=False, buffering=0) as file:
            status = os.fstat(file.fileno())
            if _is_same(self._seen, status):
                return
            if not (self._may_be_appended_to(status) and self._begins_as_before(file)):
                self._start_over()
            self._seen = status
            before = self.end
            for record in self._records(file, status.st_size):
                self._take(record)
            if self.end > before:
                self._read_index(file)

    def _may_be_appended_to(self, now: os.stat_result) -> bool:
        before = self._seen
        if before is None or before.st_size >= now.st_size:
            return False
        return (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino)

    def _begins_as_before(self, file: BinaryIO) -> bool:
        """Whether the last record is where it was: a new file may have a deleted one's inode."""
        position, head = self._last
        return read_at(file, position, len(head)) == head

    @property
    def is_cut_off(self) -> bool:
        """Whether the segment ends in a record that is not whole, as a kill leaves it."""
        with open_regular(self.path, follow=False, buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return self.end < size and is_cut_off(file, self.end, size)

    def _records(self, file: BinaryIO, size: int) -> Iterator[Record]:
        """Yield the whole records from `end` on."""
        position, most = self.end, _MOST_CHECKED * size
        while position < size:
            record, checked = record_at(file, position, size)
            most -= checked
            if record is not None:
                self._last = position, record.head
                self.end = position = record.end
                yield record
                continue
            following, checked = next_record(file, position + 1, size, most)
            most -= checked
            if following is None and is_cut_off(file, position, size):
                return
            self.is_damaged = True
            self._is_broken = [True, True, True]
            position = size if following is None else following

    def _take(self, record: Record) -> None:
        position = record.content
        for stream, piece in enumerate(record.pieces):
            if piece is None:
                continue
            blocks = self._blocks[stream]
            if piece.begins_at is not None:
                self._is_broken[stream] = piece.begins_at < self.sizes[stream]  # they overlap
                self.is_damaged |= self._is_broken[stream]
                if not self._is_broken[stream]:
                    blocks.append(_Block(piece.begins_at))
                    self.sizes[stream] = piece.begins_at
            if not self._is_broken[stream]:
                blocks[-1].pieces.append(_Stored(position, piece.stored, piece.size))
                blocks[-1].size += piece.size
                self.sizes[stream] += piece.size
                _CACHE.remove((self._number, stream, len(blocks) - 1))
            position += piece.stored

    def _read_index(self, file: BinaryIO) -> None:
        blocks = self._blocks[INDEX]
        for number in range(max(0, self._indexed - 1), len(blocks)):
            too_large = blocks[number].size > _LARGEST_INDEX_BLOCK
            if too_large or sum(block.size for block in blocks) > _LARGEST_INDEX:
                self.is_damaged = True
                continue
            try:
                self._note_lines(number, self._block(file, INDEX, number))
            except PackDamaged:
                self.is_damaged = True
        self._indexed = len(blocks)

    def _note_lines(self, block: int, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            name = _name_in(data, start, end)
            key = parse_file_name(name)
            if key is None or not is_packable(name):
                self.is_damaged = True
            elif self.by_key.setdefault(key, name) == name:
                self._lines.setdefault(name, _IndexLine(block, start, end))
            start = end + 1
        self.is_damaged |= start < len(data)

    def _listed(self, name: str) -> tuple[str, Any, Any, Any, list[int]]:
        """Return what the index has of a file; starts and lengths of its ranges come last."""
        pack, line = self.path.name, self._lines[name]
        text = self._index_block(line.block)[line.start : line.end]
        try:
            listed, size, mtime_ns, sha256, numbers = orjson.loads(text)
            is_sound = set(map(type, numbers)) <= {int} and (
                min(numbers, default=0) >= 0 and max(numbers, default=0) <= LARGEST_PACK
            )
            fits = is_sound and len(numbers) % 2 == 0 and sum(numbers[1::2]) == size
        except (ValueError, TypeError, LookupError) as error:
            raise PackDamaged(f"{pack} lists {name} in an unknown form") from error
        if not fits or listed != name:
            raise PackDamaged(f"{pack} lists {name} with ranges that do not fit its size")
        return listed, size, mtime_ns, sha256, numbers

    def _index_block(self, number: int) -> bytes:
        data = _CACHE.get((self._number, INDEX, number))
        if data is None:
            with open_regular(self.path, follow=False, buffering=0) as file:
                data = self._block(file, INDEX, number)
        return data

    def _range(self, file: BinaryIO, stream: int, start: int, length: int) -> Iterator[bytes]:
        """Yield a range of a stream, which may begin in one block and end in a later one."""
        blocks = self._blocks[stream]
        number = bisect_right(blocks, start, key=lambda block: block.start) - 1
        while length:
            block = blocks[number] if 0 <= number < len(blocks) else None
            if block is None or not block.start <= start < block.start + block.size:
                raise PackDamaged(f"it is in a damaged part of {self.path.name}")
            data = self._block(file, stream, number)
            part = data[start - block.start : start - block.start + length]
            yield part
            start, length, number = start + len(part), length - len(part), number + 1

    def _block(self, file: BinaryIO, stream: int, number: int) -> bytes:
        key = (self._number, stream, number)
        if (data := _CACHE.get(key)) is None:
            data = self._inflate(file, self._blocks[stream][number])
            _CACHE.add(key, data)
        return data

    def _inflate(self, file: BinaryIO, block: _Block) -> bytes:
        """Return the content of a block; its frame has no end while it is appended to."""
        if block.size > LARGEST_FILE:
            raise PackDamaged(f"{self.path.name} is too large to unpack")
        stored = b"".join(read_at(file, piece.position, piece.stored) for piece in block.pieces)
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


def _name_in(data: bytes, start: int, end: int) -> str:
    """Return the name in an index line; empty if there is none."""
    quote = data.find(b'"', start + 2, end)
    is_line = data.startswith(b'["', start) and quote > 0
    return data[start + 2 : quote].decode("utf-8", "replace") if is_line else ""


def _is_same(before: os.stat_result | None, now: os.stat_result) -> bool:
    if before is None or (before.st_dev, before.st_ino) != (now.st_dev, now.st_ino):
        return False
    return (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)
