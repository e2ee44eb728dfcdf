"""The tokens and signatures of AWS, Google and Azure, in headers, URLs, bodies and streams."""

import base64
import itertools
import json

import pytest

from addon.redaction.redactor import Redactor
from tests.addon.redaction.test_headers import ACCESS_KEY, SIGNED
from tests.addon.redaction.test_stream import joined, through

SESSION_TOKEN = "IQoJb3JpZ2luX2VjEMADEUP" + "/+Aa0" * 80 + "=="
GOOGLE = "ya29.a0MADEUPgoogle_access-token.0123456789"
TOKENS = {
    "access_key": ACCESS_KEY,
    "temporary": "ASIAMADEUPLABKEY0002",
    "google_token": GOOGLE,
    "google_key": "AIzaMADEUP0123456789012345678901234_-AB",
    "session_token": SESSION_TOKEN,
    "bedrock_key": "ABSKQmVkcm9ja0FQSUtleS1NQURFVVAtMDEyMzQ1Njc4OQ==",
    "signature": "Signature=" + "0123456789abcdef" * 4,
}


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"key")


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "is {}, then", 'a "{}"', "a\n{}\nb", "k={}&x=1", "Bearer {}", "{} {}"]
)
def test_a_token_is_found_wherever_it_is(redactor: Redactor, token: str, around: str) -> None:
    encoded = json.dumps(around.replace("{}", token)).encode()
    clean = redactor.body(encoded).decode()
    assert token[8:20] not in clean and "<redacted:" in clean
    assert isinstance(json.loads(clean), str)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_cut_anywhere_is_found(redactor: Redactor, token: str) -> None:
    text = f"see {token} there"
    expected = redactor.body(text.encode()).decode()
    for cut in range(0, len(text) + 1, max(1, len(text) // 60)):
        early, late = through(redactor, [(0, text[:cut]), (0, text[cut:])])
        assert joined(early + late) == expected


@pytest.mark.parametrize(
    "text",
    [
        "AKIA is how an access key id begins; AKIAMADEUP is too short",
        "xAKIAMADEUPLABKEY0001",
        "AKIAMADEUPLABKEY0001x",
        "ya29. is a prefix",
        "Signature=none",
        "IQoJb3JpZ2lu",
        base64.b64encode(bytes(range(256))).decode(),
    ],
)
def test_other_text_stays_as_it_is(redactor: Redactor, text: str) -> None:
    assert redactor.body(text.encode()).decode() == text


def test_a_session_token_without_a_known_shape_is_learned(redactor: Redactor) -> None:
    odd = "made/up+" + "0123456789abcdef" * 30
    redactor.headers([("X-Amz-Security-Token", odd)])
    mark = redactor.mark("bearer", odd.encode()).decode()
    assert redactor.body(f"see {odd}.".encode()).decode() == f"see {mark}."
    inside = base64.b64encode(f'{{"token": "{odd}"}}'.encode()).decode()
    assert "MDEyMzQ1Njc4OWFiY2RlZ" not in redactor.body(inside.encode()).decode()
    for cut in itertools.chain(range(30), range(200, 210), [480]):
        early, late = through(redactor, [(0, f"see {odd}"[:cut]), (0, f"see {odd}"[cut:] + " x")])
        assert joined(early + late) == f"see {mark} x"


def test_a_presigned_url_keeps_no_secret(redactor: Redactor) -> None:
    query = (
        f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={ACCESS_KEY}%2F20261116%2Fus-east-1"
        f"&X-Amz-Security-Token={SESSION_TOKEN.replace('/', '%2F').replace('+', '%2B')}"
        f"&X-Amz-Signature={'ab' * 32}&x-amz-date=20261116"
    )
    clean = redactor.url(f"/model/x/invoke?{query}")
    assert "MADEUP" not in clean and "abab" not in clean and "%2FAa0" not in clean
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=<redacted:access_key:" in clean
    assert "&X-Amz-Signature=<redacted:signature:" in clean
    assert clean.endswith("&x-amz-date=20261116")


@pytest.mark.parametrize("name", ["key", "api_key", "apikey", "api-key", "subscription-key", "sig"])
def test_a_key_in_a_query_is_redacted(redactor: Redactor, name: str) -> None:
    clean = redactor.url(f"/v1/x?alt=sse&{name}=madeup")
    assert clean.startswith(f"/v1/x?alt=sse&{name}=<redacted:")
    assert redactor.url("/v1/x?monkey=madeup") == "/v1/x?monkey=madeup"


def test_a_signed_header_that_an_answer_repeats_is_redacted(redactor: Redactor) -> None:
    redactor.headers([("Authorization", SIGNED)])
    clean = redactor.body(json.dumps({"message": f"bad: {SIGNED}"}).encode()).decode()
    assert ACCESS_KEY not in clean and "0123456789abcdef" not in clean
