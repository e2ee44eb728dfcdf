"""The import path: modules of ccwire's own installation, none of the folder that it runs in.

That folder is a user's project, which may contain an `addon`, a `lab` or a `queue.py`. With
PYTHONPATH or `python -m` those would be imported first. This module imports only what the
interpreter has already loaded; anything else could come from that project.
"""

import os
import site
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_START = "import os, sys\nsys.path[:] = sys.argv.pop(1).split(os.pathsep)\n"


def own_path() -> list[str]:
    """Return `sys.path` without the current folder and the entries of PYTHONPATH."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    of_project = {os.path.realpath(entry) for entry in ["", *named]}  # "" is the current folder
    installed = [ROOT, os.path.dirname(os.__file__), *site.getsitepackages()]
    of_project -= {os.path.realpath(entry) for entry in installed}
    path = [entry for entry in sys.path if os.path.realpath(entry) not in of_project]
    return list(dict.fromkeys([*path, ROOT]))


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command for a Python with the same import path, and `arguments` in sys.argv.

    It ignores Python's environment variables, and does not buffer its output.
    """
    path = os.pathsep.join(own_path())
    return [sys.executable, "-I", "-u", "-c", _START + program, path, *arguments]
