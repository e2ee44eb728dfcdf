"""The hook command: tells `sessions.json` which process of the client is which session.

Run as `python -I -S /…/addon/hook.py [--sessions PATH]`, the payload on stdin. Whatever happens, it
prints nothing and exits with 0: a hook that fails is shown to the user or holds the client up.
"""

# Importing pathlib takes longer than all the hook does.
# ruff: noqa: PTH100, PTH120

import os
import sys


def main() -> None:
    # Isolated from the environment, the interpreter knows the standard library alone. The work is
    # in modules, since Python keeps those compiled and a script not.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from addon.hooks.handle import handle

    with open(0, "rb", buffering=0) as stdin:
        handle(stdin.read(), sys.argv[1:], os.environ, os.getppid())


if __name__ == "__main__":
    try:
        main()
    finally:
        # With 0, whatever happened: `handle` has logged what can be. And at once: tearing the
        # interpreter down takes longer than the work did.
        os._exit(0)
