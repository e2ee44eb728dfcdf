"""Which headers are secret, and what of them is the secret."""

import base64
import re

import pytest

from addon.redaction.headers import auth_kind, is_secret, secret_of
from addon.redaction.redactor import Redactor

ACCESS_KEY = "AKIAMADEUPLABKEY0001"
SIGNED = (
    f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20261116/us-east-1/bedrock/aws4_request,"
    f" SignedHeaders=host;x-amz-date, Signature={'0123456789abcdef' * 4}"
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-amz-security-token", "anything"),
        ("x-goog-api-key", "anything"),
        ("api-key", "anything"),
        ("ocp-apim-subscription-key", "anything"),
        ("cf-aig-authorization", "anything"),
        ("helicone-auth", "anything"),
        ("x-litellm-api-key", "anything"),
        ("x-portkey-api-key", "anything"),
        ("proxy-authorization", "anything"),
        ("x-our_gateway_token", "anything"),
        ("x-company-secret", "anything"),
        ("x-db-password", "anything"),
        ("my-credentials", "anything"),
    ],
)
def test_a_header_is_secret_by_its_name(name: str, value: str) -> None:
    assert is_secret(name, value)
    ((_, shown),) = Redactor(b"key").headers([(name.title(), value)])
    assert shown.startswith("<redacted:")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("anthropic-ratelimit-input-tokens-remaining", "400000"),
        ("anthropic-ratelimit-tokens-reset", "2026-11-16T18:00:00Z"),
        ("x-amzn-bedrock-input-token-count", "1234567890123"),
        ("x-claude-code-session-id", "5e551011-0000"),
        ("access-control-allow-credentials", "true"),
        ("idempotency-key", "stainless-node-retry-1"),
        ("x-needs-auth", "false"),
        ("www-authenticate", "Basic"),
        ("x-monkey", "banana"),
        ("author", "someone"),
    ],
)
def test_other_headers_stay_as_they_are(name: str, value: str) -> None:
    assert not is_secret(name, value)
    assert Redactor(b"key").headers([(name, value)]) == [(name, value)]


def test_a_word_in_an_unknown_secret_header_is_not_searched_for_elsewhere() -> None:
    redactor = Redactor(b"key")
    redactor.headers([("x-auth-method", "service-account"), ("x-our-key", "made-up-0123456789")])
    text = b"a service-account with made-up-0123456789"
    assert redactor.body(text) == b"a service-account with " + redactor.mark(
        "api_key", b"made-up-0123456789"
    )


def test_equal_access_keys_have_equal_hashes_under_any_signature() -> None:
    other = SIGNED.replace("0123", "9876").replace("20261116", "20261117")
    assert secret_of("authorization", SIGNED) == ("sigv4", ACCESS_KEY)
    redactor = Redactor(b"key")
    ((_, one), (_, two)) = redactor.headers([("Authorization", SIGNED), ("authorization", other)])
    assert one == two == redactor.mark("sigv4", ACCESS_KEY.encode()).decode()


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ([("Authorization", SIGNED)], "sigv4"),
        ([("Authorization", SIGNED), ("x-amz-security-token", "t")], "sigv4"),
        ([("api-key", "x")], "api_key"),
        ([("x-goog-api-key", "x")], "api_key"),
        ([("authorization", "Bearer ya29.x")], "oauth"),
        ([("x-amz-security-token", "t")], "none"),
        ([("x-api-key", ""), ("authorization", "Bearer x")], "oauth"),
    ],
)
def test_the_kind_of_auth_is_detected(headers: list[tuple[str, str]], kind: str) -> None:
    assert auth_kind(headers) == kind


def test_the_parts_of_a_header_are_found_where_they_are_repeated() -> None:
    redactor = Redactor(b"key")
    pair = base64.b64encode(b"me:p@ss/w0rd").decode()
    signature = "0123456789abcdef" * 4
    signed = f"AWS4-HMAC-SHA256 Credential=AKIAMADEUP0000000001/x, Signature={signature}"
    redactor.headers([("authorization", f"Basic {pair}"), ("authorization", signed)])
    for secret in ("me:p@ss/w0rd", "p@ss/w0rd", "p%40ss%2Fw0rd", pair, signature):
        found = redactor.body(f"<{secret}>".encode())
        assert re.fullmatch(rb"<<redacted:(password|bearer|signature):[0-9a-f]{16}>>", found)


def test_the_signatures_of_many_requests_leave_a_password_known() -> None:
    redactor = Redactor(b"key")
    redactor.learn("proxy-authorization", "Basic " + base64.b64encode(b"me:p@ss/w0rd").decode())
    for number in range(200):
        signed = f"AWS4-HMAC-SHA256 Credential=AKIAMADEUP0000000001/x, Signature={number:064x}"
        redactor.learn("authorization", signed)
    assert b"p@ss" not in redactor.body(b"p@ss/w0rd")
    assert b"<redacted:" in redactor.body(b"%064x" % 199)
    assert redactor.body(b"%064x" % 9) == b"%064x" % 9


def test_a_gateway_key_in_a_path_is_redacted() -> None:
    redactor = Redactor(b"key")
    clean = redactor.url("/key-sk-Made0123456789abcdef/v1/messages?beta=true")
    assert re.fullmatch(r"/<redacted:key:[0-9a-f]{16}>/v1/messages\?beta=true", clean)
    for path in ("/v1/messages", "/token-count/v1/messages", "/sk-1/v1/messages"):
        assert redactor.url(path) == path
