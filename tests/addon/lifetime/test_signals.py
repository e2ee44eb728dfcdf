import signal
import threading
from collections.abc import Iterator

import pytest

from addon.launch.run_signals import RunSignals
from addon.lifetime.signals import deferred_signals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    with RunSignals():
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
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="no such program"), deferred_signals():
        raise OSError("no such program")
    assert signal.getsignal(signal.SIGINT) == before


def test_another_thread_can_use_it() -> None:
    passed: list[bool] = []

    def use() -> None:
        with deferred_signals():
            passed.append(True)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert passed == [True]
