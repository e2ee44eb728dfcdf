"""A record is checked against its annotations when it is read: a wrong value never comes later."""

from typing import Any

import orjson
import pytest

from ccwire.wire.format import Exchange, Manifest, exchange_or_none, parse_exchange, parse_manifest
from ccwire.wire.json_text import parse_json

EXCHANGE = Exchange(
    sequence=1, flow_id="f", started=1.0, method="GET", host="h", path="/", kind="other"
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", 5),
        ("model", ["m"]),
        ("sequence", -1),
        ("sequence", 10**12 + 1),
        ("sequence", 1.0),
        ("sequence", True),
        ("sequence", None),
        ("started", "noon"),
        ("started", -1.0),
        ("started", 1e300),
        ("started", True),
        ("ended", 253402300800.0),
        ("first_byte_ms", []),
        ("status", "200"),
        ("kind", 5),
        ("identified_by", None),
        ("ended_by", ["x"]),
        ("usage", []),
        ("usage", 7),
        ("stream", 1),
        ("complete", "yes"),
        ("error", {}),
        ("pid", 2**63),
    ],
)
def test_a_wrong_value_is_a_bad_line(field: str, value: Any) -> None:
    in_order = {**EXCHANGE.to_json(), field: value}
    in_another = dict(reversed(in_order.items()))
    for line in (in_order, in_another):
        with pytest.raises(ValueError, match=field):
            parse_exchange(orjson.dumps(line))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_time_that_is_no_number_is_a_bad_line(constant: str) -> None:
    line = orjson.dumps(EXCHANGE.to_json()).replace(
        b'"started":1.0', b'"started":' + constant.encode()
    )
    assert parse_json(line)["started"] is not None
    assert exchange_or_none(line) is None


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b"{}", b'{"sequence":1}', b""])
def test_what_is_no_exchange_is_a_bad_line(line: bytes) -> None:
    assert exchange_or_none(line) is None


def test_a_word_of_a_later_format_is_read() -> None:
    line = {**EXCHANGE.to_json(), "kind": "of_tomorrow", "ended_by": "a_dream"}
    found = parse_exchange(orjson.dumps(line))
    assert (found.kind, found.ended_by) == ("of_tomorrow", "a_dream")


def test_whole_numbers_are_times_too() -> None:
    line = {**EXCHANGE.to_json(), "started": 5, "ended": 6}
    found = parse_exchange(orjson.dumps(line))
    assert (found.started, found.ended) == (5, 6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session_id", 7),
        ("pids", "x"),
        ("pids", [1, "x"]),
        ("models", [1]),
        ("counts", {"exchanges": "many"}),
        ("counts", {"exchanges": -1}),
        ("agents", {"a": 1}),
        ("gaps", [7]),
        ("gaps", [{"kind": "capture_error"}]),
        ("gaps", [{"kind": 7, "detail": "x"}]),
        ("gaps", [{"kind": "capture_error", "detail": "x", "at": "noon"}]),
        ("transcript_paths", [None]),
        ("last_seen", 1e300),
        ("cwd", []),
    ],
)
def test_a_wrong_value_is_a_damaged_manifest(field: str, value: Any) -> None:
    good = Manifest(session_id="s").to_json()
    with pytest.raises(ValueError, match=field):
        parse_manifest(orjson.dumps({**good, field: value}))


def test_a_gap_may_lack_its_time() -> None:
    manifest = Manifest(session_id="s", gaps=[{"kind": "recovered", "detail": "x"}])
    assert parse_manifest(orjson.dumps(manifest.to_json())) == manifest
