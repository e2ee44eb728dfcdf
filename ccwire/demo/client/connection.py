"""The simulated client's connection to the API: HTTPS through a proxy, or direct plain HTTP.

Keeps connections alive as the real client does. Contains nothing about sessions or transcripts.
"""

import http.client
import json
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from addon.recording.content.decode import decoder_for
from ccwire.wire.hosts import API_HOST
from ccwire.wire.stream.message import MessageAssembler
from ccwire.wire.stream.sse import SSEParser

_TIMEOUT = 60.0
_LOST = (http.client.HTTPException, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response as far as it was received. `lost`: the connection broke before its end."""

    status: int | None
    request_id: str | None = None
    message: dict[str, Any] | None = None  # without its usage
    start_usage: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    complete: bool = False
    lost: bool = False
    interrupted: bool = False


class ApiConnection:
    """Keep-alive connections: to `upstream` by plain HTTP, else through a proxy on loopback."""

    def __init__(
        self,
        *,
        proxy_port: int | None = None,
        ca_cert: Path | None = None,
        upstream: str | None = None,
    ) -> None:
        if (proxy_port is None) == (upstream is None):
            raise ValueError("expected either proxy_port or upstream")
        self._proxy_port = proxy_port
        self._upstream = urlsplit(upstream) if upstream else None
        self._trust = ssl.create_default_context(cafile=ca_cert) if proxy_port else None
        self._idle: dict[str, list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            for connections in self._idle.values():
                for connection in connections:
                    connection.close()
            self._idle.clear()

    def send(
        self,
        path: str,
        *,
        host: str = API_HOST,
        body: Any = None,
        headers: dict[str, str] | None = None,
        interrupt_after: int | None = None,
    ) -> Reply:
        """Send one request and return its response; with `interrupt_after`, close the connection
        after that many events, as Escape does."""
        data = None if body is None else json.dumps(body).encode()
        named = {"host": host, "accept-encoding": "gzip, deflate, br, zstd", **(headers or {})}
        if data is not None:
            named["content-type"] = "application/json"
        connection = self._connection(host)
        try:
            connection.request("GET" if data is None else "POST", path, data, named)
            response = connection.getresponse()
            reply = _read(response, interrupt_after)
        except _LOST:
            connection.close()
            return Reply(status=None, lost=True)
        if reply.lost or reply.interrupted or response.will_close:
            response.close()
            connection.close()
        else:
            with self._lock:
                self._idle.setdefault(host, []).append(connection)
        return reply

    def _connection(self, host: str) -> http.client.HTTPConnection:
        with self._lock:
            if idle := self._idle.get(host):
                return idle.pop()
        if self._upstream is not None:
            return http.client.HTTPConnection(self._upstream.netloc, timeout=_TIMEOUT)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._proxy_port, timeout=_TIMEOUT, context=self._trust
        )
        connection.set_tunnel(host, 443)
        return connection


def _read(response: http.client.HTTPResponse, interrupt_after: int | None) -> Reply:
    request_id = response.headers.get("request-id")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return _read_json(response, request_id)
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    parser, assembler = SSEParser(), MessageAssembler()
    lost = interrupted = False
    count = 0
    try:
        while not interrupted and (chunk := response.read1(65536)):
            for event in parser.feed(decoder.decode(chunk)):
                count += 1
                assembler.feed(json.loads(event.data or b"null"))
            interrupted = interrupt_after is not None and count >= interrupt_after
    except _LOST:
        lost = True
    assembled = assembler.result()
    return Reply(
        status=response.status,
        request_id=request_id,
        message=assembled.message,
        start_usage=assembled.usage_at_start,
        usage=assembled.usage,
        error=assembled.error,
        complete=assembled.complete,
        lost=lost or (not assembled.complete and assembled.error is None and not interrupted),
        interrupted=interrupted,
    )


def _read_json(response: http.client.HTTPResponse, request_id: str | None) -> Reply:
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    try:
        value = json.loads(decoder.decode(response.read()) or b"{}")
    except (*_LOST, ValueError):
        return Reply(status=response.status, request_id=request_id, lost=True)
    if response.status >= 400:
        return Reply(status=response.status, request_id=request_id, error=value.get("error") or {})
    usage = value.pop("usage", None) if value.get("type") == "message" else None
    return Reply(
        status=response.status,
        request_id=request_id,
        message=value,
        start_usage=usage,
        usage=usage,
        complete=True,
    )
