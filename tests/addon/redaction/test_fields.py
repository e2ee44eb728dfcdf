"""What says who the user is, and what a login exchanges, leaves answers, headers and telemetry."""

import base64
import json
import re
from typing import Any

import pytest

from addon.redaction.redactor import Redactor

MARK = re.compile(r"<redacted:[a-z_]+:[0-9a-f]{16}>")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"key")


def clean(redactor: Redactor, value: Any) -> Any:
    return json.loads(redactor.telemetry(json.dumps(value).encode()))


def test_a_token_answer_keeps_no_token_and_nobody(redactor: Redactor) -> None:
    found = clean(
        redactor,
        {
            "token_type": "Bearer",
            "access_token": "made-up-1",
            "refresh_token": "made-up-2",
            "expires_in": 3600,
            "scope": "user:inference",
            "account": {"uuid": "made-up-3", "email_address": "made-up-4", "full_name": "made-up"},
            "organization": {"uuid": "made-up-5", "name": "made-up"},
        },
    )
    assert "made-up" not in json.dumps(found)
    assert (found["token_type"], found["expires_in"]) == ("Bearer", 3600)
    assert found["scope"] == "user:inference"
    assert found["organization"]["uuid"].startswith("<redacted:organization:")


def test_a_login_keeps_no_code_and_no_state(redactor: Redactor) -> None:
    asked = {
        "grant_type": "authorization_code",
        "code": "aB3-made-up-9",
        "state": "xY7-made-up-8",
        "code_verifier": "made-up",
    }
    found = clean(redactor, asked)
    assert "made-up" not in json.dumps(found)
    assert found["grant_type"] == "authorization_code"
    words = {"code": "invalid_request", "state": "active", "token": "none"}
    assert clean(redactor, words) == words


@pytest.mark.parametrize("name", ["device_id", "email", "access_token", "organizationUuid"])
@pytest.mark.parametrize("nested", [False, True])
def test_an_escaped_name_hides_nothing(redactor: Redactor, name: str, nested: bool) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in name)
    data = f'{{"{escaped}":"made-up-1","x":1}}'
    if nested:
        data = json.dumps({"event_data": data})
    found = redactor.telemetry(data.encode()).decode()
    assert "made-up" not in found
    assert json.loads(found)


def test_an_escaped_user_id_is_found_in_a_call(redactor: Redactor) -> None:
    user = f"user_{'a1' * 32}_account__session_s-1"
    data = json.dumps({"metadata": {"user_id": user}}).replace("user_id", "\\u0075ser\\u005fid")
    found = json.loads(redactor.body(data.encode()))["metadata"]["user_id"]
    assert re.fullmatch(r"user_<redacted:device:\w{16}>_account__session_s-1", found)


@pytest.mark.parametrize(
    "name",
    [
        "anthropic-organization-id",
        "x-organization-uuid",
        "x-account-id",
        "x-user-email",
        "X-Org-Id",
    ],
)
def test_headers_do_not_name_the_user(redactor: Redactor, name: str) -> None:
    ((_, value),) = redactor.headers([(name, "made-up-0001")])
    assert MARK.fullmatch(value)
    for kept in ("request-id", "x-claude-code-session-id", "x-request-id", "cf-ray"):
        assert redactor.headers([(kept, "made-up-0001")]) == [(kept, "made-up-0001")]


@pytest.mark.parametrize(
    "query",
    ["code={}", "state={}", "code_verifier={}", "token={}", "x-api-key={}", "auth_token={}",
     "%63ode={}", "access_key={}", "signature={}", "assertion={}", "password={}"],
)  # fmt: skip
def test_credentials_in_a_query_are_replaced_by_name(redactor: Redactor, query: str) -> None:
    found = redactor.url("/cb?a=1&" + query.replace("{}", "made%252Dup") + "&b=2")
    assert "made" not in found and MARK.search(found)
    assert found.startswith("/cb?a=1&") and found.endswith("&b=2")


def test_a_cookie_s_value_is_found_where_it_is_repeated(redactor: Redactor) -> None:
    redactor.headers(
        [("cookie", "theme=dark; sid=made0up1cookie"), ("set-cookie", "t=0made9up8; Path=/abc1")]
    )
    text = redactor.text("dark made0up1cookie 0made9up8 /abc1")
    assert re.sub(MARK, "*", text) == "dark * * /abc1"


def test_cookies_are_remembered_for_the_newest_answers_only(redactor: Redactor) -> None:
    for number in range(100):
        redactor.headers([("set-cookie", f"__cf_bm=made{number:04d}up; path=/")])
    assert len(redactor._learned.literals) == 4
    mark = redactor.text("made0099up")
    assert MARK.fullmatch(mark)
    redactor.headers([("cookie", "__cf_bm=made0099up")])
    assert redactor.text("made0099up") == mark
    assert MARK.search(redactor.text(base64.b64encode(b"made0099up").decode()))


def test_a_hash_needs_the_key() -> None:
    one, other = Redactor(b"one"), Redactor(b"two")
    assert one.digest(b"x") == one.digest(b"x") != other.digest(b"x")
    assert len(one.digest(b"x")) == 64
