import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from ccwire.cli import main
from ccwire.wire.format import EXCHANGES, Exchange, file_name
from ccwire.wire.vocabulary import Direction
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


def write(folder: Path, call: Exchange, direction: Direction, content: dict[str, Any]) -> None:
    path = folder / file_name(call.sequence, direction, call.path)
    path.write_bytes(orjson.dumps(content))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two calls of one thread, the second one message longer, and a side call without a turn."""
    made = MadeSession(SESSION)
    first = made.call(texts=("Hello there.",))
    side = made.call(in_transcript=False, request_class="auxiliary", tools=0)
    second = made.call(texts=("Goodbye.",))
    made.write(tmp_path / "claude", tmp_path / "captures")
    capture = tmp_path / "captures" / SESSION
    said = [{"role": "user", "content": "hi"}]
    for call, messages, answer in (
        (first, said, "Hello there."),
        (side, said, "{}"),
        (second, [*said, {"role": "assistant", "content": "Hello there."}], "Goodbye."),
    ):
        body = {"type": "json", "data": {"model": call.model, "messages": messages}}
        write(capture, call, "req", {"headers": {"anthropic-beta": "one, two"}, "body": body})
        content = [{"type": "text", "text": answer}]
        write(capture, call, "resp", {"message": {"id": call.message_id, "content": content}})
    return tmp_path


def run(folder: Path, *arguments: str, width: int = 160) -> Result:
    where = ["--captures", str(folder / "captures"), "--claude-dir", str(folder / "claude")]
    return CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["diff", *arguments, *where])


def test_a_request_is_compared_with_the_one_before_in_its_thread(folder: Path) -> None:
    (call,) = json.loads(run(folder, SESSION, "3", "--json").stdout)["calls"]
    assert call["previous"] == 1
    assert [(change["place"], change["change"]) for change in call["request"]] == [
        ("messages[1]", "added")
    ]
    assert [(block["type"], block["verdict"]) for block in call["answer"]] == [("text", "equal")]
    assert call["transcript"] == [f"{SESSION}.jsonl:2"]


def test_a_model_in_the_path_is_compared_too(folder: Path) -> None:
    capture = folder / "captures" / SESSION
    for path in capture.glob("*_req_*"):
        request = json.loads(path.read_bytes())
        del request["body"]["data"]["model"]
        path.write_text(json.dumps(request))
    lines = [json.loads(line) for line in (capture / EXCHANGES).read_bytes().splitlines()]
    lines[-1]["model"] = "anthropic.claude-opus-5-5"
    (capture / EXCHANGES).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (call,) = json.loads(run(folder, SESSION, "3", "--json").stdout)["calls"]
    assert [(change["place"], change["change"]) for change in call["request"]] == [
        ("messages[1]", "added"),
        ("model", "changed"),
    ]


def test_a_number_alone_is_a_call_of_the_latest_session(folder: Path) -> None:
    assert run(folder, "3").stdout == run(folder, SESSION, "3").stdout
    assert run(folder).stdout == run(folder, SESSION).stdout
    result = run(folder, "4321")
    assert (result.exit_code, result.stderr) == (
        2,
        f"ccwire: session {SESSION} has no call 4321; `ccwire reconcile 11111111 --captures "
        f"{folder / 'captures'} --claude-dir {folder / 'claude'}` lists the calls.\n",
    )


@pytest.mark.parametrize("arguments", [(), ("3",), ("--json",)])
def test_a_session_whose_capture_is_gone(folder: Path, arguments: tuple[str, ...]) -> None:
    unknown = folder / "captures" / "unknown"
    (folder / "captures" / SESSION).rename(unknown)
    assert run(folder, SESSION, *arguments).exit_code == 0
    line, *_ = (unknown / EXCHANGES).read_bytes().splitlines()
    other = {**json.loads(line), "pid": 1, "request_id": "x", "message_id": "x"}
    (unknown / EXCHANGES).write_bytes(orjson.dumps(other) + b"\n")
    ran = run(folder, SESSION, *arguments)
    assert ran.exit_code == 0
    assert "no call of this session was captured" in " ".join(ran.stdout.split())


def test_all_calls_are_shown_without_a_number(folder: Path) -> None:
    result = run(folder, SESSION)
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if line.startswith("call")] == [
        f"call {n} /v1/messages claude-opus-5-5" for n in (1, 2, 3)
    ]
    assert "answer: not in the transcript" in result.stdout


@pytest.mark.parametrize("width", [80, 160])
def test_the_lines_fit_the_terminal(folder: Path, width: int) -> None:
    assert max(map(len, run(folder, SESSION, width=width).stdout.splitlines())) <= width


def test_an_answer_that_was_kept_otherwise_is_exit_code_1(folder: Path) -> None:
    path = next((folder / "claude").rglob(f"{SESSION}.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"Goodbye.", b"Good day."))
    result = run(folder, SESSION, "3")
    assert result.exit_code == 1
    assert "[0] text changed at text, character 4" in result.stdout
    assert "wire:       Goodbye." in result.stdout
    assert "transcript: Good day." in result.stdout


def test_a_call_that_is_not_there_is_exit_code_2(folder: Path) -> None:
    result = run(folder, SESSION, "9")
    assert result.exit_code == 2
    assert "has no call 9" in result.stderr


def test_terminal_escapes_are_shown_not_sent(folder: Path) -> None:
    capture = folder / "captures" / SESSION
    path = next(capture.glob("0003_req_*"))
    said = {"role": "user", "content": "\x1b[31mred\ud800"}
    body = {"type": "json", "data": {"messages": [said]}}
    path.write_text(json.dumps({"headers": {}, "body": body}))
    shown = run(folder, SESSION, "3").stdout
    assert "\x1b" not in shown
    assert "\u241b[31mred\\ud800" in shown
    (call,) = json.loads(run(folder, SESSION, "3", "--json").stdout)["calls"]
    assert call["request"][0]["after"]["text"] == "\x1b[31mred\ud800"
