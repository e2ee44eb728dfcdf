"""The documentation matches the program."""

import re
import subprocess
import sys
from pathlib import Path

from ccwire.cli import COMMANDS

ROOT = Path(__file__).parent.parent


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    missing = [name for name in COMMANDS if f"ccwire {name}" not in readme]
    assert missing == []


def test_every_command_in_the_readme_exists() -> None:
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"uv run ccwire ([a-z]+)", readme))
    assert named <= set(COMMANDS)


def test_the_reference_is_up_to_date() -> None:
    """If this fails: `uv run python -m ccwire.reference > docs/commands.md`."""
    command = [sys.executable, "-m", "ccwire.reference"]  # click keeps state of other tests
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "commands.md").read_text() == said


def test_every_command_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    missing = [name for name in COMMANDS if f"`ccwire {name}`" not in changelog]
    assert missing == []
