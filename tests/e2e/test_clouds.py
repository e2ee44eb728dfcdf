"""Calls by Bedrock, Vertex, Foundry and a gateway with a prefix, through a real proxy."""

import json
from pathlib import Path

import pytest

from ccwire.demo.stand_in import bedrock, scenarios
from ccwire.wire.stream.eventstream import FrameDecoder
from tests.rig import Rig, messages_body, new_session, rig, until

PLAIN = scenarios.named("plain")
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
STREAM = f"/model/{MODEL.replace(':', '%3A')}/invoke-with-response-stream"
VERTEX = "/v1/projects/p/locations/us-east5/publishers/anthropic/models"
REGION = "bedrock-runtime.eu-west-1.amazonaws.com"
SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=ASIAMADEUPLABKEY0002/20261116/eu-west-1/bedrock/"
    f"aws4_request, SignedHeaders=host, Signature={'5ec4e7' * 10}abcd",
    "x-amz-security-token": "MADEUPtoken/" + "0123456789+abcdef" * 30,
}


@pytest.mark.parametrize(
    ("host", "path", "model", "body_type"),
    [
        (REGION, STREAM, MODEL, "eventstream"),
        (
            "aiplatform.eu.rep.googleapis.com",
            f"{VERTEX}/claude-x@20250929:streamRawPredict",
            "claude-x@20250929",
            "sse",
        ),
        ("lab.services.ai.azure.com", "/anthropic/v1/messages", "claude-sonnet-4-5", "sse"),
        ("api.anthropic.com", "/any/prefix/v1/messages", "claude-sonnet-4-5", "sse"),
    ],
)
def test_a_call_is_recorded_by_every_road(
    wire: Rig, host: str, path: str, model: str, body_type: str
) -> None:
    session = new_session()
    wire.api.scenario = PLAIN
    wire.host = host
    try:
        wire.post(messages_body(PLAIN.prompt, session), path)
    finally:
        wire.host = "api.anthropic.com"
    (line,) = wire.exchanges(session, 1)
    (served,) = wire.api.ledger.messages(session)
    assert (line["host"], line["kind"], line["model"]) == (host, "messages", model)
    assert (line["stream"], line["complete"]) == (True, True)
    assert (line["request_id"], line["message_id"]) == (served.request_id, served.message_id)
    assert (line["usage"], line["usage_at_start"]) == (served.usage, served.start_usage)
    assert wire.response(session, 1)["body"]["type"] == body_type


def test_the_client_of_bedrock_does_not_wait_for_the_recording(wire: Rig) -> None:
    session = new_session()
    wire.api.scenario = slow = scenarios.named("slow:deltas=20,delay=0.05")
    wire.host = REGION
    connection = wire.connect()
    wire.host = "api.anthropic.com"
    connection.request("POST", STREAM, messages_body(slow.prompt, session))
    answer = connection.getresponse()
    first = answer.read1(65536)
    whole = first + answer.read()
    connection.close()
    early, late = len(FrameDecoder().feed(first)), len(FrameDecoder().feed(whole))
    assert 1 <= early < late
    (line,) = wire.exchanges(session, 1)
    assert line["complete"] and line["response_bytes"] > 1000


def test_no_credential_of_aws_is_found_anywhere(tmp_path: Path, confdir: Path) -> None:
    secrets = ["ASIAMADEUPLABKEY0002", "5ec4e7" * 3, "0123456789+abcdef0123", "MADEUPtoken"]
    session = new_session()
    with rig(tmp_path, PLAIN, confdir) as wire:
        wire.host = REGION
        text = json.dumps(SIGNED)
        path = f"{STREAM}?X-Amz-Security-Token={SIGNED['x-amz-security-token'][:40]}"
        wire.post(messages_body(f"{PLAIN.prompt} {text}", session), path, SIGNED)
        wire.exchanges(session, 1)
        assert wire.request(session, 1)["auth"] == "sigv4"
        until(lambda: not list(wire.captures.rglob("*.part")))
    looked_at = [p for p in tmp_path.rglob("*") if p.is_file() and "mitmproxy" not in p.parts]
    assert len(looked_at) > 5
    for file in looked_at:
        for secret in secrets:
            assert secret.encode() not in file.read_bytes(), (file.name, secret)


def test_a_stream_of_bedrock_that_is_cut_off_keeps_what_came(wire: Rig) -> None:
    session = new_session()
    wire.api.scenario = dropped = scenarios.named("dropped")
    wire.host = REGION
    try:
        wire.post(messages_body(dropped.prompt, session), STREAM)
    finally:
        wire.host = "api.anthropic.com"
    (line,) = wire.exchanges(session, 1)
    (served,) = wire.api.ledger.messages(session)
    assert (line["complete"], line["ended_by"]) == (False, "server_disconnect")
    assert line["usage_at_start"] == served.start_usage
    assert wire.response(session, 1)["headers"]["content-type"] == bedrock.CONTENT_TYPE
