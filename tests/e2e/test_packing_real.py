"""A real client's session is packed while it runs and after it, and accounted for all the same."""

from pathlib import Path

import pytest

from addon.storage.packing.pack import unpack_session
from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import ExchangeFiles, segments
from correlate.captures.folder import read_exchanges
from correlate.reconcile.as_json import session_json
from correlate.reconcile.totals import totals_of
from tests.addon.storage.exchange_files import all_there
from tests.e2e.real_rig import VERSIONS, real_rig
from tests.rig import until

pytestmark = pytest.mark.real


@pytest.mark.parametrize("version", [VERSIONS[2], VERSIONS[-1]])
def test_a_session_is_packed_and_accounted_for(version: str, tmp_path: Path) -> None:
    with real_rig(version, tmp_path, keep_open="1") as real:
        outcome = real.run(named("mix"))
        folder = real.proxy.captures / outcome.session_id
        real.wait_for(outcome.served)
        # Packed as it has ended, or all but the newest.
        until(lambda: len({path.name[:4] for path in exchange_files(folder)}) <= 1, 20)
        assert segments(folder)
        real.check(outcome.session_id, outcome.served)
        again = real.run(named("plain"), "--resume", outcome.session_id)
        real.check(again.session_id, again.served)
    whole = {e.sequence for e in read_exchanges(folder)}
    assert exchange_files(folder) == []
    assert {number for number, _ in ExchangeFiles(folder).all_keys()} == whole
    account = real.reconcile(outcome.session_id)
    packed = all_there(folder)
    unpack_session(folder, now=float("inf"))
    assert {path.name: path.read_bytes() for path in exchange_files(folder)} == packed
    unpacked = real.reconcile(outcome.session_id)
    assert session_json(unpacked, totals_of(unpacked)) == session_json(account, totals_of(account))
