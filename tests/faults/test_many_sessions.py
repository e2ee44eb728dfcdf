"""Sixty-four concurrent sessions: each exchange is in its session's folder, and none is missing.

Runs for ten seconds, or for CCWIRE_SOAK_SECONDS.
"""

import os
import threading
import time
from collections import Counter
from pathlib import Path

import orjson

from ccwire.demo.stand_in import scenarios
from tests.faults.folder import check
from tests.rig import Rig, messages_body, new_session, rig, until

SECONDS = float(os.environ.get("CCWIRE_SOAK_SECONDS", "10"))
SESSIONS = 64
PROMPT = "session {} here"


def test_sixty_four_sessions_at_once_are_kept_apart(tmp_path: Path) -> None:
    sessions = [new_session() for _ in range(SESSIONS)]
    with rig(tmp_path, scenarios.named("stream:deltas=20,delay=0.005")) as wire:
        ends = time.monotonic() + SECONDS
        failed: list[BaseException] = []
        threads = [
            threading.Thread(target=_ask_on, args=(wire, session, ends, failed))
            for session in sessions
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        served = wire.api.ledger.messages()
        until(lambda: not list(wire.captures.glob("*/*.part")), 60)
    assert not failed
    held = check(wire.captures)
    assert sorted(held) == sorted(sessions)
    assert Counter(call.session_id for call in served) == {
        session: len(filed.lines) for session, filed in held.items()
    }
    by_request = {call.request_id: call for call in served}
    for session, filed in held.items():
        for line in map(orjson.loads, filed.lines.values()):
            call = by_request.pop(line["request_id"])
            assert (line["complete"], line["usage"]) == (True, call.usage)
            assert call.session_id == session
        for name, data in filed.files.items():
            if "_req_" in name:
                said = orjson.loads(data)["body"]["data"]["messages"][0]["content"]
                assert said == PROMPT.format(session)
    assert not by_request


def _ask_on(wire: Rig, session: str, ends: float, failed: list[BaseException]) -> None:
    """Make calls until the time is over, at least one."""
    connection = wire.connect(timeout=120)
    try:
        while True:
            connection.request(
                "POST", "/v1/messages", messages_body(PROMPT.format(session), session)
            )
            answer = connection.getresponse()
            assert answer.status == 200
            assert b"message_stop" in answer.read()
            if time.monotonic() > ends:
                return
    except BaseException as error:
        failed.append(error)
    finally:
        connection.close()
