"""Kills of the writer process, of the proxy and of both, at random moments under load.

A dozen, or as many as CCWIRE_KILLS says. What the client saw to its last byte is in the files, byte
for byte; what reached the server is recorded; the manifests count nothing that is not so.
"""

import random
import time
from pathlib import Path

from tests.faults.kills import TARGETS, Storm, compare, counted_losses
from tests.faults.sizes import size

KILLS = size("CCWIRE_KILLS", 12, 1000)
SEED = size("CCWIRE_SEED", 8, 8)


def test_no_kill_loses_what_the_client_has_seen(tmp_path: Path) -> None:
    moments = random.Random(SEED)
    with Storm(tmp_path, per_session=300) as storm:
        for number in range(KILLS):
            if number % 100 == 0:
                print(f"{number} kills", flush=True)
            storm.until_busy(2)
            if moments.random() < 0.75:  # else most kills would hit a start
                storm.until_recording()
            time.sleep(moments.uniform(0, 0.15))
            storm.kill(TARGETS[number % len(TARGETS)])
    account = storm.account
    finished = sum(bool(seen.digest) for seen in account.seen.values())
    print(f"{dict(account.kills)}: {len(account.seen)} asked, {finished} finished")
    assert finished > KILLS
    captures = tmp_path / "captures"
    assert compare(captures, account) == dict.fromkeys(compare(captures, account), 0)
    assert counted_losses(captures) == 0
    assert not list(captures.glob("*/*.part*"))
