"""Formats an exchange for people: one line for the terminal, a short block for `traffic.log`."""

from datetime import datetime
from typing import Any, TypeGuard

from ccwire.wire.counting import value_at
from ccwire.wire.format import UNKNOWN, Exchange, short_id
from ccwire.wire.safe_text import one_line
from ccwire.wire.times import clock
from ccwire.wire.usage import TOKEN_GROUPS


def summary(session_id: str | None, exchange: Exchange) -> str:
    """Return one line: time, session, kind, model, status, tokens, cache share, seconds."""
    parts = [
        clock(exchange.started),
        short_id(session_id or UNKNOWN).ljust(8),
        exchange.kind.ljust(12),
        exchange.model or "-",
        str(exchange.status or "---"),
    ]
    if exchange.usage:
        tokens = _context(exchange.usage)
        parts.append(f"in {tokens:,} out {_count(exchange.usage, 'output_tokens'):,}")
        if tokens:
            share = _count(exchange.usage, "cache_read_input_tokens") / tokens
            parts.append(f"cache {share:.0%}")
    if exchange.ended is not None:
        parts.append(f"{max(0.0, exchange.ended - exchange.started):.1f}s")
    if not exchange.complete:
        parts.append(f"incomplete ({exchange.ended_by})")
    return one_line("  ".join(parts))


def block(session_id: str | None, exchange: Exchange) -> str:
    """Return a block of several lines with more details."""
    at = datetime.fromtimestamp(exchange.started).astimezone().isoformat(timespec="milliseconds")
    first = f"{exchange.first_byte_ms:.0f} ms" if exchange.first_byte_ms is not None else "none"
    lines = [
        f"{at}  {exchange.method} {exchange.host}{exchange.path}  {exchange.status or 'no answer'}",
        f"  session {session_id or UNKNOWN} by {exchange.identified_by}"
        f"  exchange {exchange.sequence:04d}  kind {exchange.kind}"
        f"  client {exchange.claude_version or '?'}  pid {exchange.pid or '?'}",
        f"  {exchange.request_bytes:,} bytes up, {exchange.response_bytes:,} down"
        f"  first byte {first}  ended by {exchange.ended_by}"
        f"{'' if exchange.complete else '  INCOMPLETE'}",
    ]
    if exchange.model:
        lines.append(
            f"  model {exchange.model}  max_tokens {exchange.max_tokens}"
            f"  messages {exchange.messages}  tools {exchange.tools}"
            f"  stop {exchange.stop_reason}  request-id {exchange.request_id}"
        )
    if exchange.usage:
        counts = {k: _count(exchange.usage, k) for k, v in exchange.usage.items() if _is_count(v)}
        lines.append("  usage " + "  ".join(f"{k} {v:,}" for k, v in counts.items()))
    if exchange.error:
        lines.append(f"  error {exchange.error}")
    return "\n".join(map(one_line, lines)) + "\n\n"


def _context(usage: dict[str, Any]) -> int:
    return sum(_count(usage, group.path) for group in TOKEN_GROUPS if group.kind == "prompt")


def _count(usage: dict[str, Any], path: str) -> int:
    value = value_at(usage, path)
    return value if _is_count(value) else 0


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < 1 << 63
