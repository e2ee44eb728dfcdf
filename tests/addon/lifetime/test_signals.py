import signal
import threading
from collections.abc import Iterator

import pytest

from addon.launch.client import exit_on_signals
from addon.lifetime.signals import deferred_signals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    with exit_on_signals():
        yield


@pytest.mark.parametrize(
    ("number", "raised"),
    [
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGTERM, SystemExit),
        (signal.SIGHUP, SystemExit),
    ],
)
def test_a_signal_raises_its_exception_after_the_block(
    number: signal.Signals, raised: type[BaseException]
) -> None:
    reached = False
    with pytest.raises(raised), deferred_signals():
        signal.raise_signal(number)
        reached = True
    assert reached


def test_an_exception_in_the_block_is_not_hidden() -> None:
    with pytest.raises(OSError, match="no such program"), deferred_signals():
        raise OSError("no such program")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_can_use_it() -> None:
    passed: list[bool] = []

    def use() -> None:
        with deferred_signals():
            passed.append(True)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert passed == [True]
