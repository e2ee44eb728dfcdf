"""The records of a segment: the unit that is appended, and counts only if it is whole.

A record has a piece of each stream of the segment that grows. Nothing here knows what the streams
contain: see `segment`.

    record   head, pieces
    head     MAGIC, CRC-32 of its rest, CRC-32 of the pieces, flags, then for each stream
             that has a piece: [offset of the block in the stream, if the piece begins one], size,
             stored size
"""

import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

REQUESTS, RESPONSES, INDEX = STREAMS = range(3)

_MAGIC = b"\x9eccw"  # the first byte occurs in no JSON
_START = struct.Struct("!4sIIB")  # magic, CRC of the head, CRC of the pieces, flags
_CHECKED_HEAD = 8  # where the part of a head begins that its CRC is about
_BLOCK_OFFSET = struct.Struct("!Q")
_SIZES = struct.Struct("!II")  # of a piece: raw, stored
_MOST_HEAD = _START.size + len(STREAMS) * (_BLOCK_OFFSET.size + _SIZES.size)
_BEGINS = 3  # the flag that a piece begins a block is so many bits above that it exists
_LARGEST_RECORD = 1 << 30
_STEP = 1 << 20


class StreamPiece(NamedTuple):
    """What one record has of a stream: compressed bytes, and the size that they expand to."""

    size: int
    stored: bytes
    begins_at: int | None = None  # where in its stream a block begins with this piece


def encode_record(pieces: Sequence[StreamPiece | None]) -> bytes:
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
    checked = struct.pack("!IB", zlib.crc32(stored), flags) + head
    return _MAGIC + struct.pack("!I", zlib.crc32(checked)) + checked + stored


class Record(NamedTuple):
    """A whole record: where its pieces are, and where it ends."""

    head: bytes
    content: int
    pieces: list["PieceHead | None"]
    end: int


class PieceHead(NamedTuple):
    """What the head of a record says of a piece."""

    begins_at: int | None
    size: int
    stored: int


def record_at(file: BinaryIO, position: int, size: int) -> tuple[Record | None, int]:
    """Return the record that begins there, if a whole one does, and how many bytes were checked."""
    data = read_at(file, position, _MOST_HEAD)
    parsed = _parse_head(data)
    if parsed is None:
        return None, 0
    pieces, head = parsed
    content = position + len(head)
    end = content + sum(piece.stored for piece in pieces if piece)
    if end > size or end - position > _LARGEST_RECORD:
        return None, 0
    crc, at = 0, content
    while at < end and (part := read_at(file, at, min(_STEP, end - at))):
        crc = zlib.crc32(part, crc)
        at += len(part)
    is_whole = at == end and crc == _START.unpack_from(head)[2]
    return Record(head, content, pieces, end) if is_whole else None, end - position


def _parse_head(data: bytes) -> tuple[list[PieceHead | None], bytes] | None:
    """Return what a head says of each piece, and the head; None if it is not whole."""
    if len(data) < _START.size or not data.startswith(_MAGIC):
        return None
    _, crc, _, flags = _START.unpack_from(data)
    at = _START.size
    pieces: list[PieceHead | None] = []
    try:
        for stream in STREAMS:
            if not flags & 1 << stream:
                pieces.append(None)
                continue
            begins_at = None
            if flags & 1 << (stream + _BEGINS):
                (begins_at,) = _BLOCK_OFFSET.unpack_from(data, at)
                at += _BLOCK_OFFSET.size
            pieces.append(PieceHead(begins_at, *_SIZES.unpack_from(data, at)))
            at += _SIZES.size
    except struct.error:
        return None
    return (pieces, data[:at]) if zlib.crc32(data[_CHECKED_HEAD:at]) == crc else None


def next_record(file: BinaryIO, position: int, size: int, most: int) -> tuple[int | None, int]:
    """Return where the next whole record begins, and how many bytes were checked for it."""
    overlap = len(_MAGIC) - 1
    checked = 0
    while position < size:
        data = read_at(file, position, _STEP)
        at = data.find(_MAGIC)
        while at >= 0 and checked <= most:
            record, more = record_at(file, position + at, size)
            checked += more
            if record is not None:
                return position + at, checked
            at = data.find(_MAGIC, at + 1)
        if position + len(data) >= size or checked > most:
            break
        position += max(1, len(data) - overlap)
    return None, checked


def is_cut_off(file: BinaryIO, position: int, size: int) -> bool:
    """Whether the file ends in the beginning of a record that was not written to its end."""
    data = read_at(file, position, _MOST_HEAD)
    if not _MAGIC.startswith(data[: len(_MAGIC)]):
        return False
    parsed = _parse_head(data)
    if parsed is None:  # a whole head that is not as it was written is damaged
        return len(data) < _head_size(data)
    return position + len(parsed[1]) + sum(piece.stored for piece in parsed[0] if piece) > size


def _head_size(data: bytes) -> int:
    """Return the size of the head that begins with these bytes."""
    if len(data) < _START.size:
        return _START.size
    flags = data[_START.size - 1]
    there = sum(bool(flags & 1 << stream) for stream in STREAMS)
    begin = sum(bool(flags & 9 << stream == 9 << stream) for stream in STREAMS)
    return _START.size + there * _SIZES.size + begin * _BLOCK_OFFSET.size


def read_at(file: BinaryIO, position: int, size: int) -> bytes:
    file.seek(position)
    return file.read(size) or b""
