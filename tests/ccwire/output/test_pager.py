"""A long output is shown in a pager, on a terminal only. Each test runs a program in a pty."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

ROWS, COLUMNS = 10, 40
PROGRAM = (
    "import sys\n"
    "from rich.text import Text\n"
    "from ccwire.output.terminal import page\n"
    "def lines(to):\n"
    "    for number in range(int(sys.argv[1])):\n"
    "        to.print(Text(f'line {number}', 'bold red'))\n"
    "page(lines, use_pager=sys.argv[2] == 'pager')\n"
    "print('end')\n"
)
SECONDS = 20
SILENCE = 0.3


def run(count: int, how: str = "pager", *keys: bytes, **variables: str) -> tuple[int, bytes]:
    """Run the program, type a key whenever it is silent, and return status and output."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(Path.cwd()), **variables}
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        command = [sys.executable, "-c", PROGRAM, str(count), how]
        os.execve(sys.executable, command, environment)
    output, deadline, left = b"", time.monotonic() + SECONDS, list(keys)
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], SILENCE)[0]:
            if left and b"line 3" in output:
                os.write(terminal, left.pop(0))
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        if not data:
            break
        output += data
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output


def pager(tmp_path: Path, script: str) -> str:
    path = tmp_path / "pager"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def test_what_fits_the_screen_needs_no_pager(tmp_path: Path) -> None:
    status, output = run(ROWS - 2, PAGER=pager(tmp_path, "echo paged"))
    assert status == 0
    assert b"line 7" in output and b"paged" not in output


def test_what_does_not_fit_is_given_to_the_users_pager(tmp_path: Path) -> None:
    got = tmp_path / "got"
    status, output = run(50, PAGER=pager(tmp_path, f"cat > {got}"))
    assert (status, output.strip()) == (0, b"end")
    assert got.read_text() == "".join(f"line {number}\n" for number in range(50))


def test_no_pager_if_none_is_wanted(tmp_path: Path) -> None:
    _, output = run(50, "plain", PAGER=pager(tmp_path, "echo paged"))
    assert b"line 49" in output and b"paged" not in output


def test_a_pager_that_quits_early_is_no_error(tmp_path: Path) -> None:
    status, output = run(20_000, PAGER=pager(tmp_path, "head -n 1"))
    assert (status, output.split()) == (0, [b"line", b"0", b"end"])


def test_a_pager_that_is_not_there_is_none() -> None:
    status, output = run(50, PAGER="/nowhere/pager")
    assert status == 0 and b"line 49" in output


@pytest.mark.skipif(not Path("/usr/bin/less").exists(), reason="needs less")
@pytest.mark.parametrize("keys", [(b"q",), (b"\x03", b"q")])
def test_less_has_colours_and_ends_quietly(keys: tuple[bytes, ...]) -> None:
    """Ctrl-C stops a search in less; it does not end the command under it."""
    status, output = run(50, "pager", *keys)
    assert status == 0
    assert b"\x1b[1;31mline 3" in output and b"ESC[" not in output and b"line 40" not in output
    assert b"Traceback" not in output and b"Aborted" not in output
    assert output.rstrip().endswith(b"end")


@pytest.mark.skipif(not Path("/usr/bin/less").exists(), reason="needs less")
def test_no_colour_if_the_user_wants_none() -> None:
    _, output = run(50, "pager", b"q", NO_COLOR="1")
    assert b"line 3" in output and b"31m" not in output
    _, output = run(50, "pager", b"q", LESS="-X")  # without -R, less would show the codes
    assert b"line 3" in output and b"31m" not in output
