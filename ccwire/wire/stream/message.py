"""Assembles an answer from its stream events: content blocks, stop reason, usage.

Pure: parsed event data in, one message out. Unknown deltas are kept, in order. Of an answer with
more than `LARGEST` characters of content, the rest is left out, and the message is marked.
"""

from dataclasses import dataclass, field
from typing import Any

from ccwire.wire.json_text import parse_json

LARGEST = 4 << 20
TRUNCATED = "content_truncated"  # the field of a message whose content is not complete

BEDROCK_METRICS = "amazon-bedrock-invocationMetrics"  # its own counts, in the last event
# Each count: its name there, its header in an answer that is not streamed, its name in `usage`.
BEDROCK_COUNTS = (
    ("inputTokenCount", "x-amzn-bedrock-input-token-count", "input_tokens"),
    ("outputTokenCount", "x-amzn-bedrock-output-token-count", "output_tokens"),
    (
        "cacheReadInputTokenCount",
        "x-amzn-bedrock-cache-read-input-token-count",
        "cache_read_input_tokens",
    ),
    (
        "cacheWriteInputTokenCount",
        "x-amzn-bedrock-cache-write-input-token-count",
        "cache_creation_input_tokens",
    ),
)

# delta type -> its field, which is also the field of the block that it continues
_TEXT_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


@dataclass(frozen=True, slots=True)
class AssembledMessage:
    """The assembled answer. `usage` is final only if `complete` is true."""

    message: dict[str, Any] | None
    usage_at_start: dict[str, Any] | None
    usage: dict[str, Any] | None
    error: dict[str, Any] | None
    complete: bool
    metrics: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any] | None:
        if self.message is None:
            return None
        return {**self.message, "usage": self.usage, "usage_at_start": self.usage_at_start}


@dataclass(slots=True)
class _Block:
    start: dict[str, Any]
    texts: dict[str, list[str]] = field(default_factory=dict)
    partial_json: list[str] = field(default_factory=list)
    citations: list[Any] = field(default_factory=list)
    unknown: list[dict[str, Any]] = field(default_factory=list)


class MessageAssembler:
    """Feed it the data of each event in order; `result()` may be called at any time."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._usage_at_start: dict[str, Any] | None = None
        self._usage: dict[str, Any] | None = None
        self._blocks: dict[int, _Block] = {}
        self._error: dict[str, Any] | None = None
        self._metrics: dict[str, Any] | None = None
        self._complete = False
        self._room = LARGEST

    def feed(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        match data.get("type"):
            case "content_block_delta":
                delta = data.get("delta")
                if isinstance(index := data.get("index"), int) and isinstance(delta, dict):
                    self._continue(index, delta)
            case "message_start":
                self._start(data.get("message"))
            case "content_block_start":
                block = data.get("content_block")
                if isinstance(index := data.get("index"), int) and isinstance(block, dict):
                    self._blocks[index] = _Block(block)
            case "message_delta":
                self._delta(data)
            case "message_stop":
                self._complete = True
                metrics = data.get(BEDROCK_METRICS)
                self._metrics = metrics if isinstance(metrics, dict) else None
            case "error":
                error = data.get("error")
                self._error = error if isinstance(error, dict) else {"type": "error"}

    def result(self) -> AssembledMessage:
        message = self._message
        if message is not None:
            message = {name: value for name, value in message.items() if name != "usage"}
            if self._blocks or not isinstance(message.get("content"), list):
                message["content"] = [_content(self._blocks[n]) for n in sorted(self._blocks)]
            if self._room < 0:
                message[TRUNCATED] = True
        return AssembledMessage(
            message,
            self._usage_at_start,
            self._usage,
            self._error,
            self._complete,
            self._metrics,
        )

    def _start(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        self._message = dict(message)
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._usage_at_start = usage
            self._usage = dict(usage)

    def _continue(self, index: int, delta: dict[str, Any]) -> None:
        self._room -= sum(len(value) for value in delta.values() if isinstance(value, str))
        if self._room >= 0:
            _apply(self._blocks.setdefault(index, _Block({})), delta)

    def _delta(self, data: dict[str, Any]) -> None:
        delta, usage = data.get("delta"), data.get("usage")
        changed = {n: v for n, v in data.items() if n not in ("type", "delta", "usage")}
        if isinstance(delta, dict):
            changed |= delta
        if changed:
            self._message = merge_known(self._message or {}, changed)
        if isinstance(usage, dict):
            self._usage = merge_known(self._usage or {}, usage)


def merge_known(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Later values replace earlier ones (counts are cumulative); a null never overwrites.

    Counts within counts (`cache_creation`, `server_tool_use`) likewise, one level down.
    """
    merged = dict(old)
    for name, value in new.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = before | {
                k: v for k, v in value.items() if v is not None or k not in before
            }
        elif value is not None or name not in merged:
            merged[name] = value
    return merged


def _apply(block: _Block, delta: dict[str, Any]) -> None:
    kind = delta.get("type")
    name = _TEXT_DELTAS.get(kind) if isinstance(kind, str) else None
    if name is not None and isinstance(piece := delta.get(name), str):
        block.texts.setdefault(name, []).append(piece)
    elif kind == "input_json_delta" and isinstance(piece := delta.get("partial_json"), str):
        block.partial_json.append(piece)
    elif kind == "citations_delta" and "citation" in delta:
        block.citations.append(delta["citation"])
    else:
        block.unknown.append(delta)


def _content(block: _Block) -> dict[str, Any]:
    content = dict(block.start)
    for name, pieces in block.texts.items():
        before = content.get(name)
        content[name] = (before if isinstance(before, str) else "") + "".join(pieces)
    if block.citations:
        before = content.get("citations")
        content["citations"] = [*(before if isinstance(before, list) else []), *block.citations]
    if joined := "".join(block.partial_json):
        try:
            content["input"] = parse_json(joined)
        except ValueError:
            content["partial_input"] = joined  # cut off inside the tool's input
    if block.unknown:
        content["unknown_deltas"] = block.unknown
    return content
