"""Our hooks in the text of a settings file: what they look like, how they get in and out again.

Changes nothing in the text that is not ours. `files` has the files themselves.
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

# A client that meets an event it does not know drops the whole file (measured up to 2.1.98), so
# what is installed for every client is what all since 1.0.85 know. Agents are told by SubagentStop.
EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "SubagentStop")
_KNOWN_SINCE = {
    "SessionStart": (1, 0, 62),
    "UserPromptSubmit": (1, 0, 62),
    "Stop": (1, 0, 62),
    "SubagentStop": (1, 0, 62),
    "SessionEnd": (1, 0, 85),
    "SubagentStart": (2, 0, 44),
}

# Seconds; the hook gives up by itself long before.
_TIMEOUT = 10

# Tells a reader of the file whose hook it is, and us which ones are ours.
_MARK = "# ccwire"


class CommentsAtStake(Exception):
    """The change would take comments with it that somebody wrote into one of our hooks."""


@dataclass(frozen=True, slots=True)
class HooksFound:
    """Our hooks in one settings file: the commands of each event; what it says of all hooks."""

    commands: dict[str, tuple[str, ...]]
    disabled: bool | None

    def drift(self, command: str) -> list[str]:
        """What an install would put right; nothing where nothing is installed."""
        if not self.commands:
            return []
        missing = [event for event in EVENTS if event not in self.commands]
        extra = [event for event in self.commands if event not in EVENTS]
        twice = [event for event, commands in self.commands.items() if len(commands) > 1]
        others = {c for commands in self.commands.values() for c in commands} - {command}
        found = (
            (f"missing: {', '.join(missing)}", missing),
            (f"not needed: {', '.join(extra)}", extra),
            (f"more than once: {', '.join(twice)}", twice),
            ("the command is not that of this installation", others),
        )
        return [sentence for sentence, cases in found if cases]


def hook_command(sessions: Path | None = None) -> str:
    """The shell command of a hook: works from any directory, prints nothing and blocks nothing.

    A script that is no longer there makes Python exit with 2, which would block the client.
    """
    words = [sys.executable, "-I", "-S", str(Path(__file__).resolve().parent.parent / "hook.py")]
    if sessions is not None:
        words += ["--sessions", str(sessions.absolute())]
    return f"{shlex.join(words)} 2>/dev/null || true {_MARK}"


def command_files(command: str) -> list[Path]:
    """The interpreter and the script that a command of ours needs; none if it was taken apart."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return []
    return [Path(word) for word in words[:1] + words[3:4]]


def events_for(version: tuple[int, ...]) -> tuple[str, ...]:
    """The events of ours that a client of this version knows: for settings of one run alone."""
    return tuple(event for event, since in _KNOWN_SINCE.items() if version >= since)


def hook_settings(command: str, events: Iterable[str] = EVENTS) -> dict[str, Any]:
    """Settings with our hooks and nothing else, as for a `--settings` overlay."""
    hook = {"type": "command", "command": command, "timeout": _TIMEOUT}
    return {"hooks": {event: [{"hooks": [hook]}] for event in events}}


def find_hooks(text: str) -> HooksFound:
    """Which hooks of ours are in the settings; raises JsoncError."""
    document = parse(text)
    commands: dict[str, tuple[str, ...]] = {}
    for path in _ours(document):
        event = path[1].part.key or ""
        commands[event] = (*commands.get(event, ()), path[-1].part.node.value["command"])
    disabled = document.root.member("disableAllHooks")
    return HooksFound(commands, disabled.node.value is True if disabled else None)


def installed(text: str | None, command: str, *, force: bool = False) -> str:
    """The settings with our hooks in them, once; None stands for a file that is not there.

    Raises JsoncError, or CommentsAtStake unless `force` is set.
    """
    if text is None:
        return json.dumps(hook_settings(command), indent=2, ensure_ascii=False) + "\n"
    while (changed := _one_step_to_installed(parse(text), command, force)) is not None:
        text = changed
    return text


def uninstalled(text: str, originals: Iterable[str], *, force: bool = False) -> str | None:
    """The settings without our hooks; None where the file was ours alone.

    Where nothing else has changed since one of the `originals`, that is what comes back. Raises as
    `installed` does.
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
    """Whether all that was done to `original` is our install, and a new layout of what it says.

    Newer clients (measured: 2.1.168, not 2.1.39) lay the file out anew by themselves.
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
    """The text after the next thing to do; None when all is done."""
    hooks = _member(document, document.root, "the settings", "hooks", dict)
    wanted = hook_settings(command)["hooks"]
    if hooks is None:
        return insert(document, document.root, "hooks", wanted)
    by_event: dict[str, list[_Path]] = {}
    for path in _ours(document):
        by_event.setdefault(path[1].part.key or "", []).append(path)
    for event, paths in by_event.items():
        if len(paths) > (event in EVENTS):
            return _without(document, paths[-1], force)
    for event in EVENTS:
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
    """A member that must be an object or a list, if it is there."""
    if not isinstance(parent.value, dict):
        raise JsoncError(f"{name} should be an object, in braces", document.text, parent.start)
    part = parent.member(key)
    if part is not None and not isinstance(part.node.value, kind):
        what = "an object, in braces" if kind is dict else "a list, in brackets"
        raise JsoncError(f'"{key}" should be {what}', document.text, part.node.start)
    return part.node if part else None


@dataclass(frozen=True, slots=True)
class _Step:
    """A part and what holds it."""

    container: JsonNode
    part: JsonPart


# From the top: "hooks", the event, the group, our hook.
type _Path = tuple[_Step, _Step, _Step, _Step]


def _ours(document: Document) -> list[_Path]:
    """Where our hooks are, in the order of the text; of two members of one name the last counts."""
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
    """Takes out our hook, with all around it that holds nothing else."""
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
    raise CommentsAtStake(f"the hook of ccwire at line {line} has comments in it")


def _is_our_event(groups: JsonNode) -> bool:
    return bool(groups.parts) and all(_is_our_group(part.node) for part in groups.parts)


def _is_our_group(group: JsonNode) -> bool:
    keys = sorted(part.key or "" for part in group.parts)
    hooks = [_is_ours(hook.part.node) for hook in _hooks_in(group)]
    return keys in (["hooks"], ["hooks", "matcher"]) and bool(hooks) and all(hooks)


def _is_ours(hook: JsonNode) -> bool:
    command = hook.value.get("command") if isinstance(hook.value, dict) else None
    return isinstance(command, str) and "hook.py" in command and command.endswith(_MARK)
