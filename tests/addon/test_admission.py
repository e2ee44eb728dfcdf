import asyncio
import base64
import os
from collections.abc import Iterator
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.proxy import server_hooks
from mitmproxy.test import taddons, tflow

from addon.admission import Admission
from addon.identity import socket_table
from addon.identity.password import PASSWORD
from addon.identity.processes import ClientProcess, ProcessResolver
from addon.identity.socket_table import Socket
from addon.launch.proxy_log import Connections

SECRET = "made-up-password-of-this-run"
GIVEN = "Basic " + base64.b64encode(f"ccwire:{SECRET}".encode()).decode()

type Rig = tuple[Admission, Any, Connections]


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv(PASSWORD, SECRET)
    seen = Connections(1)
    admission = Admission(seen)
    with taddons.context() as context:
        context.options.add_option("capture_run", str, "", "")
        context.master.addons.add(admission)
        yield admission, context, seen


def asked(admission: Admission, *found: ClientProcess | None, header: str = "") -> http.HTTPFlow:
    """Connect a client whose process is found so at each try, and let it send a request."""
    flow = tflow.tflow()
    if header:
        flow.request.headers["Proxy-Authorization"] = header
    answers = list(found)
    resolver = ProcessResolver(lambda client, proxy: answers.pop(0) if answers else None)
    resolver.connected(flow.client_conn.id, ("127.0.0.1", 22), ("127.0.0.1", 8080))
    admission.connected(flow.client_conn, resolver)
    asyncio.run(admission.requestheaders(flow))
    resolver.close()
    return flow


def status(flow: http.HTTPFlow) -> int | None:
    return flow.response.status_code if flow.response else None


@pytest.mark.parametrize(("option", "expected"), [("", 403), ("any", None)])
def test_another_user_is_refused_unless_an_option_allows_it(
    option: str, expected: int | None, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    admission, context, seen = rig
    context.configure(admission, capture_clients=option)
    monkeypatch.setattr(socket_table, "is_there", lambda: True)
    monkeypatch.setattr(socket_table, "find", lambda client, proxy: Socket(1, os.geteuid() + 1))
    flow = asked(admission)
    assert status(flow) == expected
    assert admission.is_refused(flow) is (expected is not None)
    assert seen.refused == (1 if expected else 0)


def test_an_unknown_process_is_asked_for_the_password(rig: Rig) -> None:
    admission, context, _ = rig
    context.configure(admission, capture_clients=str(os.getpid()))
    refused = asked(admission)
    assert status(refused) == 407
    assert refused.response is not None
    assert refused.response.headers["proxy-authenticate"] == 'Basic realm="ccwire run"'
    served = asked(admission, header=GIVEN)
    assert status(served) is None
    assert "Proxy-Authorization" not in served.request.headers


def test_a_process_that_was_missed_at_first_is_looked_up_again(rig: Rig) -> None:
    admission, context, _ = rig
    context.configure(admission, capture_clients=str(os.getpid()))
    assert status(asked(admission, None, ClientProcess(os.getpid(), 1.0))) is None


def test_no_server_is_connected_to_for_a_stranger(rig: Rig) -> None:
    admission, context, _ = rig
    context.configure(admission, capture_clients=str(os.getpid()))
    flow = asked(admission)
    data = server_hooks.ServerConnectionHookData(flow.server_conn, flow.client_conn)
    asyncio.run(admission.server_connect(data))
    assert "serves only the command" in (data.server.error or "")


def test_a_request_stays_refused_when_its_client_leaves(rig: Rig) -> None:
    admission, context, _ = rig
    context.configure(admission, capture_clients=str(os.getpid()))
    flow = asked(admission)
    admission.client_disconnected(flow.client_conn)
    assert admission.is_refused(flow)


def test_a_lookup_that_fails_lets_no_stranger_in(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(client: object, proxy: object) -> None:
        raise RuntimeError("made up")

    admission, context, _ = rig
    context.configure(admission, capture_clients=str(os.getpid()))
    monkeypatch.setattr(socket_table, "is_there", lambda: True)
    monkeypatch.setattr(socket_table, "find", fails)
    assert status(asked(admission, *[ClientProcess(os.getpid(), 1.0)] * 3)) == 407


@pytest.mark.parametrize("value", ["0x", "-1", "everyone"])
def test_an_option_that_makes_no_sense_is_refused_in_a_sentence(value: str, rig: Rig) -> None:
    admission, context, _ = rig
    with pytest.raises(exceptions.OptionsError, match=r"capture_clients: expected the pid .*\."):
        context.configure(admission, capture_clients=value)
