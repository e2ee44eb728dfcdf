"""Undoes content encodings chunk by chunk: gzip, deflate, br, zstd, and nothing else.

Data that is cut off or damaged is decoded as far as it goes; `failed` then says why.
"""

import zlib
from typing import Protocol

import brotli
import zstandard


class Decoder(Protocol):
    """Give it chunks; what it cannot decode it leaves out and says so in `failed`."""

    failed: str | None

    def decode(self, chunk: bytes) -> bytes: ...


def decoder_for(content_encoding: str) -> Decoder:
    """A decoder for a Content-Encoding header, whatever it names."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    steps = [_step(name) for name in reversed(names) if name not in ("", "identity")]
    return steps[0] if len(steps) == 1 else _Chain(steps)


def decode_all(content_encoding: str, body: bytes) -> tuple[bytes, str | None]:
    """A whole body at once: what could be decoded, and what went wrong."""
    decoder = decoder_for(content_encoding)
    return decoder.decode(body), decoder.failed


def _step(name: str) -> Decoder:
    match name:
        case "gzip" | "x-gzip":
            return _Zlib(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Deflate()
        case "br":
            return _Brotli()
        case "zstd":
            return _Zstd()
        case _:
            return _Unknown(name)


class _Chain:
    """Several encodings, the outermost first; with none, the identity."""

    def __init__(self, steps: list[Decoder]) -> None:
        self._steps = steps

    @property
    def failed(self) -> str | None:
        return next((step.failed for step in self._steps if step.failed), None)

    @failed.setter
    def failed(self, reason: str | None) -> None:
        raise AttributeError("told by the steps")

    def decode(self, chunk: bytes) -> bytes:
        for step in self._steps:
            chunk = step.decode(chunk)
        return chunk


class _Unknown:
    """Passes through what it cannot decode, and says so."""

    def __init__(self, name: str) -> None:
        self.failed: str | None = f"unknown content encoding {name[:40]!r}"

    def decode(self, chunk: bytes) -> bytes:
        return chunk


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self.failed: str | None = None
        self._wbits = wbits
        self._object = zlib.decompressobj(wbits)

    def decode(self, chunk: bytes) -> bytes:
        out = bytearray()
        while chunk and self.failed is None:
            try:
                out += self._object.decompress(chunk)
            except zlib.error as error:
                self.failed = str(error)
                break
            chunk = self._object.unused_data
            if self._object.eof:  # a gzip body may have several members
                self._object = zlib.decompressobj(self._wbits)
        return bytes(out)


class _Deflate:
    """Servers disagree on whether deflate has a zlib header: the first bytes tell."""

    def __init__(self) -> None:
        self.failed: str | None = None
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
        out = self._inner.decode(chunk)
        self.failed = self._inner.failed
        return out


class _Brotli:
    def __init__(self) -> None:
        self.failed: str | None = None
        self._object = brotli.Decompressor()

    def decode(self, chunk: bytes) -> bytes:
        if self.failed is not None or not chunk:
            return b""
        try:
            return bytes(self._object.process(chunk))
        except brotli.error as error:
            self.failed = str(error) or "damaged brotli data"
            return b""


class _Zstd:
    def __init__(self) -> None:
        self.failed: str | None = None
        self._object = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def decode(self, chunk: bytes) -> bytes:
        if self.failed is not None or not chunk:
            return b""
        try:
            return self._object.decompress(chunk)
        except zstandard.ZstdError as error:
            self.failed = str(error)
            return b""
