"""The atlas: the span of each fact, the next release to run, the page and the baselines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from ccwire.demo.real import npm
from correlate.schema.baseline import with_known
from correlate.schema.compare.check import drift_from
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.snapshot.file import loads
from correlate.schema.snapshot.snapshot import Field
from lab.atlas.baselines import baseline_files
from lab.atlas.build import Atlas, build
from lab.atlas.documented import documented
from lab.atlas.evidence import outcomes, snapshot_of_release
from lab.atlas.facts import Fact, Span, facts_of, next_to_try, spans, spread
from lab.atlas.page import Tried, page, worth_telling
from lab.atlas.run import ReleaseOutcome, read_outcome, run_release
from tests.correlate.schema.made_up import record, write_captures, write_lines

KNOWN = [f"1.0.{number}" for number in range(10)]
HEADER = Fact("wire/header/request/messages", "x-new")
FIELD = Fact("transcript/user", "a.b")
RECORD = Fact("transcript/user")
HOOKS = (Fact("hook/SessionEnd"), Fact("hook/Stop"))


def span(found: list[Span], fact: Fact) -> Span:
    return next(span for span in found if span.fact == fact)


def seen(**values: object) -> dict[str, Field]:
    shapes = Shapes()
    for bucket, value in values.items():
        shapes.see(bucket.replace("__", "/"), value)
    return snapshot_of(shapes)


def test_facts_are_buckets_fields_and_enumerated_values() -> None:
    facts = facts_of(
        seen(
            transcript__user={"role": "user", "user_id": '{"a": 1}', "list": [{"n": 1}]},
            wire__beta="effort-2025-11-24",
            wire__sse__ping={"type": "ping"},
        )
    )
    assert sorted(facts) == [
        Fact("transcript/user"),
        Fact("transcript/user", "list"),
        Fact("transcript/user", "list[]"),
        Fact("transcript/user", "list[].n"),
        Fact("transcript/user", "role"),
        Fact("transcript/user", "role", "user"),
        Fact("transcript/user", "user_id"),
        Fact("transcript/user", "user_id", "JSON in a string"),
        Fact("transcript/user", "user_id.a"),
        Fact("wire/beta", "", "effort-2025-11-24"),
    ]


@pytest.mark.parametrize(
    ("fact", "parent"),
    [
        (Fact("b", "a.b[].c"), Fact("b", "a.b[]")),
        (Fact("b", "a.b[]"), Fact("b", "a.b")),
        (Fact("b", "a"), Fact("b")),
        (Fact("b", "a", "word"), Fact("b", "a")),
        (Fact("b"), None),
        (Fact("layout", "", "x.json"), None),
    ],
)
def test_the_parent_of_a_fact(fact: Fact, parent: Fact | None) -> None:
    assert fact.parent == parent


def test_a_span_has_its_first_and_last_release_and_their_precision() -> None:
    tried = {
        "1.0.0": frozenset({RECORD}),
        "1.0.4": frozenset({RECORD, HEADER}),
        "1.0.5": frozenset({RECORD}),
        "1.0.6": frozenset({RECORD, HEADER}),
        "1.0.7": frozenset({RECORD}),
    }
    found = spans(tried, KNOWN)
    assert span(found, RECORD) == Span(RECORD, "1.0.0", "1.0.7", None, None, True, True, True)
    assert span(found, HEADER) == Span(
        HEADER, "1.0.4", "1.0.6", "1.0.0", "1.0.7", False, True, False
    )


def test_the_next_release_bisects_the_gap_with_most_changes() -> None:
    tried = {"1.0.0": frozenset[Fact](), "1.0.9": frozenset({HEADER})}
    asked = []
    while (version := next_to_try(spans(tried, KNOWN), KNOWN)) is not None:
        asked.append(version)
        came = KNOWN.index(version) >= 6
        tried[version] = frozenset({HEADER}) if came else frozenset()
    assert asked == ["1.0.4", "1.0.6", "1.0.5"]
    assert span(spans(tried, KNOWN), HEADER).first == "1.0.6"
    assert span(spans(tried, KNOWN), HEADER).first_exact


def test_formats_that_ccwire_depends_on_are_bisected_first() -> None:
    minor = Fact("printed/result", "x")
    tried = {
        "1.0.0": frozenset({minor}),
        "1.0.5": frozenset[Fact](),
        "1.0.9": frozenset({HEADER}),
    }
    assert next_to_try(spans(tried, KNOWN), KNOWN) == "1.0.7"


def test_a_spread_has_both_ends() -> None:
    assert spread(KNOWN, 4) == ["1.0.0", "1.0.3", "1.0.6", "1.0.9"]
    assert spread(KNOWN, 99) == KNOWN


def test_a_fact_with_its_parents_span_is_not_listed() -> None:
    nested = [RECORD, Fact("transcript/user", "a"), FIELD]
    tried = {"1.0.0": frozenset[Fact](), "1.0.1": frozenset(nested)}
    assert [s.fact for s in worth_telling(spans(tried, KNOWN))] == [RECORD]


def test_the_page() -> None:
    tried = {
        "1.0.0": frozenset({RECORD, Fact("wire/beta", "", "old-2025-01-01")}),
        "1.0.1": frozenset({RECORD, HEADER}),
        "1.0.5": frozenset({RECORD, HEADER, Fact("transcript/user", "a"), *HOOKS}),
    }
    ran = [ReleaseOutcome(version, calls=3) for version in tried]
    failed = ReleaseOutcome("1.0.2", problem="made no call through the proxy within 45 s")
    text = page(spans(tried, [v for v in KNOWN if v != "1.0.2"]), Tried(KNOWN, [*ran, failed]))
    assert text.startswith("# The atlas")
    assert "3 of the 10 releases on npm, from 1.0.0 to 1.0.5" in text
    assert text[text.index("## By release") :] == snapshot(
        """\
## By release

| release | on the wire | in the transcript | hooks, files, output |
|---|---|---|---|
| 1.0.3 to 1.0.5 |  | record `user`: +`a` | hooks `SessionEnd`, `Stop`: new |
| 1.0.1 | header of `messages` calls: +`x-new`<br>beta: -`old-2025-01-01` |  |  |

## By field

Facts observed in every release that was run are not listed.

### On the wire

| field | in | since | until |
|---|---|---|---|
| `old-2025-01-01` | beta | before | removed in 1.0.1 |
| `x-new` | header of `messages` calls | 1.0.1 |  |

### In the transcript

| field | in | since | until |
|---|---|---|---|
| `a` | record `user` | 1.0.3 to 1.0.5 |  |

### Hooks, files, output

| field | in | since | until |
|---|---|---|---|
| all of it | hook `SessionEnd` | 1.0.3 to 1.0.5 |  |
| all of it | hook `Stop` | 1.0.3 to 1.0.5 |  |

## The releases

Run: 1.0.5, 1.0.1, 1.0.0.

Failed to run:

- 1.0.2: made no call through the proxy within 45 s
"""
    )


def test_milestones_have_their_release() -> None:
    session = Fact("wire/header/request/messages", "x-claude-code-session-id")
    tried = {"1.0.0": frozenset[Fact](), "1.0.1": frozenset({session})}
    text = page(spans(tried, KNOWN), Tried(KNOWN, [ReleaseOutcome(version) for version in tried]))
    assert "- **1.0.1**: every call has the session id in a header.\n" in text


def test_a_release_with_the_same_formats_needs_no_baseline() -> None:
    one, two = seen(transcript__user={"a": 1}), seen(transcript__user={"a": 1, "b": 1})
    files = baseline_files({"1.0.0": one, "1.0.1": one, "1.0.2": two})
    assert sorted(files) == ["1.0.0.json", "1.0.2.json", "documented.json"]


def test_a_baseline_contains_nothing_of_the_stand_in() -> None:
    shapes = seen(wire__sse__ping={"type": "ping", "made": "up"}, transcript__user={"a": 1})
    files = baseline_files({"1.0.0": shapes})
    assert list(loads(files["1.0.0.json"])) == ["transcript/user"]
    assert '"at"' not in files["1.0.0.json"]


def test_documented_formats_are_not_drift() -> None:
    known = with_known({}, documented())
    shapes = Shapes()
    shapes.see("wire/sse/message_stop", {"type": "message_stop"})
    shapes.see("wire/usage", {"input_tokens": 1, "output_tokens": 2, "service_tier": "priority"})
    shapes.see("wire/header/response/messages", {"cf-ray": "x", "request-id": "y"})
    assert drift_from(known, snapshot_of(shapes)) == []
    assert sorted(known) == sorted(documented())


def test_evidence_becomes_a_snapshot(tmp_path: Path) -> None:
    write_captures(tmp_path / "captures")
    write_lines(tmp_path / "claude" / "projects" / "-x" / "s.jsonl", record())
    write_lines(tmp_path / "hooks.jsonl", {"hook_event_name": "Stop", "cwd": "/x"})
    write_lines(tmp_path / "printed.jsonl", {"type": "result", "is_error": False}, [{"n": 1}])
    snapshot = snapshot_of_release(tmp_path, "2.1.325")
    assert {"wire/usage", "transcript/user", "hook/Stop", "layout", "printed/result"} <= set(
        snapshot
    )
    assert sorted(snapshot["printed/result"].children) == ["is_error", "n", "type"]
    assert {version for root in snapshot.values() for version in root.versions} == {"2.1.325"}


def test_a_release_that_has_been_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> ReleaseOutcome:
        raise AssertionError("it was run again")

    monkeypatch.setattr("lab.atlas.build.run_release", fail)
    for version, problem in (("1.0.0", None), ("1.0.1", "failed")):
        write_lines(tmp_path / version / "claude" / "projects" / "-x" / "s.jsonl", record())
        write_lines(tmp_path / version / "hooks.jsonl")
        (tmp_path / version / "captures").mkdir()
        outcome = {"version": version, "calls": 1, "ran": ["mix"], "problem": problem}
        (tmp_path / version / "outcome.json").write_text(json.dumps(outcome))
    atlas = Atlas(tmp_path, KNOWN)
    atlas.try_out("1.0.0")
    atlas.try_out("1.0.1")
    assert list(atlas.facts) == ["1.0.0"]
    assert atlas.usable() == [version for version in KNOWN if version != "1.0.1"]
    assert atlas.next() is None
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "correlate" / "schema" / "baselines").mkdir(parents=True)
    (root / "correlate" / "schema" / "baselines" / "0.0.1.json").write_text("stale")
    build(atlas, root)
    assert "1 of the 10 releases" in (root / "docs" / "atlas.md").read_text()
    assert sorted(
        path.name for path in (root / "correlate" / "schema" / "baselines").iterdir()
    ) == [
        "1.0.0.json",
        "documented.json",
    ]


def test_a_release_that_npm_does_not_have_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(version: str) -> npm.InstalledClient:
        raise npm.NpmFailed(f"npm has no {version}")

    monkeypatch.setattr(npm, "fetch", refuse)
    monkeypatch.setattr(npm, "cache", lambda: tmp_path)
    monkeypatch.setattr(npm, "remove", lambda version: None)
    outcome = run_release("9.9.9", tmp_path / "evidence", tmp_path / "proxy")
    assert outcome == ReleaseOutcome("9.9.9", problem="npm has no 9.9.9")
    assert read_outcome(tmp_path / "evidence") == outcome
    assert outcomes(tmp_path) == {"9.9.9": outcome}


ISOLATED = """
import socket
from lab.atlas.isolation import isolate
print(isolate())
with socket.socket() as listening:
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    socket.create_connection(listening.getsockname(), 1).close()
print("loopback")
try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError as error:
    print(type(error).__name__, error.errno)
"""


def test_a_release_is_cut_off_from_every_network_but_loopback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ISOLATED], capture_output=True, text=True, check=True
    )
    if done.stdout.startswith("True"):
        assert done.stdout.splitlines() == ["True", "loopback", "OSError 101"]
    else:
        assert done.stdout.splitlines()[:2] == ["False", "loopback"]
