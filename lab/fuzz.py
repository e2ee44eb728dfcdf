"""Coverage-guided fuzzing of the parsers of untrusted input; needs atheris, from PyPI.

    python -m lab.fuzz sse -max_total_time=60   # or answer, decode, transcript, settings, identity

Further arguments are libFuzzer's. A failure ends the run and leaves a file, which
`python -m lab.fuzz sse FILE` runs again. tests/fuzz checks the same properties with hypothesis.
"""

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FuzzTarget = Callable[[bytes], None]

_ENCODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "rot13")


def main() -> None:
    name, *options = sys.argv[1:] or ["help"]
    if name not in TARGETS:
        raise SystemExit(f"python -m lab.fuzz {{{','.join(TARGETS)}}} [libFuzzer options]")
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["addon", "correlate"]):
        target = TARGETS[name]()
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


def _sse() -> FuzzTarget:
    """The events do not depend on how the bytes are split, and no byte is lost."""
    from ccwire.wire.stream.sse import SSEParser, parse_event, parse_stream

    def target(data: bytes) -> None:
        cut, data = data[:1], data[1:]
        size = max(1, *cut) if cut else 1
        events, rest = parse_stream(data)
        assert b"".join(event.raw for event in events) + rest == data
        assert all(parse_event(event.raw) == event for event in events)
        parser = SSEParser()
        found = [e for at in range(0, len(data), size) for e in parser.feed(data[at : at + size])]
        assert (found + parser.flush(), parser.rest()) == (events, rest)

    return target


def _eventstream() -> FuzzTarget:
    """The frames do not depend on how the bytes are split, and every byte is accounted for."""
    from ccwire.wire.stream.eventstream import EventStreamParser, FrameDecoder
    from ccwire.wire.stream.sse import parse_event

    def target(data: bytes) -> None:
        cut, data = data[:1], data[1:]
        size = max(1, *cut) if cut else 1
        whole = FrameDecoder()
        frames = whole.feed(data)
        assert sum(frame.size for frame in frames) + whole.lost + whole.waiting == len(data)
        pieces = FrameDecoder()
        found = [f for at in range(0, len(data), size) for f in pieces.feed(data[at : at + size])]
        assert found == frames
        parser = EventStreamParser()
        assert all(e == parse_event(e.raw) for e in parser.feed(data) + parser.flush())

    return target


def _answer() -> FuzzTarget:
    """The record does not depend on how the stream is split, and contains no secret."""
    from addon.recording.content.streamed import StreamedAnswer
    from addon.redaction.redactor import Redactor
    from ccwire.wire.json_text import dump

    secret = b"sk-ant-api03-" + b"Zx9" * 20

    def filed(data: bytes, size: int) -> list[bytes]:
        answer = StreamedAnswer({}, Redactor(b"key"))
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        lines = [line for part in parts for line in answer.feed(0.0, part)]
        found = answer.finish("http_end", None)
        return [*lines, dump(found.body), dump(found.message), dump(found.usage)]

    def target(data: bytes) -> None:
        cut, data = data[:1], data[1:].replace(b"@", secret)
        *lines, body, message, usage = filed(data, max(1, *cut) if cut else 1)
        *_, whole_body, whole_message, whole_usage = filed(data, max(1, len(data)))
        assert (body, message, usage) == (whole_body, whole_message, whole_usage)
        assert not any(secret in part for part in (*lines, body, message, usage))

    return target


def _decode() -> FuzzTarget:
    """The decoded content of damaged data does not depend on how it is split."""
    from addon.recording.content.decode import decoder_for

    def target(data: bytes) -> None:
        if len(data) < 2:
            return
        encoding, size, data = _ENCODINGS[data[0] % len(_ENCODINGS)], data[1] + 1, data[2:]
        whole, pieces = decoder_for(encoding, 1 << 20), decoder_for(encoding, 1 << 20)
        content = whole.decode(data)
        parts = [pieces.decode(data[at : at + size]) for at in range(0, len(data), size)]
        assert (b"".join(parts), pieces.failed) == (content, whole.failed)

    return target


def _transcript() -> FuzzTarget:
    """Any file is parsed to its end without an exception."""
    from correlate.transcript.locate import SessionFiles
    from correlate.transcript.reader import read_transcript

    path = Path(tempfile.mkdtemp(prefix="ccwire-fuzz-")) / "s.jsonl"
    files = SessionFiles("s", (path,))

    def target(data: bytes) -> None:
        path.write_bytes(data)
        read_transcript(files)

    return target


def _settings() -> FuzzTarget:
    """Uninstalling restores the text; an invalid file raises a named error."""
    from addon.claude_settings.hooks_text import CommentsAtStake, find_hooks, installed, uninstalled
    from addon.claude_settings.jsonc import JsoncError

    command = "python /ours/hook.py || true # ccwire"

    def target(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        try:
            had = find_hooks(text).commands
            done = installed(text, command)
            again = installed(done, command)
            gone = uninstalled(done, [text])
        except (JsoncError, CommentsAtStake):
            return
        assert again == done
        assert had or gone == text

    return target


def _identity() -> FuzzTarget:
    """Any body yields a valid session id or none."""
    from addon.identity.session import (
        SessionEvidence,
        identify,
        session_in_telemetry,
        session_in_user_id,
        wire_facts,
    )
    from ccwire.wire.format import is_session_id
    from ccwire.wire.json_text import parse_json

    def target(data: bytes) -> None:
        try:
            body = parse_json(data)
        except ValueError:
            body = {"metadata": {"user_id": data.decode("utf-8", "replace")}}
        wire_facts({"user-agent": data.decode("latin-1")})
        named = session_in_user_id(body), session_in_telemetry(data)
        found = identify(SessionEvidence(user_id=named[0], telemetry=named[1])).session_id
        assert found is None or (is_session_id(found) and found.lower() != "unknown")

    return target


TARGETS: dict[str, Callable[[], FuzzTarget]] = {
    "sse": _sse,
    "eventstream": _eventstream,
    "answer": _answer,
    "decode": _decode,
    "transcript": _transcript,
    "settings": _settings,
    "identity": _identity,
}

if __name__ == "__main__":
    main()
