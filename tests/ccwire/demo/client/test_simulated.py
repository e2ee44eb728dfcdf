"""The simulated client against the stand-in: its calls, its transcript, its hooks."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.client.profiles import PROFILES, profile
from ccwire.demo.client.simulated import SimulatedClient
from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.server import StandIn

VERSIONS = tuple(PROFILES)


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn(scenarios.named("plain")) as started:
        yield started


class Lab:
    """A home, a working directory, and clients in them."""

    def __init__(self, tmp_path: Path, api: StandIn) -> None:
        self.home = tmp_path / "home"
        self.cwd = tmp_path / "My proj.v1"
        self.cwd.mkdir()
        self.api = api

    def client(self, version: str, **options: Any) -> SimulatedClient:
        return SimulatedClient(
            version, home=self.home, cwd=self.cwd, upstream=self.api.url, **options
        )

    def run(self, version: str, scenario: str, **options: Any) -> SimulatedClient:
        self.api.scenario = scenarios.named(scenario)
        client = self.client(version, **options)
        client.run(self.api.scenario.prompt)
        return client


@pytest.fixture
def lab(tmp_path: Path, api: StandIn) -> Lab:
    return Lab(tmp_path, api)


def lines(path: Path, *kinds: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if not kinds or line["type"] in kinds]


def all_lines(lab: Lab) -> list[dict[str, Any]]:
    paths = sorted((lab.home / ".claude" / "projects").rglob("*.jsonl"))
    return [line for path in paths for line in lines(path)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_is_on_the_wire_and_in_the_transcript(lab: Lab, version: str) -> None:
    client = lab.run(version, "bash")
    assert client.result()["result"] == "The command has run."
    assert client.transcript_path.parent.name.endswith("-My-proj-v1")
    served = {call.message_id: call for call in lab.api.ledger.messages()}
    written = lines(client.transcript_path, "assistant")
    assert [line["message"]["content"][0]["type"] for line in written] == ["tool_use", "text"]
    assert all(line["message"]["id"] in served for line in written)
    (prompt, result) = lines(client.transcript_path, "user")
    assert prompt["message"]["content"] == lab.api.scenario.prompt
    assert result["message"]["content"][0]["content"] == "lab-bash-was-here\n"
    assert {line["version"] for line in written} == {version}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usage_in_the_transcript_depends_on_the_release(lab: Lab, version: str) -> None:
    lab.run(version, "subagent")
    served = {call.message_id: call for call in lab.api.ledger.messages()}
    final: dict[bool, set[bool]] = {True: set(), False: set()}
    for line in all_lines(lab):
        if line["type"] == "assistant":
            truth = served[line["message"]["id"]].usage
            assert truth is not None
            is_final = line["message"]["usage"]["output_tokens"] == truth["output_tokens"]
            final[line["isSidechain"]].add(is_final)
    expected = {
        "final": ({True}, {True}),
        "last": ({True}, {True}),
        "placeholder": ({False}, {False}),
        "sidechain": ({False}, {True}),
    }
    assert (final[False], final[True]) == expected[profile(version).usage]


def test_of_a_split_answer_only_the_last_line_is_final_in_2_1_78(lab: Lab) -> None:
    client = lab.run("2.1.78", "thinking")
    first, second, _ = lines(client.transcript_path, "assistant")
    assert first["message"]["id"] == second["message"]["id"]
    assert first["message"]["usage"]["output_tokens"] == 2
    assert second["message"]["usage"]["output_tokens"] > 2


@pytest.mark.parametrize("version", VERSIONS)
def test_the_session_is_on_the_wire_from_1_0_100_on(lab: Lab, version: str) -> None:
    client = lab.run(version, "bash")
    expected = None if version in ("1.0.0", "1.0.30") else client.session_id
    assert {call.session_id for call in lab.api.ledger.messages()} == {expected}
    assert {call.session_id for call in lab.api.ledger.count_tokens()} <= {None}


@pytest.mark.parametrize(
    ("version", "pattern", "count"),
    [
        ("1.0.100", "*/agent-*.jsonl", 0),
        ("2.0.73", "*/agent-*.jsonl", 5),  # two of them warm-ups
        ("2.1.39", "*/*/subagents/agent-*.jsonl", 3),
        ("2.1.325", "*/*/subagents/agent-*.meta.json", 3),
    ],
)
def test_subagent_transcripts_are_where_the_release_writes_them(
    lab: Lab, version: str, pattern: str, count: int
) -> None:
    client = lab.run(version, "three_subagents")
    assert len(list((lab.home / ".claude" / "projects").glob(pattern))) == count
    inline = [line for line in lines(client.transcript_path) if line.get("isSidechain")]
    assert bool(inline) == (count == 0)


def test_a_newer_subagent_names_itself_in_headers(lab: Lab) -> None:
    lab.run("2.1.325", "subagent")
    calls = lab.api.ledger.messages()
    agents = {call.agent_id for call in calls if call.agent_id}
    classes = [call.headers["x-claude-code-request-class"] for call in calls]
    assert len(agents) == 1
    assert sorted(classes) == ["main", "main", "main", "subagent", "subagent"]


@pytest.mark.parametrize(
    ("version", "scenario", "streamed"),
    [
        ("2.0.73", "overloaded", [True, False]),
        ("2.1.39", "overloaded", [True, True]),
        ("2.1.39", "dropped", [True, False]),
        ("2.1.325", "dropped", [True, True]),
        ("2.1.325", "error_event", [True, False]),
        ("2.1.325", "rate_limited", [True, True]),
    ],
)
def test_a_failed_call_is_retried_as_its_release_does(
    lab: Lab, version: str, scenario: str, streamed: list[bool]
) -> None:
    lab.run(version, scenario)
    tries = [call for call in lab.api.ledger.messages() if call.tools > 4]
    assert [call.stream for call in tries] == streamed
    assert [call.attempt for call in tries] == [0, 1]
    assert all(call.headers.get("x-stainless-retry-count") == "0" for call in tries)


def test_each_failed_try_leaves_its_error_in_the_newest_transcript(lab: Lab) -> None:
    client = lab.run("2.1.325", "retry")
    failed = [call.request_id for call in lab.api.ledger.messages() if call.status == 529]
    errors = lines(client.transcript_path, "system")
    assert [line["error"]["requestId"] for line in errors] == failed
    assert [(line["retryAttempt"], line["retryInMs"]) for line in errors] == [(1, 500), (2, 1000)]


def test_a_prompt_that_is_too_long_gets_a_synthetic_answer(lab: Lab) -> None:
    client = lab.run("2.1.325", "too_long")
    (line,) = lines(client.transcript_path, "assistant")
    assert line["message"]["model"] == "<synthetic>"
    assert line["message"]["usage"]["output_tokens"] == 0
    assert client.result()["is_error"] is True


@pytest.mark.parametrize(("version", "aborted"), [("2.1.39", 0), ("2.1.325", 1)])
def test_an_interrupted_answer_is_cut_on_the_wire(lab: Lab, version: str, aborted: int) -> None:
    lab.api.scenario = scenarios.named("slow:deltas=400,delay=0.01")
    with lab.client(version, screen=True) as client:
        client.prompt("lab:slow go", interrupt_after=6)
    assert lab.api.ledger.wait(5)
    (call,) = [c for c in lab.api.ledger.messages() if c.tools]
    assert (call.ended, call.usage) == ("client_gone", None)
    written = lines(client.transcript_path, "assistant")
    assert [line["isAbortedMidStream"] for line in written] == [True] * aborted
    last = lines(client.transcript_path, "user")[-1]
    assert last["interruptedMessageId"] == call.message_id


def test_clear_continues_in_a_new_session(lab: Lab) -> None:
    with lab.client("2.1.325", screen=True) as client:
        first = client.session_id
        client.prompt("lab:plain one")
        client.clear()
        client.prompt("lab:plain two")
        assert client.session_id != first
    assert lab.api.ledger.sessions() == [first, client.session_id]
    assert [call.messages for call in lab.api.ledger.messages() if call.tools] == [1, 1]


def test_compact_leaves_a_boundary_and_no_assistant_line(lab: Lab) -> None:
    lab.api.scenario = scenarios.named("compact")
    with lab.client("2.1.325", screen=True) as client:
        client.prompt("lab:compact tell me")
        client.compact()
    (boundary,) = lines(client.transcript_path, "system")
    assert boundary["subtype"] == "compact_boundary"
    assert boundary["compactMetadata"]["trigger"] == "manual"
    assert len(lines(client.transcript_path, "assistant")) == 1
    classes = [c.headers["x-claude-code-request-class"] for c in lab.api.ledger.messages()]
    assert classes == ["auxiliary", "main", "compaction"]
    (state,) = lines(client.transcript_path, "cost-state")
    told = sum(used["outputTokens"] for used in state["modelUsage"].values())
    assert told == sum((call.usage or {})["output_tokens"] for call in lab.api.ledger.messages())


def test_a_resumed_session_grows_its_own_file(lab: Lab) -> None:
    first = lab.run("2.1.325", "bash")
    before = len(lines(first.transcript_path))
    again = lab.run("2.1.325", "bash", resume=first.session_id)
    assert again.session_id == first.session_id
    assert len(lines(again.transcript_path)) > before
    assert lab.api.ledger.messages()[-2].messages == 5


@pytest.mark.parametrize(("version", "fork"), [("2.1.325", True), ("1.0.100", False)])
def test_a_copied_session_has_old_ids_under_a_new_session(
    lab: Lab, version: str, fork: bool
) -> None:
    first = lab.run(version, "bash")
    copy = lab.run(version, "bash", resume=first.session_id, fork=fork)
    assert copy.session_id != first.session_id
    old = [line["message"]["id"] for line in lines(first.transcript_path, "assistant")]
    new = lines(copy.transcript_path, "assistant")
    assert [line["message"]["id"] for line in new][:2] == old
    assert {line["sessionId"] for line in new} == {copy.session_id}
    assert lines(copy.transcript_path)[0]["type"] == ("summary" if not fork else "user")


def test_a_fork_carries_the_costs_it_inherits(lab: Lab) -> None:
    first = lab.run("2.1.325", "bash")
    fork = lab.run("2.1.325", "bash", resume=first.session_id, fork=True)
    (before,) = lines(first.transcript_path, "cost-state")
    (after,) = lines(fork.transcript_path, "cost-state")
    assert after["totalCostUSD"] > before["totalCostUSD"] > 0


def test_without_persistence_nothing_is_written(lab: Lab) -> None:
    lab.run("2.1.325", "bash", persist=False)
    assert not (lab.home / ".claude" / "projects").exists()


def test_resuming_an_unknown_session_is_an_error(lab: Lab) -> None:
    with pytest.raises(ValueError, match="no session"):
        lab.client("2.1.325", resume="00000000-0000-4000-8000-000000000000")


def hook_settings(log: Path, *events: str) -> dict[str, Any]:
    command = f"cat >> {log}; echo >> {log}; echo $CLAUDE_PID >> {log}.pid"
    group = [{"hooks": [{"type": "command", "command": command}]}]
    return {"hooks": dict.fromkeys(events, group)}


def test_hooks_run_in_order_with_their_payload(lab: Lab, tmp_path: Path) -> None:
    log = tmp_path / "hooks"
    events = ("SessionStart", "UserPromptSubmit", "SubagentStop", "Stop", "SessionEnd")
    client = lab.run("2.1.325", "subagent", settings=hook_settings(log, *events))
    told = lines(log)
    assert [payload["hook_event_name"] for payload in told] == list(events)
    assert {payload["session_id"] for payload in told} == {client.session_id}
    assert {payload["transcript_path"] for payload in told} == {str(client.transcript_path)}
    assert told[0]["source"] == "startup"
    assert told[3]["last_assistant_message"] == "Understood."
    assert Path(told[2]["agent_transcript_path"]).is_file()
    assert log.with_suffix(".pid").read_text().split() == [str(os.getpid())] * 5


@pytest.mark.parametrize(("version", "events"), [("1.0.100", 0), ("2.0.73", 3)])
def test_an_unknown_event_disables_every_hook_of_an_old_client(
    lab: Lab, tmp_path: Path, version: str, events: int
) -> None:
    log = tmp_path / "hooks"
    settings = hook_settings(log, "SessionStart", "SubagentStart", "SessionEnd", "Stop")
    lab.run(version, "plain", settings=settings)
    told = lines(log) if log.exists() else []
    assert len([p for p in told if p["hook_event_name"] != "SubagentStart"]) == events


def test_hooks_of_user_and_project_are_run_too(lab: Lab, tmp_path: Path) -> None:
    for folder in (lab.home, lab.cwd):
        path = folder / ".claude" / "settings.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(hook_settings(tmp_path / "hooks", "Stop")))
    overlay = tmp_path / "overlay.json"
    overlay.write_text(json.dumps(hook_settings(tmp_path / "hooks", "Stop")))
    lab.run("2.1.325", "plain", settings=str(overlay))
    assert len(lines(tmp_path / "hooks")) == 3


def test_the_live_record_is_there_until_the_end(lab: Lab) -> None:
    record = lab.home / ".claude" / "sessions" / f"{os.getpid()}.json"
    with lab.client("2.1.325", screen=True) as client:
        assert json.loads(record.read_text())["sessionId"] == client.session_id
        client.clear()
        assert json.loads(record.read_text())["sessionId"] == client.session_id
    assert not record.exists()


def test_newer_clients_still_send_after_the_end(lab: Lab) -> None:
    client = lab.run("2.1.325", "plain")
    last = lab.api.ledger.calls()[-1]
    assert last.kind == "event_logging"
    assert last.session_id is None
    assert client.session_id not in last.headers.values()


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
def test_compressed_answers_are_understood(lab: Lab, encoding: str) -> None:
    assert lab.run("2.1.325", encoding).result()["result"] == (
        f"A plain answer, sent as {encoding}."
    )


def command_line(lab: Lab, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    lab.home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "ccwire.demo.client", *arguments],
        env={"HOME": str(lab.home), "PATH": "/usr/bin:/bin", **env},
        cwd=lab.cwd,
        input="lab:plain one\n/clear\nlab:plain two\n/exit\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_as_a_program_it_takes_the_clients_flags(lab: Lab) -> None:
    done = command_line(
        *(lab, "--as", "2.1.39", "-p", "lab:plain", "--output-format", "json"),
        *("--session-id", "00000000-0000-4000-8000-000000000001"),
        ANTHROPIC_BASE_URL=lab.api.url,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["session_id"] == "00000000-0000-4000-8000-000000000001"
    assert lab.api.ledger.messages()[0].headers["user-agent"] == (
        "claude-cli/2.1.39 (external, sdk-cli)"
    )


def test_as_a_program_it_takes_prompts_line_by_line(lab: Lab) -> None:
    done = command_line(lab, ANTHROPIC_BASE_URL=lab.api.url)
    assert done.stdout.splitlines() == ["A plain answer from the lab."] * 2
    assert len(lab.api.ledger.sessions()) == 2


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (("--as", "1.0.30", "-p", "x", "--settings", "{}"), {}, "unknown option '--settings'"),
        (("-p", "x"), {}, "HTTPS_PROXY"),
        (("-p", "x"), {"HTTPS_PROXY": "http://proxy.example:1"}, "not a loopback address"),
    ],
)
def test_unsupported_arguments_are_errors(
    lab: Lab, arguments: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    done = command_line(lab, *arguments, **env)
    assert done.returncode == 1
    assert said in done.stderr
    assert lab.api.ledger.calls() == []
