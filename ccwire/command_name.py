"""How the user starts ccwire: `ccwire`, `uv run ccwire`, …; for hints that can be copied."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

NAME = "ccwire"


def command_line(arguments: str) -> str:
    """Return `ccwire ARGUMENTS` as the user would type it in the current folder."""
    return f"{command_name()} {arguments}"


def command_name() -> str:
    """Return the words that start ccwire in the user's shell, in the current folder."""
    return name_for(
        script=Path(sys.argv[0]),
        python=Path(sys.executable),
        prefix=Path(sys.prefix),
        folder=Path.cwd(),
        environment=os.environ,
        which=shutil.which,
    )


def name_for(
    *,
    script: Path,
    python: Path,
    prefix: Path,
    folder: Path,
    environment: Mapping[str, str],
    which: Callable[[str], str | None],
) -> str:
    """Return the name for a `script` that `python` of the environment `prefix` runs in `folder`."""
    if _is_uv_run(environment, prefix):
        project = prefix.parent  # uv keeps the environment in the project's .venv
        is_elsewhere = project != folder and project not in folder.parents
        if is_elsewhere and (project / "pyproject.toml").exists():
            return f"uv run --project {shlex.quote(str(project))} {NAME}"
        return f"uv run {NAME}"
    on_path = which(NAME)
    if on_path and (_is_in(prefix, on_path) or _same(on_path, script)):
        return NAME
    if script.name == NAME and script.exists():
        return shlex.quote(str(script))
    has_python = (found := which("python")) and _is_in(prefix, found)
    return f"{'python' if has_python else shlex.quote(str(python))} -m {NAME}"


def _is_uv_run(environment: Mapping[str, str], prefix: Path) -> bool:
    """Return whether `uv run` started this process: its PATH is then not the user's."""
    own = environment.get("VIRTUAL_ENV")
    return "UV_RUN_RECURSION_DEPTH" in environment and own is not None and Path(own) == prefix


def _is_in(prefix: Path, program: str) -> bool:
    """Return whether a program is in this environment, or a link into it."""
    own = os.path.realpath(prefix / "bin")
    return own in (
        os.path.realpath(Path(program).parent),
        str(Path(os.path.realpath(program)).parent),
    )


def _same(program: str, script: Path) -> bool:
    return os.path.realpath(program) == os.path.realpath(script)
