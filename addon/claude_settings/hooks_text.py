"""Finds, adds and removes our hooks in the text of a settings file.

Does not change the rest of the text. `files` and `install` access the files.
"""

import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from addon.claude_settings.jsonc import Document, JsoncError, JsonNode, JsonPart, parse
from addon.claude_settings.jsonc_edit import insert, remove, replace
from addon.hooks.events import INSTALLED
from ccwire.wire.vocabulary import HookEvent

# Seconds; the hook itself gives up much earlier.
_TIMEOUT = 10

# Marks our hooks, for people who read the file and for uninstalling.
_MARK = "# ccwire"


class CommentsAtStake(Exception):
    """The change would delete comments that someone wrote inside one of our hooks."""


@dataclass(frozen=True, slots=True)
class HooksFound:
    """Our hooks in one settings file: the commands per event, and its `disableAllHooks`."""

    commands: dict[str, tuple[str, ...]]
    disabled: bool | None

    def drift(self, command: str) -> list[str]:
        """Return what an install would correct; empty if nothing is installed."""
        if not self.commands:
            return []
        missing = [event for event in INSTALLED if event not in self.commands]
        extra = [event for event in self.commands if event not in INSTALLED]
        twice = [event for event, commands in self.commands.items() if len(commands) > 1]
        others = {c for commands in self.commands.values() for c in commands} - {command}
        found = (
            (f"missing: {', '.join(missing)}", missing),
            (f"not needed: {', '.join(extra)}", extra),
            (f"more than once: {', '.join(twice)}", twice),
            ("the command belongs to another installation", others),
        )
        return [sentence for sentence, cases in found if cases]


def hook_command(sessions: Path | None = None) -> str:
    """Return the shell command of a hook; it works in any directory, prints nothing and exits 0.

    For a missing script Python exits with 2, which would block the client.
    """
    words = [sys.executable, "-I", "-S", str(Path(__file__).resolve().parent.parent / "hook.py")]
    if sessions is not None:
        words += ["--sessions", str(sessions.absolute())]
    return f"{shlex.join(words)} 2>/dev/null || true {_MARK}"


def command_files(command: str) -> list[Path]:
    """Return the interpreter and script of our command; empty if it cannot be parsed."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return []
    return [Path(word) for word in words[:1] + words[3:4]]


def hook_settings(command: str, events: Iterable[HookEvent] = INSTALLED) -> dict[str, Any]:
    """Return settings that contain only our hooks, e.g. for `--settings`."""
    hook = {"type": "command", "command": command, "timeout": _TIMEOUT}
    return {"hooks": {event: [{"hooks": [hook]}] for event in events}}


def find_hooks(text: str) -> HooksFound:
    """Return our hooks in the settings; raise JsoncError."""
    document = parse(text)
    commands: dict[str, tuple[str, ...]] = {}
    for path in _ours(document):
        event = path[1].part.key or ""
        commands[event] = (*commands.get(event, ()), path[-1].part.node.value["command"])
    disabled = document.root.member("disableAllHooks")
    return HooksFound(commands, disabled.node.value is True if disabled else None)


def installed(text: str | None, command: str, *, force: bool = False) -> str:
    """Return the settings with our hooks, each once; `text` is None if there is no file.

    Raise JsoncError, or CommentsAtStake unless `force` is set.
    """
    if text is None:
        return json.dumps(hook_settings(command), indent=2, ensure_ascii=False) + "\n"
    while (changed := _one_step_to_installed(parse(text), command, force)) is not None:
        text = changed
    return text


def uninstalled(text: str, originals: Iterable[str], *, force: bool = False) -> str | None:
    """Return the settings without our hooks; None if the file contained nothing else.

    If nothing else has changed since one of the `originals`, return that one. Raise like
    `installed`.
    """
    commands = {c for commands in find_hooks(text).commands.values() for c in commands}
    if len(commands) == 1:
        [command] = commands
        for original in (*originals, None):
            if _leads_to(original, command, text):
                return original
    while ours := _ours(document := parse(text)):
        text = _without(document, ours[-1], force)
    return text


def _leads_to(original: str | None, command: str, text: str) -> bool:
    """Return whether `text` is `original` after our install, apart from formatting.

    Newer clients (measured: 2.1.168, not 2.1.39) reformat the file themselves.
    """
    try:
        expected = parse(installed(original, command))
    except (JsoncError, CommentsAtStake):
        return False
    found = parse(text)
    return _meaning(expected) == _meaning(found) and _comments(found) <= _comments(expected)


def _meaning(document: Document) -> str:
    return json.dumps(document.root.value, sort_keys=True)


def _comments(document: Document) -> set[str]:
    return {document.text[start:end] for start, end in document.comments}


def _one_step_to_installed(document: Document, command: str, force: bool) -> str | None:
    """Return the text after the next required change; None if none is required."""
    hooks = _member(document, document.root, "the settings", "hooks", dict)
    wanted = hook_settings(command)["hooks"]
    if hooks is None:
        return insert(document, document.root, "hooks", wanted)
    by_event: dict[str, list[_Path]] = {}
    for path in _ours(document):
        by_event.setdefault(path[1].part.key or "", []).append(path)
    for event, paths in by_event.items():
        if len(paths) > (event in INSTALLED):
            return _without(document, paths[-1], force)
    for event in INSTALLED:
        groups = _member(document, hooks, '"hooks"', event, list)
        if groups is None:
            return insert(document, hooks, event, wanted[event])
        if event not in by_event:
            return insert(document, groups, None, wanted[event][0])
        in_place = by_event[event][0][-1].part.node.member("command")
        if in_place and in_place.node.value != command:
            return replace(document, in_place.node, command)
    return None


def _member(
    document: Document, parent: JsonNode, name: str, key: str, kind: type
) -> JsonNode | None:
    """Return a member that must be an object or a list, or None if it is missing."""
    if not isinstance(parent.value, dict):
        raise JsoncError(f"{name} must be an object", document.text, parent.start)
    part = parent.member(key)
    if part is not None and not isinstance(part.node.value, kind):
        what = "an object" if kind is dict else "a list"
        raise JsoncError(f'"{key}" must be {what}', document.text, part.node.start)
    return part.node if part else None


@dataclass(frozen=True, slots=True)
class _Step:
    """A part and its container."""

    container: JsonNode
    part: JsonPart


# From the top: "hooks", the event, the group, our hook.
type _Path = tuple[_Step, _Step, _Step, _Step]


def _ours(document: Document) -> list[_Path]:
    """Return the paths of our hooks in text order; of duplicate members the last counts."""
    root = document.root
    hooks = root.member("hooks")
    if hooks is None:
        return []
    return [
        (_Step(root, hooks), _Step(hooks.node, event), _Step(event.node, group), hook)
        for event in hooks.node.parts
        if hooks.node.member(event.key or "") is event
        for group in event.node.parts
        for hook in _hooks_in(group.node)
        if _is_ours(hook.part.node)
    ]


def _hooks_in(group: JsonNode) -> list[_Step]:
    hooks = group.member("hooks")
    return [_Step(hooks.node, hook) for hook in hooks.node.parts] if hooks else []


def _without(document: Document, path: _Path, force: bool) -> str:
    """Return the text without our hook and without the containers that hold nothing else."""
    hooks, event, group, hook = path
    for step, is_all_ours in (
        (hooks, all(_is_our_event(part.node) for part in hooks.part.node.parts)),
        (event, _is_our_event(event.part.node)),
        (group, _is_our_group(group.part.node)),
        (hook, True),
    ):
        loses_comments = document.has_comment(step.part.start, step.part.end)
        if is_all_ours and (force or not loses_comments):
            return remove(document, step.container, step.part)
    line = JsoncError("", document.text, hook.part.start).line
    raise CommentsAtStake(f"the ccwire hook at line {line} contains comments")


def _is_our_event(groups: JsonNode) -> bool:
    return bool(groups.parts) and all(_is_our_group(part.node) for part in groups.parts)


def _is_our_group(group: JsonNode) -> bool:
    keys = sorted(part.key or "" for part in group.parts)
    hooks = [_is_ours(hook.part.node) for hook in _hooks_in(group)]
    return keys in (["hooks"], ["hooks", "matcher"]) and bool(hooks) and all(hooks)


def _is_ours(hook: JsonNode) -> bool:
    command = hook.value.get("command") if isinstance(hook.value, dict) else None
    return isinstance(command, str) and "hook.py" in command and command.endswith(_MARK)
