"""Tokens of common services are found with their kind; what resembles them stays."""

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.redaction.redactor import Redactor
from tests.faults.made_secrets import SHAPES

KINDS = {
    "anthropic": "api_key",
    "anthropic_oauth": "oauth",
    "aws_secret": "aws_secret",
    "google_client": "client_secret",
    "google_refresh": "google_token",
    "openai": "api_key",
    "openai_legacy": "api_key",
    "github_p": "github_token",
    "github_fine": "github_token",
    "gitlab": "gitlab_token",
    "slack": "slack_token",
    "slack_app": "slack_token",
    "slack_hook": "slack_webhook",
    "npm": "npm_token",
    "huggingface": "huggingface_token",
    "stripe": "stripe_key",
    "stripe_hook": "stripe_key",
    "pypi": "pypi_token",
    "azure": "azure_key",
    "sendgrid": "sendgrid_key",
    "twilio": "twilio_key",
    "telegram": "telegram_token",
    "private_key": "private_key",
    "url_password": "password",
    "env_token": "secret",
    "env_password": "password",
    "env_json": "secret",
}


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"key")


@pytest.mark.parametrize(("shape", "kind"), KINDS.items(), ids=KINDS)
def test_a_token_has_its_kind_and_its_surroundings_stay(
    redactor: Redactor, shape: str, kind: str
) -> None:
    planted = SHAPES[shape](random.Random(shape), shape)
    clean = json.loads(redactor.body(json.dumps(f"see {planted.text} there").encode()))
    before, mark, after = clean.partition(f"<redacted:{kind}:")
    assert mark and before.startswith("see ") and after.endswith(" there")
    assert planted.secret[:8] not in clean


@pytest.mark.parametrize(
    "start",
    [
        *("AKIA", "ASIA", "AIza", "ya29.", "IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"),
        *("ABSKQmVkcm9ja0FQSUtleS", "bedrock-api-key-", "Signature=", "GOCSPX-", "1//0"),
        *("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", "sk-", "ghp_", "gho_", "ghu_"),
        *("ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-"),
        *("glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "xoxb-", "xoxp-", "xoxa-"),
        *("xoxr-", "xoxs-", "xapp-", "npm_", "pypi-AgEI", "sk_live_", "rk_live_", "sk_test_"),
        *("rk_test_", "whsec_", "SK", "AccountKey=", "SharedAccessKey=", "12345678:AA"),
        *("aws_secret_access_key=", '"SecretAccessKey": "', "X_TOKEN=", "X_SECRET: ", "PASSWORD="),
        *("DB_PASSWD=", "MY_API_KEY=", "X_ACCESS_KEY=", "SECRET_KEY='", "A_PRIVATE_KEY=", "TOKEN="),
    ],
)
def test_a_token_of_each_start_is_found(redactor: Redactor, start: str) -> None:
    sizes = {"AKIA": 16, "ASIA": 16, "AIza": 35, "SK": 32, "12345678:AA": 33}
    size = 40 if "ccess" in start else sizes.get(start, 64)
    secret = ("0A1B2C3D4E5F6789" if start[1:] in ("KIA", "SIA") else "0123456789abcdef" * 4)[:size]
    text = redactor.text(f"see {start}{secret} there")
    assert secret[:8] not in text and "<redacted:" in text


def test_a_token_that_a_variable_has_is_the_same_elsewhere(redactor: Redactor) -> None:
    token = SHAPES["github_p"](random.Random(1), "").text
    mark = redactor.mark("github_token", token.encode())
    assert redactor.body(f"GH_TOKEN={token} {token}".encode()) == b"GH_TOKEN=%b %b" % (mark, mark)


def test_a_private_key_is_the_same_in_any_notation_and_found_when_it_is_cut_off(
    redactor: Redactor,
) -> None:
    text = SHAPES["private_key"](random.Random(2), "").text
    plain = redactor.text(text)
    mark = plain.split("\n")[1].split("-----END")[0]
    assert mark.startswith("<redacted:private_key:")
    assert mark in redactor.body(json.dumps(text).encode()).decode()
    assert mark in redactor.body(json.dumps(json.dumps(text)).encode()).decode()
    cut = text[:200]
    assert redactor.text(cut + '"').split("\n", 1)[1].startswith("<redacted:private_key:")


@pytest.mark.parametrize(
    "text",
    [
        "MAX_OUTPUT_TOKEN=32000",
        "API_TOKEN=$TOKEN and API_TOKEN=${TOKEN} and API_TOKEN=$(cat token)",
        "GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}",
        "DB_PASSWORD=changeme1 DB_PASSWORD=your-password-1 DB_PASSWORD=<password1>",
        'API_KEY = os.environ["API_KEY"]; SECRET_KEY = settings.v2.secret',
        "TOKEN: str = token_from_settings",
        "PRIMARY_KEY=column12345 PUBLIC_KEY=/etc/keys/id_rsa1.pub",
        "SECRET_KEY=xxxxxxxx1 TOKEN=***********1 ACCESS_KEY=./keys/file1.txt",
        "https://user:password@example.org git@github.com:o/r.git http://h:80/x@y",
        "postgres://me:$PASSWORD@host postgres://me:{password}@host",
        "sk-learn task-proj-manager sk-proj-short ghp_short npm_config_registry hf_hub_download",
        "self.sk_test_case rk_live_x whsec_ pypi-server xoxb-1 glpat-x SG.1.2 AccountKey=none",
        "-----BEGIN PRIVATE KEY----- begins a private key, -----BEGIN PUBLIC KEY----- a public one",
        "12:AA 20261116:AArdvark SKU0123456789 1//0 is one",
        "a key: value, password: none, secret santa, token bucket, PASSWORD: required",
    ],
)
def test_what_resembles_a_secret_stays(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text
    assert json.loads(redactor.body(json.dumps(text).encode())) == text


def _ids(rng: random.Random) -> Iterator[str]:
    letters = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    for prefix in ("msg_01", "req_011C", "toolu_01", "srvtoolu_01", "msg_bdrk_01", "toolu_bdrk_01"):
        yield prefix + "".join(rng.choices(letters, k=22))
    yield str(uuid.UUID(int=rng.getrandbits(128), version=4))
    yield hashlib.sha1(rng.randbytes(9)).hexdigest()
    yield "sha256:" + hashlib.sha256(rng.randbytes(9)).hexdigest()
    yield "sha512-" + base64.b64encode(rng.randbytes(64)).decode()


def test_ids_signatures_and_images_stay(redactor: Redactor) -> None:
    rng = random.Random(11)
    for _ in range(300):
        block = {
            "type": "thinking",
            "signature": base64.b64encode(rng.randbytes(rng.randrange(200, 900))).decode(),
            "ids": list(_ids(rng)),
        }
        image = {"type": "base64", "data": base64.b64encode(rng.randbytes(3000)).decode()}
        data = json.dumps([block, image]).encode()
        assert redactor.body(data) == data
        assert redactor.telemetry(data) == data
    for model in ("claude-opus-5-5", "claude-sonnet-4-5-20250929", "us.anthropic.claude-v1:0"):
        assert redactor.text(f'"model":"{model}"') == f'"model":"{model}"'


def test_the_project_s_own_code_and_prose_stay(redactor: Redactor) -> None:
    root = Path(__file__).parents[3]
    files = [*root.glob("addon/**/*.py"), *root.glob("correlate/**/*.py"), *root.glob("*.md")]
    assert len(files) > 80
    for file in files:
        if file.parent.name == "redaction":
            continue  # its patterns are what they find
        text = file.read_text()
        assert redactor.body(json.dumps(text).encode()) == json.dumps(text).encode(), file.name


@pytest.mark.parametrize("shape", KINDS)
@pytest.mark.parametrize(
    "before",
    [
        *("\x1b[32m", "\x1b[01;31m\x1b[K", "\x1b[38;5;208m", "\x1b", "\x00", "\b", "\f"),
        *("é", "中", "\u200b", r"\u001b[1m", r"\033[0;1m", r"\x1b[m", r"\x00"),
    ],
)
def test_a_token_after_a_colour_or_an_escape_is_found(
    redactor: Redactor, shape: str, before: str
) -> None:
    planted = SHAPES[shape](random.Random(shape), shape)
    text = f"{before}{planted.text}"
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)
        for body in (text, once, json.dumps(once, ensure_ascii=ascii_only)):
            assert planted.secret[:8] not in redactor.text(body)
