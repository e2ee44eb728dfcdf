"""Map each value to its bucket. Only this module knows which field holds an object's kind."""

from dataclasses import dataclass, field
from typing import Any

from correlate.schema.observe.vocabulary import is_word

ODD = "?"  # replaces a kind whose name is not a plain word


@dataclass(frozen=True, slots=True)
class Split:
    """The rule for objects under a key that are described in a separate bucket per kind."""

    bucket: str
    by: str = ""  # the key that holds the kind; empty: there is only one kind
    default: str = ""  # the kind of an object without that key; empty: described in place


@dataclass(frozen=True, slots=True)
class Target:
    """A bucket, and the key-value pairs that all its objects share."""

    bucket: str
    tags: dict[str, str] = field(default_factory=dict)


_REQUEST_BLOCK = Split("wire/request/block", by="type")
_ANSWER_BLOCK = Split("wire/answer/block", by="type")
_WIRE_USAGE = Split("wire/usage")
_REQUEST = {
    "content": _REQUEST_BLOCK,
    "system": _REQUEST_BLOCK,
    "tools": Split("wire/request/tool", by="type", default="custom"),
}
_ANSWER = {"content": _ANSWER_BLOCK, "content_block": _ANSWER_BLOCK, "usage": _WIRE_USAGE}
_TRANSCRIPT = {
    "content": Split("transcript/block", by="type"),
    "usage": Split("transcript/usage"),
    "attachment": Split("transcript/attachment", by="type"),
}
# The first prefix that matches a bucket decides, so longer prefixes come first.
_SPLITS: tuple[tuple[str, dict[str, Split]], ...] = (
    ("wire/request/messages", _REQUEST),
    ("wire/request/count_tokens", _REQUEST),
    ("wire/request/block/", _REQUEST),
    ("wire/answer/", _ANSWER),
    ("wire/sse/content_block_delta", {"delta": Split("wire/delta", by="type")}),
    ("wire/sse/", _ANSWER),
    ("transcript/", _TRANSCRIPT),
)


def split_at(bucket: str, key: str) -> Split | None:
    """Return the rule for objects under this key, or in a list under it, if there is one."""
    for start, splits in _SPLITS:
        if bucket.startswith(start):
            return splits.get(key)
    return None


def target(split: Split, value: dict[str, Any]) -> Target | None:
    """Return the bucket of one such object; None: it is described in place."""
    if not split.by:
        return Target(split.bucket)
    kind = value.get(split.by)
    if not isinstance(kind, str):
        return Target(f"{split.bucket}/{split.default}") if split.default else None
    return _tagged(split.bucket, split.by, kind)


def sse_target(event: dict[str, Any]) -> Target:
    return _by(event, "wire/sse", "type")


def record_target(record: dict[str, Any]) -> Target:
    """Return the bucket of a transcript record, by its type and subtype."""
    found = _by(record, "transcript", "type")
    subtype = record.get("subtype")
    if not isinstance(subtype, str):
        return found
    nested = _tagged(found.bucket, "subtype", subtype)
    return Target(nested.bucket, found.tags | nested.tags)


def hook_target(payload: dict[str, Any]) -> Target:
    return _by(payload, "hook", "hook_event_name")


def _by(value: dict[str, Any], bucket: str, key: str) -> Target:
    kind = value.get(key)
    return _tagged(bucket, key, kind) if isinstance(kind, str) else Target(f"{bucket}/{ODD}")


def _tagged(bucket: str, key: str, kind: str) -> Target:
    return Target(f"{bucket}/{kind}", {key: kind}) if is_word(kind) else Target(f"{bucket}/{ODD}")
