"""Appends exchange files to a session's segments, and reads each back before it counts as packed.

The format is in `ccwire.wire.pack.segment`. A request is cut into chunks at the ends of its strings
and messages; a chunk that the segment already has is referred to. A segment that is damaged, or has
grown large in proportion to the requests in it, is not appended to any more.
"""

import hashlib
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import zstandard

from addon.storage.files import open_file, sync_folder, write_all
from ccwire.wire.pack.files import PackDamaged, PackedFile, listed
from ccwire.wire.pack.reader import pack_number, segments
from ccwire.wire.pack.records import INDEX, REQUESTS, RESPONSES, STREAMS, StreamPiece, encode_record
from ccwire.wire.pack.segment import SEGMENT_SUFFIX, Segment, encode_line, is_packable, stream_of

_LEVEL = 9
_LOGS = {"window_log": 18, "hash_log": 17, "chain_log": 16}  # 1.1 MB per stream; the default is 10
_BLOCK = 256 << 10  # bytes of a stream, after which the next piece begins a block
_MOST_PIECES = 64  # of a block: damage to one breaks those behind it
_LARGEST = {REQUESTS: 64 << 20, RESPONSES: 16 << 20}  # the API takes no larger requests
_RECORD = 8 << 20  # bytes of files to append at once
_LEAST_SEGMENT = 512 << 10
_REPEATED = 4  # a segment grows to this many times what the next one will repeat of it:
_RECENT = 64  # what the last requests have, of all agents that take turns
_LEAST_CHUNK = 256
_MOST_CHUNK = 8 << 10
# The end of a string, and the beginning of a message, of the system prompt and of the tools.
_CUT = re.compile(rb'"(?=[,}\]])|(?=,\{"role":|,"(?:system|tools|messages)":\[)')


def can_pack(path: Path) -> bool:
    """Whether a file is one of the recorder's, and not so large that it would fill the memory."""
    return is_packable(path.name) and path.lstat().st_size <= _LARGEST[stream_of(path.name)]


class _File(NamedTuple):
    """An open exchange file that is to be packed."""

    path: Path
    data: bytes
    entry: PackedFile

    @property
    def name(self) -> str:
        return self.path.name

    @classmethod
    def read(cls, path: Path) -> Self:
        with open_file(path, os.O_RDONLY) as file:
            data, status = file.read(), os.fstat(file.fileno())
        return cls(path, data, listed(path.name, status, hashlib.sha256(data).hexdigest()))


class SegmentWriter:
    """Appends to the newest segment of one folder. The caller holds the folder's lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment: Segment | None = None
        self._streams = [_Stream() for _ in STREAMS]
        self._known: dict[bytes, int] = {}  # where in its stream each chunk of a request is
        self._learned: set[tuple[int, int]] = set()  # ranges whose chunks are known
        self._recent: deque[list[tuple[int, int]]] = deque(maxlen=_RECENT)  # ranges of requests
        self._full_at = 0  # bytes, before which the segment is not full
        self._older: dict[str, Path] = {}  # the segments before it, by the names of their files
        self._before: list[Path] = []

    def append(self, paths: Sequence[Path]) -> list[Path]:
        """Store these files; return those that were read back from the disk as they are.

        Raise OSError if they cannot be stored, which leaves the segment as it was.
        """
        packed: list[Path] = []
        for batch in _batches(path for path in paths if can_pack(path)):
            segment = self._current(batch[0].path)
            older = {file.name for file in batch if self._is_in_older(file)}
            new = [file for file in batch if file.name not in older and file.name not in segment]
            if new:
                self._append(segment, new)
            segment.forget()
            packed += [f.path for f in batch if f.name in older or _has_whole(segment, f)]
            segment.forget()
        return packed

    def forget(self) -> None:
        """Release the compressors; the next append begins new blocks."""
        sizes = self._segment.sizes if self._segment else [0] * len(STREAMS)
        self._streams = [_Stream(size) for size in sizes]

    def _is_in_older(self, file: _File) -> bool:
        path = self._older.get(file.name)
        return path is not None and path.exists() and _has_whole(Segment(path), file)

    def _current(self, first: Path) -> Segment:
        """Return the segment to append to, as it is on the disk."""
        if not (found := segments(self._folder)):
            return self._create(first)
        *before, newest = found
        self._note_older(before)
        segment = self._segment
        if segment is None or segment.path != newest:
            segment = self._use(Segment(newest))
        else:
            end = segment.end
            segment.refresh()
            if segment.end != end:  # another proxy appended to it
                self._learn(segment)
        if segment.is_cut_off:
            _truncate(segment.path, segment.end)
            segment.refresh()
        return self._create(first) if segment.is_damaged or self._is_full(segment) else segment

    def _is_full(self, segment: Segment) -> bool:
        """Whether the next segment would repeat little of this one, in proportion to its size."""
        if segment.end < max(_LEAST_SEGMENT, self._full_at):
            return False
        self._full_at = _REPEATED * _covered(self._recent)
        return segment.end >= self._full_at

    def _create(self, first: Path) -> Segment:
        number = max([pack_number(first), *(pack_number(p) + 1 for p in segments(self._folder))])
        path = self._folder / f"{number:04d}{SEGMENT_SUFFIX}"
        open_file(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY).close()
        sync_folder(self._folder)
        *before, _ = segments(self._folder)
        self._note_older(before)
        return self._use(Segment(path))

    def _note_older(self, before: list[Path]) -> None:
        """Note which files the segments have that are not appended to any more."""
        if before != self._before:
            self._before = before
            self._older = {name: path for path in before for name in Segment(path).names}

    def _use(self, segment: Segment) -> Segment:
        """Continue a segment that is new, or that another process has written."""
        self._segment = segment
        self._known.clear()
        self._learned.clear()
        self._recent.clear()
        self._full_at = 0
        self._learn(segment)
        return segment

    def _learn(self, segment: Segment) -> None:
        """Note where the chunks of all requests are; they are the same in each range of a file."""
        self._streams = [_Stream(size) for size in segment.sizes]
        for name in segment.names:
            if stream_of(name) != REQUESTS:
                continue
            try:
                ranges = segment.ranges(name)
                self._recent.append(ranges)
                for place in set(ranges) - self._learned:
                    self._learned.add(place)
                    self._known.update(_placed_chunks(segment, *place))
            except PackDamaged:
                continue

    def _append(self, segment: Segment, files: Sequence[_File]) -> None:
        """Append one record; if that fails, forget what was not written."""
        try:
            contents: list[list[bytes]] = [[] for _ in STREAMS]
            contents[INDEX] = [self._stored(file, contents) for file in files]
            pieces = [
                stream.piece(b"".join(parts)) if parts else None
                for stream, parts in zip(self._streams, contents, strict=True)
            ]
            _append_record(segment.path, segment.end, encode_record(pieces))
            segment.refresh()
        except BaseException:
            self._segment = None
            raise

    def _stored(self, file: _File, contents: list[list[bytes]]) -> bytes:
        """Add what is new in a file to the content of its stream; return its index line."""
        stream = stream_of(file.name)
        new = contents[stream]
        end = self._streams[stream].size + sum(map(len, new))
        ranges: list[tuple[int, int]] = []
        for chunk in _chunks(file.data) if stream == REQUESTS else [file.data]:
            key = _key(chunk)
            start = self._known.get(key) if stream == REQUESTS else None
            if start is None:
                start = end
                new.append(chunk)
                end += len(chunk)
                if stream == REQUESTS:
                    self._known[key] = start
            if ranges and sum(ranges[-1]) == start:
                ranges[-1] = (ranges[-1][0], ranges[-1][1] + len(chunk))
            else:
                ranges.append((start, len(chunk)))
        if stream == REQUESTS:
            self._recent.append(ranges)
            self._learned.update(ranges)
        return encode_line(file.entry, ranges)


class _Stream:
    """The compressor of one stream of a segment."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self._compressor: Any = None
        self._begun = 0
        self._pieces = 0

    def piece(self, data: bytes) -> StreamPiece:
        """Compress the next part of the stream; the block ends with it if it is large enough."""
        begins_at = None
        if self._compressor is None:
            begins_at = self._begun = self.size
            self._compressor = _compressor()
            self._pieces = 0
        self.size += len(data)
        self._pieces += 1
        is_last = self.size - self._begun >= _BLOCK or self._pieces >= _MOST_PIECES
        flush = zstandard.COMPRESSOBJ_FLUSH_FINISH if is_last else zstandard.COMPRESSOBJ_FLUSH_BLOCK
        stored = self._compressor.compress(data) + self._compressor.flush(flush)
        if is_last:
            self._compressor = None
        return StreamPiece(len(data), stored, begins_at)


def _compressor() -> Any:
    options = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, **_LOGS, write_content_size=False
    )
    return zstandard.ZstdCompressor(compression_params=options).compressobj()


def _batches(paths: Iterable[Path]) -> Iterator[list[_File]]:
    """Read the files, so many at a time as one record takes."""
    batch: list[_File] = []
    for path in paths:
        batch.append(_File.read(path))
        if sum(len(file.data) for file in batch) >= _RECORD:
            yield batch
            batch = []
    if batch:
        yield batch


def _chunks(data: bytes) -> Iterator[bytes]:
    """Cut a request where others may differ from it: what they share has the same chunks."""
    start = 0
    for found in _CUT.finditer(data):
        end = found.end()
        is_strong = end == found.start()
        if end - start < (1 if is_strong else _LEAST_CHUNK):
            continue
        yield from _slices(data, start, end)
        start = end
    yield from _slices(data, start, len(data))


def _slices(data: bytes, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, _MOST_CHUNK):
        yield data[at : min(at + _MOST_CHUNK, end)]


def _placed_chunks(segment: Segment, start: int, length: int) -> Iterator[tuple[bytes, int]]:
    """Yield the chunks of a range of requests, each with its place in the stream."""
    for chunk in _chunks(segment.content(REQUESTS, [(start, length)])):
        yield _key(chunk), start
        start += len(chunk)


def _covered(requests: Iterable[list[tuple[int, int]]]) -> int:
    """Return how many bytes of their stream these requests have together."""
    total = end = 0
    for start, length in sorted({place for ranges in requests for place in ranges}):
        total += max(0, start + length - max(start, end))
        end = max(end, start + length)
    return total


def _key(chunk: bytes) -> bytes:
    return hashlib.blake2b(chunk, digest_size=16).digest()


def _has_whole(segment: Segment, file: _File) -> bool:
    try:
        return segment.read(file.name) == file.data
    except PackDamaged:
        return False


def _append_record(path: Path, end: int, record: bytes) -> None:
    """Write a record behind the last one, and wait until it is on the disk."""
    with open_file(path, os.O_WRONLY) as file:
        file.seek(end)
        try:
            write_all(file, record)
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


def _truncate(path: Path, end: int) -> None:
    with open_file(path, os.O_WRONLY) as file:
        file.truncate(end)
