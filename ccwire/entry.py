"""The entry point of the `ccwire` command: sets the import path, then runs the command line."""

import sys

from ccwire.import_path import own_path


def main() -> None:
    sys.path[:] = own_path()
    from ccwire.cli import main as command_line

    command_line()
