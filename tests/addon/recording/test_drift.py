"""Drift that a recorder notices: only the client's own formats are compared."""

from pathlib import Path

import pytest

from addon.identity.processes import ClientProcess
from tests.addon.recording.recorders import open_rig

CLIENT = ClientProcess(100, 900.0)
SESSION = "s-1"


@pytest.mark.parametrize(
    ("agent", "is_compared"), [("claude-cli/2.1.98 (external, cli)", True), ("Python/3.13", False)]
)
def test_a_program_that_the_client_started_is_not_compared(
    agent: str, is_compared: bool, tmp_path: Path
) -> None:
    script = ClientProcess(101, 950.0, ((CLIENT.pid, CLIENT.created),))
    with open_rig(tmp_path, script if not is_compared else CLIENT) as rig:
        rig.hooked(SESSION, CLIENT)
        body = b'{"model":"m","stream":true,"never_seen_before":1}'
        rig.whole("f-1", headers=[("user-agent", agent)], body=body)
        rig.recorder.close()
        assert len(rig.lines(SESSION)) == 1
        assert bool(rig.manifest(SESSION)["drift"]) is is_compared
