"""Updates of a session's manifest: pure functions from one manifest to the next."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ccwire.wire.format import Exchange, Gap, Manifest

MOST_GAPS = 200  # limits the list, which keeps the newest; the counts include all


@dataclass(slots=True)
class PendingGaps:
    """Gaps not yet in a manifest: the newest of them, and the number of losses among all."""

    newest: deque[Gap] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))
    losses: int = 0

    def add(self, gap: Gap) -> None:
        self.newest.append(gap)
        self.losses += gap["kind"] == "capture_error"


def with_exchange(manifest: Manifest, exchange: Exchange) -> Manifest:
    """Add a finished exchange."""
    counts = dict(manifest.counts)
    for name, happened in (
        ("exchanges", True),
        ("complete", exchange.complete),
        ("incomplete", not exchange.complete),
        ("errors", exchange.failed),
        ("capture_errors", False),
    ):
        counts[name] = counts.get(name, 0) + happened
    agents = dict(manifest.agents)
    if exchange.agent_id:
        agents[exchange.agent_id] = exchange.agent_type or agents.get(exchange.agent_id)
    ended = exchange.ended or exchange.started
    return replace(
        manifest,
        first_seen=min(manifest.first_seen or exchange.started, exchange.started),
        last_seen=max(manifest.last_seen or ended, ended),
        claude_versions=_with(manifest.claude_versions, exchange.claude_version),
        pids=_with(manifest.pids, exchange.pid),
        entrypoint=manifest.entrypoint or exchange.entrypoint,
        models=_with(manifest.models, exchange.model),
        agents=agents,
        counts=counts,
        evidence=_counted(manifest.evidence, exchange.identified_by),
    )


def with_session(
    manifest: Manifest, *, cwd: str | None, transcript: str | None, version: str | None
) -> Manifest:
    """Add what sessions.json contains about this session."""
    return replace(
        manifest,
        cwd=cwd or manifest.cwd,
        transcript_paths=_with(manifest.transcript_paths, transcript),
        claude_versions=_with(manifest.claude_versions, version),
    )


def with_gap(manifest: Manifest, gap: Gap) -> Manifest:
    """Add a gap: something missing from this session. Only losses count as errors."""
    pending = PendingGaps()
    pending.add(gap)
    return with_gaps(manifest, pending)


def with_gaps(manifest: Manifest, pending: PendingGaps) -> Manifest:
    """All that is missing since the last write. Only losses count as errors."""
    counts = dict(manifest.counts)
    if pending.losses:
        counts["capture_errors"] = counts.get("capture_errors", 0) + pending.losses
    gaps = [*manifest.gaps, *pending.newest][-MOST_GAPS:]
    return replace(manifest, counts=counts, gaps=gaps)


def with_conflicts(manifest: Manifest, count: int) -> Manifest:
    return replace(manifest, conflicts=manifest.conflicts + count)


def with_drift(manifest: Manifest, found: Iterable[str]) -> Manifest:
    drift = manifest.drift
    for name in found:
        drift = _counted(drift, name)
    return replace(manifest, drift=drift)


def recounted(manifest: Manifest, exchanges: Iterable[Exchange]) -> Manifest:
    """Recompute from the exchanges; keep what they do not determine."""
    errors = manifest.counts.get("capture_errors", 0)
    base = Manifest(
        session_id=manifest.session_id,
        cwd=manifest.cwd,
        transcript_paths=manifest.transcript_paths,
        conflicts=manifest.conflicts,
        drift=manifest.drift,
        gaps=manifest.gaps,
    )
    for exchange in exchanges:
        base = with_exchange(base, exchange)
    return replace(base, counts={**base.counts, "capture_errors": errors})


def _with[T](items: list[T], item: T | None) -> list[T]:
    return items if item is None or item in items else [*items, item]


def _counted(counts: Mapping[str, int], name: str) -> dict[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}
