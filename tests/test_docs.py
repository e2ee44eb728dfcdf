"""The documents say what the program does."""

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


def test_the_readme_names_no_command_that_is_not_there() -> None:
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"uv run ccwire ([a-z]+)", readme))
    assert named <= set(COMMANDS)


def test_the_reference_is_what_help_says() -> None:
    """If this fails: `uv run python -m ccwire.reference > docs/commands.md`."""
    command = [sys.executable, "-m", "ccwire.reference"]  # click remembers what other tests did
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "commands.md").read_text() == said


def test_every_command_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    missing = [name for name in COMMANDS if f"`ccwire {name}`" not in changelog]
    assert missing == []
