"""Redacts what commands show of files that ccwire did not write: titles, prompts, tool text.

Captures are redacted when they are written; a transcript contains what the user typed. The option
`--raw` of a command switches this off. Nothing is written, not even a key: without the
installation's key, the hashes in the marks are comparable within one command only.
"""

import os
import secrets
from functools import lru_cache
from typing import Any

import click

from addon.hooks.sessions import default_sessions_path
from addon.redaction.key import KEY_FILE
from addon.redaction.redactor import Redactor
from ccwire.options import RAW
from ccwire.wire.json_text import dump
from ccwire.wire.regular_file import read_regular

_SHORTEST_KEY = 32
_LONGEST_KEY = 4096
_MARK = "<redacted:"
# What JSON escapes inside a string, as it would be in the text itself.
_ESCAPES = (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ('\\"', '"'), ("\\\\", "\\"))


def redacted(text: str) -> str:
    """Return the text without its secrets; unchanged with `--raw`, or if it contains none."""
    if is_raw() or not text:
        return text
    clean = _redactor().text(text)
    return clean if _MARK in clean else text  # else only lone surrogates were replaced


def redacted_values(value: Any) -> Any:
    """Return plain values with every string redacted, names of fields included.

    A name may show that its value is a secret. Most contain none: their JSON is searched as one
    text first.
    """
    if isinstance(value, str):
        return redacted(value)
    if is_raw() or not _is_suspect(dump(value)):
        return value
    return _each(_redactor().value(value), {})


def is_raw() -> bool:
    """Whether the command was given `--raw`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(RAW))


def _is_suspect(data: bytes) -> bool:
    text = data.decode()
    for escaped, plain in _ESCAPES:
        text = text.replace(escaped, plain)
    return bool(_redactor().text(text) != text)


def _each(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, str):
        if value not in seen:
            seen[value] = redacted(value)
        return seen[value]
    if isinstance(value, dict):
        return {_each(name, seen): _each(item, seen) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(item, seen) for item in value]
    return value


def _redactor() -> Redactor:
    return _redactor_of(*map(os.environ.get, ("CCWIRE_SESSIONS", "CCWIRE_HOME", "HOME")))


@lru_cache(maxsize=4)
def _redactor_of(*_: str | None) -> Redactor:
    """Return the redactor of the installation that these variables name."""
    try:
        key = read_regular(default_sessions_path().parent / KEY_FILE).strip()
    except OSError:
        key = b""
    usable = _SHORTEST_KEY <= len(key) <= _LONGEST_KEY
    return Redactor(key if usable else secrets.token_bytes(_SHORTEST_KEY))
