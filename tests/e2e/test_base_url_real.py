"""`--via base-url` with the real client, among them releases that obey no proxy."""

from pathlib import Path

import pytest

from ccwire.demo.real.run import lab_home
from tests.e2e.isolated_run import IsolatedRun, check_no_file_has_the_key, isolated_run
from tests.e2e.real_rig import client_or_skip

pytestmark = pytest.mark.real


def run_client(version: str, folder: Path) -> IsolatedRun:
    lab_home(folder / "home", folder)
    client = client_or_skip(version)
    return isolated_run(folder, *client.command, "-p", "hi", options=("--via", "base-url"))


@pytest.mark.parametrize("version", ["0.2.9", "0.2.36", "0.2.60", "1.0.30", "2.1.325"])
def test_a_release_that_ignores_the_proxy_is_captured(version: str, tmp_path: Path) -> None:
    run = run_client(version, tmp_path)
    assert run.returncode == 0, (run.stdout, run.stderr)
    print(
        run.stdout,
        run.stderr,
        {
            k: [(e.kind, e.path, e.identified_by, e.host) for e in v]
            for k, v in run.captured.items()
        },
        len(run.served),
    )
    print(
        *[p.relative_to(tmp_path) for p in (tmp_path / "home").rglob("*") if p.is_file()], sep="\n"
    )
    check_no_file_has_the_key(tmp_path)
    assert 0
