"""Resolves the arguments SESSION and N of a command that shows one exchange. Pure.

SESSION may be left out: `7` alone is exchange 7 of the latest session.
"""

from collections.abc import Callable

LATEST = "latest"
_SHORTEST_PREFIX = 4  # of an id that consists of digits; a shorter number is an exchange
_LONGEST_NUMBER = 5


def session_and_number(
    session: str | None, number: int | None, is_session: Callable[[str], bool]
) -> tuple[str, int | None]:
    """Return which session and which exchange are meant; None is all of its exchanges.

    `is_session` tells whether a text names a session. It decides about a number of four or five
    digits, which may also be the start of an id.
    """
    if session is None:
        return LATEST, number
    if number is not None or not _is_number(session):
        return session, number
    if len(session) >= _SHORTEST_PREFIX and is_session(session):
        return session, None
    return LATEST, int(session)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
