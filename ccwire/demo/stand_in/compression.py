"""Incremental compression, flushed per piece, as a streaming server does it."""

import zlib
from typing import Protocol

import brotli
import zstandard


class Compressor(Protocol):
    def piece(self, data: bytes) -> bytes:
        """Return the compressed bytes for `data`, flushed so that all of it can be decoded."""

    def end(self) -> bytes:
        """Return the end of the compressed stream."""


def compressor(encoding: str) -> Compressor:
    match encoding:
        case "gzip":
            return _ZlibEncoder(zlib.MAX_WBITS | 16)
        case "deflate":
            return _ZlibEncoder(zlib.MAX_WBITS)
        case "br":
            return _BrotliEncoder()
        case "zstd":
            return _ZstdEncoder()
    raise ValueError(f"unknown encoding: {encoding}")


class _ZlibEncoder:
    def __init__(self, window: int) -> None:
        self._stream = zlib.compressobj(wbits=window)

    def piece(self, data: bytes) -> bytes:
        return self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


class _BrotliEncoder:
    def __init__(self) -> None:
        self._stream = brotli.Compressor(quality=4)

    def piece(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data) + self._stream.flush())

    def end(self) -> bytes:
        return bytes(self._stream.finish())


class _ZstdEncoder:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor().compressobj()

    def piece(self, data: bytes) -> bytes:
        compressed = self._stream.compress(data)
        return compressed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def end(self) -> bytes:
        return self._stream.flush()
