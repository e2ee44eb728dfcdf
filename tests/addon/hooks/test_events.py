import subprocess
import sys
from typing import get_args

from addon.hooks.events import EVENTS, HANDLED, INSTALLED, events_for
from ccwire.wire.vocabulary import HookEvent


def test_every_event_has_one_line() -> None:
    assert get_args(HookEvent) == HANDLED
    assert len(EVENTS) == len(set(HANDLED))


def test_a_client_is_given_only_events_that_it_knows() -> None:
    assert events_for((1, 0, 30)) == ()
    assert "SessionEnd" not in events_for((1, 0, 84))
    assert set(events_for((1, 0, 85))) == set(INSTALLED)
    assert set(events_for((2, 1, 325))) == {*INSTALLED, "SubagentStart"}


def test_what_is_installed_is_known_to_every_client_since_1_0_85() -> None:
    assert all(since <= (1, 0, 85) for _, since, installed in EVENTS if installed)


def test_the_table_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import addon.hooks.events; "
    code += "print(sorted(set(sys.modules) - before))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['addon', 'addon.hooks', 'addon.hooks.events']"
