import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from addon.storage.packing.pack import pack_session
from addon.storage.registry import register
from ccwire.cli import main
from ccwire.wire.format import EXCHANGES, Exchange, file_name
from ccwire.wire.vocabulary import Direction
from lab.made_session import MadeSession
from tests.recorded import SESSION as RECORDED
from tests.recorded import Recorded

SESSION = "11111111-2222-4333-8444-555555555555"
SECRET = "sk-ant-" + "api03-" + "Z9y8X7w6" * 8
LONG = "\n".join(f"This is line {number} of the prompt." for number in range(1, 101))
HEADERS = {"x-api-key": "<redacted:api_key:01>", "anthropic-beta": "one,two", "x-app": "cli"}


def write(folder: Path, call: Exchange, direction: Direction, content: dict[str, Any]) -> None:
    path = folder / file_name(call.sequence, direction, call.path)
    path.write_bytes(orjson.dumps(content))


def request(data: Any, kind: str = "json", **more: Any) -> dict[str, Any]:
    body = {"type": kind, "size": 1234} | ({} if data is None else {"data": data})
    url = "https://api.anthropic.com/v1/messages"
    return {
        "method": "POST",
        "url": url,
        "auth": "api_key",
        "headers": HEADERS,
        "body": body,
        **more,
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A call, telemetry, a page of a gateway, a call signed for AWS, and one without an answer."""
    made = MadeSession(SESSION)
    call = made.call(served_model="claude-opus-5-5-20260901", first_byte_ms=400.0)
    log = made.call(kind="event_logging", path="/api/event_logging/batch", model=None, usage=None)
    page = made.call(status=502, error="502: Bad gateway", usage=None, ended_by="http_end")
    bedrock = made.call(host="bedrock-runtime.us-east-1.amazonaws.com", usage=None, complete=False)
    silent = made.call(status=None, usage=None, complete=False, error="connection refused")
    made.write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / SESSION
    marker = {"type": "ephemeral", "ttl": "1h"}
    block = {"type": "text", "text": LONG, "cache_control": marker}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "some output"}
    data = {
        "model": call.model,
        "max_tokens": 32000,
        "temperature": 1,
        "stream": True,
        "system": [{"type": "text", "text": "You are a made-up assistant."}],
        "tools": [{"name": "Bash"}, {"name": "mcp__lamp__on"}, {"name": "mcp__lamp__off"}],
        "messages": [
            {"role": "user", "content": [block]},
            {"role": "assistant", "content": "I will."},
            {"role": "user", "content": [result]},
        ],
    }
    write(folder, call, "req", request(data))
    content = [
        {"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"},
        {"type": "text", "text": "Here it is."},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls -l"}},
    ]
    message = {"content": content, "stop_reason": "tool_use", "usage": call.usage}
    events = [{"event": "ping", "at_ms": 12.5, "data": {"type": "ping", "text": "x" * 300}}]
    body: dict[str, Any] = {"type": "sse", "size": 567, "events": events}
    write(folder, call, "resp", {"headers": {"server": "lab"}, "message": message, "body": body})
    write(folder, log, "req", request({"events": [{"name": "start"}]}))
    body = {"type": "json", "size": 2, "data": {}}
    write(folder, log, "resp", {"headers": {}, "message": None, "body": body})
    write(folder, page, "req", request("not json", "text"))
    body = {"type": "text", "size": 30, "data": "<html>\x1b[31mBad gateway</html>"}
    write(folder, page, "resp", {"headers": {}, "message": None, "body": body})
    write(folder, bedrock, "req", request(data, auth="sigv4"))
    body = {"type": "eventstream", "size": 99, "events": events, "decode_error": "bad checksum"}
    message = {"content": [{"type": "text", "text": "It sta"}]}
    write(folder, bedrock, "resp", {"headers": {}, "message": message, "body": body})
    write(folder, silent, "req", request(None, "binary"))
    return tmp_path


def run(root: Path, *arguments: str, width: int = 100) -> Result:
    where = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    return CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["show", *arguments, *where])


def printed(root: Path, *arguments: str, width: int = 100) -> str:
    ran = run(root, *arguments, width=width)
    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    return ran.stdout


def error(root: Path, *arguments: str) -> str:
    ran = run(root, *arguments)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("ccwire: ") and ran.stderr.count("\n") == 1
    return ran.stderr.removeprefix("ccwire: ").strip()


def test_the_exchanges_are_listed(root: Path) -> None:
    rows = [line.split() for line in printed(root, "--calls", width=160).splitlines()[2:7]]
    assert [(row[0], row[2], row[4]) for row in rows] == [
        ("1", "messages", "200"),
        ("2", "event_logging", "200"),
        ("3", "messages", "502"),
        ("4", "messages", "200,"),
        ("5", "messages", "no"),
    ]
    assert "This is line 1 of" in " ".join(rows[0])
    assert rows[1][-1] == "/api/event_logging/batch"
    listed = printed(root, "--calls")
    assert printed(root, "latest", "--calls") == printed(root, SESSION[:4], "--calls") == listed


def test_the_list_has_room_for_the_prompt(root: Path) -> None:
    first = printed(root, "--calls", width=80).splitlines()[2]
    assert "This is line 1 of the p" in first and first.endswith("…")


def table(printed_list: str) -> list[str]:
    """Return the lines of the table, the header first."""
    lines = printed_list.splitlines()
    return lines[next(at for at, line in enumerate(lines) if line.strip().startswith("#")) :]


def test_the_list_in_full_cuts_nothing(root: Path) -> None:
    header, first, *_ = table(printed(root, "--calls", "--full", width=60))
    names = ("#", "time", "kind", "model", "status", "input", "output", "last prompt or path")
    assert header.split() == " ".join(names).split()
    assert first.endswith(" ".join(LONG.split()))
    assert "13,405" in first


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_calls_of_a_subagent_are_marked(tmp_path: Path, width: int) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(agent_id="a1b2c3d4e5f6", in_transcript=False)
    made.call(agent_id="a7", agent_type="Explore", in_transcript=False)
    made.write(tmp_path / "claude", tmp_path / "captures")
    header, *rows = table(printed(tmp_path, "--calls", width=width))
    at = header.index("agent")
    assert [row[at : at + 8].strip() for row in rows[:3]] == ["", "a1b2c3d4", "Explore"]


def test_the_list_as_json(root: Path) -> None:
    listed = json.loads(printed(root, "--calls", "--json"))
    assert listed["session_id"] == SESSION
    assert [one["sequence"] for one in listed["exchanges"]] == [1, 2, 3, 4, 5]
    assert listed["exchanges"][0]["last_user_text"].startswith("This is line 1")
    assert listed["exchanges"][1]["last_user_text"] is None
    assert [one["in_flight"] for one in listed["exchanges"]] == [False] * 5


def test_a_number_alone_is_of_the_latest_session(root: Path) -> None:
    assert printed(root, "1") == printed(root, "latest", "1") == printed(root, SESSION[:8], "1")


def test_an_exchange_as_a_person_wants_it(root: Path) -> None:
    shown = printed(root, "1", width=200)
    head, _, request_title, *_ = shown.splitlines()
    assert head.startswith("session 11111111 · exchange 1 · 2026-")
    assert head.endswith(
        " · POST api.anthropic.com/v1/messages · claude-opus-5-5, "
        "served by claude-opus-5-5-20260901 · 200 · 1.5 s · first byte 400 ms"
    )
    assert request_title == "request  1,234 bytes"
    for part in (
        "  model claude-opus-5-5\n  max_tokens 32000\n  temperature 1\n  stream true\n",
        "  betas one, two\n",
        "  system  1 block, 53 bytes\n    1 text  53 bytes\n      You are a made-up assistant.\n",
        "  tools  3 tools, 64 bytes\n    Bash 15\n",
        "    MCP lamp  2 tools, 49 bytes: on 24 · off 25\n",
        "    1 user · text  3,263 bytes  [cache ephemeral 1h]\n      This is line 1 of the prompt.",
        "line 3 of the prompt.\n      … 3,002 more characters (--full)\n",
        "    2 assistant · text  9 bytes\n      I will.\n",
        "    3 user · tool_result  64 bytes\n      some output\n",
        "answer  567 bytes · tool_use\n    thinking  65 bytes\n      Let me think.\n",
        '    tool_use Bash  70 bytes\n      {\n        "command": "ls -l"\n      }\n',
        "  usage input 4 · output 100 · cache read 12,700 · ",
        "cache write 5m 501 · cache write 1h 200\n",
    ):
        assert part in shown
    assert "x-api-key" not in shown


def test_full_shortens_nothing(root: Path) -> None:
    shown = printed(root, "1", "--full")
    assert "--full" not in shown
    for line in LONG.splitlines():
        assert f"      {line}\n" in shown


def test_full_has_the_tools_whole(root: Path) -> None:
    path = next((root / "captures" / SESSION).glob("0001_req_*"))
    tool = {"name": "mcp__lamp__on", "description": "Light it.", "input_schema": {"type": "object"}}
    path.write_bytes(orjson.dumps(request({"messages": [], "tools": [tool]})))
    assert "Light it." not in printed(root, "1", "--request")
    shown = printed(root, "1", "--request", "--full")
    text = '      Light it.\n      input_schema {\n        "type": "object"\n      }\n'
    assert f"    mcp__lamp__on  83 bytes\n{text}" in shown


def test_headers_are_shown_on_request(root: Path) -> None:
    shown = printed(root, "1", "--headers")
    assert "    x-api-key: <redacted:api_key:01>\n" in shown
    assert "    server: lab\n" in shown
    assert "server: lab" not in printed(root, "1", "--request", "--headers")


def test_only_what_was_sent_or_only_the_answer(root: Path) -> None:
    sent, received = printed(root, "1", "--request"), printed(root, "1", "--response")
    assert "messages  3 messages" in sent and "Here it is." not in sent
    assert "Here it is." in received and "messages  3 messages" not in received


def test_older_messages_are_on_one_line_each(root: Path) -> None:
    path = next((root / "captures" / SESSION).glob("0001_req_*"))
    messages = [{"role": "user", "content": f"word {n}\n" * 50} for n in range(1, 31)]
    path.write_bytes(orjson.dumps(request({"messages": messages})))
    lines = printed(root, "1", "--request", width=60).splitlines()
    (first,) = [line for line in lines if line.startswith("    1 user")]
    assert first == "    1 user · text  428 bytes  word 1 word 1 word 1 word 1 w…"
    assert max(map(len, lines)) <= 60
    at = lines.index("    11 user · text  452 bytes")
    assert lines[at + 1] == "      word 11"


def test_the_events_of_a_stream(root: Path) -> None:
    (line,) = printed(root, "1", "--events").splitlines()
    assert line.split()[:3] == ["12.50", "ms", "ping"]
    assert len(line) == 100 and line.endswith("…")
    (whole,) = printed(root, "1", "--events", "--full").splitlines()
    assert whole.endswith('x"}')
    assert json.loads(printed(root, "1", "--events", "--json"))[0]["at_ms"] == 12.5


def test_one_message_is_whole(root: Path) -> None:
    shown = printed(root, "1", "--message", "1")
    assert "This is line 100 of the prompt." in shown and "made-up assistant" not in shown
    message = json.loads(printed(root, "1", "--message", "2", "--json"))
    assert message == {"role": "assistant", "content": "I will."}


def test_json_is_that_of_the_files(root: Path) -> None:
    folder = root / "captures" / SESSION
    sent = json.loads(next(folder.glob("0001_req_*")).read_bytes())
    received = json.loads(next(folder.glob("0001_resp_*")).read_bytes())
    both = json.loads(printed(root, "1", "--json"))
    assert both == {"request": sent, "response": received}
    assert json.loads(printed(root, "1", "--request", "--json")) == sent
    assert json.loads(printed(root, "1", "--response", "--json")) == received


@pytest.mark.parametrize("packed", [False, True])
def test_raw_is_what_is_stored(recorded: Recorded, tmp_path: Path, packed: bool) -> None:
    folder = tmp_path / "captures" / RECORDED
    folder.mkdir(parents=True)
    for path in (recorded.captures / RECORDED).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    files = {path.name: path.read_bytes() for path in folder.glob("000*_re*.json")}
    if packed:
        pack_session(folder, now=float("inf"))
        assert not list(folder.glob("000*_re*.json"))
    for number in {int(name[:4]) for name in files}:
        sent, received = (
            next(data for name, data in files.items() if name.startswith(f"{number:04d}_{kind}_"))
            for kind in ("req", "resp")
        )
        assert run(tmp_path, str(number), "--raw").stdout_bytes == sent + received
        assert run(tmp_path, str(number), "--raw", "--request").stdout_bytes == sent
        assert run(tmp_path, str(number), "--raw", "--response").stdout_bytes == received


def test_a_recorded_session_is_the_same_packed(recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "captures" / RECORDED
    folder.mkdir(parents=True)
    for path in (recorded.captures / RECORDED).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    listed = json.loads(printed(tmp_path, "--calls", "--json"))
    numbers = [one["sequence"] for one in listed["exchanges"]]
    calls = [(), ("--calls",), *((str(number),) for number in numbers)]
    before = [printed(tmp_path, *arguments) for arguments in calls]
    pack_session(folder, now=float("inf"))
    assert [printed(tmp_path, *arguments) for arguments in calls] == before


def test_a_curl_command_leaves_the_secret_to_a_variable(root: Path) -> None:
    ran = run(root, "1", "--curl")
    assert ran.exit_code == 0
    assert ran.stdout.startswith("head -c ")
    assert "-H 'x-api-key: '\"${ANTHROPIC_API_KEY}\"" in ran.stdout
    assert ran.stderr == "Set ANTHROPIC_API_KEY first: captures contain no secret.\n"


def test_a_call_that_is_signed_cannot_be_repeated(root: Path) -> None:
    assert error(root, "4", "--curl").startswith(
        "exchange 4 cannot be repeated with curl: it was signed for AWS"
    )
    assert "its body (binary) is not stored" in error(root, "5", "--curl")


def test_every_kind_of_exchange_can_be_shown(root: Path) -> None:
    log, page = printed(root, "2"), printed(root, "3")
    assert '      "name": "start"' in log and "answer  2 bytes\n  {}\n" in log
    assert "\n502: Bad gateway\n" in page and "  <html>␛[31mBad gateway</html>\n" in page
    assert "request  1,234 bytes\n  not json\n" in page
    cut = printed(root, "4")
    assert "200, cut off" in cut and "      It sta\n" in cut
    assert "  not decoded to its end: bad checksum\n" in cut
    assert "  the answer is not whole; it ended by message_stop\n" in cut
    silent = printed(root, "5")
    assert "no answer" in silent and "connection refused" in silent
    assert "The response file is missing.\n" in silent
    assert "request  1,234 bytes\n  not stored\n" in silent


def test_an_exchange_in_flight(root: Path) -> None:
    folder = root / "captures" / SESSION
    line, *_ = (folder / EXCHANGES).read_bytes().splitlines()
    (folder / EXCHANGES).write_bytes(line + b"\n")
    head = {"sequence": 2, "flow_id": "f", "timestamp": 1_794_000_009.0}
    target = {"host": "api.anthropic.com", "path": "/v1/messages"}
    path = next(folder.glob("0002_req_*"))
    path.write_bytes(orjson.dumps(request({"messages": []}) | head | target))
    next(folder.glob("0002_resp_*")).unlink()
    (folder / path.name.replace("_req_", "_resp_").replace(".json", ".part")).write_bytes(b"")
    assert "in flight" in printed(root, "--calls")
    shown = printed(root, "2")
    assert " · in flight\n" in shown
    assert shown.endswith("\nThe answer is not stored yet: the exchange is in flight.\n")
    assert error(root, "2", "--response").startswith("exchange 2 is in flight; ")
    ran = run(root, "2", "--raw")
    assert (ran.exit_code, ran.stderr) == (0, "Exchange 2 has no response file.\n")


def test_a_call_of_another_session_in_unknown_is_not_shown(root: Path) -> None:
    unknown = root / "captures" / "unknown"
    (root / "captures" / SESSION).rename(unknown)
    lines = (unknown / EXCHANGES).read_bytes().splitlines()
    other = {**json.loads(lines[1]), "pid": 1, "request_id": "x", "message_id": "x"}
    (unknown / EXCHANGES).write_bytes(lines[0] + b"\n" + orjson.dumps(other) + b"\n")
    assert "Here it is." in printed(root, SESSION, "1")
    for option in ("--raw", "--json", "--request"):
        assert "has no exchange 2; it has only 1, and " in error(root, SESSION, "2", option)


def without_capture(root: Path) -> None:
    """Leave the transcript, and calls in `unknown/` that are none of its."""
    unknown = root / "captures" / "unknown"
    (root / "captures" / SESSION).rename(unknown)
    lines = map(json.loads, (unknown / EXCHANGES).read_bytes().splitlines())
    others = ({**line, "pid": 1, "request_id": "x", "message_id": "x"} for line in lines)
    calls = [line for line in others if line["status"] == 200]
    (unknown / EXCHANGES).write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in calls))


@pytest.mark.parametrize("arguments", [("--calls",), ("1",), ("1", "--raw"), ("--calls", "--json")])
def test_a_session_whose_capture_is_gone(root: Path, arguments: tuple[str, ...]) -> None:
    without_capture(root)
    sentence = f"session {SESSION} has a transcript but no captured call; if it was captured, "
    assert error(root, SESSION, *arguments).startswith(sentence)


def test_the_calls_without_a_session_can_be_shown(root: Path) -> None:
    assert error(root, "unknown").startswith("every exchange in ")
    without_capture(root)
    shown = printed(root, "unknown", width=300)
    assert shown.startswith("session unknown · 3 exchanges · ")
    where = f"--captures {root / 'captures'} --claude-dir {root / 'claude'}"
    assert f"`ccwire show unknown N {where}` shows one of them." in shown
    assert "Here it is." in printed(root, "unknown", "1")
    assert "POST" in run(root, "unknown", "1", "--raw", "--request").stdout
    assert "session unknown has no exchange 9; it has 1 to 4" in error(root, "unknown", "9")


def test_of_several_unknown_folders_the_one_written_last_is_shown(
    root: Path, ccwire_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_capture(root)
    older, newer = root / "captures" / "unknown", root / "newer" / "unknown"
    newer.mkdir(parents=True)
    first, *_ = (older / EXCHANGES).read_bytes().splitlines()
    (newer / EXCHANGES).write_bytes(first + b"\n")
    for file in older.iterdir():
        os.utime(file, (1.0, 1.0))
    for folder in (older, newer):
        register(folder.parent, ccwire_home)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root / "claude"))
    ran = CliRunner().invoke(main, ["show", "unknown"])
    assert ran.stdout.startswith("session unknown · 1 exchange · ")
    assert "`ccwire show unknown N` shows" in ran.stdout
    assert ran.stderr == f"ccwire: {newer} was written last; there is also {older}\n"


def test_a_hint_names_the_folders_that_were_given(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures, claude = root / "captures", root / "claude"
    where = f"--captures {captures} --claude-dir {claude}"
    assert f"`ccwire show 11111111 N {where}` shows one" in printed(root, "--calls", width=300)
    for arguments in (("99",), ("--request",)):
        assert f"`ccwire show 11111111 --calls {where}` lists them." in error(root, *arguments)
    monkeypatch.setenv("CCWIRE_CAPTURES", str(captures))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    ran = CliRunner().invoke(main, ["show", "--calls"])
    assert "`ccwire show 11111111 N` shows one" in ran.stdout


def test_a_run_is_named_in_a_hint_as_it_may_be_given(tmp_path: Path) -> None:
    name = "run-20261116-174133-1f3a"
    made = MadeSession(name)
    made.call()
    made.write(tmp_path / "claude", tmp_path / "captures")
    assert "`ccwire show run-1f3a N " in printed(tmp_path, name)
    assert "exchange 1" in printed(tmp_path, "run-1f3a", "1")


def test_a_damaged_file_is_named_and_the_rest_is_shown(root: Path) -> None:
    next((root / "captures" / SESSION).glob("0001_req_*")).write_bytes(b"\xff")
    shown = printed(root, "1")
    assert "The request file is damaged (" in shown and "Here it is." in shown
    assert "request to show: the request file is damaged (" in error(root, "1", "--request")
    assert run(root, "1", "--raw", "--request").stdout_bytes == b"\xff"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("99",), f"session {SESSION} has no exchange 99; it has 1 to 5, and "),
        (("latest", "0"), "has no exchange 0; it has 1 to 5"),
        (("99", "--raw"), "has no exchange 99; it has 1 to 5"),
        (("nosuch",), "no session 'nosuch'"),
        (("1", "--message", "4"), "exchange 1 has no message 4; it has 3, counted from 1."),
        (("2", "--message", "1"), "exchange 2 has no message 1; it has none."),
        (("2", "--events"), "the answer was not streamed; leave out --events to see it."),
        (
            ("5", "--raw", "--response"),
            "exchange 5 has no answer to show: the response file is missing.",
        ),
        (("1", "--request", "--response"), "--request and --response exclude each other"),
        (("1", "--raw", "--json"), "--raw and --json exclude each other"),
        (("1", "--raw", "--events"), "leave out --events or --raw."),
        (("1", "--curl", "--json"), "--curl and --json exclude each other"),
        (("1", "--headers", "--message", "1"), "--headers has no effect with --message"),
        (("--request",), "give the number of the exchange to show; `"),
        (("--raw",), "give the number of the exchange to show; `"),
        (("--answer", "--calls"), "--answer and --calls exclude each other"),
        (("1", "--answer"), "--answer is about the whole session; leave out N"),
        (("--markdown", "--json"), "--markdown and --json exclude each other"),
        (("--turn", "1"), "--turn chooses an answer; give --answer too."),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    root: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in error(root, *arguments)


def test_a_session_without_exchanges(root: Path) -> None:
    (root / "captures" / SESSION / EXCHANGES).write_bytes(b"")
    for path in (root / "captures" / SESSION).glob("000*"):
        path.unlink()
    assert printed(root, "--calls").strip() == f"session {SESSION} · 0 exchanges"
    assert "has no exchange yet" in error(root, "1")


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize(
    "arguments", [(), ("--calls",), ("1",), ("1", "--headers"), ("3",), ("1", "--events")]
)
def test_the_lines_fit_the_terminal(root: Path, width: int, arguments: tuple[str, ...]) -> None:
    lines = printed(root, *arguments, width=width).splitlines()
    lines = [line for line in lines if not line.startswith("`ccwire show ")]  # to be copied whole
    assert max(map(len, lines)) <= width


def test_no_part_of_a_secret_that_is_cut_is_shown(root: Path) -> None:
    """Captures are redacted; a secret of a kind that was not known then is found when shown."""
    path = next((root / "captures" / SESSION).glob("0001_req_*"))
    text = "x" * 230 + " " + SECRET + " y" * 500
    path.write_bytes(orjson.dumps(request({"messages": [{"role": "user", "content": text}]})))
    for arguments in ((), ("1",), ("1", "--full"), ("1", "--json"), ("1", "--message", "1")):
        assert SECRET[:9] not in printed(root, *arguments)
    assert SECRET[:9] not in run(root, "1", "--curl").stdout
    assert SECRET in run(root, "1", "--raw").stdout


def test_a_large_call_is_not_printed_whole(root: Path) -> None:
    path = next((root / "captures" / SESSION).glob("0001_req_*"))
    messages = [{"role": "user", "content": "word " * 1000} for _ in range(1000)]
    path.write_bytes(orjson.dumps(request({"messages": messages})))
    assert path.stat().st_size > 5_000_000
    assert len(printed(root, "1")) < 150_000


def test_what_was_sent_is_shown_without_mitmproxy_and_prices(root: Path) -> None:
    code = (
        "import sys; from ccwire.cli import main\n"
        f"main(['show', '1', '--request', '--captures', {str(root / 'captures')!r}, "
        f"'--claude-dir', {str(root / 'claude')!r}], standalone_mode=False)\n"
        "print(sorted({'mitmproxy', 'genai_prices', 'jinja2'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\n[]\n")


def conversation(root: Path, *, captured: bool = True) -> None:
    made = MadeSession(SESSION)
    made.prompt(f"Please look; my key is {SECRET}.")
    made.call(("thinking", "tool_use"), texts=("Let me see.", "ls -l"))
    made.tool_result(LONG)
    made.call(texts=("It is all there.",))
    made.write(root / "claude", root / "captures" if captured else None)
    (root / "captures").mkdir(exist_ok=True)


def test_without_a_number_the_conversation_is_shown(tmp_path: Path) -> None:
    conversation(tmp_path)
    shown = printed(tmp_path, width=200)
    assert shown.startswith(f"session {SESSION} · 1 prompt · 2026-")
    assert "answer · exchange 1\n  thinking, 11 characters\n  Let me see.\n" in shown
    assert '  Bash { "command": "ls -l", "description": "A made-up command" }\n' in shown
    assert "    This is line 3 of the prompt.\n    … 3,002 more characters (--full)\n" in shown
    assert shown.endswith("answer · exchange 2\n  It is all there.\n")
    assert "my key is <redacted:" in shown and SECRET not in shown
    assert "    This is line 100 of the prompt.\n" in printed(tmp_path, "--full", width=200)


def test_the_prompts_of_an_abandoned_branch_are_not_counted(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("one")
    made.call()
    answered = made.lines[-1]["uuid"]
    made.prompt("abandoned")
    made.prompt("two")
    made.lines[-1]["parentUuid"] = answered
    made.call()
    os.utime(made.write(tmp_path / "claude"), (1.0, 1.0))
    (tmp_path / "captures").mkdir()
    assert printed(tmp_path).startswith(f"session {SESSION} · 2 prompts · ")
    assert "has no prompt 3" in error(tmp_path, "--answer", "--turn", "3")


def test_a_conversation_needs_no_capture(tmp_path: Path) -> None:
    conversation(tmp_path, captured=False)
    shown = printed(tmp_path, SESSION[:8])
    assert "It is all there." in shown and "exchange" not in shown
    assert printed(tmp_path, SESSION, "--answer") == "It is all there.\n"
    assert "has a transcript but no capture" in error(tmp_path, SESSION, "1")
    assert "has a transcript but no capture" in error(tmp_path, SESSION, "--calls")


def test_a_conversation_as_json(tmp_path: Path) -> None:
    conversation(tmp_path)
    told = json.loads(printed(tmp_path, "--json"))
    assert (told["session_id"], told["from"]) == (SESSION, "transcript")
    items = told["items"]
    assert [item["kind"] for item in items] == ["prompt", "thinking", "tool", "answer"]
    assert (items[2]["result"], items[2]["title"], items[2]["call"]) == (LONG, "Bash", 1)


def test_a_conversation_as_markdown(tmp_path: Path) -> None:
    conversation(tmp_path)
    shown = printed(tmp_path, "--markdown", width=200)
    assert shown.startswith("# Session 11111111\n")
    assert "`Bash`\n```\n{" in shown and f"result, {len(LONG):,} characters:\n```\nThis is" in shown
    assert shown.endswith("answer · exchange 2\n\nIt is all there.\n")


def test_what_the_clients_files_say_of_a_session_is_shown(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Please look at the file.")
    made.call(texts=("It is a list.",))
    made.system("compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9000})
    made.prompt("The summary.")
    made.lines[-1]["isCompactSummary"] = True
    made.call(texts=("As I said.",))
    made.lines[-1] |= {"gitBranch": "lamp", "slug": "happy-otter"}
    made.write(tmp_path / "claude", tmp_path / "captures")
    todos = [{"content": f"Use {SECRET}", "status": "completed"}, {"content": "Go home"}]
    for folder, name, text in (
        ("todos", f"{SESSION}-agent-{SESSION}.json", json.dumps(todos)),
        ("plans", "happy-otter.md", "# The plan\n" + "a step\n" * 900),
    ):
        (tmp_path / "claude" / folder).mkdir()
        (tmp_path / "claude" / folder / name).write_text(text)
    text = printed(tmp_path, SESSION)
    assert "branch HEAD, lamp · name happy-otter · 1 compaction" in text
    assert "compacted · auto · 9,000 tokens before · 2 messages lost" in text
    assert "todos\n  ✓ Use <redacted:" in text and "\n  · Go home\n" in text
    assert "plan\n  # The plan\n" in text and "more characters (--full)" in text
    assert SECRET[14:30] not in text
    assert printed(tmp_path, SESSION, "--full").count("a step") == 900
    markdown = printed(tmp_path, SESSION, "--markdown")
    assert "- [x] Use <redacted:" in markdown and "- [ ] Go home" in markdown
    about = json.loads(printed(tmp_path, SESSION, "--json"))["about"]
    assert (about["slug"], about["compactions"][0]["summary"]) == ("happy-otter", "The summary.")
    assert [todo["status"] for todo in about["todos"][SESSION]] == ["completed", None]


def test_an_answer_with_its_account(tmp_path: Path) -> None:
    conversation(tmp_path)
    told = json.loads(printed(tmp_path, "--answer", "--json"))
    assert told["text"] == "It is all there."
    assert (told["turns"], told["calls"], told["finality"]) == (1, 2, "exact")
    assert told["usage"]["output_tokens"] == 200
    assert told["duration_ms"] > 0 and told["cost_usd"] > 0
    assert printed(tmp_path, "--answer", "--turn", "1") == "It is all there.\n"
    assert printed(tmp_path, "--answer", "--turn", "-1") == "It is all there.\n"
    for turn in ("0", "2", "-2"):
        assert f"has no prompt {turn}; its prompts are 1 to 1." in error(
            tmp_path, "--answer", "--turn", turn
        )


def test_an_older_answer_is_never_printed_as_the_final_one(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("One?")
    made.call(texts=("One.",))
    made.prompt("Two?")
    path = made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    os.utime(path, (1.0, 1.0))
    ran = run(tmp_path, "--answer")
    assert (ran.exit_code, ran.stdout) == (0, "One.\n")
    assert ran.stderr == (
        "ccwire: the last prompt has no answer yet; this is the answer to an earlier one.\n"
    )
    told = json.loads(printed(tmp_path, "--answer", "--json"))
    assert (told["is_final"], told["doubt"][:25]) == (False, "the last prompt has no an")
    told = json.loads(printed(tmp_path, "--answer", "--json", "--turn", "1"))
    assert (told["is_final"], told["doubt"], told["parts"]) == (True, None, ["One."])
    made.call(("text", "tool_use"), texts=("Let me look.",))
    os.utime(made.write(tmp_path / "claude"), (1.0, 1.0))
    ran = run(tmp_path, "--answer")
    assert ran.stdout == "Let me look.\n" and "the answer is not complete" in ran.stderr


def test_an_answer_without_text_is_an_empty_line(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("One?")
    made.call(("text", "thinking"), texts=("One.",))
    os.utime(made.write(tmp_path / "claude"), (1.0, 1.0))
    (tmp_path / "captures").mkdir()
    ran = run(tmp_path, "--answer")
    assert (ran.stdout, ran.stderr) == ("\n", "ccwire: the last message has no text.\n")


def test_a_session_that_is_not_answered_yet(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Hello?")
    path = made.write(tmp_path / "claude", tmp_path / "captures")
    os.utime(path, (1.0, 1.0))
    assert "has no answer yet" in error(tmp_path, "--answer")
    assert "prompt 1 of session" in error(tmp_path, "--answer", "--turn", "1")


def test_a_session_with_only_a_capture_is_shown_from_the_wire(root: Path) -> None:
    (root / "claude").rename(root / "gone")
    shown = printed(root, width=200)
    assert "From the wire: there is no transcript" in shown
    assert "It sta" in shown and "answer · exchange 4" in shown
