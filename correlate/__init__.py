"""The reading side: captures and transcripts in, findings out. Never imports `addon` or
mitmproxy.

The names in `__all__` are for scripts of yours, and `docs/api.md` documents them; everything below
them may change. Each is imported when it is first used: `import correlate` itself loads nothing.
"""

TYPE_CHECKING = False  # as `typing` has it, which takes time to import
if TYPE_CHECKING:
    from ccwire.wire.format import Exchange, Manifest
    from ccwire.wire.usage import Tokens
    from correlate.api import Captures, Session, open_captures
    from correlate.reconcile.result import Finding, Reconciliation
    from correlate.reconcile.totals import Totals, totals_of
    from correlate.transcript.conversation import Conversation
    from correlate.transcript.reader import Transcript
    from correlate.transcript.turns import Turn

__all__ = [
    "Captures",
    "Conversation",
    "Exchange",
    "Finding",
    "Manifest",
    "Reconciliation",
    "Session",
    "Tokens",
    "Totals",
    "Transcript",
    "Turn",
    "open_captures",
    "totals_of",
]

_MODULES = {
    "Captures": "correlate.api",
    "Conversation": "correlate.transcript.conversation",
    "Exchange": "ccwire.wire.format",
    "Finding": "correlate.reconcile.result",
    "Manifest": "ccwire.wire.format",
    "Reconciliation": "correlate.reconcile.result",
    "Session": "correlate.api",
    "Tokens": "ccwire.wire.usage",
    "Totals": "correlate.reconcile.totals",
    "Transcript": "correlate.transcript.reader",
    "Turn": "correlate.transcript.turns",
    "open_captures": "correlate.api",
    "totals_of": "correlate.reconcile.totals",
}


if not TYPE_CHECKING:  # else a type checker takes any name for an exported one

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
