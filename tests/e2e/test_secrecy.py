"""Captures contain no secrets, and only their owner can read them."""

import base64
import json
import os
import stat
from pathlib import Path

from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, messages_body, new_session, rig, until

PLAIN = scenarios.named("plain")


def test_no_secret_is_found_anywhere(tmp_path: Path, confdir: Path) -> None:
    secrets = {
        "api": "sk-ant-api03-MADEUPsecretMADEUP_0001",
        "odd": "an-odd-secret-without-a-shape-0002",
        "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWRlLXVwIn0.c2lnbmF0dXJlMDAwMw",
        "bearer": "Bearer madeup0004bearer0004token",
        "cookie": "sessionKey=madeup0005cookie",
        "device": "d0" * 32,
    }
    session = new_session()
    everything = " ".join(v for k, v in secrets.items() if k not in ("cookie", "device"))
    with rig(tmp_path, PLAIN, confdir) as wire:
        headers = {
            "x-api-key": secrets["odd"],
            "authorization": secrets["bearer"],
            "proxy-authorization": secrets["bearer"],
            "cookie": secrets["cookie"],
            "user-agent": f"claude-cli/1.0.0 {secrets['api']}",
            "x-claude-code-agent-id": secrets["jwt"],
            "x-client-request-id": secrets["api"],
            "x-whatever": everything,
            "anthropic-beta": secrets["odd"],
        }
        meta = {"user_id": f"user_{secrets['device']}_account__session_{session}"}
        body = messages_body(f"please keep {everything}", None, metadata=meta)
        path = "/v1/messages?key=" + secrets["api"] + "&odd=" + secrets["odd"]
        wire.post(body, path, headers)
        telemetry = {
            "session_id": session,
            "device_id": secrets["device"],
            "log": everything,
            "encoded": base64.b64encode(everything.encode()).decode(),
        }
        wire.post(json.dumps(telemetry).encode(), "/api/event_logging/batch", headers)
        wire.post(everything.encode(), f"/api/{secrets['api']}", headers)
        until(lambda: len(list(wire.captures.glob("*/*_resp_*.json"))) >= 3)
    looked_at = [p for p in tmp_path.rglob("*") if p.is_file() and "mitmproxy" not in p.parts]
    assert len(looked_at) > 8
    for file in looked_at:
        data = file.read_bytes()
        for name, secret in secrets.items():
            bare = secret.removeprefix("Bearer ").removeprefix("sessionKey=").encode()
            assert bare not in data, (file.name, name)
            assert bare[:14] not in data, (file.name, name, "a part of it")
            for shift in (b"", b"x", b"xx"):
                encoded = base64.b64encode(shift + bare + b"xxx")[4:-8]
                assert encoded not in data, (file.name, name, "base64")


def test_equal_secrets_stay_equal(wire: Rig) -> None:
    session = new_session()
    key = "sk-ant-api03-equalEQUALequal"
    wire.api.scenario = PLAIN
    wire.post(messages_body(f"see {key}", session), headers={"x-api-key": key})
    wire.exchanges(session, 1)
    request = wire.request(session, 1)
    mark = request["headers"]["x-api-key"]
    assert mark.startswith("<redacted:api_key:")
    assert request["body"]["data"]["messages"][0]["content"] == f"see {mark}"
    assert request["auth"] == "api_key"


def test_files_are_private_under_any_umask(tmp_path: Path, confdir: Path) -> None:
    old = os.umask(0)
    try:
        with rig(tmp_path, PLAIN, confdir) as wire:
            session = new_session()
            wire.ask(PLAIN, session)
            wire.exchanges(session, 1)
            for path in [wire.captures, *wire.captures.rglob("*")]:
                mode = stat.S_IMODE(path.stat().st_mode)
                assert mode == (0o700 if path.is_dir() else 0o600), path.name
    finally:
        os.umask(old)
