"""A stand-in, a real proxy and a minimal HTTP client, for tests that need all three."""

import http.client
import json
import shutil
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from addon.launch.proxy import Proxy
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.server import StandIn
from correlate.captures.folder import read_request, read_response


def new_session() -> str:
    return str(uuid.uuid4())


def user_id(session: str) -> str:
    return f"user_{'a1' * 32}_account__session_{session}"


def messages_body(prompt: str, session: str | None = None, **more: Any) -> bytes:
    body: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 64,
        "stream": True,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
    }
    if session is not None:
        body["metadata"] = {"user_id": user_id(session)}
    return json.dumps({**body, **more}).encode()


@dataclass
class Rig:
    """A proxy in front of a stand-in, which writes to `captures`."""

    api: StandIn
    proxy: Proxy
    folder: Path
    host: str = "api.anthropic.com"
    context: ssl.SSLContext = field(init=False)

    def __post_init__(self) -> None:
        self.context = ssl.create_default_context(cafile=str(self.proxy.ca_cert))

    @property
    def captures(self) -> Path:
        return self.proxy.captures

    def connect(self, timeout: float = 30) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.proxy.port, context=self.context, timeout=timeout
        )
        connection.set_tunnel(self.host, 443)
        return connection

    def post(
        self,
        body: bytes,
        path: str = "/v1/messages?beta=true",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        connection = self.connect()
        sent = {"content-type": "application/json", **(headers or {})}
        try:
            connection.request("POST", path, body, sent)
            answer = connection.getresponse()
            try:
                return answer.status, answer.read()
            except http.client.IncompleteRead as cut:
                return answer.status, cut.partial
        finally:
            connection.close()

    def ask(self, scenario: Scenario, session: str, **more: Any) -> tuple[int, bytes]:
        """Set the stand-in's scenario, and post its prompt."""
        self.api.scenario = scenario
        return self.post(messages_body(scenario.prompt, session, **more))

    def exchanges(self, session: str, count: int, seconds: float = 10) -> list[dict[str, Any]]:
        """Wait until the session has `count` exchanges, and return its index lines."""
        path = self.captures / session / "exchanges.jsonl"

        def read() -> list[dict[str, Any]]:
            if not path.exists():
                return []
            whole, _, _ = path.read_bytes().rpartition(b"\n")  # the last line may be half written
            return [orjson.loads(line) for line in whole.splitlines()]

        def written() -> bool:
            """The part file is deleted last, when everything else is written."""
            names = {f"{line['sequence']:04d}" for line in read()}
            parts = path.parent.glob("*.part")
            return len(names) >= count and all(p.name[:4] not in names for p in parts)

        until(written, seconds)
        return sorted(read(), key=lambda line: line["sequence"])

    def response(self, session: str, sequence: int) -> dict[str, Any]:
        return read_response(self.captures / session, sequence)

    def request(self, session: str, sequence: int) -> dict[str, Any]:
        return read_request(self.captures / session, sequence)


def until(true: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until a condition is true; raise AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"condition not met within {seconds} s")
        time.sleep(0.01)


@contextmanager
def rig(
    folder: Path, scenario: Scenario, confdir: Path | None = None, **options: Any
) -> Iterator[Rig]:
    with StandIn(scenario, keep_events=True) as api:
        proxy = Proxy(
            options.pop("captures", folder / "captures"),
            log=folder / "proxy.log",
            upstream=options.pop("upstream", api.url),
            sessions=folder / "sessions.json",
            claude_dir=folder / "claude",
            confdir=confdir or folder / "mitmproxy",
            keep_open=options.pop("keep_open", "all"),
            **options,
        )
        with proxy:
            yield Rig(api, proxy, folder)


def copy_capture(folder: Path, target: Path) -> Path:
    """Copy a session's capture, which the proxy may be packing: an ended one it does at once."""
    for _ in range(100):
        try:
            return shutil.copytree(folder, target)
        except (shutil.Error, FileNotFoundError):
            shutil.rmtree(target)
    raise AssertionError(f"{folder} keeps changing")
