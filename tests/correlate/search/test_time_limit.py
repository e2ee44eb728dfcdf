import re
import signal
import threading

import pytest

from correlate.search.time_limit import TimeLimit, TooSlow

SLOW = re.compile("(a+)+$")
TEXT = "a" * 60 + "!"


def test_a_block_that_takes_too_long_is_ended() -> None:
    limit = TimeLimit()
    with pytest.raises(TooSlow), limit.ticking(0.01), limit:
        SLOW.search(TEXT)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_is_between_the_blocks_may_take_long() -> None:
    limit = TimeLimit()
    with limit.ticking(1000):
        for _ in range(3):
            with limit:
                signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)
        with pytest.raises(TooSlow), limit:
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)


def test_another_thread_is_not_interrupted() -> None:
    ended: list[bool] = []

    def work() -> None:
        limit = TimeLimit()
        with limit.ticking(0.001), limit:
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]
