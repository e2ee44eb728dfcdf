"""The name of the command in hints, for each way to install and start it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccwire.command_name import name_for


def name(
    prefix: Path,
    *,
    script: Path | str = "ccwire",
    folder: Path = Path("/elsewhere"),
    environment: dict[str, str] | None = None,
    on_path: dict[str, str] | None = None,
) -> str:
    return name_for(
        script=Path(script),
        python=prefix / "bin" / "python",
        prefix=prefix,
        folder=folder,
        environment=environment or {},
        which=(on_path or {}).get,
    )


def environment_of(folder: Path) -> Path:
    """Make an environment with the command in it."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "ccwire").touch()
    return folder


def uv_run(prefix: Path) -> dict[str, str]:
    return {"UV_RUN_RECURSION_DEPTH": "1", "VIRTUAL_ENV": str(prefix)}


def test_an_activated_environment(tmp_path: Path) -> None:
    prefix = environment_of(tmp_path / "venv")
    script = str(prefix / "bin" / "ccwire")
    assert name(prefix, script=script, on_path={"ccwire": script}) == "ccwire"


def test_a_tool_that_is_linked_into_a_folder_on_the_path(tmp_path: Path) -> None:
    """As `uv tool install` and `pipx install` do it."""
    prefix = environment_of(tmp_path / "tools" / "ccwire")
    link = tmp_path / "bin" / "ccwire"
    link.parent.mkdir()
    link.symlink_to(prefix / "bin" / "ccwire")
    assert name(prefix, script=link, on_path={"ccwire": str(link)}) == "ccwire"


def test_a_command_outside_its_environment(tmp_path: Path) -> None:
    """As `pip install --user` does it."""
    (tmp_path / "ccwire").touch()
    script = str(tmp_path / "ccwire")
    assert name(tmp_path / "usr", script=script, on_path={"ccwire": script}) == "ccwire"


def test_a_command_that_is_not_on_the_path(tmp_path: Path) -> None:
    prefix = environment_of(tmp_path / "my venv")
    script = prefix / "bin" / "ccwire"
    assert name(prefix, script=script) == f"'{script}'"
    other = {"ccwire": str(environment_of(tmp_path / "other") / "bin" / "ccwire")}
    assert name(prefix, script=script, on_path=other) == f"'{script}'"


def test_uv_run_in_the_project(tmp_path: Path) -> None:
    prefix = environment_of(tmp_path / ".venv")
    (tmp_path / "pyproject.toml").touch()
    on_path = {"ccwire": str(prefix / "bin" / "ccwire")}  # uv prepends it for its child
    for folder in (tmp_path, tmp_path / "docs"):
        found = name(prefix, folder=folder, environment=uv_run(prefix), on_path=on_path)
        assert found == "uv run ccwire"


def test_uv_run_from_another_folder(tmp_path: Path) -> None:
    prefix = environment_of(tmp_path / ".venv")
    (tmp_path / "pyproject.toml").touch()
    found = name(prefix, environment=uv_run(prefix))
    assert found == f"uv run --project {tmp_path} ccwire"


def test_a_tool_that_something_in_uv_run_starts(tmp_path: Path) -> None:
    prefix = environment_of(tmp_path / "tools" / "ccwire")
    on_path = {"ccwire": str(prefix / "bin" / "ccwire")}
    assert name(prefix, environment=uv_run(tmp_path / "other"), on_path=on_path) == "ccwire"


def test_the_module(tmp_path: Path) -> None:
    script = tmp_path / "lib" / "ccwire" / "__main__.py"
    prefix = tmp_path / "venv"
    python = str(prefix / "bin" / "python")
    assert name(prefix, script=script, on_path={"python": python}) == "python -m ccwire"
    assert name(prefix, script=script) == f"{python} -m ccwire"


@pytest.mark.parametrize("folder", [".", "captures"])
def test_a_hint_can_be_run(tmp_path: Path, folder: str) -> None:
    """What an error names is a command that a shell in that folder can start."""
    (tmp_path / folder).mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "ccwire", "sessions"]
    said = subprocess.check_output(
        command, cwd=tmp_path / folder, env=environment, text=True, stderr=subprocess.STDOUT
    )
    hint = said.partition("start one with `")[2].partition("`")[0]
    assert hint.endswith("ccwire run claude")
    tried = hint.replace("run claude", "run --help")
    subprocess.run(["sh", "-c", tried], cwd=tmp_path, env=environment, check=True)
