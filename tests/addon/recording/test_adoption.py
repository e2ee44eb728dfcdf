"""What a proxy leaves under `unknown/` is filed by the next one."""

import time
from pathlib import Path

import pytest

from addon.identity.processes import ClientProcess
from addon.recording import adoption
from tests.addon.recording.recorders import RecorderRig

NOW = time.time()
CLIENT = ClientProcess(500, NOW - 100)


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, float]]:
    """The running processes."""
    found: set[tuple[int, float]] = set()
    monkeypatch.setattr(adoption, "is_running", lambda pid, created: (pid, created) in found)
    return found


def killed(rig: RecorderRig) -> None:
    """Release the locks of a recorder, as the kernel does when its process ends."""
    lock = rig.recorder._adoption._lock
    assert lock is not None
    lock.close()


def waiting(root: Path, flow: str, started: float = NOW) -> RecorderRig:
    rig = RecorderRig(root, CLIENT)
    rig.whole(flow, at=started + 1, started=started, target="/api/hello")
    return rig


def flows(rig: RecorderRig, session: str | None) -> list[str]:
    return [line["flow_id"] for line in rig.lines(session)]


def test_the_next_proxy_files_what_waits_for_a_session_that_started_meanwhile(
    tmp_path: Path,
) -> None:
    first = waiting(tmp_path, "f-1")
    killed(first)
    first.hooked("s-1", CLIENT)
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    assert [(line["flow_id"], line["identified_by"]) for line in second.lines("s-1")] == [
        ("f-1", "process")
    ]
    assert flows(second, None) == []
    assert second.names(None) == ["exchanges.jsonl", "manifest.json"]


def test_one_whose_part_is_still_there_is_left_to_recovery(tmp_path: Path) -> None:
    first = waiting(tmp_path, "f-1")
    killed(first)
    first.hooked("s-1", CLIENT)
    (first.folder(None) / "0001_resp_api_hello.part").touch()
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    assert (flows(second, "s-1"), flows(second, None)) == ([], ["f-1"])


def test_a_process_that_still_runs_gets_its_session_later(
    tmp_path: Path, running: set[tuple[int, float]]
) -> None:
    running.add((CLIENT.pid, CLIENT.created))
    first = waiting(tmp_path, "f-1")
    killed(first)
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    assert flows(second, None) == ["f-1"]
    second.hooked("s-1", CLIENT)
    second.recorder.settle()
    assert flows(second, "s-1") == ["f-1"]


def test_another_process_with_the_same_pid_is_not_it(tmp_path: Path) -> None:
    first = waiting(tmp_path, "f-1")
    killed(first)
    first.hooked("s-1", ClientProcess(CLIENT.pid, CLIENT.created + 50))
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    second.recorder.close()
    assert (flows(second, None), flows(second, "s-1")) == (["f-1"], [])


def test_while_another_proxy_runs_its_exchanges_are_its_own(tmp_path: Path) -> None:
    first = waiting(tmp_path, "f-1")
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    second.hooked("s-1", CLIENT)
    second.recorder.settle()
    assert flows(second, None) == ["f-1"]
    first.recorder.settle()
    assert flows(second, "s-1") == ["f-1"]


def test_it_is_tried_again_when_the_other_proxy_has_ended(tmp_path: Path) -> None:
    first = waiting(tmp_path, "f-1")
    first.hooked("s-1", CLIENT)
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    assert flows(second, None) == ["f-1"]
    killed(first)
    second.recorder.idle()
    assert flows(second, "s-1") == ["f-1"]


def test_what_an_earlier_proxy_left_does_not_belong_to_this_run(tmp_path: Path) -> None:
    killed(waiting(tmp_path, "f-1"))
    second = RecorderRig(tmp_path, CLIENT, "run-2")
    second.recorder.idle()
    second.whole("f-2", target="/api/hello")
    second.recorder.close()
    assert (flows(second, None), flows(second, "run-2")) == (["f-1"], ["f-2"])


def test_an_old_exchange_stays(tmp_path: Path) -> None:
    first = waiting(tmp_path, "f-1", started=NOW - 2 * 24 * 3600)
    killed(first)
    first.hooked("s-1", CLIENT)
    second = RecorderRig(tmp_path)
    second.recorder.idle()
    assert flows(second, None) == ["f-1"]


def test_a_proxy_does_not_adopt_its_own_exchanges(tmp_path: Path) -> None:
    rig = waiting(tmp_path, "f-1")
    rig.hooked("s-1", CLIENT)
    rig.recorder.idle()
    rig.recorder.close()
    assert (flows(rig, None), flows(rig, "s-1")) == ([], ["f-1"])
