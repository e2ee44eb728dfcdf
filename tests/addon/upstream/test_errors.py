import errno

import pytest

from addon.upstream.company_proxy import ProxyServer
from addon.upstream.errors import connect_error, refused_request

OPEN = ProxyServer("http", "proxy.example", 3128)
WITH_PASSWORD = ProxyServer("http", "proxy.example", 3128, "Basic bWU6cGFzcw==")
REFUSED = "Upstream proxy proxy.example:3128 refused HTTP CONNECT request: {} {}"
NOBODY = f"[Errno {errno.ECONNREFUSED}] Connect call failed"
UNTRUSTED = "Certificate verify failed: self-signed certificate in certificate chain"


def error(message: str, proxy: ProxyServer | None = OPEN, **more: bool) -> str | None:
    return connect_error(message, "api.anthropic.com", 443, proxy, **more)


@pytest.mark.parametrize(
    ("message", "proxy", "expected"),
    [
        (REFUSED.format(407, "No"), OPEN, "asks for a password (407); add it to HTTPS_PROXY"),
        (
            REFUSED.format(407, "cGFzcw=="),
            WITH_PASSWORD,
            "rejected the user name or password in HTTPS_PROXY (407)",
        ),
        (REFUSED.format(403, "x"), OPEN, "refused to connect to api.anthropic.com:443 (403)"),
        ("connection closed", OPEN, "closed the connection before it answered"),
        (f"{NOBODY} ('10.0.0.1', 3128)", OPEN, "refused the connection"),
        (f"Multiple exceptions: {NOBODY} ('::1', 1), {NOBODY}", OPEN, "refused the connection"),
        (f"[Errno {errno.EHOSTUNREACH}] …", OPEN, "cannot be reached (No route to host)"),
        (
            "[Errno -2] Name or service not known",
            OPEN,
            "cannot be reached (Name or service not known)",
        ),
        (
            "Connection killed: Request destination unknown. Unable to …",
            OPEN,
            "is this proxy itself; set HTTPS_PROXY to the company's proxy",
        ),
    ],
)
def test_the_proxy_is_named(message: str, proxy: ProxyServer, expected: str) -> None:
    assert error(message, proxy) == f"upstream proxy proxy.example:3128 {expected}"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (NOBODY, "api.anthropic.com:443 refused the connection"),
        (
            "[Errno -3] Temporary failure in name resolution",
            "api.anthropic.com:443 cannot be reached (Temporary failure in name resolution)",
        ),
        ("The remote server does not speak TLS.", "api.anthropic.com:443 does not speak TLS"),
    ],
)
def test_without_a_proxy_the_host_is_named(message: str, expected: str) -> None:
    assert error(message, None) == expected


@pytest.mark.parametrize(
    ("tls_with_proxy", "whose"),
    [(False, "api.anthropic.com:443"), (True, "upstream proxy proxy.example:3128")],
)
def test_an_untrusted_certificate_names_its_owner(tls_with_proxy: bool, whose: str) -> None:
    assert error(UNTRUSTED, tls_with_proxy=tls_with_proxy) == (
        f"the certificate of {whose} is not trusted (self-signed certificate in certificate chain);"
        " if your company's proxy issued it, name the company's CA file in NODE_EXTRA_CA_CERTS"
    )


@pytest.mark.parametrize("message", ["Client disconnected.", "server closed connection", ""])
def test_other_errors_are_left_as_they_are(message: str) -> None:
    assert error(message) is None


def test_only_a_407_is_certainly_the_proxys_own_answer() -> None:
    asks = refused_request(OPEN, "gateway.example", 80, 407)
    assert (
        asks == "upstream proxy proxy.example:3128 asks for a password (407); add it to HTTPS_PROXY"
    )
    assert refused_request(OPEN, "gateway.example", 80, 403) is None
    assert refused_request(OPEN, "gateway.example", 80, 200) is None
