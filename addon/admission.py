"""The part of the add-on that refuses clients that the proxy is not for (`capture_clients`).

The process of a connection is looked up when the client connects; a hook waits for the result only
if it is not known by then. A refused client gets one sentence. Nothing of it is sent or recorded.
"""

import asyncio
import hmac
import logging
import os
from concurrent.futures import Future

from mitmproxy import connection, ctx, exceptions, http
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import server_hooks

from addon.identity.clients import Client, Clients, Everyone, OwnUser, RunTree, Verdict, client_of
from addon.identity.password import run_authorization
from addon.identity.processes import ClientProcess, ProcessResolver
from addon.launch.proxy_log import Connections

logger = logging.getLogger("ccwire")

_HEADER = "Proxy-Authorization"
_REFUSED = "ccwire_refused"  # in the metadata of a flow
_OTHER_USER = "this proxy serves only the user who started it; set capture_clients=any to change it"
_OTHER_PROCESS = "this proxy serves only the command that `ccwire run` started"
_TRIES = 3  # a process may be missed while it starts others
_PAUSE_SECONDS = 0.05
_MOST_STRANGERS = 20
_LARGE = 1 << 16

_NOBODY = Client(uid=None, process=None)

Found = tuple[Verdict, Client]


class Admission:
    """Refuses connections; holds a verdict for each that is open."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._clients: Clients = OwnUser()
        self._password = ""
        self._resolver: ProcessResolver | None = None
        self._asked: dict[str, Future[Found]] = {}  # by the id of the client's connection
        self._admitted: set[str] = set()
        self._refused: dict[str, int] = {}  # with the status
        self._strangers: set[str] = set()

    def load(self, loader: Loader) -> None:
        loader.add_option(
            "capture_clients",
            str,
            "",
            "Serve only the tree of this process (a pid), or `any` user of this machine"
            " (default: only this user).",
        )

    def configure(self, updated: set[str]) -> None:
        if not {"capture_clients", "capture_run"} & updated:
            return
        self._clients = _rule(ctx.options.capture_clients, ctx.options.capture_run)
        self._password = run_authorization(os.environ) or ""

    def connected(self, client: connection.Client, resolver: ProcessResolver) -> None:
        """Start to look up a client; its process is being looked up."""
        self._resolver = resolver
        if client.peername and client.sockname and not isinstance(self._clients, Everyone):
            self._asked[client.id] = self._ask(client, resolver)

    def client_disconnected(self, client: connection.Client) -> None:
        self._asked.pop(client.id, None)
        self._admitted.discard(client.id)
        self._refused.pop(client.id, None)

    def is_refused(self, flow: http.HTTPFlow) -> bool:
        """Return whether this request is refused, also after its client has left."""
        return _REFUSED in flow.metadata

    async def http_connect(self, flow: http.HTTPFlow) -> None:
        await self._check(flow)

    async def requestheaders(self, flow: http.HTTPFlow) -> None:
        await self._check(flow)
        if self.is_refused(flow) and _is_large(flow):
            flow.kill()  # mitmproxy would keep the whole request in memory before it answers

    async def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Connect to nothing for a client that is refused: a reverse port connects at once."""
        if await self._status(data.client, None) is not None:
            data.server.error = f"ccwire: refused, because {self._why}"

    async def _check(self, flow: http.HTTPFlow) -> None:
        status = await self._status(flow.client_conn, flow.request.headers)
        if status is not None:
            flow.metadata[_REFUSED] = status
            flow.response = _refusal(status, self._why)

    async def _status(self, client: connection.Client, headers: http.Headers | None) -> int | None:
        """Return the status of the refusal; None for a client that is served."""
        if headers is not None and self._has_password(headers):
            self._admitted.add(client.id)
        if client.id in self._admitted:
            return None
        if client.id in self._refused:
            return self._refused[client.id]
        verdict, found = await self._verdict(client)
        if verdict == "served":
            self._admitted.add(client.id)
            return None
        status = 407 if verdict == "unknown" and self._password else 403
        if headers is not None:  # else it may still send the password
            self._refuse(client, found, status)
        return status

    async def _verdict(self, client: connection.Client) -> Found:
        for _ in range(_TRIES):
            if (asked := self._asked.get(client.id)) is None:
                break
            verdict, found = asked.result() if asked.done() else await asyncio.wrap_future(asked)
            if verdict != "unknown" or self._resolver is None:
                return verdict, found
            await asyncio.sleep(_PAUSE_SECONDS)
            if client.id in self._asked:
                self._resolver.connected(client.id, client.peername[:2], client.sockname[:2])
                self._asked[client.id] = self._ask(client, self._resolver)
        return self._clients.judge(_NOBODY), _NOBODY

    def _ask(self, client: connection.Client, resolver: ProcessResolver) -> Future[Found]:
        clients, here, there = self._clients, client.sockname[:2], client.peername[:2]

        def judge(process: ClientProcess | None) -> Found:
            try:
                found = client_of(there, here, process)
                return clients.judge(found), found
            except Exception as error:  # a failed lookup must not let a stranger in
                logger.debug("ccwire: could not judge a client", exc_info=error)
                return "unknown", _NOBODY

        return resolver.ask(client.id, judge)

    def _has_password(self, headers: http.Headers) -> bool:
        """Check for the password of this run, and remove it: no server may get it."""
        given = headers.get(_HEADER, "")
        is_right = bool(self._password) and hmac.compare_digest(
            given.encode("utf-8", "surrogateescape"), self._password.encode()
        )
        if is_right:
            del headers[_HEADER]
        return is_right

    def _refuse(self, client: connection.Client, found: Client, status: int) -> None:
        if client.id in self._asked:  # else it has left
            self._refused[client.id] = status
        self._connections.refuse()
        who = _name(found)
        if who not in self._strangers and len(self._strangers) < _MOST_STRANGERS:
            self._strangers.add(who)
            logger.warning(f"ccwire: refused {who}, because {self._why}")

    @property
    def _why(self) -> str:
        return _OTHER_PROCESS if isinstance(self._clients, RunTree) else _OTHER_USER


def _rule(named: str, mark: str) -> Clients:
    if named in ("", "any"):
        return Everyone() if named else OwnUser()
    try:
        return RunTree(int(named), mark)
    except ValueError as error:
        raise exceptions.OptionsError(
            f"capture_clients: expected the pid of a running process, or any ({error})."
        ) from None


def _refusal(status: int, why: str) -> http.Response:
    headers = {"content-type": "text/plain", "connection": "close"}
    if status == 407:
        headers["proxy-authenticate"] = 'Basic realm="ccwire run"'
    return http.Response.make(status, f"ccwire: refused, because {why}\n", headers)


def _is_large(flow: http.HTTPFlow) -> bool:
    length = flow.request.headers.get("content-length", "0")
    return not (length.isdecimal() and int(length) <= _LARGE) or (
        "transfer-encoding" in flow.request.headers
    )


def _name(found: Client) -> str:
    if found.process is not None:
        return f"process {found.process.pid}"
    return "an unknown process" if found.uid is None else f"a process of user {found.uid}"
