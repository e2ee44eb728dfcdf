import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.format import (
    Exchange,
    Manifest,
    file_name,
    is_run_id,
    is_session_id,
    parse_file_name,
    run_id,
    short_id,
)
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import Direction
from tests.properties import property_test


def test_a_pair_stays_adjacent_when_sorted() -> None:
    names = [file_name(n, d, "/v1/messages") for n in (1, 2, 10, 9999) for d in ("req", "resp")]
    assert names == sorted(names)
    assert names[0] == "0001_req_v1_messages.json"


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/", "root"),
        ("", "root"),
        ("/v1/messages?x=../../y", "v1_messages"),
        ("/../../etc/x", "etc_x"),
        ("/a\0b\n", "a_b"),
        ("/" + "a" * 200, "a" * 80),
    ],
)
def test_a_path_becomes_a_plain_name(path: str, slug: str) -> None:
    assert file_name(1, "req", path) == f"0001_req_{slug}.json"


@property_test
@given(sequence=st.integers(1, 10**6), direction=st.sampled_from(["req", "resp"]), path=st.text())
def test_a_name_gives_its_number_back(sequence: int, direction: Direction, path: str) -> None:
    name = file_name(sequence, direction, path)
    assert parse_file_name(name) == (sequence, direction)
    assert "/" not in name
    assert len(name.encode()) < 120


@pytest.mark.parametrize("name", ["manifest.json", "0001_req_x.part", "1_req_x.json", ".lock", ""])
def test_other_names_are_no_exchange(name: str) -> None:
    assert parse_file_name(name) is None


def test_a_line_of_a_later_format_is_read() -> None:
    exchange = Exchange(
        sequence=1, flow_id="f", started=1.0, method="GET", host="h", path="/", kind="other"
    )
    assert Exchange.from_json({**exchange.to_json(), "of_tomorrow": 1}) == exchange
    with pytest.raises(ValueError):
        Exchange.from_json({"sequence": 1})


def test_a_manifest_of_a_later_format_is_read() -> None:
    manifest = Manifest(session_id="s", models=["m"])
    assert Manifest.from_json({**manifest.to_json(), "of_tomorrow": 1}) == manifest


@pytest.mark.parametrize("data", [rb'"\ud800"', '"\\ud800"'])
def test_lone_surrogates_are_read(data: bytes | str) -> None:
    assert parse_json(data) == "\ud800"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, "x"])
def test_what_is_no_json_is_a_value_error(data: bytes | str) -> None:
    with pytest.raises(ValueError):
        parse_json(data)


@property_test
@given(data=st.binary(max_size=20))
def test_any_bytes_are_json_or_a_value_error(data: bytes) -> None:
    try:
        value = parse_json(data)
    except ValueError:
        return
    json.dumps(value)


@pytest.mark.parametrize("value", ["a", "A-9", "x" * 64])
def test_a_session_id(value: str) -> None:
    assert is_session_id(value)


@pytest.mark.parametrize("value", ["", "x" * 65, "a/b", "..", "a b", "a\n", "ä", None, 5, b"a"])
def test_no_session_id(value: object) -> None:
    assert not is_session_id(value)


def test_the_name_of_a_run_is_a_valid_folder_and_has_a_short_form() -> None:
    run = run_id(1_800_000_000.0, "1f3a")
    assert is_session_id(run)
    assert is_run_id(run)
    assert short_id(run) == "run-1f3a"
    assert run.endswith("-1f3a")


def test_other_names_are_no_runs() -> None:
    session = "0a1b2c3d-0000-4000-8000-000000000000"
    assert not any(map(is_run_id, (session, "unknown", "run-a/b", "", None)))
    assert (short_id(session), short_id("unknown")) == ("0a1b2c3d", "unknown")
