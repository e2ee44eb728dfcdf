"""Which modules ccwire imports: its own installation's, before those of the folder it runs in.

That folder is somebody's project. With PYTHONPATH, or `python -m`, its modules come first, and a
project may have an `addon`, a `lab` or a `queue.py` of its own. Imports only what the interpreter
has loaded already: anything else could be such a module.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_START = "import os, sys\nsys.path[:] = sys.argv.pop(1).split(os.pathsep)\n"
_VARIABLES = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP")


def own_path() -> list[str]:
    """`sys.path` with the current folder and the entries of PYTHONPATH at its end."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    of_project = {os.path.realpath(entry) for entry in ["", *named]}  # "" is the current folder
    of_project.discard(os.path.realpath(ROOT))
    path = [entry or os.getcwd() for entry in sys.path]
    ours = [entry for entry in path if os.path.realpath(entry) not in of_project]
    theirs = [entry for entry in path if os.path.realpath(entry) in of_project]
    return list(dict.fromkeys([*ours, ROOT, *theirs]))


def python_command(program: str, *arguments: str) -> list[str]:
    """Starts another Python that imports what this one does; it has `arguments` in sys.argv."""
    path = os.pathsep.join(own_path())
    return [sys.executable, "-P", "-c", _START + program, path, *arguments]


def python_environment() -> dict[str, str]:
    """The environment for such a Python: this one's, without what would change its imports."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}
