"""How much of a fault suite is run: a little in CI, all of it with `CCWIRE_LONG=1`."""

import os


def size(name: str, usual: int, long: int) -> int:
    """Return the number in a variable, else the usual one, or with CCWIRE_LONG the long one."""
    return int(os.environ.get(name) or (long if os.environ.get("CCWIRE_LONG") else usual))
