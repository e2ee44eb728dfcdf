"""The real client by Bedrock, Vertex and Foundry: every call captured, explained, and no secret."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ccwire.demo.stand_in.request import Request
from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.vocabulary import Provider
from correlate.captures.content import CaptureFiles
from correlate.reconcile.prices import price
from correlate.reconcile.result import Reconciliation
from correlate.reconcile.totals import totals_of
from tests.e2e.real_rig import RealRig, real_rig

VERSIONS = ("2.0.73", "2.1.168", "2.1.325")
NEWEST = VERSIONS[-1]

AWS_SECRET = "MADEUPsecretaccesskey/0123456789+abcdefg"
GOOGLE_TOKEN = "ya29.a0MADEUPgoogle_access-token-0123456789"
ENVIRONMENTS: Mapping[Provider, Mapping[str, str]] = {
    "bedrock": {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIAMADEUPLABKEY0001",
        "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
        "AWS_SESSION_TOKEN": "MADEUPsessiontoken/" + "0123456789abcdef+" * 20 + "==",
    },
    "vertex": {
        "CLAUDE_CODE_USE_VERTEX": "1",
        "CLOUD_ML_REGION": "us-east5",
        "ANTHROPIC_VERTEX_PROJECT_ID": "lab-project",
        "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
        "ANTHROPIC_API_KEY": "",  # else it is sent to Vertex, too
        "ANTHROPIC_CUSTOM_HEADERS": f"Authorization: Bearer {GOOGLE_TOKEN}",
    },
    "foundry": {
        "CLAUDE_CODE_USE_FOUNDRY": "1",
        "ANTHROPIC_FOUNDRY_RESOURCE": "lab",
        "ANTHROPIC_FOUNDRY_API_KEY": "made-up-foundry-key-0123456789",
    },
}
HOSTS: Mapping[Provider, str] = {
    "bedrock": "bedrock-runtime.us-east-1.amazonaws.com",
    "vertex": "us-east5-aiplatform.googleapis.com",
    "foundry": "lab.services.ai.azure.com",
}
AUTH: Mapping[Provider, str] = {"bedrock": "sigv4", "vertex": "oauth", "foundry": "api_key"}
PRICES: Mapping[Provider, str] = {"bedrock": "aws", "vertex": "google", "foundry": "azure"}
SECRETS = {
    value
    for environment in ENVIRONMENTS.values()
    for name, value in environment.items()
    if value and re.search("KEY|SECRET|TOKEN", name)
}
CLOUDS = tuple(ENVIRONMENTS)
_SIGNATURE = re.compile(r"Signature=([0-9a-f]{64})")

pytestmark = pytest.mark.real


@dataclass
class Sent:
    """The secrets that the client really sent, taken at the stand-in."""

    secrets: set[str] = field(default_factory=set)

    def look(self, request: Request) -> None:
        headers = request.headers
        authorization = headers.get("authorization", "")
        self.secrets.update(_SIGNATURE.findall(authorization))
        if authorization.startswith("Bearer "):
            self.secrets.add(authorization.removeprefix("Bearer "))
        for name in ("x-amz-security-token", "x-api-key", "api-key"):
            self.secrets.update(filter(None, [headers.get(name)]))


@pytest.fixture(params=VERSIONS)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealRig]:
    with real_rig(request.param, tmp_path) as made:
        yield made


def watched(rig: RealRig, monkeypatch: pytest.MonkeyPatch) -> Sent:
    sent = Sent()
    opened = rig.api.ledger.open

    def open_(request: Request) -> tuple[int, int]:
        sent.look(request)
        return opened(request)

    monkeypatch.setattr(rig.api.ledger, "open", open_)
    return sent


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_call_is_captured_and_explained_and_no_secret_is_kept(
    rig: RealRig, cloud: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = watched(rig, monkeypatch)
    outcome = rig.run(named("subagent"), env=ENVIRONMENTS[cloud])
    account = rig.check(outcome.session_id, outcome.served)
    rig.nothing_is_unknown()
    captured = {e.request_id: e for _, e in rig.captured() if e.kind == "messages"}
    assert {e.host for e in captured.values()} == {HOSTS[cloud]}
    # A client that exits may leave a side call unfinished.
    whole = [e for e in captured.values() if e.complete]
    assert {e.ended_by for e in whole if e.stream} == {"message_stop"}
    assert [captured[s.request_id].model for s in outcome.served] == [
        s.model for s in outcome.served
    ]
    assert [f.verdict for f in account.calls].count("match") >= 4
    assert {f.provider for f in account.calls} == {cloud}
    assert (account.witness("invocation-metrics") is not None) == (cloud == "bedrock")
    assert totals_of(account).wire.price_lists == (PRICES[cloud],)
    result = outcome.run.result_json or {}
    if len(whole) == len(captured):
        assert by_the_clients_list(account) == pytest.approx(result["total_cost_usd"])
    assert auth_of(rig, outcome.session_id) == {AUTH[cloud]}
    assert len(sent.secrets) >= (5 if cloud == "bedrock" else 1)
    nothing_is_kept(tmp_path, sent.secrets | SECRETS)


def by_the_clients_list(account: Reconciliation) -> float:
    """Return the dollars of the streamed calls by Anthropic's list: the client counts no probe."""
    prices = [
        price(f.model, f.wire_usage, f.wire_tokens, f.at)
        for f in account.calls
        if f.call and f.call.stream
    ]
    return sum(found.client_usd for found in prices if found)


def auth_of(rig: RealRig, session_id: str) -> set[str]:
    files = CaptureFiles(rig.proxy.captures / session_id)
    sequences = [e.sequence for _, e in rig.captured() if e.kind == "messages"]
    return {files.request(sequence)["auth"] for sequence in sequences}


def nothing_is_kept(folder: Path, secrets: set[str]) -> None:
    looked_at = [*(folder / "captures").rglob("*"), folder / "proxy.log"]
    for file in filter(Path.is_file, looked_at):
        data = file.read_bytes()
        for secret in secrets:
            assert secret.encode() not in data, (file.name, secret[:8])
            assert secret[:20].encode() not in data, (file.name, secret[:8], "a part of it")
            for shift in (b"", b"x", b"xx"):
                encoded = base64.b64encode(shift + secret.encode() + b"xxx")[4:-8]
                assert encoded not in data, (file.name, secret[:8], "base64")


@pytest.mark.parametrize("scenario", ["error_event", "dropped", "overloaded"])
def test_a_failed_answer_of_bedrock_is_explained(scenario: str, tmp_path: Path) -> None:
    with real_rig(NEWEST, tmp_path) as rig:
        outcome = rig.run(named(scenario), env=ENVIRONMENTS["bedrock"])
        account = rig.check(outcome.session_id, outcome.served)
        (broken, *_) = [f.call for f in account.calls if f.call and f.call.broken]
    ended = {"error_event": "error_event", "dropped": "server_disconnect"}
    assert broken.ended_by == ended.get(scenario, "http_end")
    errors = {
        "error_event": "serviceUnavailableException: Overloaded",
        "overloaded": "ServiceUnavailableException: Overloaded",
    }
    if scenario in errors:
        assert broken.error == errors[scenario]
