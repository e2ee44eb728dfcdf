"""The proxy that the user's environment names: which server, with which password, for which hosts.

Pure. The password is kept out of every `repr` and out of every error.
"""

import base64
import ipaddress
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ccwire.wire.hosts import is_loopback, join_port

type Scheme = Literal["http", "https"]

# As the client does, and unlike curl, each of the two is also used in place of the other.
_HTTPS, _HTTP = ("https_proxy", "HTTPS_PROXY"), ("http_proxy", "HTTP_PROXY")
PROXY_VARIABLES = (*_HTTPS, *_HTTP)
ALL_PROXY_VARIABLES = ("all_proxy", "ALL_PROXY")
NO_PROXY_VARIABLES = ("no_proxy", "NO_PROXY")
_HOST = re.compile(r"[\w.:%-]+")
_DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}


class UnusableProxy(ValueError):
    """The variable names no proxy that can be chained; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ProxyServer:
    """An http or https proxy; `authorization` is the value of `Proxy-Authorization`."""

    scheme: Scheme
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def name(self) -> str:
        """The proxy as messages name it, without the password."""
        return join_port(self.host, self.port)

    @property
    def url(self) -> str:
        """The URL without the password."""
        return f"{self.scheme}://{self.name}"


@dataclass(frozen=True, slots=True)
class CompanyProxy:
    """The proxies for https and http targets, and the items of NO_PROXY."""

    https: ProxyServer
    http: ProxyServer
    exceptions: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """The proxies as messages name them."""
        return " and ".join(dict.fromkeys((self.https.name, self.http.name)))

    def server_for(self, scheme: str, host: str, port: int) -> ProxyServer | None:
        """Return the proxy for a target; None means that it is connected to directly."""
        if is_loopback(host) or any(_excepts(item, host, port) for item in self.exceptions):
            return None
        return self.http if scheme == "http" else self.https

    def server_at(self, address: tuple[str, int] | None) -> ProxyServer | None:
        """Return the proxy at this address."""
        known = (self.https, self.http)
        return next((server for server in known if server.address == address), None)


def company_proxy(environment: Mapping[str, str]) -> CompanyProxy | None:
    """Return what HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name; None if there is no proxy.

    Raise UnusableProxy for a proxy that is neither http nor https.
    """
    https = _named((*_HTTPS, *_HTTP, *ALL_PROXY_VARIABLES), environment)
    http = _named((*_HTTP, *_HTTPS, *ALL_PROXY_VARIABLES), environment)
    if https is None or http is None:
        return None
    return CompanyProxy(https, http, no_proxy_items(environment))


def named_proxy(option: str, environment: Mapping[str, str]) -> CompanyProxy | None:
    """Return what the option names: nothing, `env` for the variables, or a URL for all targets.

    NO_PROXY counts in every case. A password in a URL is refused: options are in process lists.
    """
    if option in ("", "env"):
        return company_proxy(environment) if option else None
    server = parse_proxy(option, "the URL")
    if server.authorization is not None:
        raise UnusableProxy("give a password in HTTPS_PROXY, and `env` as the option")
    return CompanyProxy(server, server, no_proxy_items(environment))


def proxy_authorizations(environment: Mapping[str, str]) -> list[str]:
    """Return what the proxies of these variables get in `Proxy-Authorization`."""
    found = []
    for name in (*_HTTPS, *_HTTP, *ALL_PROXY_VARIABLES):
        try:
            server = _named((name,), environment)
        except UnusableProxy:
            continue
        if server is not None and server.authorization is not None:
            found.append(server.authorization)
    return list(dict.fromkeys(found))


def no_proxy_items(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the items of NO_PROXY, which commas or spaces separate."""
    listed = next((environment[name] for name in NO_PROXY_VARIABLES if environment.get(name)), "")
    return split_no_proxy(listed)


def split_no_proxy(listed: str) -> tuple[str, ...]:
    return tuple(item for item in re.split(r"[,\s]+", listed.lower()) if item)


def chained_modes(modes: Sequence[str], chain: CompanyProxy) -> list[str]:
    """Return mitmproxy's modes with `upstream` in place of `regular`; others stay."""
    return [re.sub(r"^regular(?=@|$)", f"upstream:{chain.https.url}", mode) for mode in modes]


def parse_proxy(url: str, source: str) -> ProxyServer:
    """Parse a proxy's URL; without a scheme, it is http. `source` is named in the error."""
    kind, separator, rest = url.strip().partition("://")
    if not separator:
        kind, rest = "http", url.strip()
    scheme = _scheme(kind.lower(), source)
    try:
        parts = urllib.parse.urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None  # the reason could contain a part of the password
    # An `@` after the host means that a `/`, `?` or `#` of the password was not encoded.
    if not host or not _HOST.fullmatch(host) or port == 0 or "@" in rest.removeprefix(parts.netloc):
        raise UnusableProxy(
            f"{source} is not a proxy's URL such as http://user:password@proxy.example:3128;"
            " percent-encode special characters in the password"
        )
    return ProxyServer(scheme, host, port or _DEFAULT_PORTS[scheme], _authorization(parts))


def _named(names: tuple[str, ...], environment: Mapping[str, str]) -> ProxyServer | None:
    name = next((name for name in names if environment.get(name, "").strip()), None)
    return parse_proxy(environment[name], name) if name is not None else None


def _scheme(kind: str, source: str) -> Scheme:
    if kind == "http":
        return "http"
    if kind == "https":
        return "https"
    named = "a SOCKS proxy" if kind.startswith("socks") else f"a proxy of type {kind[:20]!r}"
    raise UnusableProxy(
        f"{source} names {named}, which ccwire cannot use; set HTTPS_PROXY to an http:// or"
        f" https:// proxy, or unset {source} for this command"
    )


def _authorization(parts: urllib.parse.SplitResult) -> str | None:
    if not parts.username and not parts.password:
        return None
    user, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _excepts(item: str, host: str, port: int) -> bool:
    """Return whether an item of NO_PROXY names a target: a name, a suffix, an address, a range."""
    if item == "*":
        return True
    host = host.lower().rstrip(".")
    address = _address(host)
    if address is not None:
        return _excepts_address(item, address, port)
    name, _, only_port = item.partition(":")
    if only_port and only_port != str(port):
        return False
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith("." + name))


def _excepts_address(
    item: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int
) -> bool:
    with_port = re.fullmatch(r"\[(.+)\]:(\d+)|([^:]+):(\d+)", item)
    if with_port:
        if int(with_port[2] or with_port[4]) != port:
            return False
        item = with_port[1] or with_port[3]
    try:
        return address in ipaddress.ip_network(item.strip("[]"), strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
