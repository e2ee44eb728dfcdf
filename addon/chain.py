"""The part of the add-on that connects upstream: through a company's proxy, with a company's CA.

mitmproxy's own upstream mode does the work; this adds the exceptions of NO_PROXY, one proxy each
for https and http, a password that is in no option, and errors that name the proxy.
"""

import hashlib
import logging
import os
from pathlib import Path

from mitmproxy import connection, ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import layer, server_hooks

from addon.upstream.ca_file import UpstreamCa
from addon.upstream.company_proxy import (
    CompanyProxy,
    ProxyServer,
    UnusableProxy,
    chained_modes,
    named_proxy,
)
from addon.upstream.errors import connect_error, refused_request
from ccwire.wire.hosts import is_loopback

logger = logging.getLogger("ccwire")

_PASSWORD = "Proxy-Authorization"
_CAPTURED_INTO = "X-Ccwire-Captures"  # with CONNECT to a proxy on this machine; no host gets it
_CA_OPTIONS = ("ssl_verify_upstream_trusted_ca", "ssl_verify_upstream_trusted_confdir")


class Chain:
    """Chains the company's proxy behind this one; `capture_upstream` turns it off."""

    def __init__(self) -> None:
        self._proxies: CompanyProxy | None = None
        self._running = False
        self._ca: UpstreamCa | None = None
        self._no_tls_with_proxy: set[str] = set()  # ids of clients, like the next
        self._captured_elsewhere: set[str] = set()
        self._reported: set[str] = set()

    def load(self, loader: Loader) -> None:
        loader.add_option(
            "capture_proxy",
            str,
            "",
            "Connect through this proxy: its URL, or `env` for HTTPS_PROXY, HTTP_PROXY, NO_PROXY.",
        )

    def configure(self, updated: set[str]) -> None:
        if "capture_proxy" not in updated:
            return
        if self._running:
            raise exceptions.OptionsError("capture_proxy: set it when the proxy starts.")
        if ctx.options.capture_upstream:
            return
        try:
            self._proxies = named_proxy(ctx.options.capture_proxy, os.environ)
        except UnusableProxy as error:
            raise exceptions.OptionsError(f"capture_proxy: {error}.") from None
        if self._proxies is not None:
            # Lazy, so that a request is seen before its connection can fail.
            ctx.options.update(connection_strategy="lazy")

    def running(self) -> None:
        self._start()
        if self._proxies is not None:  # not earlier: mitmproxy would miss it while it starts
            ctx.options.update(mode=chained_modes(ctx.options.mode, self._proxies))

    def client_connected(self, client: connection.Client) -> None:
        self._start()  # the port opens before `running`

    def done(self) -> None:
        if self._ca is not None:
            self._ca.close()
            self._ca = None

    def recognise(self, flow: http.HTTPFlow) -> None:
        """Remember a client that is a proxy of ours and captures into the same folder.

        `ccwire run` where HTTPS_PROXY already names `ccwire proxy` would capture every call twice.
        """
        folder = flow.request.headers.pop(_CAPTURED_INTO, None)
        if folder == self._folder() and not ctx.options.capture_upstream:
            self._captured_elsewhere.add(flow.client_conn.id)

    def is_captured_elsewhere(self, client: connection.Client) -> bool:
        return client.id in self._captured_elsewhere

    def http_connect(self, flow: http.HTTPFlow) -> None:
        if proxy := self._proxy_for(flow.request, "https"):
            flow.server_conn.via = (proxy.scheme, proxy.address)

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        proxy = self._proxies.server_at(flow.server_conn.address) if self._proxies else None
        if proxy is None:
            return
        if proxy.authorization:
            flow.request.headers[_PASSWORD] = proxy.authorization
        if is_loopback(proxy.host):
            flow.request.headers[_CAPTURED_INTO] = self._folder()

    def next_layer(self, data: layer.NextLayer) -> None:
        """Connect directly to what NO_PROXY names: for CONNECT, mitmproxy knows no exceptions."""
        server = data.context.server
        if self._proxies is None or server.via is None or server.address is None:
            return
        if self._proxies.server_for("https", *server.address) is None:
            data.context.server = connection.Server(address=server.address)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if self._proxies is None:
            return
        proxy = self._proxy_for(flow.request, flow.request.scheme)
        flow.server_conn.via = (proxy.scheme, proxy.address) if proxy else None
        if flow.request.stream:
            self._complete(flow.request)

    def request(self, flow: http.HTTPFlow) -> None:
        if not flow.request.stream:
            self._complete(flow.request)  # after `Capture.request` has recorded it

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        self._forget_password(flow.request)

    def error(self, flow: http.HTTPFlow) -> None:
        self._forget_password(flow.request)

    def tls_failed_server(self, data: tls.TlsData) -> None:
        via = data.context.server.via
        if via and isinstance(data.conn, connection.Server) and data.conn.address == via[1]:
            self._no_tls_with_proxy.add(data.context.client.id)

    def client_disconnected(self, client: connection.Client) -> None:
        self._no_tls_with_proxy.discard(client.id)
        self._captured_elsewhere.discard(client.id)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Report a proxy that cannot be reached, for tunnelled hosts too."""
        address = data.server.address
        proxy = self._proxies.server_at(address) if self._proxies else None
        if proxy is not None:
            self._report(connect_error(data.server.error or "", *proxy.address, proxy))

    def failure(self, flow: http.HTTPFlow) -> str | None:
        """Return why the request was not sent; None if its connection did not fail."""
        request = flow.request
        if flow.error is None or flow.response is not None:
            return None
        why = connect_error(
            flow.error.msg,
            request.host,
            request.port,
            self._proxy_for(request, request.scheme),
            tls_with_proxy=flow.client_conn.id in self._no_tls_with_proxy,
        )
        return self._report(why)

    def unanswered(self, flow: http.HTTPFlow) -> str | None:
        """Return that the proxy did not connect before the client left; None if it did."""
        proxy = self._proxy_for(flow.request, flow.request.scheme)
        if proxy is None or flow.response or flow.server_conn.timestamp_start is not None:
            return None
        return self._report(
            f"upstream proxy {proxy.name} did not answer before the client disconnected"
        )

    def refusal(self, flow: http.HTTPFlow) -> str | None:
        """Return why the proxy itself answered a plain http request; None if it did not."""
        request = flow.request
        proxy = self._proxy_for(request, "http") if request.scheme == "http" else None
        if proxy is None or flow.response is None:
            return None
        why = refused_request(proxy, request.host, request.port, flow.response.status_code)
        return self._report(why)

    def _proxy_for(self, request: http.Request, scheme: str) -> ProxyServer | None:
        if self._proxies is None:
            return None
        return self._proxies.server_for(scheme, request.host, request.port)

    def _complete(self, request: http.Request) -> None:
        """Give a plain http request its password, or make it a request to the host itself."""
        if self._proxies is None or request.scheme != "http" or not request.authority:
            return
        proxy = self._proxy_for(request, "http")
        if proxy is None:
            request.authority = ""
        elif proxy.authorization:
            request.headers[_PASSWORD] = proxy.authorization

    def _folder(self) -> str:
        path = str(Path(ctx.options.capture_dir).expanduser().resolve())
        return hashlib.sha256(path.encode()).hexdigest()

    def _forget_password(self, request: http.Request) -> None:
        """Remove the password once it is sent: mitmproxy may display the flow, or save it."""
        if self._proxies is not None:
            request.headers.pop(_PASSWORD, None)

    def _report(self, problem: str | None) -> str | None:
        """Log a problem once."""
        if problem is not None and problem not in self._reported:
            self._reported.add(problem)
            logger.warning(f"ccwire: {problem}")
        return problem

    def _start(self) -> None:
        """Trust upstream what programs on this machine trust, unless the options say otherwise."""
        if self._running:
            return
        self._running = True
        plain = ctx.options.capture_upstream.startswith("http://")
        if plain or any(getattr(ctx.options, name) for name in _CA_OPTIONS):
            return
        try:
            self._ca = UpstreamCa(os.environ)
        except OSError as error:
            logger.warning(f"ccwire: trusting only certifi's CAs upstream ({error.strerror})")
            return
        ctx.options.update(ssl_verify_upstream_trusted_ca=str(self._ca.path))
