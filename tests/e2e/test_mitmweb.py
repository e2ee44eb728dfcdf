"""mitmweb with the add-on shows a flow's assembled answer instead of its events."""

import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from addon import capture
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from tests.rig import messages_body, new_session, until

PASSWORD = "made-up"
PROXY = re.compile(rb"proxy listening at 127\.0\.0\.1:(\d+)")


@contextmanager
def mitmweb(folder: Path, upstream: str) -> Iterator[tuple[int, int]]:
    """Start mitmweb; yield the ports of its proxy and its web interface."""
    given = {
        "listen_host": "127.0.0.1",
        "listen_port": 0,
        "web_host": "127.0.0.1",
        "web_port": 0,
        "web_open_browser": "false",
        "web_password": PASSWORD,
        "confdir": folder / "mitmproxy",
        "capture_dir": folder / "captures",
        "capture_sessions": folder / "sessions.json",
        "capture_claude_dir": folder / "claude",
        "capture_upstream": upstream,
    }
    command = [sys.executable, "-c", "from mitmproxy.tools.main import mitmweb; mitmweb()"]
    command += ["-s", str(Path(capture.__file__))]
    command += [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    log = folder / "mitmweb.log"
    with log.open("wb") as file:
        running = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        until(lambda: PROXY.search(log.read_bytes()) is not None and len(ports(running)) == 2, 30)
        found = PROXY.search(log.read_bytes())
        assert found is not None
        proxy = int(found[1])
        yield proxy, next(port for port in ports(running) if port != proxy)
    finally:
        running.terminate()
        running.wait()


def ports(running: subprocess.Popen[bytes]) -> set[int]:
    """Return its listening ports; its log does not contain the port of the web interface."""
    connections = psutil.Process(running.pid).net_connections("tcp4")
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}


def asked(screen: int, path: str) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{screen}{path}", headers={"Authorization": f"Bearer {PASSWORD}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_a_flow_is_shown_as_its_answer_and_usage(tmp_path: Path) -> None:
    scenario = named("thinking")
    with StandIn(scenario) as api, mitmweb(tmp_path, api.url) as (proxy, screen):
        context = ssl.create_default_context(
            cafile=str(tmp_path / "mitmproxy" / "mitmproxy-ca-cert.pem")
        )
        client = http.client.HTTPSConnection("127.0.0.1", proxy, context=context, timeout=30)
        client.set_tunnel("api.anthropic.com", 443)
        body = messages_body(scenario.prompt, new_session())
        client.request("POST", "/v1/messages", body, {"content-type": "application/json"})
        assert client.getresponse().read().endswith(b"\n\n")
        client.close()
        (flow,) = asked(screen, "/flows")
        shown = asked(screen, f"/flows/{flow['id']}/response/content/auto.json")
        (served,) = api.ledger.messages()
    assert shown["view_name"] == "Claude answer"
    assert served.usage is not None
    assert f"· output {served.usage['output_tokens']:,} ·" in shown["text"]
    assert "A command will tell." in shown["text"]
    assert '"command": "echo thought"' in shown["text"]
