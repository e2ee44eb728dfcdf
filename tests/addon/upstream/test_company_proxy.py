import base64

import pytest

from addon.upstream.company_proxy import (
    CompanyProxy,
    UnusableProxy,
    company_proxy,
    parse_proxy,
)

API = ("https", "api.anthropic.com", 443)


def chain(**variables: str) -> CompanyProxy:
    found = company_proxy(variables)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("http://proxy.example:3128", "http", "proxy.example", 3128),
        ("proxy.example:3128", "http", "proxy.example", 3128),
        ("http://proxy.example", "http", "proxy.example", 80),
        ("https://proxy.example/", "https", "proxy.example", 443),
        ("HTTP://proxy.example:3128/", "http", "proxy.example", 3128),
        (" http://[::1]:3128 ", "http", "::1", 3128),
    ],
)
def test_a_proxy_url(url: str, scheme: str, host: str, port: int) -> None:
    found = parse_proxy(url, "HTTPS_PROXY")
    assert (found.scheme, found.host, found.port, found.authorization) == (scheme, host, port, None)


@pytest.mark.parametrize(
    ("url", "credentials"),
    [
        ("http://me:pa%40ss@proxy.example:3128", "me:pa@ss"),
        ("http://me:pa@ss@proxy.example:3128", "me:pa@ss"),
        ("me:secret@proxy.example:3128", "me:secret"),
        ("http://me@proxy.example", "me:"),
        ("http://d%5Cme:%C3%BC%2F%23%3A@proxy.example", "d\\me:ü/#:"),
    ],
)
def test_credentials_are_decoded(url: str, credentials: str) -> None:
    found = parse_proxy(url, "HTTPS_PROXY").authorization
    assert found is not None
    kind, _, value = found.partition(" ")
    assert (kind, base64.b64decode(value).decode()) == ("Basic", credentials)


def test_the_password_is_in_no_name_url_or_repr() -> None:
    found = chain(HTTPS_PROXY="http://me:pa%40ss@proxy.example:3128")
    assert found.https.authorization is not None
    encoded = found.https.authorization.split()[1]
    for text in (repr(found), str(found), found.https.name, found.https.url):
        assert "pa" not in text.replace("CompanyProxy", "") and encoded not in text, text
    assert found.https.url == "http://proxy.example:3128"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks4", "SOCKS", "ftp", "quic"])
def test_another_kind_of_proxy_gets_a_sentence(scheme: str) -> None:
    with pytest.raises(UnusableProxy) as error:
        company_proxy({"ALL_PROXY": f"{scheme}://me:secret@proxy.example:1080"})
    assert str(error.value).startswith("ALL_PROXY names a ")
    assert "unset ALL_PROXY" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:sec#ret@proxy:1",
        "http://me:sec/ret@proxy",
        "http://me:5/secret@proxy",
        "http://",
        "http://h:99999",
        "http://h:0",
        "http://a b:1",
        "http://a\tb c:1",
        "http://me:secret@a,b:1",
    ],
)
def test_a_broken_url_gets_a_sentence_without_the_password(url: str) -> None:
    with pytest.raises(UnusableProxy) as error:
        company_proxy({"HTTPS_PROXY": url})
    assert str(error.value).startswith("HTTPS_PROXY is not a proxy's URL")
    assert "sec" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    ("variables", "https", "http"),
    [
        ({"HTTPS_PROXY": "a", "HTTP_PROXY": "b"}, "a", "b"),
        ({"https_proxy": "a", "HTTPS_PROXY": "b"}, "a", "a"),
        ({"HTTPS_PROXY": "a"}, "a", "a"),
        ({"HTTP_PROXY": "b"}, "b", "b"),
        ({"ALL_PROXY": "c"}, "c", "c"),
        ({"all_proxy": "c", "https_proxy": "a"}, "a", "a"),
        ({"HTTPS_PROXY": "", "HTTP_PROXY": " ", "ALL_PROXY": "c"}, "c", "c"),
    ],
)
def test_which_variable_counts(variables: dict[str, str], https: str, http: str) -> None:
    found = chain(**variables)
    assert (found.https.host, found.http.host) == (https, http)


def test_without_a_variable_there_is_no_proxy() -> None:
    assert company_proxy({"NO_PROXY": "*", "HTTPS_PROXY": ""}) is None


@pytest.mark.parametrize(
    ("listed", "host", "port", "direct"),
    [
        ("*", "api.anthropic.com", 443, True),
        ("api.anthropic.com", "api.anthropic.com", 443, True),
        ("anthropic.com", "api.anthropic.com", 443, True),
        (".anthropic.com", "api.anthropic.com", 443, True),
        ("*.anthropic.com", "API.Anthropic.com.", 443, True),
        (".anthropic.com", "anthropic.com", 443, True),
        ("thropic.com", "api.anthropic.com", 443, False),
        ("api.anthropic.com.evil", "api.anthropic.com", 443, False),
        ("api.anthropic.com:443", "api.anthropic.com", 443, True),
        ("api.anthropic.com:8443", "api.anthropic.com", 443, False),
        ("other , api.anthropic.com", "api.anthropic.com", 443, True),
        ("other api.anthropic.com", "api.anthropic.com", 443, True),
        ("", "api.anthropic.com", 443, False),
        (",,", "api.anthropic.com", 443, False),
        ("10.0.0.0/8", "10.1.2.3", 443, True),
        ("10.0.0.0/8", "11.1.2.3", 443, False),
        ("10.1.2.3", "10.1.2.3", 443, True),
        ("10.1.2.3:80", "10.1.2.3", 443, False),
        ("10.1.2.3:443", "10.1.2.3", 443, True),
        ("10.0.0.0/8", "ten.example", 443, False),
        ("fd00::/8", "fd00::5", 443, True),
        ("[fd00::5]:443", "fd00::5", 443, True),
        ("fd00::5", "fd00::6", 443, False),
        ("2.3", "10.1.2.3", 443, False),
    ],
)
def test_what_no_proxy_names_is_reached_directly(
    listed: str, host: str, port: int, direct: bool
) -> None:
    found = chain(HTTPS_PROXY="proxy.example:3128", NO_PROXY=listed)
    assert (found.server_for("https", host, port) is None) is direct


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_this_machine_is_reached_directly(host: str) -> None:
    found = chain(HTTPS_PROXY="proxy.example:3128", HTTP_PROXY="proxy.example:3128")
    assert found.server_for("https", host, 443) is None
    assert found.server_for("http", host, 8000) is None


def test_https_and_http_targets_have_their_own_proxy() -> None:
    found = chain(HTTPS_PROXY="me:1@a:1", HTTP_PROXY="me:2@b:2")
    https, http = found.server_for(*API), found.server_for("http", "gateway.example", 80)
    assert https is not None and http is not None
    assert (https.name, http.name) == ("a:1", "b:2")
    assert found.server_at(https.address) == https
    assert found.server_at(http.address) == http
    assert found.server_at(("c", 3)) is None
