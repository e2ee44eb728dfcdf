import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from addon.identity import clients, processes, socket_table
from addon.identity.clients import Client, Everyone, OwnUser, RunTree
from addon.identity.processes import ClientProcess, can_find_processes

OTHER_USER = os.geteuid() + 1


@pytest.fixture
def child() -> Iterator[psutil.Process]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield psutil.Process(process.pid)
        process.kill()


def client(process: psutil.Process, uid: int | None = None) -> Client:
    return Client(uid, ClientProcess(process.pid, process.create_time()))


def test_by_default_other_users_are_strangers() -> None:
    assert OwnUser().judge(Client(OTHER_USER, None)) == "stranger"
    assert OwnUser().judge(Client(os.geteuid(), None)) == "served"
    assert OwnUser().judge(Client(None, None)) == "served"
    assert Everyone().judge(Client(OTHER_USER, None)) == "served"


def test_a_tree_has_its_root_and_what_that_started(child: psutil.Process) -> None:
    own = psutil.Process()
    assert RunTree(own.pid, "").judge(client(child)) == "served"
    assert RunTree(own.pid, "").judge(client(own)) == "served"
    assert RunTree(child.pid, "").judge(client(own)) == "stranger"


def test_a_member_stays_one_when_its_parent_exits(
    child: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = RunTree(os.getpid(), "")
    assert tree.judge(client(child)) == "served"
    monkeypatch.setattr(psutil.Process, "parents", lambda self: [])
    assert tree.judge(client(child)) == "served"
    assert RunTree(os.getpid(), "").judge(client(child)) == "stranger"


def test_an_empty_mark_marks_no_process(
    child: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "run_mark", lambda pid: "")
    assert RunTree(child.pid, "").judge(client(psutil.Process())) == "stranger"


def test_a_mark_counts_for_processes_of_this_user_only(
    child: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "run_mark", lambda pid: "run-1")
    other = psutil.Process()
    assert RunTree(child.pid, "run-1").judge(client(other, OTHER_USER)) == "stranger"
    assert RunTree(child.pid, "run-1").judge(client(other, os.geteuid())) == "served"
    assert RunTree(child.pid, "run-1").judge(client(other)) == "served"


def test_a_process_that_cannot_be_found_is_unknown() -> None:
    tree = RunTree(os.getpid(), "")
    assert tree.judge(Client(None, None)) == "unknown"
    assert tree.judge(Client(os.geteuid(), None)) == "unknown"


def test_a_member_that_hides_its_files_may_be_the_one(
    child: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_hides_files", lambda process: process == child)
    tree = RunTree(os.getpid(), "")
    assert tree.judge(Client(os.geteuid(), None)) == "served"
    assert tree.judge(Client(OTHER_USER, None)) == "unknown"


def test_a_tree_without_a_root_is_refused() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(ValueError, match=f"there is no process {ended.pid}"):
        RunTree(ended.pid, "")


@pytest.mark.parametrize("is_there", [True, False])
def test_this_system_shows_whose_a_connection_is(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_table, "is_there", lambda: is_there)
    assert can_find_processes()
    monkeypatch.setattr(socket_table, "find", lambda client, proxy: None)
    monkeypatch.setattr(processes, "_holds", lambda pid, client, proxy: False)
    assert not can_find_processes()
