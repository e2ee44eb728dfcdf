"""Why an upstream connection failed, as one sentence: from mitmproxy's message. Pure."""

import errno
import os
import re

from addon.upstream.company_proxy import ProxyServer
from ccwire.wire.hosts import join_port

_STATUS = re.compile(r"refused HTTP CONNECT request: (\d+)")
_ERRNO = re.compile(r"\[Errno (-?\d+)\] ([^(\[]*)")
_UNTRUSTED = "Certificate verify failed: "
_NO_TLS = "does not speak TLS"
_OURSELVES = "Request destination unknown"
_CLOSED = "connection closed"


def connect_error(
    message: str, host: str, port: int, proxy: ProxyServer | None, *, tls_with_proxy: bool = False
) -> str | None:
    """Return why the host cannot be reached; None if the message is about something else.

    `proxy` is the company's proxy on the way; `tls_with_proxy` if TLS with the proxy itself failed.
    """
    target = join_port(host, port)
    through = f"upstream proxy {proxy.name}" if proxy else None
    first = through or target
    if proxy and (status := _STATUS.search(message)):
        return _refused_by(proxy, target, int(status[1]))
    if proxy and _OURSELVES in message:
        return f"{through} is this proxy itself; set HTTPS_PROXY to the company's proxy"
    if _UNTRUSTED in message:
        whose = first if tls_with_proxy else target
        reason = message.partition(_UNTRUSTED)[2]
        return (
            f"the certificate of {whose} is not trusted ({reason}); if your company's proxy issued"
            " it, name the company's CA file in NODE_EXTRA_CA_CERTS"
        )
    if _NO_TLS in message:
        return f"{first if tls_with_proxy else target} does not speak TLS"
    if proxy and message.strip() == _CLOSED:
        return f"{through} closed the connection before it answered"
    if system := _ERRNO.search(message):
        return _unreachable(first, int(system[1]), system[2].strip())
    return None


def refused_request(proxy: ProxyServer, host: str, port: int, status: int) -> str | None:
    """Return why the proxy itself answered a plain http request; None if the host may have."""
    return _refused_by(proxy, join_port(host, port), status) if status == 407 else None


def _refused_by(proxy: ProxyServer, target: str, status: int) -> str:
    name = f"upstream proxy {proxy.name}"
    if status != 407:
        return f"{name} refused to connect to {target} ({status})"
    if proxy.authorization is None:
        return f"{name} asks for a password (407); add it to HTTPS_PROXY"
    return f"{name} rejected the user name or password in HTTPS_PROXY (407)"


def _unreachable(name: str, number: int, text: str) -> str:
    if number == errno.ECONNREFUSED:
        return f"{name} refused the connection"
    if number > 0:
        text = os.strerror(number)
    return f"{name} cannot be reached ({text})"
