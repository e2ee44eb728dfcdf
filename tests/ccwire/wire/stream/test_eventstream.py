"""The decoder of Amazon's event streams, compared with botocore's."""

import base64
import itertools
import json
import uuid
import zlib
from collections.abc import Mapping

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from ccwire.demo.stand_in import bedrock
from ccwire.wire.stream.eventstream import (
    LONGEST_HEADERS,
    LONGEST_PAYLOAD,
    EventStreamParser,
    FrameDecoder,
    HeaderValue,
    StreamFrame,
)
from ccwire.wire.stream.sse import Event, parse_event
from tests.properties import property_test

type Read = tuple[dict[str, HeaderValue], bytes]


def sized(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def counted(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return inner.map(lambda value: len(value).to_bytes(2) + value)


_VALUES = st.one_of(
    st.sampled_from([b"\0", b"\1"]),
    sized(1).map(b"\2".__add__),
    sized(2).map(b"\3".__add__),
    sized(4).map(b"\4".__add__),
    sized(8).map(b"\5".__add__),
    counted(st.binary(max_size=9)).map(b"\6".__add__),
    counted(st.text(max_size=9).map(str.encode)).map(b"\7".__add__),
    sized(8).map(b"\x08".__add__),
    sized(16).map(b"\x09".__add__),
)
_NAMES = st.text("abc:-é", min_size=1, max_size=6).map(str.encode)
_HEADERS = st.dictionaries(_NAMES, _VALUES, max_size=4)
_FRAMES = st.builds(
    lambda headers, payload: framed(headers, payload), _HEADERS, st.binary(max_size=40)
)
_STREAMS = st.lists(_FRAMES, max_size=5)


def framed(headers: Mapping[bytes, bytes], payload: bytes) -> bytes:
    packed = b"".join(bytes([len(name)]) + name + value for name, value in headers.items())
    return sealed(len(packed), packed + payload)


def sealed(headers: int, content: bytes, total: int | None = None) -> bytes:
    prelude = (len(content) + 16 if total is None else total).to_bytes(4) + headers.to_bytes(4)
    message = prelude + zlib.crc32(prelude).to_bytes(4) + content
    return message + zlib.crc32(message).to_bytes(4)


def by_botocore(data: bytes) -> tuple[list[Read], bool]:
    """Return its frames, and whether it gave up on the rest."""
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    read: list[Read] = []
    try:
        for message in buffer:
            read.append((message.headers, message.payload))
    except ParserError:
        return read, True
    return read, False


def decoded(data: bytes, cuts: list[int] | None = None) -> tuple[list[StreamFrame], FrameDecoder]:
    decoder = FrameDecoder()
    edges = [0, *sorted(cut for cut in cuts or () if cut < len(data)), len(data)]
    frames = [
        frame for start, end in itertools.pairwise(edges) for frame in decoder.feed(data[start:end])
    ]
    return frames, decoder


def read(frames: list[StreamFrame]) -> list[Read]:
    return [(dict(frame.headers), frame.payload) for frame in frames]


@property_test
@given(stream=_STREAMS)
def test_whole_streams_are_what_botocore_reads(stream: list[bytes]) -> None:
    data = b"".join(stream)
    frames, decoder = decoded(data)
    assert (read(frames), False) == by_botocore(data)
    assert [frame.size for frame in frames] == [len(one) for one in stream]
    assert (decoder.failed, decoder.lost, decoder.waiting) == (None, 0, 0)


@property_test
@given(stream=_STREAMS, cuts=st.lists(st.integers(0, 200), max_size=6))
def test_the_same_frames_come_however_the_bytes_are_cut(
    stream: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(stream)
    whole = decoded(data)[0]
    assert decoded(data, cuts)[0] == whole
    assert decoded(data, list(range(len(data))))[0] == whole


@property_test
@given(stream=_STREAMS, end=st.integers(0, 300))
def test_a_stream_cut_short_has_its_whole_frames(stream: list[bytes], end: int) -> None:
    data = b"".join(stream)[:end]
    frames, decoder = decoded(data)
    assert (read(frames), False) == by_botocore(data)
    assert sum(frame.size for frame in frames) + decoder.waiting == len(data)


@property_test
@given(stream=_STREAMS, rubbish=st.binary(min_size=12, max_size=40))
def test_rubbish_after_a_stream_is_counted(stream: list[bytes], rubbish: bytes) -> None:
    data = b"".join(stream) + rubbish
    frames, decoder = decoded(data)
    assert read(frames) == by_botocore(data)[0]
    assert (decoder.failed, decoder.lost) == (
        "the checksum of a frame's lengths is wrong",
        len(rubbish),
    )
    assert decoder.feed(b"more") == []
    assert decoder.lost == len(rubbish) + 4


@property_test
@given(stream=st.lists(_FRAMES, min_size=1, max_size=4), data=st.data())
def test_a_changed_byte_is_always_noticed(stream: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(stream)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]
    frames, decoder = decoded(changed)
    good = [frame for frame in frames if not frame.damage]
    theirs, gave_up = by_botocore(changed)
    assert gave_up and read(good)[: len(theirs)] == theirs
    assert decoder.failed or len(frames) == len(good) + 1
    assert sum(frame.size for frame in frames) + decoder.lost + decoder.waiting == len(changed)
    assert decoded(changed, list(range(len(changed))))[0] == frames


@property_test
@given(data=st.binary(max_size=80), headers=st.integers(0, 90), total=st.integers(0, 2**32 - 1))
def test_no_bytes_raise(data: bytes, headers: int, total: int) -> None:
    for stream in (data, sealed(headers, data), sealed(headers, data, total)):
        parser = EventStreamParser()
        events = parser.feed(stream) + parser.flush()
        assert all(event == parse_event(event.raw) for event in events)
        assert all(json.loads(event.data or b"") is not Ellipsis for event in events)


@pytest.mark.parametrize(
    ("headers", "total"),
    [(0, 15), (1, 16), (LONGEST_HEADERS + 1, 2**20), (0, LONGEST_PAYLOAD + 17), (0, 2**32 - 1)],
)
def test_lengths_that_cannot_be_are_not_waited_for(headers: int, total: int) -> None:
    frames, decoder = decoded(sealed(headers, b"", total))
    assert frames == [] and decoder.waiting == 0
    assert decoder.failed == (
        f"a frame of {total} bytes with {headers} bytes of headers is not possible"
    )


@pytest.mark.parametrize(
    "headers",
    [
        b"\1a\x0a",  # no such type
        b"\1a",  # no type
        b"\1a\7\0\5abc",  # shorter than its length
        b"\1a\0\1a\0",  # the same name twice
    ],
)
def test_malformed_headers_damage_one_frame(headers: bytes) -> None:
    frames, decoder = decoded(sealed(len(headers), headers) + bedrock.chunk(b"{}"))
    assert [frame.damage for frame in frames] == ["the headers of a frame are malformed", None]
    assert decoder.failed is None


def test_all_types_of_headers_have_values() -> None:
    id_ = uuid.UUID(int=7).bytes
    headers = {
        b"t": b"\0",
        b"f": b"\1",
        b"byte": b"\2\xff",
        b"short": b"\3\xff\xfe",
        b"int": b"\4\0\0\1\0",
        b"long": b"\5" + (-5).to_bytes(8, signed=True),
        b"bytes": b"\6\0\2\0\xff",
        b"text": "\7\0\2é".encode(),
        b"time": b"\x08" + (1_700_000_000_000).to_bytes(8),
        b"uuid": b"\x09" + id_,
    }
    ((frame,), _) = decoded(framed(headers, b""))
    assert frame.headers == {
        "t": True,
        "f": False,
        "byte": -1,
        "short": -2,
        "int": 256,
        "long": -5,
        "bytes": b"\0\xff",
        "text": "é",
        "time": 1_700_000_000_000,
        "uuid": id_,
    }


def events(data: bytes) -> list[Event]:
    parser = EventStreamParser()
    return parser.feed(data) + parser.flush()


def values(data: bytes) -> list[tuple[str, object]]:
    return [(event.event, json.loads(event.data or b"null")) for event in events(data)]


def test_the_apis_own_event_is_in_the_frame() -> None:
    stop = b'{"type":"message_stop",\n "amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}'
    (event,) = events(bedrock.chunk(stop))
    assert event.event == "message_stop"
    assert event.data == stop.replace(b"\n", b" ")
    assert event.is_canonical


def test_an_exception_is_an_error_of_the_api() -> None:
    data = bedrock.exception({"type": "rate_limit_error", "message": "slow down"})
    error = {"type": "throttlingException", "message": "slow down"}
    assert values(data) == [("exception", {"type": "error", "error": error})]


def test_an_error_frame_has_its_code_and_text_in_headers() -> None:
    headers = {":message-type": "error", ":error-code": "500", ":error-message": "broken"}
    error = {"type": "500", "message": "broken"}
    assert values(bedrock.frame(headers, b"")) == [("error", {"type": "error", "error": error})]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"other":1}', {"other": 1}),
        (b'{"bytes":"%%%"}', {"bytes": "%%%"}),
        (b"plain text", "plain text"),
        (b"", ""),
    ],
)
def test_another_payload_is_kept_as_it_is(payload: bytes, expected: object) -> None:
    data = bedrock.frame({":event-type": "initial-response"}, payload)
    assert values(data) == [("initial-response", expected)]


def test_what_is_beside_the_event_is_kept_but_not_the_padding() -> None:
    inner = base64.b64encode(b'{"type":"ping"}').decode()
    payload = json.dumps({"bytes": inner, "p": "abc", "more": 1}).encode()
    data = bedrock.frame({":event-type": "chunk"}, payload)
    assert values(data) == [("ping", {"type": "ping", "frame": {"more": 1}})]


def test_damage_is_an_event_with_a_reason() -> None:
    good = bedrock.chunk(b'{"type":"ping"}')
    bad = good[:-1] + bytes([good[-1] ^ 1])
    assert values(bad + good + good[:20]) == [
        ("damaged", {"damage": "the checksum of a frame is wrong", "size": len(bad)}),
        ("ping", {"type": "ping"}),
        ("damaged", {"damage": "the stream ends within a frame", "size": 20}),
    ]
    parser = EventStreamParser()
    parser.feed(good)
    assert parser.flush() == [] and parser.failed is None
