"""How many exchanges of a running session stay plain files: the setting and its default. Pure."""

ALL = "all"
KEEP_OPEN = "20"
_DIGITS = 9


def parse_keep_open(text: str) -> int | None:
    """Return the number of exchanges to keep open, None for all; raise ValueError."""
    if text == ALL:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise ValueError(f"expected a number or `{ALL}`")
    return int(text)
