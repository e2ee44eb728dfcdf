"""Hypothesis settings for every test: the same examples in every run, and no deadline.

Also the recorded session that several test files share.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from addon.recording.journal.folder import abandoned, captures_with_journals
from tests.recorded import Recorded, record

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A recorded session, for tests that read it and leave it as it is."""
    return record(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="session", autouse=True)
def _no_journal_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove the journals of proxies that tests have killed: they are not in the test's folder."""
    yield
    for captures in captures_with_journals():
        if captures.is_relative_to(tmp_path_factory.getbasetemp()):
            for journal in abandoned(captures):
                journal.remove()


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let no test read or write the home of the user who runs the tests."""
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path_factory.getbasetemp() / "no-home"))


@pytest.fixture(autouse=True)
def _as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hints name `ccwire`, not `uv run ccwire`, however the tests were started."""
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
