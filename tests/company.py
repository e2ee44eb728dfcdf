"""A company's proxy on loopback: demands a password, maps hosts, inspects TLS, counts everything.

No byte leaves the machine: every host that it is asked for is mapped to a port on 127.0.0.1, and
all others are refused.
"""

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import CertStore

USER, PASSWORD = "me", "pa@ss-7f3a9c"
ENCODED = "pa%40ss-7f3a9c"
CREDENTIALS = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = (PASSWORD, ENCODED, CREDENTIALS, CREDENTIALS[:20], "ss-7f3a9c")


class CompanyCA:
    """A certificate authority that no public list contains."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = CertStore.from_store(folder, "company", 2048)
        self.file = folder / "company-ca-cert.pem"

    def context(self, host: str) -> ssl.SSLContext:
        """Return the context of a server with a certificate for this host."""
        name: x509.GeneralName
        try:
            name = x509.IPAddress(ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        made = self._store.get_cert(host, [name])
        pem = self._folder / f"{host}.pem"
        key = made.privatekey.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        pem.write_bytes(key + made.cert.to_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context


@dataclass
class CompanyProxy:
    """A proxy in a thread, inside a `with` block.

    `routes` maps `host:port` to the port on loopback that answers for it. With `ca`, CONNECT ends
    in a TLS connection with this proxy, as with proxies that inspect TLS, and goes on as plain
    http. With `host`, the proxy itself speaks TLS.
    """

    routes: Mapping[str, int]
    ca: CompanyCA | None = None
    password: bool = True
    host: str | None = None
    answer: int | None = None  # instead of connecting
    port: int = 0
    seen: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _started: threading.Event = field(default_factory=threading.Event)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    @property
    def url(self) -> str:
        scheme, host = ("https", self.host) if self.host else ("http", "127.0.0.1")
        return f"{scheme}://{USER}:{ENCODED}@{host}:{self.port}"

    @property
    def name(self) -> str:
        return f"{self.host or '127.0.0.1'}:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        context = self.ca.context(self.host) if self.ca and self.host else None
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", self.port, ssl=context)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the first request, and relay everything after it."""
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ")
        values = {n.lower(): v.strip() for n, _, v in (f.partition(":") for f in fields if f)}
        where = target if method == "CONNECT" else target.split("/")[2]
        where = where if ":" in where else f"{where}:80"
        status = self._refusal(where, values.get("proxy-authorization"))
        if status is not None:
            self.refused.append(f"{method} {where} {status}")
            writer.write(f"HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        self.seen.append(f"{method} {where}")
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            if self.ca is not None:
                await writer.start_tls(self.ca.context(where.rpartition(":")[0]))
            first = b""
        else:  # one request per connection, as the answer may be relayed until its end
            path = "/" + target.split("/", 3)[3]
            kept = [f for f in fields if f and not f.lower().startswith("proxy-")]
            first = "\r\n".join([f"{method} {path} HTTP/1.1", *kept, "", ""]).encode("latin-1")
        there, back = await asyncio.open_connection("127.0.0.1", self.routes[where])
        back.write(first)
        await asyncio.gather(_relay(reader, back), _relay(there, writer))

    def _refusal(self, where: str, authorization: str | None) -> int | None:
        if self.password and authorization != f"Basic {CREDENTIALS}":
            return 407
        if self.answer is not None:
            return self.answer
        return None if where in self.routes else 403


@contextmanager
def tls_server(context: ssl.SSLContext) -> Iterator[int]:
    """Answer every GET with 200; yield the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hello) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
