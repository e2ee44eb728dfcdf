"""Undoes content encodings chunk by chunk: gzip, deflate, br, zstd, and nothing else.

Data that is cut off or damaged is decoded as far as it goes, the same however it was cut into
chunks; `failed` then says why. What grows past all reason is cut off too.
"""

import zlib
from collections.abc import Callable
from typing import Protocol

import brotli
import zstandard

LARGEST = 1 << 30  # decoded bytes of one body


class Decoder(Protocol):
    """Give it chunks; what it cannot decode it leaves out and says so in `failed`."""

    @property
    def failed(self) -> str | None: ...

    def decode(self, chunk: bytes) -> bytes: ...


def decoder_for(content_encoding: str, largest: int = LARGEST) -> Decoder:
    """A decoder for a Content-Encoding header, whatever it names."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    steps = [_step(name, largest) for name in reversed(names) if name not in ("", "identity")]
    return steps[0] if len(steps) == 1 else _Chain(steps)


def decode_all(content_encoding: str, body: bytes) -> tuple[bytes, str | None]:
    """A whole body at once: what could be decoded, and what went wrong."""
    decoder = decoder_for(content_encoding)
    return decoder.decode(body), decoder.failed


def _step(name: str, largest: int) -> Decoder:
    match name:
        case "gzip" | "x-gzip":
            return _Careful(_Gzip, largest)
        case "deflate":
            return _Careful(_Deflate, largest)
        case "br":
            return _Careful(_Brotli, largest)
        case "zstd":
            return _Careful(_Zstd, largest)
        case _:
            return _Unknown()


class _Chain:
    """Several encodings, the outermost first; with none, the identity."""

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
    """Passes through what it cannot decode, and says so."""

    failed: str | None = "unknown content encoding"

    def decode(self, chunk: bytes) -> bytes:
        return chunk


class _Damaged(Exception):
    """The data cannot be what its encoding says."""


class _Codec(Protocol):
    """One encoding; `decode` raises `_Damaged`, and is of no use after that."""

    most_at_once: int  # bytes to give it at once, few enough that no bomb fills the memory

    def decode(self, chunk: bytes) -> bytes: ...


class _Careful:
    """Runs a codec within bounds, and gets out of damaged data all that comes before the damage.

    A codec that fails keeps what it had decoded by then, and some look ahead when they are given
    much: what a codec makes of single bytes is what counts.
    """

    def __init__(self, codec: Callable[[], _Codec], largest: int) -> None:
        self.failed: str | None = None
        self._new = codec
        self._codec = codec()
        self._given: list[bytes] = []
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
            self._given.append(piece)
            if len(decoded) > self._room:
                decoded = decoded[: self._room]
                self.failed = "too large when decoded: the rest is left out"
            self._room -= len(decoded)
            out += decoded
        if self.failed is not None:
            self._given.clear()
        return bytes(out)

    def _byte_by_byte(self, piece: bytes) -> bytes:
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


class _Zlib:
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
        """What one stream gives, and what comes after its end."""
        if self._object.eof:
            return b"", chunk
        try:
            return self._object.decompress(chunk), self._object.unused_data
        except zlib.error as error:
            raise _Damaged(str(error)) from error


class _Gzip:
    """One or more members, each a stream of its own."""

    most_at_once = 1 << 14

    def __init__(self) -> None:
        self._member = _Zlib(zlib.MAX_WBITS | 16)

    def decode(self, chunk: bytes) -> bytes:
        out = b""
        while chunk:
            if self._member.ended:
                self._member = _Zlib(zlib.MAX_WBITS | 16)
            decoded, chunk = self._member.decode_one(chunk)
            out += decoded
        return out


class _Deflate:
    """Servers disagree on whether deflate has a zlib header: the first bytes tell."""

    most_at_once = 1 << 14

    def __init__(self) -> None:
        self._head = b""
        self._inner: _Zlib | None = None

    def decode(self, chunk: bytes) -> bytes:
        if self._inner is None:
            self._head += chunk
            if len(self._head) < 2:
                return b""
            first, second = self._head[0], self._head[1]
            has_header = first & 0x0F == 8 and (first << 8 | second) % 31 == 0
            self._inner = _Zlib(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
            chunk = self._head
        return self._inner.decode(chunk)


class _Brotli:
    most_at_once = 64

    def __init__(self) -> None:
        self._object = brotli.Decompressor()

    def decode(self, chunk: bytes) -> bytes:
        try:
            return bytes(self._object.process(chunk))
        except brotli.error as error:
            raise _Damaged(str(error)) from error


class _Zstd:
    most_at_once = 1 << 10

    def __init__(self) -> None:
        self._object = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def decode(self, chunk: bytes) -> bytes:
        try:
            return self._object.decompress(chunk)
        except zstandard.ZstdError as error:
            raise _Damaged(str(error)) from error
