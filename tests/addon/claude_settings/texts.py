"""Generates settings as people write them: any layout, comments, trailing commas, odd hooks."""

import json
from typing import Any

from hypothesis import strategies as st

_COMMENTS = ("// note\n", "/* note */", "/* over\n two lines */", "//\r\n")
# Letters only, so that nothing looks like one of our hooks; other tests cover that.
_WORDS = st.text("ab c", max_size=8)
_PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_HOOKS = st.fixed_dictionaries({"type": st.just("command"), "command": _WORDS})
_GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(_HOOKS, max_size=2)}, optional={"matcher": st.sampled_from(("", "*"))}
)
_EVENTS = st.sampled_from(("SessionStart", "Stop", "PreToolUse"))
_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": _PLAIN,
        "hooks": st.dictionaries(_EVENTS, st.lists(_GROUPS, max_size=2), max_size=2),
        "env": st.dictionaries(st.text(max_size=3), _PLAIN, max_size=2),
        "disableAllHooks": st.booleans(),
        "last": st.lists(_PLAIN, max_size=2),
    },
)


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    """Generate settings in the layouts that people and programs write."""
    value = draw(_SETTINGS)
    layout = draw(st.sampled_from((None, 2, 4, "\t", "wild")))
    if layout != "wild":
        text = json.dumps(value, indent=layout)
        ending = draw(st.sampled_from(("", "\n", "\n\n")))
        newline = draw(st.sampled_from(("\n", "\r\n")))
        return (text + ending).replace("\n", newline)
    gap = st.lists(st.sampled_from((" ", "\n", "\t", "\r\n", *_COMMENTS)), max_size=2)
    space = gap.map("".join)
    bom = draw(st.sampled_from(("", "\ufeff")))
    return bom + draw(space) + _wild(draw, space, value) + draw(space)


def _wild(draw: st.DrawFn, space: st.SearchStrategy[str], value: Any) -> str:
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key)}{draw(space)}:{draw(space)}{_wild(draw, space, inner)}"
            for key, inner in value.items()
        ]
        return _brackets(draw, space, "{}", parts)
    if isinstance(value, list):
        return _brackets(draw, space, "[]", [_wild(draw, space, inner) for inner in value])
    return json.dumps(value)


def _brackets(
    draw: st.DrawFn, space: st.SearchStrategy[str], brackets: str, parts: list[str]
) -> str:
    text = ",".join(draw(space) + part + draw(space) for part in parts)
    trailing: bool = draw(st.booleans())
    if parts and trailing:
        text += "," + draw(space)
    return brackets[0] + (text or draw(space)) + brackets[1]
