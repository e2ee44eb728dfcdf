"""What the client's own records say in a conversation: queued prompts, hooks, commands. Pure.

A prompt that is given while the model works reaches it in an attachment, not in a user line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ccwire.wire.json_text import as_dict, text
from correlate.report.blocks import content_text
from correlate.transcript.conversation import Entry

_SHOWN = ("informational", "local_command")  # system lines that the user saw


@dataclass(frozen=True, slots=True)
class Said:
    """A prompt or a note; the title names a hook, or is that a prompt was queued."""

    kind: Literal["prompt", "note"]
    text: str
    title: str | None = None


def said_by_client(entry: Entry) -> Said | None:
    """Return what a line that is no message says; None if that is nothing."""
    if entry.type == "attachment":
        return _attached(as_dict(entry.record.get("attachment")))
    content = text(entry.record.get("content")) if entry.type == "system" else None
    if content and entry.subtype in _SHOWN:
        return Said("note", content)
    return None


def _attached(attachment: Mapping[str, Any]) -> Said | None:
    kind = text(attachment.get("type")) or ""
    if kind == "queued_command":
        is_prompt = attachment.get("commandMode") in (None, "prompt")
        said = content_text(attachment.get("prompt"))
        return Said("prompt" if is_prompt else "note", said, "queued") if said else None
    if not kind.startswith("hook_"):
        return None
    named = text(attachment.get("hookName")) or text(attachment.get("hookEvent")) or ""
    said = _of_hook(attachment).strip()
    return Said("note", said, f"hook {named}".strip()) if said else None


def _of_hook(attachment: Mapping[str, Any]) -> str:
    content = attachment.get("content")
    if isinstance(content, list):
        return "\n".join(filter(None, map(text, content)))
    blocked = text(as_dict(attachment.get("blockingError")).get("blockingError"))
    found = (text(content), blocked, text(attachment.get("message")))
    said = next(filter(None, found), None)
    failed = attachment.get("exitCode") not in (None, 0)
    return said or (failed and text(attachment.get("stderr"))) or ""
