"""sessions.json under stress: the holder of its lock dies, and other programs rewrite it."""

import fcntl
import json
import multiprocessing
import os
import threading
from pathlib import Path

from addon.hooks.handle import handle
from addon.hooks.sessions import SessionsMap
from addon.hooks.sessions_file import Lock
from tests.rig import new_session, until


def started(session: str) -> bytes:
    return json.dumps({"hook_event_name": "SessionStart", "session_id": session}).encode()


def record(path: Path, session: str) -> None:
    handle(started(session), ["--sessions", str(path)], {"HOME": str(path.parent)}, os.getpid())


def hold(path: str) -> None:
    """Take the lock and never release it."""
    lock = Lock(path)
    assert lock.take()
    Path(path + ".held").touch()
    threading.Event().wait()


def test_a_lock_dies_with_the_process_that_held_it(tmp_path: Path) -> None:
    path, session = tmp_path / "sessions.json", new_session()
    holder = multiprocessing.get_context("forkserver").Process(target=hold, args=(str(path),))
    holder.start()
    until(Path(f"{path}.held").exists, 20)
    with Path(f"{path}.lock").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise AssertionError("nobody held the lock")
        except BlockingIOError:
            pass
    holder.kill()
    holder.join()
    record(path, session)
    assert [entry.session_id for entry in SessionsMap(path).entries()] == [session]
    assert not (tmp_path / "hook.log").exists()


def test_a_map_that_others_rewrite_in_place_is_never_an_error_and_never_half_an_entry(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sessions.json"
    names = [new_session() for _ in range(50)]
    whole = json.dumps({"version": 1, "sessions": [{"session_id": name} for name in names]})
    stop = threading.Event()

    def rewrite() -> None:
        """Rewrite the file in place and without a lock, as another program might."""
        while not stop.is_set():
            path.write_text(whole[:900])
            path.write_text(whole)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        sessions = SessionsMap(path)
        for _ in range(300):
            found = [entry.session_id for entry in sessions.entries()]
            assert found in ([], names)
    finally:
        stop.set()
        thread.join()
    path.write_text(whole + "\n")
    assert [entry.session_id for entry in sessions.entries()] == names


def test_a_corrupt_map_costs_what_it_held_and_no_event_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    for rubbish in (b"\0" * 100, b'{"version": 1, "sess', b"[]", b"\xff\xfe", b'{"sessions": 7}'):
        path.write_bytes(rubbish)
        session = new_session()
        record(path, session)
        assert [entry.session_id for entry in SessionsMap(path).entries()] == [session]
    asides = sorted(tmp_path.glob("sessions.json.corrupt-*"))
    assert len(asides) == 5
    assert (tmp_path / "hook.log").read_text().count("could not read") == 5
