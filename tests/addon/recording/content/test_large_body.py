"""Bodies too large for memory: nothing is lost, and no piece cuts a secret in two."""

import hashlib
import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.recording.content import large_body, response, streamed
from addon.recording.content.exchange_files import SpilledBody
from addon.recording.content.large_body import LargeBody, LongText
from addon.recording.jobs import Chunk
from addon.recording.recovery import recover
from addon.redaction.redactor import Redactor
from ccwire.wire.json_text import parse_json
from tests.addon.recording.recorders import START, STOP, RecorderRig

SECRET = b"sk-ant-" + b"api03-" + b"Zq9" * 12
KEY = b"k" * 32


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything large."""
    monkeypatch.setattr(large_body, "_PIECE", 200)
    monkeypatch.setattr(large_body, "_LONGEST_SECRET", 100)
    monkeypatch.setattr(response, "LARGEST_IN_MEMORY", 500)
    monkeypatch.setattr(response, "IN_MEMORY", 500)
    monkeypatch.setattr(streamed, "IN_MEMORY", 500)


def redacted(*chunks: bytes) -> bytes:
    redactor = Redactor(KEY)
    text = LongText(redactor.body, redactor)
    pieces = [piece for chunk in chunks for piece in text.feed(chunk)]
    return b"".join([*pieces, *text.flush()])


def test_a_secret_is_found_wherever_pieces_end() -> None:
    for before in range(150, 260):
        text = b"w" * (before - 1) + b" " + SECRET + b" " + b"after " * 60
        chunks = [text[at : at + 50] for at in range(0, len(text), 50)]
        found = redacted(*chunks)
        assert b"sk-ant" not in found
        assert b"Zq9Zq9" not in found
        assert found.count(b"<redacted:api_key:") == 1
        assert found.endswith(b"after ")


@pytest.mark.parametrize(
    "field",
    [
        b'"organization_name": "Acme, Private Works"',
        b'"account":{"uuid":"Private-1","x":1,"name":"Private Name"}',
        b'"email":"Private@example.com"',
    ],
)
def test_a_private_field_is_found_wherever_pieces_end(field: bytes) -> None:
    for before in range(130, 220):
        text = b'{"a":"' + b"w " * (before // 2) + b"w" * (before % 2) + b'",'
        text += field + b',"z":"' + b"after " * 60 + b'"}'
        redactor = Redactor(KEY)
        long = LongText(redactor.telemetry, redactor)
        chunks = [text[at : at + 10] for at in range(0, len(text), 10)]
        pieces = [piece for chunk in chunks for piece in long.feed(chunk)]
        assert b"Private" not in b"".join([*pieces, *long.flush()])


@given(st.lists(st.binary(max_size=300), max_size=12))
def test_text_without_secrets_comes_out_as_it_went_in(chunks: list[bytes]) -> None:
    data = b"".join(chunks)
    if Redactor(KEY).body(data) == data:
        assert redacted(*chunks) == data


def test_text_is_kept_whole_also_where_a_character_is_cut() -> None:
    sent = ('ä€𝄞 "\\ \n' * 300).encode()
    body = LargeBody(Redactor(KEY), "messages")
    lines = [line for at in range(0, len(sent), 7) for line in body.feed(sent[at : at + 7])]
    spilled = body.finish({"type": "empty", "size": len(sent)})
    assert isinstance(spilled, SpilledBody)
    value = parse_json(b"".join(spilled.pieces([*lines, *spilled.last])))
    assert value == {"type": "text", "size": len(sent), "data": sent.decode()}


@pytest.mark.parametrize("odd", [b"\xff", b"\0"])
def test_what_is_no_text_has_a_keyed_hash(odd: bytes) -> None:
    sent = b"text " * 100 + odd + b" more" * 100
    body = LargeBody(Redactor(KEY), "files")
    for at in range(0, len(sent), 64):
        body.feed(sent[at : at + 64])
    field = body.finish({"type": "empty", "size": len(sent)})
    assert field == {
        "type": "binary",
        "size": len(sent),
        "sha256": hmac.new(KEY, sent, hashlib.sha256).hexdigest(),
    }


def deltas(count: int) -> list[bytes]:
    one = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%03d"}}'
    return [b"event: content_block_delta\ndata: " + one % n + b"\n\n" for n in range(count)]


@pytest.mark.parametrize("count", [2, 50])
def test_the_file_of_a_spilled_stream_is_that_of_any_other(tmp_path: Path, count: int) -> None:
    rig = RecorderRig(tmp_path)
    rig.begin("f", "s-1")
    rig.answer("f", START, *deltas(count), STOP)
    rig.end("f")
    rig.recorder.settle()
    file = rig.file("s-1", "0001_resp_v1_messages.json")
    assert file["message"]["content"] == [{"text": "".join(f"{n:03d}" for n in range(count))}]
    events = file["body"].pop("events")
    assert [event["event"] for event in events][-1] == "message_stop"
    assert len(events) == count + 2
    assert file["body"] == {"type": "sse", "size": sum(map(len, [START, *deltas(count), STOP]))}
    assert [*file][-1] == "body"
    assert rig.names("s-1") == [
        "0001_req_v1_messages.json",
        "0001_resp_v1_messages.json",
        "exchanges.jsonl",
        "manifest.json",
    ]


def test_a_spilled_stream_is_recovered_after_a_kill(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path)
    rig.begin("f", "s-1")
    rig.answer("f", START, *deltas(50))
    rig.recorder.settle()
    rig.recorder._open["f"].slot.part.close()  # as a kill does
    assert recover(rig.store) == 1
    file = rig.file("s-1", "0001_resp_v1_messages.json")
    assert [event["event"] for event in file["body"]["events"]][1:] == ["content_block_delta"] * 50
    assert (file["complete"], file["ended_by"]) == (False, "proxy_stopped")


def test_a_large_text_is_recovered_after_a_kill(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path)
    rig.begin("f", "s-1")
    rig.answer("f", *[b"some text, " * 20] * 10, headers=[("content-type", "text/plain")])
    rig.recorder.settle()
    rig.recorder._open["f"].slot.part.close()
    assert recover(rig.store) == 1
    body = rig.file("s-1", "0001_resp_v1_messages.json")["body"]
    assert body["type"] == "text"
    assert (b"some text, " * 200).startswith(body["data"].encode())
    assert len(body["data"]) > 1500


def test_an_event_that_does_not_end_is_kept_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "_LARGEST_EVENT", 1000)
    rig = RecorderRig(tmp_path)
    sent = b"data: " + b"no end, " * 500
    rig.begin("f", "s-1")
    rig.answer("f", START)
    for at in range(0, len(sent), 100):
        rig.recorder.handle(Chunk("f", 1002.0, sent[at : at + 100]))
    rig.end("f")
    rig.recorder.settle()
    file = rig.file("s-1", "0001_resp_v1_messages.json")
    first, *pieces = file["body"]["events"]
    assert first["event"] == "message_start"
    assert "".join(piece["raw"] for piece in pieces).encode() == sent
    assert len(pieces) > 2
    assert file["complete"] is False
