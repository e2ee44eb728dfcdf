"""Choose the releases that get a baseline, and render its file. Pure: snapshots in, text out."""

from collections.abc import Mapping

from ccwire.wire.versions import parse_version
from correlate.schema.baseline import DOCUMENTED
from correlate.schema.snapshot.anonymous import without_places
from correlate.schema.snapshot.file import dumps
from correlate.schema.snapshot.snapshot import Field, Snapshot
from lab.atlas.documented import documented
from lab.atlas.facts import Fact, facts_of

# The stand-in's answers are not the API's, and the client's output is not in a capture.
_LEFT_OUT = (
    "wire/sse/",
    "wire/delta/",
    "wire/answer/",
    "wire/usage",
    "wire/header/response/",
    "printed/",
)
# Telemetry changes in every release; a change in it alone needs no new baseline.
_MINOR = ("wire/request/event_logging", "wire/request/statsig", "wire/request/eval", "layout")


def baseline_files(snapshots: Mapping[str, Snapshot]) -> dict[str, str]:
    """Return file name -> text. A release with the same formats as the one before gets no file,
    except the newest, whose file marks the newest known release."""
    files = {DOCUMENTED: dumps(documented())}
    last: frozenset[Fact] = frozenset()
    newest = max(snapshots, key=parse_version, default=None)
    for version in sorted(snapshots, key=parse_version):
        facts = frozenset(
            fact
            for fact in facts_of(snapshots[version])
            if not fact.bucket.startswith((*_LEFT_OUT, *_MINOR))
        )
        if facts != last or version == newest:
            files[f"{version}.json"] = dumps(without_places(_kept(snapshots[version])))
            last = facts
    return files


def _kept(snapshot: Snapshot) -> dict[str, Field]:
    return {name: root for name, root in snapshot.items() if not name.startswith(_LEFT_OUT)}
