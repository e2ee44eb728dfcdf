"""One long run of a proxy: nothing is missing or altered, and memory does not grow.

A few hundred exchanges, or as many as CCWIRE_EXCHANGES says.
"""

from pathlib import Path

import psutil

from tests.faults.kills import Storm, compare, counted_losses
from tests.faults.sizes import size
from tests.rig import until

EXCHANGES = size("CCWIRE_EXCHANGES", 400, 100_000)
MOST_GROWTH = 1.15


def test_a_long_run_misses_nothing_and_memory_is_flat(tmp_path: Path) -> None:
    with Storm(tmp_path, clients=6, pause=0, per_session=500) as storm:
        storm.until_busy(EXCHANGES // 2, 600)  # every session has been packed from by then
        early = _memory(storm)
        until(lambda: len(storm.account.seen) >= EXCHANGES, 7200)
        late = _memory(storm)
    account = storm.account
    print(f"{len(account.seen)} exchanges; memory {early:.0f} MB early, {late:.0f} MB late")
    captures = tmp_path / "captures"
    assert compare(captures, account) == dict.fromkeys(compare(captures, account), 0)
    assert counted_losses(captures) == 0
    assert late < early * MOST_GROWTH


def _memory(storm: Storm) -> float:
    """Return the megabytes of the proxy and its writer process."""
    proxy = psutil.Process(storm.proxy.pid)
    return sum(p.memory_info().rss for p in (proxy, *proxy.children())) / (1 << 20)
