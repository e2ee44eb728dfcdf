import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from addon.hooks.client_process import (
    Process,
    _ProcFolder,
    _seconds,
    find_client,
    is_running,
    process_lookup,
    ps_table,
    read_bytes,
)


def _family(*processes: tuple[int, int, float, str]) -> dict[int, Process]:
    return {pid: Process(pid, parent, created, name) for pid, parent, created, name in processes}


def _found(family: dict[int, Process], named: str | None, parent: int) -> int | None:
    process = find_client(family.get, named, parent)
    return process.pid if process else None


FAMILY = _family(
    (1, 0, 0.0, "systemd"),
    (10, 1, 50.0, "zsh"),
    (20, 10, 60.0, "claude"),
    (30, 20, 70.0, "sh"),
    (31, 30, 70.1, "-bash"),
)


def test_the_process_the_environment_names_is_the_client() -> None:
    assert _found(FAMILY, "20", 31) == 20


@pytest.mark.parametrize("named", [None, "", "99", "-1", "20x", "²"])
def test_without_a_living_named_process_the_first_ancestor_that_is_no_shell_is_the_client(
    named: str | None,
) -> None:
    assert _found(FAMILY, named, 31) == 20


def test_a_shell_that_replaced_itself_leaves_the_client_as_the_parent() -> None:
    assert _found(FAMILY, None, 20) == 20


def test_an_orphans_new_parent_is_not_the_client() -> None:
    assert _found(FAMILY, None, 1) is None
    assert _found(FAMILY, None, 10) is None


def test_in_a_container_the_first_process_can_be_the_client() -> None:
    assert _found(_family((1, 0, 5.0, "node"), (7, 1, 6.0, "sh")), None, 7) == 1


def test_a_parent_younger_than_its_child_is_a_stranger() -> None:
    assert _found(_family((20, 1, 99.0, "claude"), (30, 20, 70.0, "sh")), None, 30) is None


def test_a_chain_without_an_end_is_given_up() -> None:
    assert _found(_family((5, 5, 1.0, "sh")), None, 5) is None


def test_a_process_that_got_the_pid_of_another_is_not_that_one() -> None:
    assert is_running(FAMILY.get, 20, 60.5)
    assert not is_running(FAMILY.get, 20, 63.0)
    assert not is_running(FAMILY.get, 21, 60.0)


def test_start_times_are_those_of_psutil() -> None:
    process = process_lookup()(os.getpid())
    assert process is not None
    assert process.parent == os.getppid()
    assert process.created_at == pytest.approx(psutil.Process().create_time(), abs=1.1)


def test_ps_and_proc_agree() -> None:
    process = ps_table()[os.getpid()]
    assert process.parent == os.getppid()
    assert process.created_at == pytest.approx(psutil.Process().create_time(), abs=2)
    assert "/" not in process.name


def test_a_process_that_ended_and_was_not_yet_waited_for_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()
    status = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert status is not None
    assert process_lookup()(child.pid) is None
    assert child.pid not in ps_table()
    child.wait()
    child.stdout.close()


def test_a_name_may_hold_brackets_and_spaces(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu 1 2\nbtime 1000\nprocesses 5\n")
    (tmp_path / "7").mkdir()
    rest = " ".join(["S", "3", *["0"] * 17, str(os.sysconf("SC_CLK_TCK") * 5), "0"])
    (tmp_path / "7" / "stat").write_text(f"7 (a) b (c) {rest}\n")
    process = _ProcFolder(str(tmp_path)).lookup(7)
    assert process is not None
    assert (process.name, process.parent, process.created_at) == ("a) b (c", 3, 1005.0)


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [("00:07", 7), ("02:03", 123), ("1:00:01", 3601), ("3-04:05:06", 273906)],
)
def test_elapsed_time_is_read_as_ps_prints_it(elapsed: str, seconds: int) -> None:
    assert _seconds(elapsed) == seconds


def test_the_end_of_a_file_is_read_without_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_bytes(str(path)) == b"0123456789"
    assert read_bytes(str(path), 3) == b"789"
    assert read_bytes(str(path), 30) == b"0123456789"
