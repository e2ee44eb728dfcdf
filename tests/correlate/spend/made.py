"""Transcript lines for the tests of spending, as small as they may be."""

from pathlib import Path
from typing import Any

import orjson

from correlate.spend.calls import Collected, collect
from correlate.spend.files import FileRecord, read_file, transcript_paths


def answer(message: str | None, request: str | None, output: int | None, **more: Any) -> bytes:
    """Return an assistant line; `stop`, `model`, `at`, `session` and other fields of the line."""
    usage = {"input_tokens": more.pop("fresh", 10), "output_tokens": output}
    record = {
        "type": "assistant",
        "sessionId": more.pop("session", "one"),
        "timestamp": more.pop("at", "2026-11-05T10:00:00.000Z"),
        "requestId": request,
        "message": {
            "id": message,
            "model": more.pop("model", "claude-opus-4-5"),
            "content": [{"type": "text", "text": "."}],
            "stop_reason": more.pop("stop", "end_turn"),
            "usage": usage,
        },
        **more,
    }
    return orjson.dumps(record) + b"\n"


def write(claude_dir: Path, name: str, *lines: bytes) -> Path:
    path = claude_dir / "projects" / "-lab" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def read(path: Path, known: FileRecord | None = None) -> FileRecord:
    record = read_file(str(path), known)
    assert record is not None
    return record


def collected(claude_dir: Path) -> Collected:
    records = {path: read(Path(path)) for path in transcript_paths(claude_dir)}
    return collect(records, (), ())
