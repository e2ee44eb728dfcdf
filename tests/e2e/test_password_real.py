"""The real client with the password of a run's proxy, as on systems that show no processes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.launch.environment import proxied_environment
from ccwire.demo.stand_in.scenarios import named
from tests.e2e.real_rig import real_rig

pytestmark = pytest.mark.real

PASSWORD = "made-up-password-of-this-run"


@pytest.fixture
def other() -> Iterator[int]:
    """The pid of a process that has started none, so that every client is a stranger."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("version", ["2.0.73", "2.1.168", "2.1.325"])
def test_the_client_gives_the_password_and_works_as_before(
    version: str, tmp_path: Path, other: int
) -> None:
    with real_rig(version, tmp_path, clients=other, password=PASSWORD) as real:
        proxied = proxied_environment({}, real.proxy.port, {}, (), PASSWORD)
        outcome = real.run(named("bash"), env=proxied)
        real.check(outcome.session_id, outcome.served)
        assert len(outcome.served) >= 2
    files = [*real.proxy.captures.rglob("*"), real.proxy.log]
    leaked = [path for path in files if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert leaked == []


def test_without_it_the_client_is_refused(tmp_path: Path, other: int) -> None:
    with real_rig("2.1.325", tmp_path, clients=other) as real:
        outcome = real.run(named("plain"), env={"CLAUDE_CODE_MAX_RETRIES": "0"})
        assert outcome.run.returncode != 0
        assert outcome.served == []
        assert real.captured() == []
