"""The newest client's interactive screen: `/clear`, an interrupt, `/compact`."""

from collections.abc import Iterator

import pytest

from ccwire.demo.stand_in import scenarios
from correlate.reconcile.result import label
from tests.e2e.real_rig import NEWEST, RealRig, real_rig
from tests.rig import until

pytestmark = pytest.mark.real


@pytest.fixture
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRig]:
    with real_rig(NEWEST, tmp_path_factory.mktemp("screen")) as rig:
        yield rig


def main_sessions(real: RealRig) -> list[str]:
    """Return the sessions of the main conversation's calls, in order."""
    calls = [c for c in real.api.ledger.messages() if c.tools and c.session_id]
    return list(dict.fromkeys(str(call.session_id) for call in calls))


def test_clear_starts_another_folder_in_the_same_process(real: RealRig) -> None:
    plain = scenarios.named("plain")
    real.api.scenario = plain
    with real.screen() as screen:
        screen.ready()
        screen.submit(plain.prompt)
        screen.expect("A plain answer from the lab.")
        screen.submit("/clear")
        until(lambda: "A plain answer" not in screen.text(), 20)
        screen.submit(plain.prompt)
        until(lambda: len(main_sessions(real)) == 2, 20)
        screen.expect("A plain answer from the lab.")
        screen.leave()
    first, second = main_sessions(real)
    real.api.ledger.wait()
    for session in (first, second):
        served = [c for c in real.api.ledger.messages() if c.session_id == session]
        real.check(session, served)
    pids = {name: set[int | None]() for name in (first, second)}
    for name, exchange in real.captured():
        if name in pids:
            pids[name].add(exchange.pid)
    assert pids[first] == pids[second]
    assert len(pids[first]) == 1
    real.nothing_is_unknown()


def test_an_interrupted_call_is_explained(real: RealRig) -> None:
    slow = scenarios.named("slow:deltas=400,delay=0.05")
    real.api.scenario = slow
    with real.screen() as screen:
        screen.ready()
        screen.submit(slow.prompt)
        screen.expect("www")
        screen.press("escape")
        screen.expect("nterrupted")
        screen.leave()
    real.api.ledger.wait()
    (session,) = main_sessions(real)
    account = real.check(session, real.api.ledger.messages(session))
    (cut,) = [f for f in account.calls if f.call and not f.call.complete]
    assert cut.call and (cut.call.ended_by, cut.call.request_class) == ("client_disconnect", "main")
    # If text was on the screen, the client writes a line with its start usage, else none.
    assert label(cut) in ("match", "wire-only: aborted")


def test_compact_is_explained(real: RealRig) -> None:
    scenario = scenarios.named("compact")
    real.api.scenario = scenario
    with real.screen() as screen:
        screen.ready()
        screen.submit(scenario.prompt)
        until(lambda: len(main_sessions(real)) == 1, 20)
        real.api.ledger.wait()
        screen.submit("/compact")
        screen.expect("ompacted", 40)
        screen.leave()
    real.api.ledger.wait()
    (session,) = main_sessions(real)
    account = real.check(session, real.api.ledger.messages(session))
    assert "wire-only: compaction" in {label(finding) for finding in account.calls}
    assert account.compacted_at
