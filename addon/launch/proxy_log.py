"""Reads what the add-on wrote to the log of the proxy. Pure."""

_OURS = "ccwire: "
_NO_TROUBLE = ("capturing ",)


def troubles(log: str) -> list[str]:
    """Return the warnings of the add-on, without repeats."""
    messages = [line.partition(_OURS)[2] for line in log.splitlines() if _OURS in line]
    return list(dict.fromkeys(m for m in messages if not m.startswith(_NO_TROUBLE)))
