"""Incremental decoders for content encodings: gzip, deflate, br and zstd.

Truncated or damaged data is decoded as far as possible, with the same result for any chunking;
`failed` then contains the reason. Output is limited: to `LARGEST` bytes, and for a body that is
large when encoded, to `LARGEST_RATIO` times as much more.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli
import zstandard

LARGEST = 1 << 30  # decoded bytes per body
LARGEST_RATIO = 50  # no text that people write compresses so well
_AT_ONCE = 1 << 10  # encoded bytes
_MOST_GIVEN = 8 << 20  # encoded bytes to keep for decoding again up to a damage


class Decoder(Protocol):
    """Decodes chunk by chunk; on an error, omits the rest and sets `failed` to the reason."""

    @property
    def failed(self) -> str | None: ...

    def decode(self, chunk: bytes) -> bytes: ...


def decoder_for(content_encoding: str, largest: int = LARGEST) -> Decoder:
    """Return a decoder for a Content-Encoding header; unknown encodings pass through."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    steps = [_step(name, largest) for name in reversed(names) if name not in ("", "identity")]
    return steps[0] if len(steps) == 1 else _Chain(steps)


def decoded_pieces(decoder: Decoder, chunk: bytes, *, is_encoded: bool) -> Iterator[bytes]:
    """Decode a chunk in small pieces, because each can become a thousand times as much."""
    if not is_encoded:
        yield decoder.decode(chunk)
        return
    for start in range(0, len(chunk), _AT_ONCE):
        yield decoder.decode(chunk[start : start + _AT_ONCE])


def decode_all(content_encoding: str, body: bytes) -> tuple[bytes, str | None]:
    """Decode a whole body; return the decoded bytes and the error, if any."""
    decoder = decoder_for(content_encoding)
    return decoder.decode(body), decoder.failed


def _step(name: str, largest: int) -> Decoder:
    match name:
        case "gzip" | "x-gzip":
            return _Careful(_Gzip, largest)
        case "deflate":
            return _Careful(_Deflate, largest)
        case "br":
            return _Careful(_BrotliDecoder, largest)
        case "zstd":
            return _Careful(_ZstdDecoder, largest)
        case _:
            return _Unknown()


class _Chain:
    """A sequence of decoders, the outermost encoding first; the identity if empty."""

    def __init__(self, steps: list[Decoder]) -> None:
        self._steps = steps

    @property
    def failed(self) -> str | None:
        return next((step.failed for step in self._steps if step.failed), None)

    def decode(self, chunk: bytes) -> bytes:
        for step in self._steps:
            chunk = step.decode(chunk)
        return chunk


class _Unknown:
    """Passes data of an unknown encoding through and reports it."""

    failed: str | None = "unknown content encoding"

    def decode(self, chunk: bytes) -> bytes:
        return chunk


class _Damaged(Exception):
    """The data is not valid in its encoding."""


class _Codec(Protocol):
    """A decoder for one encoding; unusable after `decode` has raised `_Damaged`."""

    most_at_once: int  # input bytes per call, few enough that a decompression bomb stays small

    def decode(self, chunk: bytes) -> bytes: ...


class _Careful:
    """Runs a codec with an output limit, and decodes damaged data up to the damage.

    A codec that fails discards what it has decoded in that call, and some read ahead in large
    inputs. So after a failure the same piece is decoded again byte by byte.
    """

    def __init__(self, codec: Callable[[], _Codec], largest: int) -> None:
        self.failed: str | None = None
        self._new = codec
        self._codec = codec()
        self._given: list[bytes] | None = []
        self._given_size = 0
        self._room = largest

    def decode(self, chunk: bytes) -> bytes:
        out = bytearray()
        size = self._codec.most_at_once
        for start in range(0, len(chunk), size):
            if self.failed is not None:
                break
            piece = chunk[start : start + size]
            try:
                decoded = self._codec.decode(piece)
            except _Damaged:
                decoded = self._byte_by_byte(piece)
            self._keep(piece)
            if len(decoded) > self._room:
                decoded = decoded[: self._room]
                self.failed = "too large when decoded: the rest is left out"
            self._room -= len(decoded)
            out += decoded
        if self.failed is not None:
            self._given = None
        return bytes(out)

    def _keep(self, piece: bytes) -> None:
        self._given_size += len(piece)
        if self._given_size > _MOST_GIVEN:
            self._given = None
            self._room += LARGEST_RATIO * len(piece)
        elif self._given is not None:
            self._given.append(piece)

    def _byte_by_byte(self, piece: bytes) -> bytes:
        if self._given is None:
            self.failed = "damaged, after more than can be decoded again"
            return b""
        self._codec = self._new()
        for given in self._given:
            self._codec.decode(given)
        out = b""
        try:
            for byte in piece:
                out += self._codec.decode(bytes((byte,)))
        except _Damaged as damage:
            self.failed = str(damage)
        return out


class _ZlibDecoder:
    most_at_once = 1 << 14

    def __init__(self, wbits: int) -> None:
        self._object = zlib.decompressobj(wbits)

    @property
    def ended(self) -> bool:
        return self._object.eof

    def decode(self, chunk: bytes) -> bytes:
        out, after = self.decode_one(chunk)
        if after:
            raise _Damaged("data after the end")
        return out

    def decode_one(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Decode one stream; return its output and the bytes after its end."""
        if self._object.eof:
            return b"", chunk
        try:
            return self._object.decompress(chunk), self._object.unused_data
        except zlib.error as error:
            raise _Damaged(str(error)) from error


class _Gzip:
    """One or more gzip members."""

    most_at_once = 1 << 14

    def __init__(self) -> None:
        self._member = _ZlibDecoder(zlib.MAX_WBITS | 16)

    def decode(self, chunk: bytes) -> bytes:
        out = b""
        while chunk:
            if self._member.ended:
                self._member = _ZlibDecoder(zlib.MAX_WBITS | 16)
            decoded, chunk = self._member.decode_one(chunk)
            out += decoded
        return out


class _Deflate:
    """Deflate with or without a zlib header, detected by the first two bytes."""

    most_at_once = 1 << 14

    def __init__(self) -> None:
        self._head = b""
        self._inner: _ZlibDecoder | None = None

    def decode(self, chunk: bytes) -> bytes:
        if self._inner is None:
            self._head += chunk
            if len(self._head) < 2:
                return b""
            first, second = self._head[0], self._head[1]
            has_header = first & 0x0F == 8 and (first << 8 | second) % 31 == 0
            self._inner = _ZlibDecoder(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
            chunk = self._head
        return self._inner.decode(chunk)


class _BrotliDecoder:
    most_at_once = 64

    def __init__(self) -> None:
        self._object = brotli.Decompressor()

    def decode(self, chunk: bytes) -> bytes:
        try:
            return bytes(self._object.process(chunk))
        except brotli.error as error:
            raise _Damaged(str(error)) from error


class _ZstdDecoder:
    most_at_once = 1 << 10

    def __init__(self) -> None:
        self._object = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def decode(self, chunk: bytes) -> bytes:
        try:
            return self._object.decompress(chunk)
        except zstandard.ZstdError as error:
            raise _Damaged(str(error)) from error
