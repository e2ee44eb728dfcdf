"""Every reading command on trees that are damaged at random: a result or one sentence.

60 trees, the same in every run; `CCWIRE_TREES=20000` for a long run, on two processes.
"""

import itertools
import multiprocessing
import resource
from pathlib import Path

import pytest

from ccwire.cli import COMMANDS as ALL_COMMANDS
from tests.faults.sizes import size
from tests.faults.trees import COMMANDS, TreeFailure, build_base, check_seed

TREES = size("CCWIRE_TREES", 60, 20_000)
_FIRST = size("CCWIRE_FIRST_TREE", 0, 0)
_ELSEWHERE = {"demo", "run", "proxy"}  # these start programs
_MOST_SHOWN = 20
_MOST_MEMORY = 3 << 30  # a file that claims to be endless must not end the machine


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trees") / "base"
    build_base(root)
    return root


def test_no_command_fails_on_a_damaged_tree(base: Path) -> None:
    seeds = range(_FIRST, _FIRST + TREES)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        checked = pool.imap_unordered(_check, zip(itertools.repeat(base), seeds), chunksize=5)
        failures = [failure for found in checked for failure in found]
    shown = "\n".join(map(str, failures[:_MOST_SHOWN]))
    assert not failures, f"{len(failures)} failures in {TREES} trees\n{shown}"


def test_every_reading_command_is_run() -> None:
    assert {command.split()[0] for command in COMMANDS} | _ELSEWHERE == set(ALL_COMMANDS)


def _check(given: tuple[Path, int]) -> list[TreeFailure]:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    return check_seed(*given)
