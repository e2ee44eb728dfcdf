"""Run a command with a stand-in for the API in a network of its own, with loopback only.

    python -m lab.isolated --ledger FILE [--scenario NAME] -- COMMAND … {upstream} …

`{upstream}` in the command becomes the stand-in's URL. For programs that may ignore the proxy: none
can reach another machine. The exit code is the command's own, or NOT_PERMITTED.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from lab.atlas.isolation import isolate

NOT_PERMITTED = 77


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.isolated", description=__doc__)
    parser.add_argument("--ledger", type=Path, required=True, help="Write what was served here.")
    parser.add_argument("--scenario", default="plain")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    if not isolate():
        return NOT_PERMITTED
    with StandIn(named(given.scenario)) as api:
        command = [word.replace("{upstream}", api.url) for word in given.command]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        api.ledger.wait()
        given.ledger.write_text(api.ledger.dump())
    return code


if __name__ == "__main__":
    sys.exit(main())
