"""Derive from the baselines what the transcripts of each release leave out. Pure but for `main`.

uv run python -m lab.atlas.flaws   # writes correlate/schema/release_flaws.json
"""

import json
from collections.abc import Callable, Mapping

from ccwire.wire.versions import parse_version
from correlate.schema.baseline import FOLDER, shipped_versions
from correlate.schema.flaws import FILE, FlawKey
from correlate.schema.snapshot.file import loads
from correlate.schema.snapshot.snapshot import Field, Snapshot

Spans = list[list[str | None]]

_LEAST_SHARE = 0.1  # of lines without a stop reason; one of an interrupted answer is no habit


def release_flaws(snapshots: Mapping[str, Snapshot]) -> dict[FlawKey, Spans]:
    """Return, by flaw, the spans [first release with it, first release without it].

    None as the first is "from the beginning", None as the second is "until now".
    """
    versions = sorted(snapshots, key=parse_version)
    return {key: _spans(versions, snapshots, has) for key, has in _FLAWS.items()}


def flaws_text(snapshots: Mapping[str, Snapshot]) -> str:
    """Return the file's text."""
    return json.dumps(release_flaws(snapshots), indent=1) + "\n"


def shipped_snapshots() -> dict[str, Snapshot]:
    return {
        version: loads((FOLDER / f"{version}.json").read_bytes()) for version in shipped_versions()
    }


def main() -> None:
    FILE.write_text(flaws_text(shipped_snapshots()), encoding="utf-8")


def _spans(
    versions: list[str], snapshots: Mapping[str, Snapshot], has: Callable[[Snapshot], bool]
) -> Spans:
    spans: Spans = []
    before = False
    for place, version in enumerate(versions):
        now = has(snapshots[version])
        if now and not before:
            spans.append([version if place else None, None])
        elif before and not now:
            spans[-1][1] = version
        before = now
    return spans


def _writes_early(snapshot: Snapshot) -> bool:
    root = snapshot.get("transcript/assistant")
    field = _field(root, "message", "stop_reason")
    if field is None:
        return False
    seen = {name: counted.count for name, counted in field.types.items()}
    return seen.get("null", 0) > _LEAST_SHARE * sum(seen.values())


def _field(root: Field | None, *steps: str) -> Field | None:
    for step in steps:
        root = root.children.get(step) if root is not None else None
    return root


# Side calls are on the wire of every release, and no record of a transcript has their usage.
_FLAWS: Mapping[FlawKey, Callable[[Snapshot], bool]] = {
    "placeholder": _writes_early,
    "no-request-id": lambda s: _field(s.get("transcript/assistant"), "requestId") is None,
    "failed-attempts": lambda s: "transcript/system/api_error" not in s,
    "cost-record": lambda s: "transcript/cost-state" not in s,
    "side-calls": lambda s: "wire/request/messages" in s,
}

if __name__ == "__main__":
    main()
