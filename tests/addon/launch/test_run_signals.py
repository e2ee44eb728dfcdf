"""What a signal does at each stage of a run."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from addon.launch.run_signals import CutShort, RunSignals

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    previous = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGQUIT)}
    for number in previous:
        signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


def ended(signals: RunSignals) -> None:
    """Run a command to its end."""
    with signals.running() as started:
        child = subprocess.Popen([sys.executable, "-c", ""])
        started(child)
        child.wait()


@pytest.mark.parametrize("number", ENDING)
def test_while_the_proxy_starts_it_raises(number: signal.Signals) -> None:
    raised = KeyboardInterrupt if number == signal.SIGINT else SystemExit
    with pytest.raises(raised), RunSignals():
        signal.raise_signal(number)


def test_the_command_gets_what_only_this_process_received() -> None:
    with RunSignals() as signals:
        for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 7)):
            with signals.running() as started:
                script = "import time, sys; time.sleep(0.5); sys.exit(7)"
                child = subprocess.Popen([sys.executable, "-c", script])
                started(child)
                signal.raise_signal(number)
                signal.raise_signal(signal.SIGQUIT)
                assert child.wait() == code


def test_a_signal_before_the_command_is_started_reaches_it() -> None:
    with RunSignals() as signals, signals.running() as started:
        signal.raise_signal(signal.SIGTERM)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        started(child)
        assert child.wait() == -signal.SIGTERM
        assert signals.stops_waiting


@pytest.mark.parametrize(
    ("number", "stops"), [(signal.SIGTERM, True), (signal.SIGHUP, True), (signal.SIGINT, False)]
)
def test_what_ends_the_run_while_the_command_runs_ends_the_waiting_too(
    number: signal.Signals, stops: bool
) -> None:
    with RunSignals() as signals:
        with signals.running() as started:
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            started(child)
            signal.raise_signal(number)
            child.communicate(b"\n")
        assert signals.stops_waiting is stops


@pytest.mark.parametrize("number", ENDING)
def test_it_ends_the_waiting(number: signal.Signals) -> None:
    with RunSignals() as signals:
        ended(signals)
        assert not signals.stops_waiting
        signal.raise_signal(number)
        assert signals.stops_waiting


@pytest.mark.parametrize("number", ENDING)
def test_the_first_at_the_end_is_noted_and_the_second_cuts_it_short(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    with pytest.raises(CutShort), RunSignals(clock) as signals:
        ended(signals)
        signals.end()
        for _ in range(3):  # of the client's last second
            signal.raise_signal(number)
        assert capfd.readouterr().err == ""
        clock.now += 2
        signal.raise_signal(number)
        assert "finishing the captures; Ctrl-C again skips the summary" in capfd.readouterr().err
        signal.raise_signal(number)


def test_a_signal_that_the_user_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with RunSignals() as signals, signals.running():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_the_handlers_of_before_are_restored() -> None:
    with RunSignals() as signals:
        ended(signals)
        assert signal.getsignal(signal.SIGQUIT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
