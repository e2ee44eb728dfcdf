"""A made-up pair: the files that a case leaves, and the ledger of what was served."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ccwire.demo.stand_in.ledger import Served
from ccwire.wire.format import Exchange
from lab.made_session import MadeSession
from lab.matrix.evidence import CAPTURES, CLAUDE, LEDGER, Outcome, keep_outcome, pair_folder

SESSION = "6f1c0000-0000-4000-8000-000000000001"
VERSION, CASE = "2.1.325", "bash"


def served(exchange: Exchange, session_id: str | None = SESSION, **changed: Any) -> Served:
    """Return the ledger's record of an exchange, as the stand-in would have written it."""
    fields: dict[str, Any] = {
        "order": exchange.sequence,
        "attempt": 0,
        "started": exchange.started,
        "ended_at": exchange.ended or exchange.started,
        "method": exchange.method,
        "path": exchange.path,
        "kind": exchange.kind,
        "headers": {},
        "session_id": session_id,
        "agent_id": exchange.agent_id,
        "body_sha256": exchange.request_sha256 or "",
        "body_bytes": exchange.request_bytes,
        "model": exchange.model,
        "stream": bool(exchange.stream),
        "messages": exchange.messages or 0,
        "tools": exchange.tools or 0,
        "status": exchange.status,
        "request_id": exchange.request_id or "",
        "start_usage": exchange.usage_at_start,
        "usage": exchange.usage,
        "events": 9,
    }
    return Served(**(fields | changed))


def made_pair(
    root: Path, made: MadeSession, calls: Sequence[Served] | None = None, **result: Any
) -> Path:
    """Write a pair's evidence; `result` is what the client printed. Return its folder."""
    stdout = json.dumps({"type": "result", "session_id": made.session_id, **result})
    run = {"step": 1, "code": 0, "stdout": stdout, "problem": None}
    outcome = Outcome(version=VERSION, case=CASE, started=1.0, ended=3.5, runs=(run,))
    keep_outcome(root, outcome)
    folder = pair_folder(root, VERSION, CASE)
    made.write(folder / CLAUDE, folder / CAPTURES)
    rows = [served(e) for e in made.exchanges] if calls is None else calls
    (folder / LEDGER).write_text(json.dumps([asdict(row) for row in rows]))
    return folder


def made_session(calls: int = 2) -> MadeSession:
    made = MadeSession(SESSION)
    made.prompt("A prompt of the lab.")
    for _ in range(calls):
        made.call()
    return made
