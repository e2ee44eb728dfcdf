"""The screen driver, tested with a small program that behaves like the client."""

import sys
from pathlib import Path

import pytest

from ccwire.demo.real.npm import InstalledClient
from lab.screen import ClientScreen

# Asks about the key, then echoes input and answers each line; Escape interrupts.
FAKE = r"""
import os, sys, tty
tty.setraw(0)
def put(text):
    os.write(1, text.replace("\n", "\r\n").encode())
put("Do you want to use this API key?\n")
while not os.read(0, 10).endswith(b"\r"):
    pass
put("\x1b[2J\x1b[Hthe box\n> ")
line = ""
while True:
    for key in os.read(0, 100).decode():
        if key == "\x1b":
            put("\n[interrupted]\n> ")
        elif key != "\r":
            line += key
            put(key)
        elif line == "/exit":
            sys.exit(7)
        else:
            put(f"\nyou said {line.upper()}, leader {os.tcgetpgrp(0) == os.getpid()}\n> ")
            line = ""
"""


@pytest.fixture
def screen(tmp_path: Path) -> ClientScreen:
    program = tmp_path / "client.py"
    program.write_text(FAKE)
    client = InstalledClient("2.1.325", (sys.executable, str(program)))
    return ClientScreen(client, home=tmp_path, cwd=tmp_path, proxy_port=9, ca_cert=tmp_path)


def test_a_prompt_is_typed_and_its_answer_read(screen: ClientScreen) -> None:
    with screen:
        screen.ready()
        screen.submit("hello")
        screen.expect("you said HELLO, leader True", timeout=5)
        screen.press("escape")
        screen.expect("[interrupted]", timeout=5)
        assert screen.leave() == 7


def test_a_timeout_error_contains_the_screen(screen: ClientScreen) -> None:
    with screen:
        screen.ready()
        with pytest.raises(TimeoutError, match="the box"):
            screen.expect("never", timeout=0.1)


def test_a_client_that_exits_is_an_error_at_once(screen: ClientScreen) -> None:
    with screen:
        screen.ready()
        screen.leave()
        with pytest.raises(RuntimeError, match="exited before 'more'"):
            screen.expect("more", timeout=30)
