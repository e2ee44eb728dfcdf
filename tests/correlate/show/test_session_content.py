from dataclasses import replace
from pathlib import Path

import orjson

from ccwire.wire.format import PART_SUFFIX, Exchange, file_name
from correlate.reconcile.session import TranscriptWait
from correlate.show.answer_json import answer_json
from correlate.show.session_content import HookProof, SessionReader
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SESSION = "11111111-2222-4333-8444-555555555555"


def store(folder: Path, call: Exchange, messages: list[object], said: str) -> None:
    request = {"body": {"type": "json", "data": {"messages": messages}}}
    response = {"message": {"content": [{"type": "text", "text": said}]}}
    (folder / file_name(call.sequence, "req", call.path)).write_bytes(orjson.dumps(request))
    (folder / file_name(call.sequence, "resp", call.path)).write_bytes(orjson.dumps(response))


def made(root: Path, *, in_transcript: bool, request_class: str | None = "main") -> SessionReader:
    session = MadeSession(SESSION)
    session.prompt("first")
    session.call(texts=("one",), messages=1)
    session.prompt("second")
    call = session.call(
        texts=("two",), in_transcript=in_transcript, messages=3, request_class=request_class
    )
    session.write(root / "claude", root / "captures")
    folder = root / "captures" / SESSION
    messages: list[object] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [{"type": "text", "text": "one"}]},
        {"role": "user", "content": "second"},
    ]
    store(folder, call, messages, "two")
    return SessionReader(SESSION, folder, ClaudeDir(root / "claude"))


def test_a_session_without_a_transcript_is_read_from_the_wire(tmp_path: Path) -> None:
    made(tmp_path, in_transcript=True)
    reader = SessionReader(SESSION, tmp_path / "captures" / SESSION, ClaudeDir(tmp_path / "none"))
    content = reader.read()
    assert content.source == "wire"
    assert [(a.prompt, a.text) for a in content.answers()] == [("first", "one"), ("second", "two")]
    assert [entry.record["requestId"] is not None for entry in content.entries] == [
        False, True, False, True,
    ]  # fmt: skip


def test_an_answer_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=False)
    ended = reader.read().exchanges[-1].ended or 0.0
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            made(tmp_path, in_transcript=True)

    patience = TranscriptWait(sleep=sleep, now=lambda: ended + 1)
    content = reader.read_settled(patience=patience)
    assert (content.source, content.answers()[-1].text) == ("transcript", "two")
    assert len(slept) == 3


def test_an_answer_that_never_arrives_is_taken_from_the_wire(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=False)
    content = reader.read_settled(patience=TranscriptWait(tries=0))
    assert (content.source, content.answers()[-1].text) == ("transcript and wire", "two")


def test_an_old_session_is_not_waited_for(tmp_path: Path) -> None:
    def sleep(_: float) -> None:
        raise AssertionError

    reader = made(tmp_path, in_transcript=False)
    last = reader.read().exchanges[-1].ended or 0.0
    (path,) = (tmp_path / "claude").rglob("*.jsonl")
    now = path.stat().st_mtime + last + 100
    reader.read_settled(patience=TranscriptWait(sleep=sleep, now=lambda: now))


def test_what_the_hook_saw_is_waited_for(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=True)
    slept: list[float] = []
    patience = TranscriptWait(tries=5, sleep=slept.append, now=lambda: 1e11)
    proof = HookProof(1e11, lambda message: message == "three")
    reader.read_settled(proof, patience)
    assert len(slept) == 5
    slept.clear()
    reader.read_settled(replace(proof, is_of=lambda message: message == "two"), patience)
    assert slept == []


def test_the_account_of_a_turn_and_of_the_session(tmp_path: Path) -> None:
    content = made(tmp_path, in_transcript=True).read()
    answers = content.answers()
    whole = answer_json(content, answers, answers[-1], alone=False)
    assert (whole["turns"], whole["calls"], whole["usage"]["output_tokens"]) == (2, 2, 200)
    assert (whole["text"], whole["finality"], whole["stop_reason"]) == ("two", "exact", "end_turn")
    first = answer_json(content, answers, answers[0], alone=True)
    assert (first["turns"], first["calls"], first["text"]) == (1, 1, "one")
    assert 0 < first["cost_usd"] < whole["cost_usd"]


def test_a_placeholder_is_a_lower_bound(tmp_path: Path) -> None:
    session = MadeSession(SESSION, final=False)
    session.prompt("first")
    session.call(texts=("one",))
    session.write(tmp_path)
    content = SessionReader(SESSION, None, ClaudeDir(tmp_path)).read()
    answers = content.answers()
    account = answer_json(content, answers, answers[0], alone=False)
    assert (account["finality"], account["usage"]["output_tokens"]) == ("lower-bound", 2)
    assert account["stop_reason"] is None


def test_what_a_placeholder_lacks_is_taken_from_the_wire(tmp_path: Path) -> None:
    session = MadeSession(SESSION, final=False)
    session.prompt("first")
    session.call(texts=("one",), output=100)
    session.write(tmp_path, tmp_path / "captures")
    claude = ClaudeDir(tmp_path)
    content = SessionReader(SESSION, tmp_path / "captures" / SESSION, claude).read()
    answers = content.answers()
    account = answer_json(content, answers, answers[0], alone=False)
    assert (account["finality"], account["usage"]["output_tokens"]) == ("exact", 100)
    assert account["stop_reason"] == "end_turn"


def test_the_second_text_of_an_answer_is_waited_for(tmp_path: Path) -> None:
    session = MadeSession(SESSION)
    session.prompt("first")
    session.call(("text", "text"), texts=("one", "two"))
    (whole, last) = (list(session.lines), session.lines.pop())
    path = session.write(tmp_path)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        session.lines[:] = whole
        session.write(tmp_path)

    patience = TranscriptWait(sleep=sleep, now=lambda: path.stat().st_mtime + 0.1 + len(slept))
    content = SessionReader(SESSION, None, ClaudeDir(tmp_path)).read_settled(patience=patience)
    assert (content.answers()[-1].text, len(slept)) == ("two", 1)
    assert last["message"]["content"] == [{"type": "text", "text": "two"}]


def test_an_answer_that_the_capture_has_whole_is_not_waited_for(tmp_path: Path) -> None:
    def sleep(_: float) -> None:
        raise AssertionError

    reader = made(tmp_path, in_transcript=True)
    (path,) = (tmp_path / "claude").rglob("*.jsonl")
    now = path.stat().st_mtime
    content = reader.read_settled(patience=TranscriptWait(sleep=sleep, now=lambda: now))
    assert content.answers()[-1].text == "two"


def test_an_answer_in_flight_is_waited_for_and_reported(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=True)
    folder = tmp_path / "captures" / SESSION
    request = {
        "timestamp": 1_794_000_100.0,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "flow_id": "flow-3",
        "headers": {"x-claude-code-request-class": "main"},
        "body": {"type": "json", "data": {"messages": [], "tools": [{"name": "Bash"}]}},
    }
    (folder / file_name(3, "req", "/v1/messages")).write_bytes(orjson.dumps(request))
    part = folder / file_name(3, "resp", "/v1/messages").replace(".json", PART_SUFFIX)
    part.write_bytes(b"data: {}")
    slept: list[float] = []
    patience = TranscriptWait(tries=4, sleep=slept.append, now=lambda: part.stat().st_mtime + 1)
    content = reader.read_settled(patience=patience)
    assert (len(slept), content.missing) == (4, "exchange 3 is in flight")
    slept.clear()
    later = replace(patience, now=lambda: part.stat().st_mtime + 60)
    assert reader.read_settled(patience=later).missing == "exchange 3 is in flight"
    assert slept == []
    side = {**request, "headers": {"x-claude-code-request-class": "auxiliary"}}
    (folder / file_name(3, "req", "/v1/messages")).write_bytes(orjson.dumps(side))
    assert reader.read_settled(patience=patience).missing is None


def test_an_answer_that_only_the_hooks_have_seen_is_reported(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=True)
    patience = TranscriptWait(tries=3, sleep=lambda _: None)
    other = HookProof(1e9, lambda message: message == "three")
    assert "the Stop hook has seen another" in str(reader.read_settled(other, patience).missing)
    same = HookProof(1e9, lambda message: message == "two", prompted_at=1e9)
    assert reader.read_settled(same, patience).missing is None


def test_a_prompt_after_the_last_answer_is_waited_for(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=True)
    slept: list[float] = []
    patience = TranscriptWait(tries=3, sleep=slept.append, now=lambda: 1_794_000_101.0)
    proof = HookProof(None, lambda _: False, prompted_at=1_794_000_100.0)
    content = reader.read_settled(proof, patience)
    assert (len(slept), content.missing) == (3, "a later prompt was given")
    slept.clear()
    reader.read_settled(proof, replace(patience, now=lambda: 1_794_999_999.0))
    assert slept == []


def test_a_compaction_of_an_older_client_is_no_answer(tmp_path: Path) -> None:
    reader = made(tmp_path, in_transcript=False, request_class=None)
    asks = "Your task is to create a detailed summary of the conversation so far"
    (path,) = (tmp_path / "captures" / SESSION).glob("*0002*req*")
    request = {"body": {"type": "json", "data": {"messages": [{"role": "user", "content": asks}]}}}
    path.write_bytes(orjson.dumps(request))
    content = reader.read_settled(patience=TranscriptWait(tries=0))
    assert (content.source, [a.text for a in content.answers()]) == ("transcript", ["one", ""])


def test_the_capture_tells_that_an_answer_without_text_has_ended(tmp_path: Path) -> None:
    session = MadeSession(SESSION, final=False)
    session.prompt("first")
    session.call(("thinking",))
    session.write(tmp_path / "claude", tmp_path / "captures")
    claude = ClaudeDir(tmp_path / "claude")
    for folder, is_whole in ((None, False), (tmp_path / "captures" / SESSION, True)):
        (answer,) = SessionReader(SESSION, folder, claude).read().answers()
        assert (answer.parts, answer.is_whole) == (("",), is_whole)
