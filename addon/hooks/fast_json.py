"""JSON without the `json` package, whose import would double the hook's startup time.

Uses the same C code; falls back to the package if the interpreter lacks it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

type Json = Any

_SPACE = " \t\n\r"


def loads(text: str) -> Json:
    """Parse `text`; raise ValueError with a position, but without quoting the text."""
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _scan(text, start)
    except StopIteration as stop:
        raise ValueError(f"no JSON value at character {stop.value}") from None
    if text[end:].strip(_SPACE):
        raise ValueError(f"extra data after the JSON value at character {end}")
    return value


def dumps(value: Json) -> str:
    """Return `value` as one line of ASCII."""
    return "".join(_encode(value, 0))


class _Decoder:
    """The attributes that the C scanner reads from its decoder: the defaults of `json.loads`."""

    strict = True
    array_hook = None
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")


def _c_code() -> tuple[Json, Json]:
    import _json

    decoder: Json = _Decoder
    return _json.make_scanner(decoder), _json.make_encoder(
        None, _refuse, _json.encode_basestring_ascii, None, ": ", ", ", False, False, True
    )


def _package() -> tuple[Json, Json]:
    import json

    decoder: Json = json.JSONDecoder()
    return decoder.scan_once, json.JSONEncoder().iterencode


try:
    _scan, _encode = _c_code()
except (ImportError, AttributeError, TypeError):
    _scan, _encode = _package()
