"""Malformed transcripts: every command prints a result or a one-sentence error."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import correlate.reconcile.session
from ccwire.cli import main
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.lines import read_lines
from correlate.transcript.locate import ClaudeDir
from tests.correlate.report.made import NO_WAITING, SESSION, ReportSession, small_session
from tests.properties import property_test

COMMANDS = (
    "sessions --all",
    "sessions --all --json",
    "reconcile latest -v",
    "reconcile --all --json",
    "diff latest",
    "report latest -o {root}/page.html",
    "schema observe {root}/claude {root}/captures -o {root}/snapshot.json",
)
GOOD = (
    b'{"type":"assistant","uuid":"u9","timestamp":"2026-11-06T00:00:00.000Z",'
    b'"message":{"id":"msg_9","model":"m","usage":{"input_tokens":1,"output_tokens":2}}}\n'
)
DEEP = b"[" * 200_000 + b"]" * 200_000


def odd_assistant(**message: Any) -> bytes:
    return json.dumps({"type": "assistant", "message": message}).encode() + b"\n"


ODD: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "byte order mark on every line": lambda text: text.replace(b'{"', b'\xef\xbb\xbf{"'),
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "carriage returns alone": lambda text: text.replace(b"\n", b"\r"),
    "NUL between lines": lambda text: text.replace(b"\n", b"\n\0\0\0\n"),
    "NUL in lines": lambda text: text.replace(b"type", b"ty\0pe"),
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "lone surrogates": lambda text: text.replace(b'"text"', b'"te\\ud800xt\\udfff"'),
    "lone surrogates everywhere": lambda text: text.replace(b'":"', b'":"\\udc80'),
    "not UTF-8": lambda text: text.replace(b"e", b"\xff"),
    "deep nesting": lambda text: text + b'{"type":"user","message":' + DEEP + b"}\n" + text,
    "deep nesting that is never closed": lambda text: text + b'{"a":' * 100_000 + b"\n" + text,
    "numbers past 64 bits": lambda text: text.replace(
        b'_tokens":', b'_tokens":99999999999999999999'
    ),
    "numbers of 5000 digits": lambda text: text.replace(b'_tokens":', b'_tokens":' + b"9" * 5000),
    "numbers past a float": lambda text: text.replace(b'_tokens":', b'_tokens":1e999, "x":'),
    "negative numbers": lambda text: text.replace(b'_tokens":', b'_tokens":-'),
    "fractions": lambda text: text.replace(b'_tokens":', b'_tokens":0.5, "x":'),
    "not a number": lambda text: text.replace(b'_tokens":', b'_tokens":NaN, "x":'),
    "words for numbers": lambda text: text.replace(b'_tokens":', b'_tokens":"many", "x":'),
    "duplicate keys": lambda text: text.replace(b'"type"', b'"type":"user","type"'),
    "duplicate messages": lambda text: text.replace(b'"message"', b'"message":7,"message"'),
    "ids of another type": lambda text: text.replace(b'"id":', b'"id":[1],"idx":'),
    "times of another type": lambda text: text.replace(b'"timestamp":', b'"timestamp":[],"t":'),
    "times out of the calendar": lambda text: text.replace(b'"timestamp":"2', b'"timestamp":"9999'),
    "content of another type": lambda text: text.replace(b'"content":', b'"content":7,"c":'),
    "blocks that are none": lambda text: text.replace(b'"content":[', b'"content":[null,1,"x",[],'),
    "usage of another type": lambda text: text.replace(b'"usage":', b'"usage":[],"u":'),
    "iterations of another type": lambda text: text.replace(
        b'"usage":{', b'"usage":{"iterations":7,'
    ),
    "messages of another type": lambda text: text + odd_assistant(id={}, content={"a": 1}, usage=3),
    "every line twice": lambda text: b"".join(2 * line for line in text.splitlines(True)),
    "a cycle of parents": lambda text: text.replace(b'"parentUuid":', b'"parentUuid":"u1","p":'),
    "one line": lambda text: text.replace(b"\n", b" "),
    "cut short": lambda text: text[: -len(text) // 3],
    "empty": lambda text: b"",
    "blank lines": lambda text: b"\n" * 1000,
    "no object": lambda text: b'[]\n7\n"x"\nnull\ntrue\n',
    "rubbish": lambda text: bytes(range(256)) * 40,
    "a title that steers a terminal": lambda text: (
        text + b'{"type":"custom-title","customTitle":"\\u001b[2J\\u0007[/bold][red]"}\n'
    ),
    "cost of another type": lambda text: (
        text + b'{"type":"cost-state","modelUsage":[1],"totalCostUSD":"x"}\n'
    ),
    "cost without end": lambda text: (
        text
        + b'{"type":"cost-state","totalCostUSD":1e999,"modelUsage":{"m":{"inputTokens":1e400}}}\n'
    ),
}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait: the missing lines of these transcripts are never written."""
    monkeypatch.setattr(correlate.reconcile.session, "TranscriptWait", lambda: NO_WAITING)


def made(root: Path) -> tuple[ReportSession, Path]:
    session = small_session()
    session.write(root / "claude", root / "captures")
    (path,) = (root / "claude" / "projects").rglob(f"{SESSION}.jsonl")
    return session, path


def run(root: Path, command: str) -> str:
    """Return the command's output; fail on anything but a result or a one-sentence error."""
    places = ["--captures", f"{root}/captures", "--claude-dir", f"{root}/claude"]
    words = command.format(root=root).split()
    ran = CliRunner().invoke(main, [*words, *(places if words[0] != "schema" else [])])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), (command, ran.exception)
    assert ran.exit_code in (0, 1, 2)
    assert ran.exit_code < 2 or ran.stderr.startswith("ccwire: ") or "Usage:" in ran.stderr
    return ran.output


@pytest.mark.parametrize("odd", ODD)
def test_every_command_copes(tmp_path: Path, odd: str) -> None:
    _, path = made(tmp_path)
    path.write_bytes(ODD[odd](path.read_bytes()))
    for agent in path.with_suffix("").rglob("*.jsonl"):
        agent.write_bytes(ODD[odd](agent.read_bytes()))
    for command in COMMANDS:
        assert "\x1b[2J" not in run(tmp_path, command)


@pytest.mark.parametrize("odd", ["byte order mark", "carriage returns", "NUL between lines"])
def test_what_changes_no_record_changes_no_sum(tmp_path: Path, odd: str) -> None:
    _, path = made(tmp_path)
    before = run(tmp_path, "reconcile latest")
    path.write_bytes(ODD[odd](path.read_bytes()))
    assert run(tmp_path, "reconcile latest").splitlines()[:20] == before.splitlines()[:20]


def test_a_directory_with_a_transcripts_name_is_no_transcript(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    path.unlink()
    path.mkdir()
    for command in COMMANDS:
        run(tmp_path, command)


def test_a_transcript_that_is_a_loop_or_leads_nowhere(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    path.unlink()
    path.symlink_to(path)
    path.with_name("0b5c2d3e-0000-4000-8000-000000000001.jsonl").symlink_to("/nowhere/at/all")
    for command in COMMANDS:
        run(tmp_path, command)


def test_a_transcript_that_may_not_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = made(tmp_path)
    opened = Path.open

    def refused(self: Path, *given: Any, **more: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(self, *given, **more)

    monkeypatch.setattr(Path, "open", refused)
    for command in COMMANDS[2:]:
        run(tmp_path, command)


def test_a_line_of_a_hundred_megabytes_is_passed_over_in_time(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    before = run(tmp_path, "reconcile latest")
    with path.open("ab") as file:
        file.write(b'{"type":"file-history-snapshot","snapshot":"')
        file.seek(100 << 20, 1)  # a hole: read as NUL, and takes no room
        file.write(b'"}\n')
    assert run(tmp_path, "reconcile latest").splitlines()[:20] == before.splitlines()[:20]


def test_a_file_that_shrinks_while_it_is_read_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(GOOD * 20_000)
    lines = read_lines(path)
    first = next(lines)
    path.write_bytes(GOOD)
    assert first.data == GOOD
    assert all(line.data == GOOD for line in list(lines)[:-1])


def test_a_transcript_rewritten_again_and_again_gives_a_result_each_time(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    text, stop = path.read_bytes(), threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            path.write_bytes(text[: len(text) // 2])
            path.write_bytes(text)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for command in COMMANDS:
            run(tmp_path, command)
    finally:
        stop.set()
        thread.join()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "\ud800", "assistant", "<synthetic>", "2026-11-06T00:00:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def places_in(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = list(enumerate(value))
    return [at, *(place for key, inner in items for place in places_in(inner, (*at, key)))]


def with_value(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copied = value.copy()
    copied[place[0]] = with_value(value[place[0]], place[1:], new)
    return copied


@settings(property_test, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_field_may_hold_anything(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("odd")
    session, path = made(root)
    lines = list(session.lines)
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        number = data.draw(st.integers(0, len(lines) - 1), "line")
        place = data.draw(st.sampled_from(places_in(lines[number])), "place")
        lines[number] = with_value(lines[number], place, data.draw(json_values, "value"))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reconciler = SessionReconciler(root / "captures", ClaudeDir(root / "claude"), NO_WAITING)
    reconciler.reconcile(root / "captures" / SESSION)
    run(root, data.draw(st.sampled_from(COMMANDS), "command"))
