import base64
import json
import re
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.redaction.headers import auth_kind
from addon.redaction.redactor import Redactor
from tests.properties import property_test

API = "sk-ant-api03-MADEUPsecret_0001-AA"
OAUTH = "sk-ant-oat01-MADEUPtoken0002"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWRlLXVwIn0.c2lnbmF0dXJlMDAwMw"
ODD = 'an odd/secret+without "a" shape ü 0004'
MARK = re.compile(r"<redacted:[a-z_]+:[0-9a-f]{16}>")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"a made-up key of 32 bytes length")


def body(redactor: Redactor, text: str) -> str:
    return redactor.body(text.encode()).decode()


@pytest.mark.parametrize(
    ("secret", "kind"), [(API, "api_key"), (OAUTH, "oauth"), (JWT, "jwt")], ids=lambda v: v[:12]
)
@pytest.mark.parametrize(
    "around",
    ["{}", "key={}&x=1", 'is "{}".', "a\\n{}\\nb", "x{}", "%3D{}", "Bearer {}", "{},{}", "eyJ.{}"],
)
def test_tokens_are_found_wherever_they_stand(
    redactor: Redactor, secret: str, kind: str, around: str
) -> None:
    clean = body(redactor, around.replace("{}", secret))
    assert clean == around.replace("{}", redactor.mark(kind, secret.encode()).decode())


@pytest.mark.parametrize(
    "text",
    [
        "Bearer madeup0005token",
        "bearer madeup0005token==",
        "BEARER madeup0005token",
        "Bearer%20madeup0005token",
        "Bearer+madeup0005token",
        "Bearer\\tmadeup0005token",
        "Bearer\\\\nmadeup0005token",
        "Bearer  madeup/0005+token",
        "Bearer madeup\\/0005token",
        "Bearer madeup%2F0005token",
        "Bearer abcdefghijklmnopq",
        "Bearer Bearer madeup0005token",
        "Bearer sk-ant-abc",
        "eyJBearer madeup0005token",
        "\\bearer madeup0005token",
    ],
)
def test_bearer_tokens_of_any_shape_are_found(redactor: Redactor, text: str) -> None:
    clean = body(redactor, text)
    assert MARK.sub("", clean).lower().replace("bearer", "").strip("\\bteyjn %20+") == ""
    assert MARK.search(clean)


@pytest.mark.parametrize(
    "text",
    [
        "Bearer authentication is what the header needs.",
        "The bearer of this letter, bearer bonds, Bearer <token>, Bearer $TOKEN",
        "sk-ant-",
        "eyJ is how a JWT begins; eyJhbGciOiJIUzI1NiJ9 alone is half of one",
        "eyJ.eyJ.eyJ",
        "user_id, device_id and account_uuid are names",
        "c2stYW50 is not a key",
    ],
)
def test_plain_words_stay(redactor: Redactor, text: str) -> None:
    assert body(redactor, text) == text
    assert redactor.telemetry(text.encode()).decode() == text


def test_equal_secrets_are_equal_and_others_are_not(redactor: Redactor) -> None:
    one, again, other = MARK.findall(body(redactor, f"{API} {API} {API}x"))
    assert one == again != other


def test_another_key_gives_another_hash() -> None:
    assert Redactor(b"one").mark("jwt", b"x") != Redactor(b"two").mark("jwt", b"x")


def test_secret_headers_go_whole_and_others_only_where_they_hold_a_secret(
    redactor: Redactor,
) -> None:
    clean = redactor.headers(
        [
            ("Authorization", f"Bearer {OAUTH}"),
            ("X-Api-Key", "short"),
            ("Cookie", "sessionKey=x; theme=dark"),
            ("Set-Cookie", "a=b"),
            ("Proxy-Authorization", "Basic dXNlcjpwYXNz"),
            ("X-Note", f"see {API} there"),
            (f"X-{API}", "in a name"),
            ("Accept", "application/json"),
        ]
    )
    assert dict(clean)["Authorization"] == redactor.mark("oauth", OAUTH.encode()).decode()
    for name in ("X-Api-Key", "Cookie", "Set-Cookie", "Proxy-Authorization"):
        assert MARK.fullmatch(dict(clean)[name])
    api = redactor.mark("api_key", API.encode()).decode()
    assert dict(clean)["X-Note"] == f"see {api} there"
    assert dict(clean)[f"X-{api}"] == "in a name"
    assert dict(clean)["Accept"] == "application/json"


def test_a_secret_is_the_same_in_every_header(redactor: Redactor) -> None:
    odd = "an-odd-secret-without-a-shape"
    clean = redactor.headers(
        [("x-api-key", odd), ("authorization", f"Bearer {odd}"), ("proxy-authorization", odd)]
    )
    assert len({mark for _, mark in clean}) == 1


def test_a_secret_is_the_same_in_a_header_and_in_a_body(redactor: Redactor) -> None:
    ((_, mark),) = redactor.headers([("authorization", f"Bearer {API}")])
    assert body(redactor, f"see {API}") == f"see {mark}"


@pytest.mark.parametrize(
    "form",
    [
        ODD,
        json.dumps(ODD)[1:-1],
        json.dumps(ODD, ensure_ascii=False)[1:-1],
        urllib.parse.quote(ODD, safe=""),
        *(base64.b64encode(b"x" * n + ODD.encode() + b"yyyyy").decode() for n in range(3)),
        *(base64.urlsafe_b64encode(b"x" * n + ODD.encode() + b"y").decode() for n in range(3)),
    ],
)
def test_a_header_s_secret_without_a_shape_is_found_elsewhere(
    redactor: Redactor, form: str
) -> None:
    redactor.headers([("x-api-key", ODD)])
    clean = body(redactor, f'"a {form} b"')
    assert MARK.search(clean)
    assert form not in clean
    assert "secret" not in clean


def test_the_newest_secrets_are_remembered(redactor: Redactor) -> None:
    for n in range(200):
        redactor.headers([("x-api-key", f"odd secret number {n:04d}")])
    assert MARK.search(body(redactor, "the odd secret number 0199"))


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("before", ["", "path/to/", "data:;base64,"])
def test_a_key_in_base64_is_found_without_having_been_seen(
    redactor: Redactor, shift: int, before: str
) -> None:
    encoded = base64.b64encode(b"x" * shift + API.encode() + b" and more").decode()
    clean = body(redactor, f'"{before}{encoded}"')
    assert encoded[4:-4] not in clean
    assert "<redacted:encoded:" in clean


def test_telemetry_is_looked_into_where_it_is_base64(redactor: Redactor) -> None:
    for secret in (API, JWT, "Bearer madeup0005token"):
        encoded = base64.b64encode(f"{{'h':'{secret}'}}".encode())
        for before in (b"", b"a", b"ab", b"abc"):
            assert encoded[8:-8] not in redactor.telemetry(b'{"x":"' + before + encoded + b'"}')
    harmless = base64.b64encode(b"nothing to see here at all, move along")
    assert redactor.telemetry(harmless) == harmless


USER = f"user_{'a1' * 32}_account_11111111-2222-3333-4444-555555555555_session_s-1"


def test_user_id_keeps_its_session_alone(redactor: Redactor) -> None:
    clean = body(redactor, json.dumps({"metadata": {"user_id": USER}}))
    user_id = json.loads(clean)["metadata"]["user_id"]
    assert re.fullmatch(
        r"user_<redacted:device:\w{16}>_account_<redacted:account:\w{16}>_session_s-1", user_id
    )


@pytest.mark.parametrize("user_id", ["user_x_account__session_s-1", "an.odd_one_session_s-1"])
def test_a_user_id_of_another_shape_keeps_its_session_too(redactor: Redactor, user_id: str) -> None:
    clean = json.loads(body(redactor, json.dumps({"metadata": {"user_id": user_id}})))
    found = clean["metadata"]["user_id"]
    assert MARK.search(found)
    assert found.endswith("_session_s-1")
    assert "odd" not in found


def test_user_id_as_json_keeps_its_session_alone(redactor: Redactor) -> None:
    fields = {"device_id": "d" * 64, "account_uuid": "", "session_id": "s-1"}
    clean = body(redactor, json.dumps({"metadata": {"user_id": json.dumps(fields)}}))
    found = json.loads(json.loads(clean)["metadata"]["user_id"])
    assert MARK.fullmatch(found["device_id"])
    assert (found["account_uuid"], found["session_id"]) == ("", "s-1")


@pytest.mark.parametrize(
    "name",
    [
        "device_id",
        "deviceId",
        "account_uuid",
        "accountUUID",
        "email",
        "emailAddress",
        "userID",
        "access_token",
        "refreshToken",
        "client_secret",
        "password",
    ],
)
@pytest.mark.parametrize("value", ["made-up-0006", 'o"dd\\-ü-0006', "jürgen@example.org 0006"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_who_the_user_is_leaves_telemetry_at_any_level(
    redactor: Redactor, name: str, value: str, level: int
) -> None:
    document: Any = {name: value, "event": "tengu_started", "session_id": "s-1"}
    for _ in range(level):
        if '"' in value:
            return  # three levels of nested quotes, which no client sends
        document = {"event_data": json.dumps(document)}
    clean = json.loads(redactor.telemetry(json.dumps(document).encode()))
    for _ in range(level):
        clean = json.loads(clean["event_data"])
    assert MARK.fullmatch(clean[name])
    assert (clean["event"], clean["session_id"]) == ("tengu_started", "s-1")


def test_a_conversation_may_speak_of_devices(redactor: Redactor) -> None:
    text = json.dumps({"messages": [{"content": '{"device_id": "a-lamp"}', "email": "x@y.z"}]})
    assert body(redactor, text) == text


@pytest.mark.parametrize(
    "url",
    [
        "/v1/x?key=" + urllib.parse.quote(API.replace("-", "%2D")).replace("%25", "%"),
        f"/v1/{API.replace('-', '%2d')}/x",
        "/?a=" + urllib.parse.quote("Bearer madeup0005token", safe=""),
        "/?a=" + urllib.parse.quote_plus("Bearer madeup0005token"),
        f"/?{API}",
    ],
)
def test_urls_hide_nothing_behind_percent_signs(redactor: Redactor, url: str) -> None:
    clean = redactor.url(url)
    decoded = urllib.parse.unquote_plus(urllib.parse.unquote(clean))
    assert "MADEUP" not in decoded
    assert "madeup" not in decoded
    assert MARK.search(clean)


@pytest.mark.parametrize("name", ["code", "access_token", "client_secret", "device_id", "email"])
def test_what_a_login_carries_leaves_urls_and_forms(redactor: Redactor, name: str) -> None:
    for url in (
        f"/cb?a=1&{name}=made%2Fup&b=2",
        f"{name}=made%2Fup&b=2",
        f"/cb?{name}=made%2Fup#x",
    ):
        clean = redactor.url(url)
        assert "made" not in clean
        assert redactor.url(clean) == clean
        assert re.sub(MARK, "made%2Fup", clean) == url
    assert redactor.url("/x?zip_code=1&codes=2") == "/x?zip_code=1&codes=2"


def test_a_url_without_secrets_stays_as_it_is(redactor: Redactor) -> None:
    url = "/v1/messages?beta=true&q=a%20b+c%2Fd"
    assert redactor.url(url) == url


@pytest.mark.parametrize("text", ["\ud800 " + API, "\udcff " + API, "\ud800\udc80"])
def test_text_that_is_no_text_is_redacted_and_becomes_some(redactor: Redactor, text: str) -> None:
    clean = redactor.text(text)
    clean.encode()
    assert "MADEUP" not in clean


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ([("X-API-Key", "x")], "api_key"),
        ([("Authorization", "Bearer x")], "oauth"),
        ([("authorization", "x"), ("x-api-key", "y")], "api_key"),
        ([("accept", "x")], "none"),
    ],
)
def test_the_kind_of_auth_is_detected(headers: list[tuple[str, str]], kind: str) -> None:
    assert auth_kind(headers) == kind


secrets = st.sampled_from([API, OAUTH, JWT, "Bearer madeup0007token", ODD])
plain = st.text(st.characters(codec="utf-8"), max_size=6)
planted = st.builds(lambda a, s, b: (a + s + b, s), plain, secrets, st.sampled_from(["", " ", '"']))
leaf = st.none() | st.booleans() | st.integers() | plain | planted.map(lambda p: p[0])
documents = st.recursive(
    leaf,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(plain | st.just("user_id") | secrets, inner, max_size=3)
    ),
    max_leaves=8,
)


@property_test
@given(document=documents, ascii_only=st.booleans(), telemetry=st.booleans())
def test_json_stays_json_and_holds_no_secret(
    document: Any, ascii_only: bool, telemetry: bool
) -> None:
    redactor = Redactor(b"key")
    redactor.headers([("x-api-key", ODD)])
    data = json.dumps(document, ensure_ascii=ascii_only).encode()
    clean = redactor.telemetry(data) if telemetry else redactor.body(data)
    text = json.dumps(json.loads(clean), ensure_ascii=False)
    for secret in (API, OAUTH, JWT, "madeup0007token", ODD, json.dumps(ODD)[1:-1]):
        assert secret not in text
    again = redactor.telemetry(clean) if telemetry else redactor.body(clean)
    assert again == clean


names = st.sampled_from(["device_id", "accountUuid", "email", "user_id", "password", "other"])
values = st.text(max_size=8) | st.sampled_from(
    [API, '"', "\\\\", "\\", "x\\", "user_a_account_b_session_c"]
)
fields = st.dictionaries(names, values, max_size=3)


@property_test
@given(
    documents=st.lists(fields, min_size=1, max_size=3),
    ascii_only=st.booleans(),
    depth=st.integers(0, 2),
)
def test_json_within_json_stays_json(
    documents: list[dict[str, str]], ascii_only: bool, depth: int
) -> None:
    nested: Any = documents
    for _ in range(depth):
        nested = [json.dumps(nested, ensure_ascii=ascii_only)]
    data = json.dumps(nested, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    clean: Any = json.loads(Redactor(b"key").telemetry(data))
    for _ in range(depth):
        clean = json.loads(clean[0])
    assert [[*document] for document in clean] == [[*document] for document in documents]
    assert API not in json.dumps(clean)


HOSTILE = {
    "JWT starts": b"eyJ",
    "JWT parts": b"eyJaaaaaa.",
    "JWT starts apart": b"eyJ ",
    "schemes": b"Bearer ",
    "schemes glued": b"Bearer",
    "schemes with escapes": b"Bearer\\",
    "plus signs": b"Bearer +++++",
    "backslashes": b"\\",
    "escaped quotes": b'\\"',
    "user ids": b'"user_id":"',
    "user names": b"user_",
    "hexadecimal": b"user_a1a1a1a1",
    "sessions": b"_session_a",
    "mail fields": b'"email":"',
    "nested mail fields": b'\\"email\\":\\"',
    "keys": b"sk-ant-",
    "keys in base64": b"c2stYW50L",
    "base64": b"QUJD" * 8 + b" ",
    "access keys": b"AKIA",
    "session tokens": b"IQoJb3JpZ2lu",
    "session tokens with escapes": b"IQoJb3JpZ2lu%2F\\/",
    "google tokens": b"ya29.",
    "signatures": b"Signature=0",
    "percent signs": b"%73%6b",
    "letters": b"a",
    "escapes": b"\\u0073",
    "escapes of escapes": b"\\u005c",
    "escapes apart": b"sk-ant-a1 %41" + b" " * 1100,
    "hidden keys": b"\\u0073k-ant-",
    "variables": b"TOKEN=",
    "variables with values": b"A_TOKEN=a1b2c3d4,",
    "refused values": b"PASSWORD=aaaaaaaa.",
    "URLs": b"://a:b",
    "URLs with users": b"://a:bcd@",
    "private keys": b"BEGIN PRIVATE KEY-----",
    "private keys with lines": b"BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n a a a ",
    "GitHub": b"ghp_",
    "Slack": b"xoxb-",
    "OpenAI": b"sk-",
    "SendGrid": b"SG.aaaaaaaaaaaaaaaaaaaa.",
    "Telegram": b"12345678:AA",
    "accounts": b'"account":{"uuid":"a",',
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_time_out_of_proportion(redactor: Redactor, unit: bytes) -> None:
    """With a pattern that backtracks, each of these would take minutes."""
    data = (unit * (1 + 100_000 // len(unit)))[:100_000]
    for text in (data, data + b"%zz "):
        redactor.body(text)
        redactor.unfinished(text)
    redactor.telemetry(data)
    redactor.url(data[:20_000].decode())
