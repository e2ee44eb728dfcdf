"""Signals at random moments of `ccwire run`: no process, port or folder outlives it.

A dozen by default; `CCWIRE_SIGNALS=200` sets the number.
"""

import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil
import pytest

from addon.recording.journal.folder import journals_of
from addon.recording.recovery import recover
from addon.storage.folder import CaptureStore
from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.server import StandIn
from tests.faults.folder import check
from tests.faults.sizes import size
from tests.rig import messages_body, new_session, until

SIGNALS = size("CCWIRE_SIGNALS", 12, 200)
KINDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)
GONE_SECONDS = 40  # the proxy ends itself after 20
SCENARIO = "stream:deltas=60,delay=0.005"

# Three calls at a time, twice; it ends by itself when its calls fail.
CLIENT = """\
import http.client, os, ssl, sys, threading
address = os.environ["HTTPS_PROXY"].removeprefix("http://")
open("port", "w").write(address.partition(":")[2])
body = open("body", "rb").read()
context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
def call():
    for _ in range(2):
        connection = http.client.HTTPSConnection(address, context=context, timeout=30)
        connection.set_tunnel("api.anthropic.com", 443)
        connection.request("POST", "/v1/messages?beta=true", body)
        connection.getresponse().read()
threads = [threading.Thread(target=call) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""

# One call; then it ends when it may, with code 7.
ENDING = """\
import http.client, os, ssl, sys, time
address = os.environ["HTTPS_PROXY"].removeprefix("http://")
context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
connection = http.client.HTTPSConnection(address, context=context, timeout=30)
connection.set_tunnel("api.anthropic.com", 443)
connection.request("POST", "/v1/messages?beta=true", open("body", "rb").read())
connection.getresponse().read()
connection.close()
open("port", "w").write(address.partition(":")[2])
while not os.path.exists("end"):
    time.sleep(0.05)
sys.exit(7)
"""

# It leaves a client of the background service behind, as `claude --bg` does.
BACKGROUND = f"""\
import json, os, sys, time
if os.fork() == 0:
    os.setsid()
    os.makedirs(".claude/sessions")
    record = {{"pid": os.getpid(), "sessionId": "0a1b2c3d-1", "kind": "bg", "status": "busy"}}
    json.dump(record, open(f".claude/sessions/{{os.getpid()}}.json", "w"))
    open("background", "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists("background"):
    time.sleep(0.05)
open("end", "w")
{ENDING}"""


WAITING = """\
import os, time
open("port", "w").write(os.environ["HTTPS_PROXY"].rpartition(":")[2])
time.sleep(600)
"""


@dataclass
class Run:
    """`ccwire run` in a process group and a home of its own."""

    home: Path
    mark: str
    process: subprocess.Popen[bytes]

    def alive(self) -> list[psutil.Process]:
        """Return every process that inherited the mark, wherever it is in the process tree."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("CCWIRE_TEST_MARK") == self.mark
        except psutil.Error:
            return False

    def proxy(self) -> psutil.Process | None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.process.pid).children():
                if any("mitmdump" in word for word in child.cmdline()):
                    return child
        return None


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """A shell starts a background job with some of them ignored, and so they would be below it."""
    catchable = [number for number in KINDS if number != signal.SIGKILL]
    previous = {number: signal.getsignal(number) for number in catchable}
    for number in catchable:
        signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.fixture
def no_core_files() -> Iterator[None]:
    """SIGQUIT would write them into the current folder."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@contextlib.contextmanager
def running(home: Path, api: StandIn, client: str = CLIENT) -> Iterator[Run]:
    arguments = ["run", "--upstream", api.url, "--captures", str(home / "captures")]
    with started(home, *arguments, "--", sys.executable, "-c", client) as run:
        yield run


@contextlib.contextmanager
def started(home: Path, *arguments: str) -> Iterator[Run]:
    (home / "tmp").mkdir(parents=True)
    (home / "body").write_bytes(messages_body("go on", new_session()))
    mark = uuid.uuid4().hex
    environment = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "TERM": "dumb",
        "TMPDIR": str(home / "tmp"),
        "CCWIRE_SESSIONS": str(home / "sessions.json"),
        "CCWIRE_TEST_MARK": mark,
        "PYTHONPATH": os.getcwd(),  # noqa: PTH109
    }
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ccwire", *arguments],
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    run = Run(home, mark, process)
    try:
        yield run
    finally:
        for left in run.alive():  # after a failure: the test must not leave them either
            with contextlib.suppress(psutil.Error):
                left.kill()
        process.wait()


def test_nothing_outlives_a_run_that_a_signal_ends_at_any_moment(
    tmp_path: Path, no_core_files: None
) -> None:
    random_moments = random.Random(13)
    with StandIn(scenarios.named(SCENARIO)) as api:
        started = time.monotonic()
        with running(tmp_path / "whole", api) as run:
            assert run.process.wait(60) == 0, (run.home / "output").read_text()
            duration = time.monotonic() - started
            check_gone(run)
            check_recorded(run, api, 0)
        for number in range(SIGNALS):
            kind = KINDS[number % len(KINDS)]
            moment = random_moments.uniform(0, duration)
            to_group = random_moments.random() < 0.5
            served = len(api.ledger.messages())
            with running(tmp_path / str(number), api) as run:
                time.sleep(moment)
                with contextlib.suppress(ProcessLookupError):
                    (os.killpg if to_group else os.kill)(run.process.pid, kind)
                what = f"{kind.name} after {moment:.3f} s to {'all' if to_group else 'it'}"
                run.process.wait(60)
                print(f"{what}: gone {check_gone(run, what):.2f} s after it")
                check_recorded(run, api, served, what)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_a_run_that_ends_while_it_restarts_its_proxy(
    kind: signal.Signals, tmp_path: Path, no_core_files: None
) -> None:
    with (
        StandIn(scenarios.named(SCENARIO)) as api,
        running(tmp_path / "home", api, WAITING) as run,
    ):
        before = _started_proxy(run)
        before.kill()
        until(lambda: (now := run.proxy()) is not None and now != before, 30)
        os.killpg(run.process.pid, kind)
        run.process.wait(60)
        check_gone(run, kind.name)


def test_a_signal_at_the_end_of_a_run_does_not_cost_its_summary(tmp_path: Path) -> None:
    with ending_slowly(tmp_path / "home") as (run, proxy):
        run.process.send_signal(signal.SIGINT)
        until(lambda: "Ctrl-C again skips the summary" in output_of(run), 10)
        proxy.resume()
        assert run.process.wait(60) == 7
        check_gone(run)
    assert "captures: " in output_of(run)
    assert "next: " in output_of(run)
    assert "Aborted" not in output_of(run)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_cuts_the_end_short_with_one_sentence(
    kind: signal.Signals, tmp_path: Path
) -> None:
    with ending_slowly(tmp_path / "home") as (run, proxy):
        run.process.send_signal(kind)
        until(lambda: "Ctrl-C again skips the summary" in output_of(run), 10)
        run.process.send_signal(kind)
        assert run.process.wait(60) == 7
        proxy.resume()
        check_gone(run)
    last = output_of(run).splitlines()[-1]
    assert last == f"ccwire: stopped without a summary; the captures are in {run.home}/captures"
    assert "Traceback" not in output_of(run)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_waiting_for_the_background_with_a_summary(
    kind: signal.Signals, tmp_path: Path
) -> None:
    with (
        StandIn(scenarios.named(SCENARIO)) as api,
        running(tmp_path / "home", api, BACKGROUND) as run,
    ):
        until(lambda: "continues in the background (session 0a1b2c3d)" in output_of(run), 30)
        assert run.process.poll() is None
        os.killpg(run.process.pid, kind)
        assert run.process.wait(60) == 7
        (left,) = [process for process in run.alive() if process.ppid() != run.process.pid]
        assert left.pid == int((run.home / "background").read_text())  # it belongs to the user
        left.kill()
        check_gone(run)
        check_recorded(run, api, 0)
    assert "session 0a1b2c3d still runs, and its calls fail from now on" in output_of(run)
    assert "captures: " in output_of(run)


def test_a_run_ends_with_the_last_client_in_the_background(tmp_path: Path) -> None:
    with (
        StandIn(scenarios.named(SCENARIO)) as api,
        running(tmp_path / "home", api, BACKGROUND) as run,
    ):
        until(lambda: "continues in the background" in output_of(run), 30)
        psutil.Process(int((run.home / "background").read_text())).kill()
        assert run.process.wait(60) == 7
        check_gone(run)
    assert "still runs" not in output_of(run)
    assert "captures: " in output_of(run)


def test_the_folder_of_a_run_killed_together_with_its_proxy_goes_with_the_next(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with (
        StandIn(scenarios.named(SCENARIO)) as api,
        running(home, api, WAITING) as run,
    ):
        proxy = _started_proxy(run)
        run.process.send_signal(signal.SIGSTOP)  # else it would notice the death of its proxy
        proxy.kill()
        os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()
        until(lambda: not run.alive(), GONE_SECONDS)
        assert len(list((home / "tmp").iterdir())) == 1
        ended = subprocess.run(
            [sys.executable, "-m", "ccwire", "run", "--quiet", "--", "ls", str(home / "tmp")],
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home / "tmp")},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert ended.stdout.count("ccwire-run-") == 1  # its own
        assert list((home / "tmp").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_a_proxy_in_the_foreground(
    kind: signal.Signals, tmp_path: Path, no_core_files: None
) -> None:
    captures = str(tmp_path / "captures")
    with started(tmp_path / "home", "proxy", "-p", "0", "--captures", captures) as run:
        until(lambda: b"ccwire: capturing" in (run.home / "output").read_bytes(), 30)
        run.process.send_signal(kind)
        run.process.wait(60)
        check_gone(run, kind.name)


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_demo(kind: signal.Signals, tmp_path: Path) -> None:
    with started(tmp_path / "home", "demo") as run:
        until(lambda: run.proxy() is not None, 30)
        run.process.send_signal(kind)
        run.process.wait(60)
        until(lambda: not run.alive(), GONE_SECONDS)


@contextlib.contextmanager
def ending_slowly(home: Path) -> Iterator[tuple[Run, psutil.Process]]:
    """A run whose command has ended a while ago, and whose proxy has not: it is suspended."""
    with StandIn(scenarios.named(SCENARIO)) as api, running(home, api, ENDING) as run:
        proxy = _started_proxy(run)
        proxy.suspend()
        (home / "end").touch()
        until(lambda: psutil.Process(run.process.pid).children() == [proxy], 30)
        time.sleep(1.5)  # a signal in the first second is the client's
        yield run, proxy


def output_of(run: Run) -> str:
    return (run.home / "output").read_text()


def _started_proxy(run: Run) -> psutil.Process:
    """Wait until the client runs, and return the proxy."""
    until((run.home / "port").exists, 30)
    proxy = run.proxy()
    assert proxy is not None
    assert any((run.home / "tmp").iterdir())
    return proxy


def check_gone(run: Run, what: str = "") -> float:
    """Check that no process, port or file of the run is left; return how long they were."""
    started = time.monotonic()
    try:
        until(lambda: not run.alive(), GONE_SECONDS)
    except AssertionError:
        left = [(process.pid, process.cmdline()[-3:]) for process in run.alive()]
        raise AssertionError(f"{what}: still running: {left}") from None
    gone = time.monotonic() - started
    assert list((run.home / "tmp").iterdir()) == [], what
    port = run.home / "port"
    if port.exists():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port.read_text())), 5)
    return gone


def check_recorded(run: Run, api: StandIn, before: int, what: str = "") -> None:
    """Check that every call that reached the API is recorded, without a repair."""
    api.ledger.wait()
    captures = run.home / "captures"
    served = len(api.ledger.messages()) - before
    if not captures.exists():
        assert served == 0, what
        return
    assert journals_of(captures) == [], what
    assert recover(CaptureStore(captures)) == 0, what
    lines = [line for filed in check(captures).values() for line in filed.lines.values()]
    calls = [line for line in lines if orjson.loads(line)["kind"] == "messages"]
    assert len(calls) >= served, (what, served)
