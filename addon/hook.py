"""The hook command: records in `sessions.json` which process belongs to which session.

Run as `python -I -S /…/addon/hook.py [--sessions PATH]` with the payload on stdin. It always exits
with 0 and prints nothing, because Claude Code shows a failing hook to the user or waits for it.
What it reads is bounded in size, and all of its work in time.
"""

# Importing pathlib takes longer than the hook's own work.
# ruff: noqa: PTH100, PTH120

import os
import sys


def main() -> None:
    # With -I, only the standard library is importable. The work is done in modules, because Python
    # caches their bytecode but not a script's.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from addon.hooks.handle import receive

    receive(0, sys.argv[1:], os.environ, os.getppid())


if __name__ == "__main__":
    try:
        main()
    finally:
        # Always 0: `handle` has logged any error. And at once: shutting down the interpreter takes
        # longer than the work.
        os._exit(0)
