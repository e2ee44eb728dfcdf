"""A capturing proxy with a company's proxy behind it, and requests through both."""

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from addon.launch.proxy import Proxy
from ccwire.demo.stand_in.server import StandIn
from tests.company import (
    SECRETS,
    CompanyCA,
    CompanyProxy,
)
from tests.rig import Rig, messages_body, new_session

API = "api.anthropic.com"
TUNNELLED = "tunnelled.example"
PLAIN = "gateway.example"
NOWHERE = "0.0.0.0"  # an address that reaches this machine, but is not a loopback address


def routes(api: StandIn) -> dict[str, int]:
    return {f"{API}:443": api.port, f"{TUNNELLED}:443": api.port, f"{PLAIN}:80": api.port}


@contextmanager
def capturing(
    folder: Path, confdir: Path, api: StandIn, variables: Mapping[str, str], **options: Any
) -> Iterator[Rig]:
    """A capturing proxy with these variables and no others."""
    proxy = Proxy(
        folder / "captures",
        log=folder / "proxy.log",
        sessions=folder / "sessions.json",
        claude_dir=folder / "claude",
        confdir=confdir,
        chain=True,
        environment={"HOME": str(folder), **variables},
        **options,
    )
    with proxy:
        yield Rig(api, proxy, folder)


def variables(company: CompanyProxy, ca: CompanyCA | None = None, **more: str) -> dict[str, str]:
    found = {"HTTPS_PROXY": company.url, "HTTP_PROXY": company.url, **more}
    return {**found, "NODE_EXTRA_CA_CERTS": str(ca.file)} if ca else found


def get(port: int, host: str, trusted: Path | None = None, target_port: int = 443) -> int:
    """Get a page through the proxy: by CONNECT if there is a CA to trust, else as plain http."""
    made: http.client.HTTPConnection
    if trusted is None:
        made = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        url = f"http://{host}:{target_port}/hello"
    else:
        context = ssl.create_default_context(cafile=str(trusted))
        made = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        made.set_tunnel(host, target_port)
        url = "/hello"
    try:
        made.request("GET", url, headers={"host": host, "connection": "close"})
        answer = made.getresponse()
        answer.read()  # a client that leaves before the end is another outcome
        return answer.status
    finally:
        made.close()


def ask(wire: Rig, session: str | None = None) -> tuple[int, dict[str, Any]]:
    """Post one message; return the client's status and the exchange."""
    session = session or new_session()
    status, _ = wire.post(messages_body("hello", session))
    (line,) = wire.exchanges(session, 1)
    return status, line


def no_secret_is_in(folder: Path) -> None:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    for file in files:
        data = file.read_bytes()
        assert [s for s in SECRETS if s.encode() in data] == [], file.name


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
