from typing import Any

import pytest

from addon.storage.manifest import (
    MOST_GAPS,
    recounted,
    with_conflicts,
    with_drift,
    with_exchange,
    with_gap,
    with_session,
)
from ccwire.wire.format import Exchange, Gap, Manifest
from ccwire.wire.vocabulary import GapKind

EMPTY = Manifest(session_id="s")


def gap(kind: GapKind, detail: str = "disk too slow") -> Gap:
    return {"kind": kind, "detail": detail}


def exchange(sequence: int = 1, **fields: Any) -> Exchange:
    usual: dict[str, Any] = {
        "flow_id": f"f-{sequence}",
        "started": 100.0,
        "ended": 101.0,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "kind": "messages",
        "status": 200,
        "complete": True,
        "identified_by": "header",
    }
    return Exchange(sequence=sequence, **{**usual, **fields})


def test_an_exchange_is_counted() -> None:
    manifest = with_exchange(
        EMPTY,
        exchange(model="m", claude_version="2.1.0", pid=7, entrypoint="cli", agent_id="a1"),
    )
    assert manifest.counts == {
        "exchanges": 1,
        "complete": 1,
        "incomplete": 0,
        "errors": 0,
        "capture_errors": 0,
    }
    assert (manifest.first_seen, manifest.last_seen) == (100.0, 101.0)
    assert (manifest.models, manifest.claude_versions, manifest.pids) == (["m"], ["2.1.0"], [7])
    assert (manifest.entrypoint, manifest.agents) == ("cli", {"a1": None})
    assert manifest.evidence == {"header": 1}


@pytest.mark.parametrize("status", [None, 400, 529])
def test_an_answer_that_failed_is_an_error(status: int | None) -> None:
    counts = with_exchange(EMPTY, exchange(status=status, complete=False)).counts
    assert (counts["errors"], counts["incomplete"]) == (1, 1)


def test_the_same_model_twice_is_one() -> None:
    manifest = with_exchange(with_exchange(EMPTY, exchange(1, model="m")), exchange(2, model="m"))
    assert manifest.models == ["m"]
    assert manifest.counts["exchanges"] == 2


def test_an_agent_s_type_is_not_forgotten() -> None:
    first = with_exchange(EMPTY, exchange(agent_id="a", agent_type="Explore"))
    assert with_exchange(first, exchange(2, agent_id="a")).agents == {"a": "Explore"}


def test_times_grow_both_ways() -> None:
    manifest = with_exchange(EMPTY, exchange(started=50.0, ended=None))
    manifest = with_exchange(manifest, exchange(2, started=10.0, ended=20.0))
    assert (manifest.first_seen, manifest.last_seen) == (10.0, 50.0)


def test_what_the_map_knows_is_kept() -> None:
    manifest = with_session(EMPTY, cwd="/p", transcript="/t.jsonl", version="2.1.0")
    manifest = with_session(manifest, cwd=None, transcript="/t.jsonl", version=None)
    assert (manifest.cwd, manifest.transcript_paths, manifest.claude_versions) == (
        "/p",
        ["/t.jsonl"],
        ["2.1.0"],
    )


def test_only_losses_count_as_errors_and_the_list_stays_short() -> None:
    manifest = with_gap(EMPTY, gap("recovered"))
    assert manifest.counts.get("capture_errors", 0) == 0
    for number in range(300):
        manifest = with_gap(manifest, gap("capture_error", str(number)))
    assert manifest.counts["capture_errors"] == 300
    assert len(manifest.gaps) == MOST_GAPS
    assert manifest.gaps[-1]["detail"] == "299"


def test_conflicts_and_drift_are_counted() -> None:
    manifest = with_drift(with_conflicts(with_conflicts(EMPTY, 1), 2), ["a", "b", "a"])
    assert manifest.conflicts == 3
    assert manifest.drift == {"a": 2, "b": 1}


def test_a_recount_keeps_what_the_lines_do_not_tell() -> None:
    manifest = with_exchange(EMPTY, exchange(1, model="gone"))
    manifest = with_gap(with_conflicts(manifest, 2), gap("capture_error"))
    manifest = with_session(manifest, cwd="/p", transcript="/t", version=None)
    again = recounted(manifest, [exchange(2, model="m"), exchange(3, model="m", complete=False)])
    assert again.counts == {
        "exchanges": 2,
        "complete": 1,
        "incomplete": 1,
        "errors": 0,
        "capture_errors": 1,
    }
    assert (again.models, again.conflicts, again.cwd) == (["m"], 2, "/p")
    assert [gap["kind"] for gap in again.gaps] == ["capture_error"]


def test_a_recount_of_nothing_is_nothing() -> None:
    manifest = recounted(with_exchange(EMPTY, exchange()), [])
    assert (manifest.counts, manifest.first_seen) == ({"capture_errors": 0}, None)
