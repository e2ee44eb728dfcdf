"""Drift is what affects a reader of the format; a field missing from a capture is not drift."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from correlate.schema import baseline
from correlate.schema.baseline import baseline_version, shipped, shipped_versions, with_known
from correlate.schema.compare.change import SchemaChange
from correlate.schema.compare.check import drift, drift_from
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.walk import observe
from correlate.schema.snapshot.snapshot import Field, Snapshot
from tests.correlate.schema.made_up import (
    SESSION,
    VERSION,
    request,
    response,
    write_captures,
    write_exchange,
)

Exchange = dict[str, Any]
MANY = 10


def seen(bucket: str, *values: Any) -> dict[str, Field]:
    shapes = Shapes()
    for value in values:
        shapes.see(bucket, value)
    return snapshot_of(shapes, VERSION)


def changed_capture(folder: Path, *edits: Callable[[Exchange, Exchange], None]) -> Path:
    """Write the capture of `write_captures` with edits."""
    session = folder / SESSION
    session.mkdir(parents=True)
    for sequence in range(1, MANY + 1):
        req, resp = copy.deepcopy((request(sequence), response(sequence)))
        for edit in edits:
            edit(req, resp)
        write_exchange(session, sequence, req, resp)
    return folder


def rename_a_field(req: Exchange, resp: Exchange) -> None:
    data = req["body"]["data"]
    data["max_output_tokens"] = data.pop("max_tokens")


def change_a_type(req: Exchange, resp: Exchange) -> None:
    for event in resp["body"]["events"]:
        if event["data"]["type"] == "content_block_stop":
            event["data"]["index"] = "0"


def send_a_new_event(req: Exchange, resp: Exchange) -> None:
    data = {"type": "context_note", "note": {"text": "x"}, "index": 1}
    resp["body"]["events"].insert(3, {"event": "context_note", "at_ms": 1.0, "data": data})


def told(changes: list[SchemaChange]) -> list[tuple[str, str, str, str]]:
    return [(c.kind, c.where, c.before, c.after) for c in changes]


EXPECTED = [
    ("renamed", "wire/request/messages max_tokens", "max_tokens", "max_output_tokens"),
    ("type-changed", "wire/sse/content_block_stop index", "integer", "string"),
    ("bucket-added", "wire/sse/context_note", "", ""),
]


def test_one_field_renamed_one_type_changed_one_new_event_are_three_findings(
    tmp_path: Path,
) -> None:
    known = observe([write_captures(tmp_path / "old", MANY)]).snapshot
    edits = (rename_a_field, change_a_type, send_a_new_event)
    new = observe([changed_capture(tmp_path / "new", *edits)])
    changes = drift(new.by_version, lambda version: known)
    assert told(changes) == EXPECTED
    places = [Path(change.at.source).name for change in changes if change.at]
    assert places == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "0001_resp_v1_messages.json",
    ]


def test_an_unchanged_capture_has_no_drift(tmp_path: Path) -> None:
    known = observe([write_captures(tmp_path / "old", MANY)]).snapshot
    same = observe([changed_capture(tmp_path / "new")])
    assert drift(same.by_version, lambda version: known) == []


def test_what_a_small_capture_lacks_is_no_drift() -> None:
    known = seen("transcript/user", *[{"a": 1, "b": 1}, {"a": 1}] * MANY) | seen("transcript/x", {})
    assert drift_from(known, seen("transcript/user", *[{"a": 1}] * 50)) == []


def test_a_field_that_was_always_there_is_missed() -> None:
    known = seen("transcript/user", *[{"a": 1, "b": 1}] * MANY)
    (change,) = drift_from(known, seen("transcript/user", *[{"a": 1}] * MANY))
    assert (change.kind, change.path, change.severity) == ("removed", "b", "breaking")
    assert drift_from(known, seen("transcript/user", {"a": 1})) == []


def test_headers_depend_on_how_a_user_connects() -> None:
    bucket = "wire/header/request/messages"
    known = seen(bucket, *[{"host": "x", "accept": "x"}] * MANY)
    changes = drift_from(known, seen(bucket, *[{"accept": "x", "x-new": "1"}] * MANY))
    assert [(c.kind, c.path) for c in changes] == [("added", "x-new")]


def test_what_the_api_answers_about_an_account_is_no_format() -> None:
    known = seen("wire/answer/settings", {"a": 1})
    assert drift_from(known, seen("wire/answer/settings", {"b": 1})) == []
    assert drift_from(known, seen("wire/answer/eval", {"b": 1})) == []
    assert len(drift_from(known, seen("wire/answer/messages", {"b": 1}))) == 1


def test_each_version_is_held_against_its_own_baseline() -> None:
    bucket = "transcript/user"
    baselines = {"1.0.0": seen(bucket, {"a": 1}), "2.0.0": seen(bucket, {"a": 1, "b": 1})}
    observed: dict[str | None, Snapshot] = {v: seen(bucket, {"a": 1, "b": 1}) for v in baselines}
    changes = drift(observed, lambda version: baselines[version or ""])
    assert [(c.kind, c.path) for c in changes] == [("added", "b")]


def test_data_without_a_version_is_checked_against_the_newest_seen() -> None:
    asked: list[str | None] = []
    observed: dict[str | None, dict[str, Field]] = {None: {}, "2.1.9": {}, "2.1.10": {}}

    def baseline_of(version: str | None) -> Snapshot:
        asked.append(version)
        return {}

    drift(observed, baseline_of)
    assert asked == ["2.1.10", "2.1.9", "2.1.10"]


def test_what_is_documented_is_known_and_still_checked() -> None:
    documented = seen("wire/sse/ping", {"type": "ping"})
    known = with_known(seen("transcript/user", {"a": 1}), documented)
    assert drift_from(known, seen("wire/sse/ping", {"type": "ping"})) == []
    changes = drift_from(known, seen("wire/sse/ping", {"type": "ping", "n": 1}))
    assert [(c.kind, c.where) for c in changes] == [("added", "wire/sse/ping n")]
    assert known["transcript/user"].count == 1


@pytest.fixture
def baselines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(baseline, "FOLDER", tmp_path)
    for version in ("2.1.9", "2.1.39", "2.1.168"):
        (tmp_path / f"{version}.json").write_text(
            '{"format": 1, "versions": ["%s"], "buckets": {}}' % version  # noqa: UP031
        )
    shipped.cache_clear()
    return tmp_path


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.1.39", "2.1.39"),
        ("2.1.100", "2.1.39"),
        ("2.1.10", "2.1.9"),
        ("3.0.0", "2.1.168"),
        ("0.2.9", "2.1.9"),
        (None, "2.1.168"),
    ],
)
def test_the_baseline_of_a_version_is_its_own_or_the_nearest_older(
    baselines: Path, version: str | None, expected: str
) -> None:
    assert shipped_versions() == ["2.1.9", "2.1.39", "2.1.168"]
    assert baseline_version(version) == expected


def test_without_any_baseline_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "FOLDER", tmp_path)
    shipped.cache_clear()
    assert shipped("2.1.39") == {}
