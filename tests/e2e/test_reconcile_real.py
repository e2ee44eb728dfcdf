"""Reconcile real clients: against the stand-in's ledger, their own totals, and tampered files."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.demo.stand_in.ledger import Served
from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.format import EXCHANGES
from ccwire.wire.usage import Tokens
from lab.made_session import write_lines
from tests.e2e.real_rig import NEWEST, Outcome, RealRig, real_rig
from tests.rig import copy_capture

pytestmark = pytest.mark.real

VERSIONS = (
    "1.0.0", "1.0.30", "1.0.100", "2.0.73", "2.1.39", "2.1.78", "2.1.98", "2.1.139", "2.1.168",
    "2.1.274", "2.1.325",
)  # fmt: skip

_ALSO_MIXED = ("1.0.30", "2.1.39", "2.1.325")


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRig]:
    with real_rig(NEWEST, tmp_path_factory.mktemp("newest")) as rig:
        yield rig


def reconcile(
    captures: Path, claude_dir: Path, session_id: str, *more: str
) -> tuple[dict[str, Any], int]:
    where = ["--captures", str(captures), "--claude-dir", str(claude_dir)]
    result = CliRunner().invoke(main, ["reconcile", session_id, "--json", *where, *more])
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout), result.exit_code


def report(real: RealRig, outcome: Outcome, *more: str) -> dict[str, Any]:
    real.wait_for(outcome.served)
    found, _ = reconcile(real.proxy.captures, real.claude_dir, outcome.session_id, *more)
    return found


def billed(served: Sequence[Served]) -> Tokens:
    return sum((Tokens.of(call.usage or call.start_usage) for call in served), Tokens())


@pytest.mark.parametrize("version", VERSIONS)
def test_wire_totals_equal_the_ledger_and_nothing_is_unexplained(
    version: str, tmp_path: Path
) -> None:
    with real_rig(version, tmp_path) as real:
        for name in ("subagent", "mix") if version in _ALSO_MIXED else ("subagent",):
            outcome = real.run(named(name))
            found = report(real, outcome)
            assert Tokens.of(found["totals"]["wire"]) == billed(outcome.served), name
            assert found["unexplained"] == 0, found
            assert found["claude_versions"] == [version]
            turns = [call for call in found["calls"] if call["transcript"] is not None]
            if name == "subagent":
                assert {call["kind"] for call in turns} == {"main", "subagent"}
                if version == "2.1.39":
                    assert {call["verdict"] for call in turns} == {"placeholder"}


@pytest.mark.parametrize("name", ["bash", "cached", "server_tool", "three_subagents"])
def test_the_wires_cost_equals_the_clients_to_the_last_digit(
    newest: RealRig, name: str, tmp_path: Path
) -> None:
    outcome = newest.run(named(name))
    printed = tmp_path / "printed.json"
    printed.write_text(outcome.run.stdout)
    found = report(newest, outcome, "--result", str(printed))
    result = outcome.run.result_json
    assert result is not None
    assert found["cost"]["wire_usd"] == found["cost"]["cost_state_usd"]
    assert found["cost"]["wire_usd"] == result["total_cost_usd"]
    assert {witness["name"]: witness["agrees"] for witness in found["witnesses"]} == {
        "cost-state": True,
        "result": True,
    }


def test_equal_usage_stays_two_calls(newest: RealRig) -> None:
    found = report(newest, newest.run(named("equal_usage")))
    main_calls = [call for call in found["calls"] if call["kind"] == "main"]
    assert [call["verdict"] for call in main_calls] == ["match", "match"]
    assert main_calls[0]["wire"] == main_calls[1]["wire"]


def test_a_fork_inherits_turns_and_counts_them_once(newest: RealRig) -> None:
    first = newest.run(named("bash"))
    fork = newest.run(named("plain"), "--resume", first.session_id, "--fork-session")
    found = report(newest, fork)
    assert {turn["verdict"] for turn in found["turns_without_call"]} == {"inherited"}
    assert found["unexplained"] == 0
    assert Tokens.of(found["totals"]["wire"]) == billed(fork.served)
    assert Tokens.of(found["totals"]["transcript"]) == Tokens.of(found["totals"]["wire"])


def test_turns_before_the_capture_began_are_before_capture(newest: RealRig, tmp_path: Path) -> None:
    first = newest.run(named("plain"))
    newest.wait_for(first.served)
    folder = newest.proxy.captures / first.session_id
    earlier = len((folder / EXCHANGES).read_bytes().splitlines())
    second = newest.run(named("bash"), "--resume", first.session_id)
    newest.wait_for(second.served)
    # What a proxy started later would have captured: the later exchanges, numbered from 1.
    later = [orjson.loads(line) for line in (folder / EXCHANGES).read_bytes().splitlines()]
    later = later[earlier:]
    for number, line in enumerate(later, 1):
        line["sequence"] = number
    copy = tmp_path / "captures" / first.session_id
    copy.mkdir(parents=True)
    write_lines(copy / EXCHANGES, later)
    found, code = reconcile(copy.parent, newest.claude_dir, first.session_id)
    assert [turn["verdict"] for turn in found["turns_without_call"]] == ["before-capture"]
    assert (found["unexplained"], code) == (0, 0)


def test_without_persistence_there_is_no_transcript(newest: RealRig) -> None:
    found = report(newest, newest.run(named("plain"), "--no-session-persistence"))
    assert {call["kind"] for call in found["calls"]} <= {"no-transcript", "auxiliary"}
    assert found["unexplained"] == 0


def _delete_exchange(lines: list[dict[str, Any]]) -> None:
    lines.remove([line for line in lines if line["kind"] == "messages"][-1])


def _alter_number(lines: list[dict[str, Any]]) -> None:
    [line for line in lines if line["kind"] == "messages"][-1]["usage"]["output_tokens"] += 1


def _remove_line(lines: list[dict[str, Any]]) -> None:
    lines.remove([line for line in lines if line["type"] == "assistant"][-1])


@pytest.mark.parametrize(
    ("tamper", "with_wire", "verdict"),
    [
        (_delete_exchange, True, "not-captured"),
        (_alter_number, True, "differs"),
        (_alter_number, False, "differs"),
        (_remove_line, False, "wire-only"),
    ],
)
def test_tampering_gives_exactly_that_finding(
    newest: RealRig,
    tmp_path: Path,
    tamper: Callable[[list[dict[str, Any]]], None],
    with_wire: bool,
    verdict: str,
) -> None:
    outcome = newest.run(named("bash"))
    newest.wait_for(outcome.served)
    session = outcome.session_id
    captures, claude_dir = tmp_path / "captures", tmp_path / "claude"
    copy_capture(newest.proxy.captures / session, captures / session)
    transcript = next(newest.claude_dir.rglob(f"{session}.jsonl"))
    copy = claude_dir / "projects" / transcript.parent.name / transcript.name
    copy.parent.mkdir(parents=True)
    shutil.copy(transcript, copy)
    (captures / session / "manifest.json").unlink()  # it has the path of the original transcript
    path = captures / session / EXCHANGES if with_wire else copy
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    if tamper is _alter_number and not with_wire:
        last = [line for line in lines if line["type"] == "assistant"][-1]
        last["message"]["usage"]["output_tokens"] -= 1
    else:
        tamper(lines)
    write_lines(path, lines)
    found, code = reconcile(captures, claude_dir, session)
    odd = [f for f in [*found["calls"], *found["turns_without_call"]] if not f["explained"]]
    assert [finding["verdict"] for finding in odd] == [verdict]
    assert (found["unexplained"], code) == (1, 1)
