"""Render a report's data as one self-contained HTML page. Reads only the files in `assets/`.

The data is embedded as JSON in which no character can end the enclosing element, and the page's
content security policy allows only its own inline script and style.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

_SCRIPTS = (
    "scripts/values.js",
    "scripts/dom.js",
    "scripts/client_files.js",
    "scripts/overview.js",
    "scripts/charts/scale.js",
    "scripts/charts/timeline.js",
    "scripts/charts/context.js",
    "scripts/filters.js",
    "scripts/calls.js",
    "scripts/detail.js",
    "scripts/totals.js",
    "scripts/charts/request_sizes.js",
    "scripts/compare.js",
    "scripts/start.js",
)
_STYLES = (
    "styles/base.css",
    "styles/top.css",
    "styles/charts.css",
    "styles/tables.css",
    "styles/opened.css",
    "styles/small.css",
)
_UNSAFE = "<>&\u2028\u2029"
_DEEPEST = 200  # levels; orjson writes a few more


def render(model: dict[str, Any]) -> str:
    """Return the page; `model` contains plain values with unescaped strings."""
    style, script = _joined(_STYLES), "'use strict';\n" + _joined(_SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        _asset("page.html")
    )
    return template.render(
        policy=policy,
        session_id=model["reconcile"]["session_id"],
        style=Markup(style),
        script=Markup(script),
        data=Markup(inert_json(model)),
    )


def inert_json(value: Any) -> str:
    """Return JSON that is safe to embed anywhere in a page."""
    try:
        written = orjson.dumps(value)
    except TypeError:
        written = orjson.dumps(_plain(value, 0))
    text = written.decode()
    for character in _UNSAFE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any, depth: int) -> Any:
    """Replace what orjson rejects: lone surrogates, huge numbers, what is nested too deeply."""
    if depth > _DEEPEST:
        return "…"
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {
                _plain(str(name), depth): _plain(item, depth + 1) for name, item in value.items()
            }
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case bool() | None:
            return value
        case int() if abs(value) >= 1 << 63:
            return float(value) if abs(value) < 1 << 1023 else None
    return value


@cache
def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(_asset(name) for name in names)


@cache
def _asset(name: str) -> str:
    return files("correlate.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
