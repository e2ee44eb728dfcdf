"""The mitmproxy add-on (`mitmdump -s addon/capture.py`): queues a copy of all traffic to record.

Parsing and writing happen elsewhere. Errors are logged and counted; the client's bytes always pass
through unchanged.
"""

import logging
import os
import secrets
import sys
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from mitmproxy import connection, contentviews, ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import server_hooks

# mitmproxy puts only this file's folder on the path, and the user's project may have an `addon`.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from addon.admission import Admission
from addon.brake import Brake
from addon.chain import Chain
from addon.hooks.sessions import default_sessions_path
from addon.identity.processes import ProcessResolver, ProcessTable
from addon.launch.base_url import reverse_servers
from addon.launch.proxy_log import Connections
from addon.recording import process
from addon.recording.jobs import CROWDED, Answered, Begun, Ended, RequestSeen, ResponseSeen
from addon.recording.journal.replay import take_over
from addon.recording.process import JournalQueue
from addon.recording.queue import JobQueue
from addon.recording.start import CapturePaths, new_redactor, prepare
from addon.redaction.log_records import redact_log_records
from addon.storage.packing.keep_open import KEEP_OPEN, parse_keep_open
from addon.trailers import Trailers
from addon.view import AnswerView
from ccwire.wire.format import claude_dir, is_run_id
from ccwire.wire.hosts import (
    DEFAULT_HOSTS,
    LOOPBACK,
    describe_hosts,
    is_loopback,
    matches_host,
    parse_base_url,
    port_of,
)
from ccwire.wire.vocabulary import EndedBy

logger = logging.getLogger("ccwire")


class Capture:
    """Captures every exchange with `capture_hosts` and tunnels all other traffic."""

    def __init__(self) -> None:
        self._hosts: tuple[str, ...] = DEFAULT_HOSTS
        self._upstream: urllib.parse.SplitResult | None = None
        self._behind_ports: Mapping[int, urllib.parse.SplitResult] = {}
        self._queue: JobQueue | JournalQueue | None = None
        self._brake: Brake | None = None
        self._resolver: ProcessResolver | None = None
        self._in_flight: set[str] = set()
        self._log_redactor = new_redactor(secrets.token_bytes(32))
        self._connections = Connections()
        self.admission = Admission(self._connections)
        self._chain = Chain()
        self.addons = [self._chain]  # mitmproxy calls its hooks after those of this class
        self._stopped = False

    def load(self, loader: Loader) -> None:
        contentviews.add(AnswerView())
        redact_log_records(self._log_redactor)
        loader.add_option("capture_dir", str, "captures", "Folder to write captures to.")
        loader.add_option(
            "capture_hosts",
            Sequence[str],
            list(DEFAULT_HOSTS),
            "Hosts to capture (`*` matches any part); all others are tunnelled.",
        )
        loader.add_option(
            "capture_sessions", str, "", "File that the hooks write (default: in the home)."
        )
        loader.add_option(
            "capture_claude_dir", str, "", "Claude Code's folder (default: ~/.claude)."
        )
        loader.add_option(
            "capture_run", str, "", "Folder for calls of programs without a session: run-NAME."
        )
        loader.add_option(
            "capture_upstream",
            str,
            "",
            "Send captured calls to this base URL and refuse every other host.",
        )

        loader.add_option(
            "capture_keep_open",
            str,
            KEEP_OPEN,
            "Exchanges of a running session that stay plain files, or `all`; the rest is packed.",
        )

    def configure(self, updated: set[str]) -> None:
        if "capture_hosts" in updated:
            named = [h.strip() for item in ctx.options.capture_hosts for h in item.split(",")]
            self._hosts = tuple(host.lower() for host in named if host)
            if not self._hosts:
                raise exceptions.OptionsError("capture_hosts: name at least one host.")
        if "capture_upstream" in updated:
            self._upstream = _upstream(ctx.options.capture_upstream)
            if self._upstream is not None:
                ctx.options.update(connection_strategy="lazy", upstream_cert=False)
        if "mode" in updated:
            self._behind_ports = reverse_servers(ctx.options.mode)
        if "capture_run" in updated and (run := ctx.options.capture_run) and not is_run_id(run):
            raise exceptions.OptionsError(
                "capture_run: expected run-NAME, of letters, digits and dashes, at most 64 in all."
            )
        if "capture_keep_open" in updated:
            try:
                parse_keep_open(ctx.options.capture_keep_open)
            except ValueError as error:
                raise exceptions.OptionsError(f"capture_keep_open: {error}.") from error
        if "capture_dir" in updated and self._queue is not None:
            raise exceptions.OptionsError("capture_dir: set it when the proxy starts.")

    def running(self) -> None:
        # mitmproxy ignores a name that it does not know; an error stops it while it starts.
        if unknown := sorted(name for name in ctx.options.deferred if name.startswith("capture_")):
            known = sorted(name for name in ctx.options.keys() if name.startswith("capture_"))  # noqa: SIM118
            named = f"unknown option {', '.join(unknown)}"
            logger.error(f"ccwire: {named}; the options are {', '.join(known)}")
        self._start()

    def done(self) -> None:
        self._stopped = True
        if self._queue is not None:
            now = time.time()
            for flow_id in self._in_flight:
                self._queue.put(Ended(flow_id, now, "proxy_stopped", "the proxy was stopped"))
            self._in_flight.clear()
            self._queue.close()
            self._queue = None
            logger.info(f"ccwire: {self._connections.to_line()}")
        if self._resolver is not None:
            self._resolver.close()
            self._resolver = None

    def client_connected(self, client: connection.Client) -> None:
        is_local = client.peername is not None and is_loopback(client.peername[0])
        if ctx.options.listen_host == "" and not is_local:
            client.error = "ccwire accepts only local connections unless --listen-host is set"
            return
        self._start()
        self._connections.count += 1
        if self._resolver is not None and client.peername and client.sockname:
            self._resolver.connected(client.id, client.peername[:2], client.sockname[:2])
            self.admission.connected(client, self._resolver)

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        address = data.context.server.address
        host, port = address if address else (data.client_hello.sni or "", 443)
        captured = self._is_captured(host, port)
        if self._chain.is_captured_elsewhere(data.context.client):
            captured = False
        if self._upstream is None and not captured:
            data.ignore_connection = True

    def tls_failed_client(self, data: tls.TlsData) -> None:
        address = data.context.server.address
        if address and self._is_captured(*address):
            self._connections.add_untrusted(address[0])

    def http_connect(self, flow: http.HTTPFlow) -> None:
        if self.admission.is_refused(flow):
            return
        self._chain.recognise(flow)
        if self._behind_own_port(flow.request) is not None:
            flow.response = _established(flow.request.data.http_version)
            return
        self._count_other(flow)
        self._refuse_others(flow)
        if flow.response is None and self._captures(flow):
            # Answered before a connection is tried: if that fails, it fails a request that is seen.
            flow.response = _established(flow.request.data.http_version)

    def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        upstream = self._upstream
        if upstream is not None and data.server.address != (upstream.hostname, port_of(upstream)):
            data.server.error = "ccwire: refused, because capture_upstream allows no other host"

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if self.admission.is_refused(flow):
            return
        if (server := self._behind_own_port(flow.request)) is not None:
            # Old clients use their proxy for a base URL on loopback too, whatever NO_PROXY names.
            assert server.hostname is not None
            flow.request.scheme = server.scheme
            flow.request.host = server.hostname
            flow.request.port = port_of(server)
        self._count_other(flow)
        if not self._captures(flow) and self._upstream is None:
            flow.request.stream = True

    def request(self, flow: http.HTTPFlow) -> None:
        if not self._captures(flow):
            self._refuse_others(flow)
            return
        self._begin(flow)
        if self._upstream is not None:
            _send_to(flow.request, self._upstream)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        if self._queue is None or flow.id not in self._in_flight:
            flow.response.stream = True
            return
        slow_down = self._brake.of(flow) if self._brake is not None else None
        flow.response.stream = self._queue.tee(flow.id, slow_down)
        response = flow.response
        self._queue.put(
            Answered(
                flow.id,
                ResponseSeen(
                    at=response.timestamp_start or time.time(),
                    status=response.status_code,
                    reason=response.reason,
                    http_version=response.http_version,
                    headers=_headers(response.headers),
                ),
            )
        )

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.websocket is None:  # else `websocket_end` follows
            self._end(flow, "http_end", self._chain.refusal(flow))

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        assert flow.websocket is not None
        if not ctx.options.store_streamed_bodies:  # set for a screen, which shows them
            del flow.websocket.messages[:-1]  # mitmproxy would keep all until the end

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        assert flow.websocket is not None
        by_client = flow.websocket.closed_by_client
        ended_by: EndedBy = "client_disconnect" if by_client else "server_disconnect"
        self._end(flow, ended_by, "the messages of a WebSocket are not captured")

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.id not in self._in_flight:
            if self._captures(flow) and flow.response is None:
                self._begin(flow)  # the connection failed before the request was complete
            else:
                return
        ended_by = _who_left(flow)
        is_servers = ended_by == "server_disconnect"
        why = self._chain.failure(flow) if is_servers else self._chain.unanswered(flow)
        self._end(flow, ended_by, why or (flow.error.msg if flow.error else "error"))

    def _start(self) -> None:
        """Start on `running` or on the first connection: the port opens before `running`."""
        if self._queue is not None or self._stopped:
            return
        paths = CapturePaths(
            captures=Path(ctx.options.capture_dir).expanduser(),
            sessions=Path(ctx.options.capture_sessions or default_sessions_path()).expanduser(),
            claude_dir=claude_dir(ctx.options.capture_claude_dir, os.environ),
            run=ctx.options.capture_run,
            keep_open=ctx.options.capture_keep_open,
        )
        prepare(paths)
        self._resolver = ProcessResolver(ProcessTable().find)
        self._queue = _queue(paths, self._resolver)
        self._brake = Brake(self._queue, CROWDED // 2)
        if "flow_detail" in ctx.options and ctx.options.flow_detail == 1:
            ctx.options.update(flow_detail=0)  # its log lines contain unredacted URLs
        if any(screen in ctx.options for screen in ("web_port", "console_layout")):
            ctx.options.update(store_streamed_bodies=True)  # else mitmproxy shows no response body
        if ctx.options.listen_host not in ("", *LOOPBACK):
            logger.warning(
                f"ccwire: the proxy listens on {ctx.options.listen_host}, so OTHER MACHINES CAN USE"
                " IT; to prevent that, start it with --listen-host 127.0.0.1"
            )
        logger.info(f"ccwire: capturing {describe_hosts(self._hosts)} into {paths.captures}")

    def _begin(self, flow: http.HTTPFlow) -> None:
        if self._queue is None:
            return
        request = flow.request
        headers = _headers(request.headers)
        self._log_redactor.learn_headers(headers)  # mitmproxy may quote what a server repeats
        peer = flow.client_conn.peername
        self._in_flight.add(flow.id)
        self._queue.put(
            Begun(
                RequestSeen(
                    flow_id=flow.id,
                    started=request.timestamp_start,
                    ended=request.timestamp_end or time.time(),
                    method=request.method,
                    scheme=request.scheme,
                    host=request.pretty_host,
                    port=request.port,
                    target=request.path,
                    http_version=request.http_version,
                    headers=headers,
                    body=request.raw_content or b"",
                    client_address=(peer[0], peer[1]) if peer else None,
                    connection_id=flow.client_conn.id,
                )
            )
        )

    def _end(self, flow: http.HTTPFlow, ended_by: EndedBy, error: str | None) -> None:
        if self._queue is None or flow.id not in self._in_flight:
            return
        self._in_flight.discard(flow.id)
        self._queue.put(Ended(flow.id, time.time(), ended_by, error))

    def _is_captured(self, host: str, port: int) -> bool:
        return _matches(host, port, self._hosts)

    def _captures(self, flow: http.HTTPFlow) -> bool:
        """Decide by the address to connect to: a client may send any Host header."""
        if self._chain.is_captured_elsewhere(flow.client_conn) or self.admission.is_refused(flow):
            return False
        return self._is_captured(flow.request.host, flow.request.port)

    def _behind_own_port(self, request: http.Request) -> urllib.parse.SplitResult | None:
        """Return the server to use for a request that names this proxy's own reverse port."""
        return self._behind_ports.get(request.port) if is_loopback(request.host) else None

    def _count_other(self, flow: http.HTTPFlow) -> None:
        if not self._captures(flow):
            self._connections.add_other(flow.request.host, flow.request.port)

    def _refuse_others(self, flow: http.HTTPFlow) -> None:
        is_other = not (self._captures(flow) or self.admission.is_refused(flow))
        if self._upstream is not None and is_other:
            text = "ccwire: refused, because capture_upstream allows no other host\n"
            flow.response = http.Response.make(403, text, {"content-type": "text/plain"})


@lru_cache(maxsize=1024)  # asked several times per request, of a long list of patterns
def _matches(host: str, port: int, hosts: tuple[str, ...]) -> bool:
    return matches_host(host, hosts, port)


def _queue(paths: CapturePaths, resolver: ProcessResolver) -> JobQueue | JournalQueue:
    """Return a journal with a writer process, or a recorder in this process if that cannot be."""
    if process.is_possible():
        try:
            return JournalQueue(paths, resolver.future)
        except OSError as error:
            logger.warning(
                f"ccwire: could not start the writer process ({error.strerror});"
                " writing in the proxy process"
            )
    return JobQueue(take_over(paths, None), resolver.process)


def _who_left(flow: http.HTTPFlow) -> EndedBy:
    """Return which side disconnected, judged by the connections because error texts are unreliable.

    When the client disconnects, mitmproxy closes both connections; when the server does, the
    client's connection is still open.
    """
    still_there = flow.client_conn.state is connection.ConnectionState.OPEN
    return "server_disconnect" if still_there else "client_disconnect"


def _upstream(url: str) -> urllib.parse.SplitResult | None:
    try:
        return parse_base_url(url) if url else None
    except ValueError as error:
        raise exceptions.OptionsError(f"capture_upstream: {error}.") from error


def _established(http_version: bytes) -> http.Response:
    """Return mitmproxy's own answer to CONNECT, which has no headers."""
    now = time.time()
    reason = b"Connection established"
    return http.Response(http_version, 200, reason, http.Headers(), b"", None, now, now)


def _send_to(request: http.Request, upstream: urllib.parse.SplitResult) -> None:
    assert upstream.hostname is not None
    host_header = request.host_header
    request.scheme = upstream.scheme
    request.host = upstream.hostname
    request.port = port_of(upstream)
    request.path = upstream.path.rstrip("/") + request.path
    request.host_header = host_header


def _headers(headers: http.Headers) -> list[tuple[str, str]]:
    return [
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in headers.fields
    ]


_capture = Capture()
addons = [Trailers(), _capture.admission, _capture]  # in the order of their hooks
