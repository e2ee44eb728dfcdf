import gzip
import random
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from addon.recording.content.decode import decode_all, decoder_for
from tests.properties import property_test

TEXT = b"".join(b'{"type":"content_block_delta","index":%d}\n' % n for n in range(200))


def _raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate with header": ("deflate", zlib.compress),
    "deflate without header": ("deflate", _raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
}

every_encoding = pytest.mark.parametrize(("name", "encode"), ENCODERS.values(), ids=ENCODERS)


def cut(data: bytes, seed: int) -> list[bytes]:
    rng = random.Random(seed)
    chunks = []
    while data:
        size = rng.choice((1, 2, 7, 100, 5000))
        chunks.append(data[:size])
        data = data[size:]
    return chunks


def in_chunks(name: str, chunks: list[bytes]) -> tuple[bytes, str | None]:
    decoder = decoder_for(name)
    return b"".join(decoder.decode(chunk) for chunk in chunks), decoder.failed


@every_encoding
def test_a_whole_body_is_decoded(name: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode_all(name, encode(TEXT)) == (TEXT, None)


@every_encoding
def test_a_body_is_decoded_byte_by_byte(name: str, encode: Callable[[bytes], bytes]) -> None:
    assert in_chunks(name, [bytes([b]) for b in encode(TEXT)]) == (TEXT, None)


@every_encoding
def test_a_body_cut_short_is_decoded_as_far_as_it_goes(
    name: str, encode: Callable[[bytes], bytes]
) -> None:
    text = random.Random(0).randbytes(2000).hex().encode()
    decoded, failed = decode_all(name, encode(text)[:1200])
    assert failed is None
    assert text.startswith(decoded)
    assert len(decoded) > 500 or name == "zstd"  # zstd returns whole blocks, and this is one


@every_encoding
def test_rubbish_after_the_end_is_omitted_and_reported(
    name: str, encode: Callable[[bytes], bytes]
) -> None:
    decoded, failed = decode_all(name, encode(TEXT) + b"\xffrubbish")
    assert decoded == TEXT
    assert failed


@every_encoding
def test_rubbish_alone_gives_nothing_and_is_reported(
    name: str, encode: Callable[[bytes], bytes]
) -> None:
    assert decode_all(name, b"\xff\xfe rubbish, not that encoding")[1]


def test_a_wrong_checksum_keeps_all_that_came_before_it() -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-6] ^= 0xFF
    decoded, failed = decode_all("gzip", bytes(body))
    assert decoded == TEXT
    assert failed is not None
    assert "incorrect data check" in failed


def test_gzip_members_one_after_the_other_are_one_body() -> None:
    assert decode_all("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == (b"one two", None)


def test_zstd_frames_one_after_the_other_are_one_body() -> None:
    encode = zstandard.ZstdCompressor().compress
    assert decode_all("zstd", encode(b"one ") + encode(b"two")) == (b"one two", None)


def test_several_encodings_are_undone_from_the_last() -> None:
    body = brotli.compress(gzip.compress(TEXT))
    assert decode_all("gzip, br", body) == (TEXT, None)


@pytest.mark.parametrize("name", ["", "identity", " Identity , "])
def test_no_encoding_changes_nothing(name: str) -> None:
    assert decode_all(name, TEXT) == (TEXT, None)


def test_an_unknown_encoding_passes_through_and_is_reported() -> None:
    decoded, failed = decode_all("rot13", TEXT)
    assert decoded == TEXT
    assert failed == "unknown content encoding"


@every_encoding
def test_a_bomb_stops_at_the_limit(name: str, encode: Callable[[bytes], bytes]) -> None:
    decoder = decoder_for(name, largest=100_000)
    decoded = decoder.decode(encode(b"\0" * 500_000))
    assert decoded == b"\0" * 100_000
    assert decoder.failed == "too large when decoded: the rest is left out"
    assert decoder.decode(b"more") == b""


@every_encoding
@property_test
@given(data=st.data())
def test_the_same_comes_out_however_damaged_data_is_cut(
    name: str, encode: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    body = bytearray(encode(data.draw(st.binary(max_size=300), "text")))
    for _ in range(data.draw(st.integers(0, 2), "changes")):
        body[data.draw(st.integers(0, len(body) - 1), "where")] = data.draw(
            st.integers(0, 255), "what"
        )
    wire = bytes(body) + data.draw(st.binary(max_size=8), "after")
    whole = decode_all(name, wire)
    assert in_chunks(name, [bytes([b]) for b in wire]) == whole
    assert in_chunks(name, cut(wire, data.draw(st.integers(0, 9), "cuts"))) == whole


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd", "gzip, br", "rot13"])
@property_test
@given(chunks=st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_in_any_chunks_give_one_result(name: str, chunks: list[bytes]) -> None:
    assert in_chunks(name, chunks) == decode_all(name, b"".join(chunks))
