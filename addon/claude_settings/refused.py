"""Settings files that the client ignores, hooks and all, although ccwire can read them. Pure.

Measured with the real client by `lab/settings_files.py`. A flaw in one file affects neither the
other scopes nor `--settings FILE`, for which the same holds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from addon.claude_settings.jsonc import Document, JsonNode, parse
from addon.hooks.events import EVENTS
from ccwire.wire.versions import Version

# The first release with a SessionStart hook, and the newest that was measured.
MEASURED: tuple[Version, Version] = ((1, 0, 62), (2, 1, 325))


@dataclass(frozen=True, slots=True)
class Flaw:
    """What a file contains, and the last release that ignores such a file; None: all measured."""

    name: str
    last: Version | None
    fix: str

    def is_refused_by(self, version: Version | None) -> bool:
        """Return whether this release ignores the file; without a release, whether one does."""
        return version is None or self.last is None or version <= self.last

    def in_words(self, version: Version | None) -> str:
        """Return one clause: who ignores the file, and why."""
        if version is not None:
            who = f"Claude Code {_name(version)} ignores"
        elif self.last is None:
            who = f"Claude Code ({_name(MEASURED[0])} to {_name(MEASURED[1])}) ignores"
        else:
            who = f"Claude Code up to {_name(self.last)} ignores"
        return f"{who} this file, because it {self.name}"


COMMENT = Flaw("contains comments", None, "remove the comments")
TRAILING_COMMA = Flaw("contains a comma before a closing bracket", None, "remove that comma")
BYTE_ORDER_MARK = Flaw("starts with a byte order mark", (2, 0, 67), "save it without the mark")
# Only a client before 1.0.85 lacks an event that ccwire installs.
UNKNOWN_EVENT = Flaw("names an event unknown to it", (2, 1, 100), "uninstall the hooks")


def flaw_of(text: str, version: Version | None = None) -> Flaw | None:
    """Return the first flaw because of which the client ignores this file; raise JsoncError.

    Without a version, a flaw counts if any measured release ignores the file.
    """
    document = parse(text)
    found: tuple[tuple[Flaw, Callable[[], bool]], ...] = (
        (COMMENT, lambda: bool(document.comments)),
        (TRAILING_COMMA, lambda: _has_trailing_comma(document.root)),
        (BYTE_ORDER_MARK, lambda: text.startswith("\ufeff")),
        (UNKNOWN_EVENT, lambda: version is not None and _has_unknown_event(document, version)),
    )
    return next((f for f, is_there in found if f.is_refused_by(version) and is_there()), None)


def _has_trailing_comma(node: JsonNode) -> bool:
    if not node.parts:
        return False
    return node.parts[-1].comma is not None or any(_has_trailing_comma(p.node) for p in node.parts)


def _has_unknown_event(document: Document, version: Version) -> bool:
    hooks = document.root.member("hooks")
    named = {part.key for part in hooks.node.parts} if hooks else set()
    return any(event in named and version < since for event, since, _ in EVENTS)


def _name(version: Version) -> str:
    return ".".join(map(str, version))
