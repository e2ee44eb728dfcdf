"""Makes captured text safe to show: no control character reaches a terminal or a page. Pure."""

import re

# Controls (tab and line feed aside), and what would turn the reading direction of all that follows.
# Also what is invisible and could hide a part of a name.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_LONE_RETURN = re.compile("\r(?!\n)")


def visible(text: str) -> str:
    """The text with every invisible character shown as a picture or an escape; lines stay lines."""
    text = _LONE_RETURN.sub("␍", text.replace("\r\n", "\n"))
    text = _UNSEEN.sub(_picture, text)
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """The text on one line, with a space for each character that could steer a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def shortened(text: str, most: int) -> str:
    """The text, cut to so many characters with an ellipsis where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
