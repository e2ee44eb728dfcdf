import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.stream.sse import Event, SSEParser, parse_event, parse_stream
from tests.properties import property_test

START = b'event: message_start\ndata: {"type":"message_start"}\n\n'
PING = b'event: ping\ndata: {"type": "ping"}\n\n'

# Bytes that are significant to the parser, so that short examples are interesting.
stream = st.lists(
    st.sampled_from(
        [b"\r", b"\n", b"\r\n", b"data", b"event", b":", b" ", b"\xef\xbb\xbf", b"x", b"\0\xff"]
    )
    | st.binary(max_size=3),
    max_size=30,
).map(b"".join)


def by_cuts(data: bytes, cuts: list[int]) -> tuple[list[Event], bytes]:
    parser = SSEParser()
    events: list[Event] = []
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, end in itertools.pairwise(edges):
        events += parser.feed(data[start:end])
    events += parser.flush()
    return events, parser.rest()


@property_test
@given(data=stream, cuts=st.lists(st.integers(0, 60), max_size=6))
def test_the_same_events_come_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    whole = parse_stream(data)
    assert by_cuts(data, cuts) == whole
    assert by_cuts(data, list(range(len(data)))) == whole


@property_test
@given(data=stream)
def test_events_and_rest_are_all_that_was_fed(data: bytes) -> None:
    events, rest = parse_stream(data)
    assert b"".join(event.raw for event in events) + rest == data


@property_test
@given(data=stream)
def test_an_event_is_the_same_when_parsed_again(data: bytes) -> None:
    for event in parse_stream(data)[0]:
        assert parse_event(event.raw) == event


def by_the_standard(stream: str) -> list[tuple[str, str]]:
    """A reference parser, line by line as in the standard; returns the events with data."""
    events, name, data = [], "", None
    for line in stream.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]:
        if not line:
            if data is not None:
                events.append((name or "message", data))
            name, data = "", None
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data = value if data is None else f"{data}\n{value}"
    return events


@property_test
@given(
    lines=st.lists(
        st.sampled_from(["event: a", "event:b", "event", "data: 1", "data:  2", "data", ": c", ""])
        | st.text(st.sampled_from("datevn: x"), max_size=8),
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events_are_what_the_standard_says(lines: list[str], end: str) -> None:
    stream = end.join([*lines, ""])
    events, _ = parse_stream(stream.encode())
    found = [(e.event, e.data.decode()) for e in events if e.data is not None]
    assert found == by_the_standard(stream)


def test_type_and_data_are_read() -> None:
    events, rest = parse_stream(START + PING)
    assert [(e.event, e.data) for e in events] == [
        ("message_start", b'{"type":"message_start"}'),
        ("ping", b'{"type": "ping"}'),
    ]
    assert rest == b""
    assert all(event.is_canonical for event in events)


def test_an_event_comes_as_soon_as_its_blank_line_does() -> None:
    parser = SSEParser()
    assert parser.feed(START[:-1]) == []
    assert [e.event for e in parser.feed(b"\n" + PING[:5])] == ["message_start"]
    assert parser.rest() == PING[:5]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_is_one(end: bytes) -> None:
    data = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    events, rest = parse_stream(data)
    assert [(e.event, e.data) for e in events] == [("a", b"1"), ("message", b"2")]
    assert rest == b""


def test_a_carriage_return_at_a_cut_waits_for_its_line_feed() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: 1\r\n\r") == []
    assert [e.raw for e in parser.feed(b"\n")] == [b"data: 1\r\n\r\n"]


def test_lines_of_data_are_joined() -> None:
    (event,), _ = parse_stream(b"data: {\ndata:  1\ndata\ndata:}\n\n")
    assert event.data == b"{\n 1\n\n}"
    assert not event.is_canonical


def test_comments_and_other_fields_are_no_data_but_not_lost() -> None:
    raw = b": keep-alive\nid: 7\nretry: 1\ndata: x\n\n"
    (event,), _ = parse_stream(raw)
    assert (event.event, event.data, event.raw) == ("message", b"x", raw)
    assert not event.is_canonical


def test_an_event_without_data_has_none() -> None:
    (event,), _ = parse_stream(b": only a comment\n\n")
    assert event.data is None


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    (event,), _ = parse_stream(b"\xef\xbb\xbf" + START)
    assert event.event == "message_start"
    assert event.raw.startswith(b"\xef\xbb\xbf")


def test_an_event_that_nothing_ended_stays_in_the_rest() -> None:
    cut = START + PING[:-1]
    events, rest = parse_stream(cut)
    assert [e.event for e in events] == ["message_start"]
    assert rest == PING[:-1]


def test_a_type_that_is_not_text_is_kept_in_the_bytes() -> None:
    (event,), _ = parse_stream(b"event: \xff\ndata: 1\n\n")
    assert event.event == "�"
    assert not event.is_canonical
    assert b"\xff" in event.raw


def test_a_long_event_in_small_chunks_is_not_searched_over_and_over() -> None:
    parser = SSEParser()
    parser.feed(b"data: ")
    for _ in range(10_000):
        assert parser.feed(b"x" * 100) == []
    (event,) = parser.feed(b"\n\n")
    assert event.data == b"x" * 1_000_000
