"""The import path: ccwire's own installation before the folder that it runs in.

That folder is a user's project, which may contain an `addon`, a `lab` or a `queue.py`. With
PYTHONPATH or `python -m` those would be imported first. This module imports only what the
interpreter has already loaded; anything else could come from that project.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_START = "import os, sys\nsys.path[:] = sys.argv.pop(1).split(os.pathsep)\n"
_VARIABLES = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP")


def own_path() -> list[str]:
    """Return `sys.path` with the current folder and the entries of PYTHONPATH moved to the end."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    of_project = {os.path.realpath(entry) for entry in ["", *named]}  # "" is the current folder
    of_project.discard(os.path.realpath(ROOT))
    path = [entry or os.getcwd() for entry in sys.path]
    ours = [entry for entry in path if os.path.realpath(entry) not in of_project]
    theirs = [entry for entry in path if os.path.realpath(entry) in of_project]
    return list(dict.fromkeys([*ours, ROOT, *theirs]))


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command for a Python with the same import path, and `arguments` in sys.argv."""
    path = os.pathsep.join(own_path())
    return [sys.executable, "-P", "-c", _START + program, path, *arguments]


def python_environment() -> dict[str, str]:
    """Return this environment without the variables that change Python's import path."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}
