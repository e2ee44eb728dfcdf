"""The list of a session's exchanges, with the first words of the last text of the user.

Only a request file contains that text. Requests are large and repeat one another, so those of the
newest calls are read, up to a number of bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, dicts
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.safe_text import one_line
from correlate.captures.content import CaptureFiles, body_of
from correlate.transcript.titles import CLIENT_TAG

MOST_BYTES = 64 << 20  # of requests that are read for their words
_WORDS_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ListedExchange:
    """An exchange; `words` begin its last user text, None if there is none or it was not read."""

    call: Exchange
    in_flight: bool
    words: str | None


def listed_exchanges(
    folder: Path,
    exchanges: Sequence[Exchange],
    in_flight: set[int],
    most_bytes: int | None = MOST_BYTES,
    clean: Callable[[str], str] = str,
    *,
    whole: bool = False,
) -> list[ListedExchange]:
    """Return the exchanges with their words; `clean` redacts a text before it is cut.

    With `whole`, the words are all of the text.
    """
    length = None if whole else _WORDS_LENGTH
    files = CaptureFiles(folder)
    read = newest_within(exchanges, most_bytes)
    return [
        ListedExchange(
            call,
            call.sequence in in_flight,
            _words(files, call.sequence, clean, length) if call.sequence in read else None,
        )
        for call in exchanges
    ]


def newest_within(exchanges: Sequence[Exchange], most_bytes: int | None) -> set[int]:
    """Return the numbers of the newest calls whose requests have at most so many bytes."""
    read: set[int] = set()
    total = 0
    for call in reversed([call for call in exchanges if call.kind in CALL_KINDS]):
        total += call.request_bytes
        if most_bytes is not None and total > most_bytes:
            break
        read.add(call.sequence)
    return read


def last_user_text(body: Mapping[str, Any]) -> str | None:
    """Return the last text of the user in a request, without what the client adds to it."""
    for message in reversed(dicts(body.get("messages"))):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        texts = [content] if isinstance(content, str) else [b.get("text") for b in dicts(content)]
        for found in reversed(texts):
            if isinstance(found, str) and found.strip() and not CLIENT_TAG.match(found.lstrip()):
                return found
    return None


def _words(
    files: CaptureFiles, sequence: int, clean: Callable[[str], str], length: int | None
) -> str | None:
    try:
        found = last_user_text(as_dict(body_of(files.request(sequence))))
    except (OSError, ValueError, PackDamaged):
        return None
    if found is None:
        return None
    beginning = clean(found)[: None if length is None else 4 * length]
    return " ".join(one_line(beginning).split())[:length] or None
