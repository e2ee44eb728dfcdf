"""`ccwire watch` at 80 columns, in a pipe, and on a terminal, whose mode it restores."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from rich.console import Console

from ccwire.cli import main
from ccwire.demo.stand_in.scenarios import named
from ccwire.output.watch.frame import FrameView
from ccwire.wire.format import EXCHANGES, MANIFEST, Manifest
from correlate.watch.frame import InFlight, View, frame
from correlate.watch.tail import CaptureTail
from lab.terminal import Terminal
from tests.correlate.watch.test_frame import NOW, OTHER, SESSION, exchange, line, watched
from tests.rig import new_session, rig, until

ROWS, COLUMNS = 24, 80


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    for session, number in ((SESSION, 1), (OTHER, 2)):
        (folder / session).mkdir(parents=True)
        (folder / session / EXCHANGES).write_bytes(line(exchange(number)))
    manifest = Manifest(session_id=SESSION, drift={"wire/sse/new_event": 1})
    (folder / SESSION / MANIFEST).write_bytes(orjson.dumps(manifest.to_json()))
    return folder


def laid_out(view: View, width: int = COLUMNS, height: int | None = None) -> list[str]:
    """Render a busy session: long names, errors, agents, calls in flight."""
    session = watched(
        *(
            exchange(
                number,
                agent_id=f"agent{number:04d}abcdef" if number % 3 else None,
                agent_type="a-very-long-agent-type-of-somebody" if number % 3 else None,
                model="claude-sonnet-4-5-20250929",
                usage={"input_tokens": 1_234_567, "output_tokens": 98_765},
                first_byte_ms=123_456.0,
                ended=NOW + 9_000,
            )
            for number in range(1, 9)
        ),
        exchange(20, status=529, usage=None, error="overloaded_error: \x1b[31mOverloaded " * 9),
    )
    session.fly(
        InFlight(flow_id=f"f{n}", sequence=n, started=NOW, kind="messages", model="claude-opus-5-5")
        for n in (30, 31)
    )
    session.manifest = Manifest(session_id=SESSION, drift={"a very long novelty " * 9: 1})
    out = io.StringIO()
    console = Console(file=out, width=width, height=height or 25, color_system=None)
    console.print(FrameView(frame([session], view, NOW + 9_000), height))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("view", [View(), View(errors_only=True), View(SESSION, paused=True)])
@pytest.mark.parametrize("width", [80, 60, 200])
def test_no_line_is_wider_than_the_terminal(view: View, width: int) -> None:
    lines = laid_out(view, width, ROWS)
    assert max(map(len, lines)) <= width
    assert len(lines) <= ROWS
    assert "\x1b" not in "".join(lines)


def test_at_80_columns_every_number_is_whole() -> None:
    lines = laid_out(View(), COLUMNS, ROWS)
    text = "\n".join(lines)
    assert "overloaded" not in text
    (finished,) = [row for row in lines if "agent000 sonnet-4-5" in row][-1:]
    assert finished.split()[3:] == [
        *("sonnet-4-5", "200", "1.2M", "99k", "0%", "$9.6296", "2m", "150m")
    ]
    assert [row.split()[-1] for row in lines if " … " in row] == ["150m", "150m"]
    assert "drift: 1 not in the baseline" in text
    assert lines[-1].startswith("q quit")


def test_only_errors_says_what_went_wrong() -> None:
    text = "\n".join(laid_out(View(errors_only=True), COLUMNS, ROWS))
    assert "529 overloaded_error:  [31mOverloaded" in text


@pytest.mark.parametrize("height", [6, 10, 24, 60])
def test_a_frame_fits_any_height(height: int) -> None:
    assert len(laid_out(View(), COLUMNS, height)) <= max(height, 9)


def test_once_prints_a_frame(captures: Path) -> None:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        main, ["watch", "--once", "--all", "--captures", str(captures)]
    )
    assert result.exit_code == 0
    assert "2 sessions  2 calls  0 errors" in result.output
    assert "drift: 1 not in the baseline, such as wire/sse/new_event" in result.output
    assert "q quit" not in result.output


def test_once_as_json_has_the_same_facts(captures: Path) -> None:
    result = CliRunner().invoke(
        main, ["watch", "--once", "--all", "--json", "--captures", str(captures)]
    )
    found = json.loads(result.output)
    assert found["total"]["calls"] == 2
    assert [session["session_id"] for session in found["sessions"]] == [SESSION, OTHER]
    assert [call["sequence"] for call in found["calls"]] == [1, 2]
    assert found["drift"] == {"wire/sse/new_event": 1}
    assert (found["in_flight"], found["capture_errors"]) == ([], 0)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["watch", "--once", "--captures", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "give --captures DIR" in result.output


def test_a_call_of_a_real_proxy_is_seen_in_flight_and_then_done(tmp_path: Path) -> None:
    slow = named("slow:deltas=8,delay=0.1")
    with rig(tmp_path, slow) as made:
        session = new_session()
        tail = CaptureTail(made.captures, every=True)
        call = threading.Thread(target=made.ask, args=(slow, session))
        call.start()
        seen: list[tuple[str, InFlight]] = []

        def answered() -> bool:
            tail.look(time.time())
            seen[:] = frame(tail.sessions, View(), time.time()).in_flight
            return bool(seen) and seen[0][1].status == 200

        until(answered)
        ((in_session, flight),) = seen
        assert (in_session, flight.model) == (session, "claude-sonnet-4-5")
        assert flight.first_byte is not None
        call.join()
        made.exchanges(session, 1)
        tail.look(time.time())
    found = frame(tail.sessions, View(), time.time())
    assert (found.in_flight, found.total.calls, found.total.errors) == ((), 1, 0)


def command(captures: Path, *more: str) -> list[str]:
    program = "from ccwire.cli import main; main()"
    return [sys.executable, "-c", program, "watch", "--all", "--captures", str(captures), *more]


def append(captures: Path, number: int) -> None:
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(line(exchange(number, status=529, usage=None)))


def test_in_a_pipe_it_prints_one_line_per_call(captures: Path) -> None:
    process = subprocess.Popen(
        command(captures, "--json"), stdout=subprocess.PIPE, env={"PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    try:
        for number in range(3, 100):  # until the program has started to watch
            append(captures, number)
            if select.select([process.stdout], [], [], 0.3)[0]:
                break
        told = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert (told["session_id"], told["status"]) == (SESSION, 529)
    assert told["sequence"] > 2


class OnTerminal:
    """The program in its own terminal."""

    def __init__(self, process: subprocess.Popen[bytes], master: int, slave: int) -> None:
        self.process = process
        self._master = master
        self.slave = slave
        self.screen = Terminal(ROWS, COLUMNS)
        self.raw = b""

    def mode(self) -> list[object]:
        return termios.tcgetattr(self.slave)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read(self, seconds: float) -> None:
        if select.select([self._master], [], [], seconds)[0]:
            data = os.read(self._master, 1 << 16)
            self.raw += data
            self.screen.feed(data)

    def expect(self, text: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while text not in "\n".join(self.screen.lines()):
            assert time.monotonic() < deadline, f"no {text!r} in {self.screen.lines()}"
            self.read(0.1)

    def end(self) -> int:
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            self.read(0.05)
        while select.select([self._master], [], [], 0)[0]:
            self.read(0)
        return self.process.returncode


@contextmanager
def on_terminal(captures: Path) -> Iterator[OnTerminal]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (ROWS, COLUMNS))
    process = subprocess.Popen(
        command(captures),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"TERM": "xterm-256color", "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        yield OnTerminal(process, master, slave)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def test_keys_work_and_the_terminal_is_left_as_it_was(captures: Path) -> None:
    with on_terminal(captures) as program:
        before = program.mode()
        program.expect("2 sessions  2 calls  0 errors")
        assert program.mode() != before
        program.type("f")
        program.expect("1 session  1 call")
        program.type("ff")
        program.expect("f session: all")
        append(captures, 3)
        program.expect("1 error")
        program.type("e")
        program.expect("e errors only: on")
        program.type("p")
        program.expect("PAUSED")
        program.type("\x1b[A")
        program.type("q")
        assert program.end() == 0
        assert program.mode() == before
        assert b"\x1b[?1049h" in program.raw
        assert program.raw.rindex(b"\x1b[?1049l") > program.raw.rindex(b"\x1b[?1049h")
        assert program.raw.rindex(b"\x1b[?25h") > program.raw.rindex(b"\x1b[?25l")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(captures: Path, number: signal.Signals) -> None:
    with on_terminal(captures) as program:
        before = program.mode()
        program.expect("2 sessions")
        program.process.send_signal(number)
        assert program.end() == 128 + number
        assert program.mode() == before
        assert program.raw.rindex(b"\x1b[?1049l") > program.raw.rindex(b"\x1b[?1049h")
        assert b"Traceback" not in program.raw


def test_a_resized_terminal_is_filled_anew(captures: Path) -> None:
    with on_terminal(captures) as program:
        program.expect("q quit")
        termios.tcsetwinsize(program.slave, (10, 60))
        program.screen = Terminal(10, 60)
        program.expect("q quit")
        assert max(len(row) for row in program.screen.lines()) <= 60
        program.type("q")
        assert program.end() == 0
