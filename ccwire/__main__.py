#!python
"""The start of the `ccwire` command, and of `python -m ccwire`.

The wheel installs this file as the command's script: one that an installer generates imports
`ccwire` before any code of ours runs, and a project on PYTHONPATH may have a `ccwire` of its own.
Until the import path is set, imports only what the interpreter has loaded already.
"""

import os
import sys


def main() -> None:
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of the script, or the current one
    named = {os.path.realpath(e) for e in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    sys.path.sort(key=lambda entry: os.path.realpath(entry) in named)  # these last
    from ccwire.import_path import own_path

    sys.path[:] = own_path()
    from ccwire.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
