"""`ccwire demo`, the first command that a new user runs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.demo.client.profiles import PROFILES


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its output in an empty environment, as on a new machine."""
    home = tmp_path_factory.mktemp("home")
    ran = subprocess.run(
        [sys.executable, "-m", "ccwire", "demo"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home), "COLUMNS": "100"},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_it_shows_a_placeholder_a_side_call_and_a_retry(shown: str) -> None:
    for word in ("placeholder", "wire-only: auxiliary", "wire-only: retried", "0 unexplained"):
        assert word in shown


def test_it_shows_the_capture_and_where_to_look_next(shown: str) -> None:
    assert "0001_req_" in shown
    assert "Next" in shown
    assert f"  {sys.executable} -m ccwire reconcile latest" in shown


def test_the_capture_has_every_call_that_was_served(shown: str) -> None:
    (line,) = [line for line in shown.splitlines() if line.startswith("The stand-in served")]
    numbers = [int(word) for word in line.replace(".", "").split() if word.isdigit()]
    assert numbers[0] == numbers[1] > 5


def test_what_it_suggests_works(shown: str) -> None:
    (command,) = [line.split() for line in shown.splitlines() if "ccwire reconcile latest" in line]
    arguments = command[command.index("ccwire") + 1 :]
    ran = subprocess.run(
        [sys.executable, "-m", "ccwire", *arguments], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "0 unexplained" in ran.stdout
    captures = Path(arguments[arguments.index("--captures") + 1])
    shutil.rmtree(captures.parent)


def test_a_release_that_is_not_known_yet_is_one_sentence() -> None:
    ran = CliRunner().invoke(main, ["demo", "--as", "9.9.9"])
    assert ran.exit_code == 2
    newest = list(PROFILES)[-1]
    assert ran.stderr == (
        f"ccwire: --as 9.9.9: the newest release that can be simulated is {newest}.\n"
    )
