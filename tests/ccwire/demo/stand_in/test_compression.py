"""Each compressed piece can be decoded immediately, and together they are the whole."""

import zlib
from typing import Any

import brotli
import pytest
import zstandard

from ccwire.demo.stand_in.compression import compressor

PIECES = [b"event: one\n\n", b"event: two\n\n" * 50, b"event: three\n\n"]


def decoder(encoding: str) -> Any:
    match encoding:
        case "gzip":
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress
        case "deflate":
            return zlib.decompressobj().decompress
        case "br":
            return brotli.Decompressor().process
    return zstandard.ZstdDecompressor().decompressobj().decompress


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_each_piece_is_readable_as_soon_as_it_is_there(encoding: str) -> None:
    packer, unpack = compressor(encoding), decoder(encoding)
    assert [unpack(packer.piece(piece)) for piece in PIECES] == PIECES
    assert unpack(packer.end()) == b""


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="snappy"):
        compressor("snappy")
