"""The documentation matches the program."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from addon.claude_settings.refused import (
    BYTE_ORDER_MARK,
    COMMENT,
    MEASURED,
    TRAILING_COMMA,
    UNKNOWN_EVENT,
)
from ccwire.cli import COMMANDS
from ccwire.wire.hosts import PROVIDER_HOSTS
from correlate.reconcile.verdicts import Verdict, WireOnlyKind

ROOT = Path(__file__).parent.parent


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    missing = [name for name in COMMANDS if f"ccwire {name}" not in readme]
    assert missing == []


@pytest.mark.parametrize("page", ["README.md", "docs/roads.md"])
def test_every_command_in_code_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    named = set(re.findall(r"^(?:exec |uv run )?ccwire ([a-z]+)", text, re.MULTILINE))
    named |= set(re.findall(r"`ccwire ([a-z]+)", text))
    assert len(named) > 3
    assert named <= set(COMMANDS)


@pytest.mark.parametrize("package", ["addon", "correlate"])
def test_the_documented_layers_are_those_that_are_checked(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c.get("containers") == [package])
    named = [re.sub(r", ([^,]+)$", r" and \1", f"`{x.replace(' | ', '`, `')}`") for x in layers]
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    assert re.search(rf"Within `{package}`[^`]*: {'; '.join(named)}\.", text), named


def test_every_default_host_is_documented() -> None:
    page = (ROOT / "docs" / "roads.md").read_text()
    for hosts in PROVIDER_HOSTS.values():
        assert f"| {', '.join(f'`{host}`' for host in hosts)} |" in page


def test_every_option_of_the_add_on_is_in_the_readme() -> None:
    source = "".join(path.read_text() for path in (ROOT / "addon").glob("*.py"))
    options = set(re.findall(r"add_option\(\s*\"(capture_\w+)\"", source))
    assert len(options) > 5
    readme = (ROOT / "README.md").read_text()
    assert {option for option in options if f"| `{option}` |" not in readme} == set()


def test_every_verdict_and_kind_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    names = [*get_args(Verdict), *get_args(WireOnlyKind)]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_page_on_settings_names_what_was_measured() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    first, newest = (".".join(map(str, version)) for version in MEASURED)
    for flaw in (COMMENT, TRAILING_COMMA, BYTE_ORDER_MARK, UNKNOWN_EVENT):
        last = ".".join(map(str, flaw.last)) if flaw.last else newest
        assert f"| {first} to {last} |" in page


def test_the_reference_is_up_to_date() -> None:
    """If this fails: `uv run python -m ccwire.reference > docs/commands.md`."""
    command = [sys.executable, "-m", "ccwire.reference"]  # click keeps state of other tests
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "commands.md").read_text() == said


def test_every_command_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    missing = [name for name in COMMANDS if f"`ccwire {name}`" not in changelog]
    assert missing == []


def test_a_checkout_needs_no_other_python_than_the_package() -> None:
    lines = (ROOT / ".python-version").read_text().splitlines()
    (first, *_) = [line for line in lines if not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert first == project["requires-python"]
