"""The atlas's evidence, stored outside the source tree: each release's files and its snapshot."""

import os
from pathlib import Path

from ccwire.wire.json_text import parse_json
from correlate.schema.observe.walk import Observer, sources
from correlate.schema.snapshot.snapshot import Field
from lab.atlas.run import PAYLOADS, PRINTED, ReleaseOutcome, read_outcome


def cache() -> Path:
    """Return `$CCWIRE_ATLAS_CACHE`, else a folder in the user's cache."""
    return Path(os.environ.get("CCWIRE_ATLAS_CACHE") or Path.home() / ".cache" / "ccwire" / "atlas")


def outcomes(folder: Path) -> dict[str, ReleaseOutcome]:
    """Return the outcome of every release that has been run."""
    found = {}
    for evidence in folder.iterdir() if folder.is_dir() else ():
        outcome = read_outcome(evidence)
        if outcome is not None:
            found[outcome.version] = outcome
    return found


def snapshot_of_release(evidence: Path, version: str) -> dict[str, Field]:
    """Return the formats in a release's calls, transcripts, other files, hooks and output."""
    observer = Observer(version)
    client = evidence / "claude"
    for path in sources([evidence / "captures", client, evidence / PAYLOADS]):
        observer.file(path)
    observer.layout(client)
    if (evidence / PRINTED).is_file():
        for line in (evidence / PRINTED).read_bytes().splitlines():
            observer.value("printed/result", _last_object(line))
    return observer.observation().snapshot


def _last_object(line: bytes) -> object:
    """Return the result object, which some releases print as the last of a list."""
    value = parse_json(line)
    return value[-1] if isinstance(value, list) and value else value
