"""Schema changes between real releases are found from their captures and files alone."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from ccwire.cli import main
from ccwire.wire.json_text import parse_json
from correlate.schema.compare.change import SchemaChange
from correlate.schema.compare.diff import diff
from correlate.schema.observe.buckets import hook_target, record_target, sse_target
from correlate.schema.observe.sightings import is_hook
from correlate.schema.observe.walk import observe, sources
from correlate.schema.snapshot.file import dumps
from correlate.schema.snapshot.json_schema import json_schemas
from correlate.schema.snapshot.snapshot import Field, Snapshot
from lab.atlas.run import run_release
from tests.e2e.real_rig import client_or_skip

pytestmark = pytest.mark.real

VERSIONS = ("2.1.39", "2.1.168", "2.1.325")


class Releases:
    """The evidence of releases after the atlas's prompts; each release is run once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.paths = functools.cache(self._paths)
        self.snapshot = functools.cache(self._snapshot)

    def _paths(self, version: str) -> tuple[Path, ...]:
        client_or_skip(version)  # fetched here, so that it stays in the cache for other tests
        evidence = self._folder / version
        outcome = run_release(version, evidence, self._folder / "proxy")
        assert outcome.problem is None, outcome
        assert outcome.ran == ["everything", "compact", "too_long"]
        return evidence / "captures", evidence / "claude", evidence / "hooks.jsonl"

    def _snapshot(self, version: str) -> dict[str, Field]:
        return observe(self.paths(version), version=version).snapshot


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    return Releases(tmp_path_factory.mktemp("releases"))


def found(old: Snapshot, new: Snapshot) -> dict[tuple[str, str, str], SchemaChange]:
    return {(c.kind, c.bucket, c.path): c for c in diff(old, new)}


def test_from_2_1_39_to_2_1_168(releases: Releases) -> None:
    changes = found(releases.snapshot("2.1.39"), releases.snapshot("2.1.168"))
    header = "wire/header/request/messages"
    assert changes["added", header, "x-claude-code-session-id"].sure > 0.95
    assert changes["added", header, "x-client-request-id"].sure > 0.95
    assert ("added", header, "x-claude-code-agent-id") in changes
    user_id = changes["type-changed", "wire/request/messages", "metadata.user_id"]
    assert (user_id.before, user_id.after) == ("string", "JSON in a string")
    assert (user_id.severity, user_id.from_to) == ("breaking", "2.1.39 → 2.1.168")
    assert user_id.at is not None
    assert Path(user_id.at.source).is_file()


def test_from_2_1_168_to_2_1_325(releases: Releases) -> None:
    changes = found(releases.snapshot("2.1.168"), releases.snapshot("2.1.325"))
    header = "wire/header/request/messages"
    assert changes["added", header, "x-claude-code-request-class"].sure > 0.95
    assert changes["added", header, "x-claude-code-prompt-id"].sure > 0.95
    for kind in ("api-request", "api-request-shape", "api-request-blob", "cost-state"):
        change = changes["bucket-added", f"transcript/{kind}", ""]
        assert change.severity == "additive"
        assert change.at is not None
        assert change.at.source.endswith(".jsonl")
    assert changes["added", "transcript/assistant", "requestRef"].sure > 0.95
    assert ("added", header, "x-claude-code-session-id") not in changes


def test_the_commands_find_the_same(releases: Releases, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for version, output in (("2.1.168", old), ("2.1.325", new)):
        arguments = ["schema", "observe", *map(str, releases.paths(version)), "-o", str(output)]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    result = CliRunner().invoke(main, ["schema", "diff", str(old), str(new), "--markdown"])
    assert result.exit_code == 0
    assert "| bucket-added | `transcript/cost-state` |" in result.stdout
    checked = ["schema", "check", "--baseline", str(old), *map(str, releases.paths("2.1.325"))]
    assert CliRunner().invoke(main, checked).exit_code == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_release_matches_its_shipped_baseline(releases: Releases, version: str) -> None:
    result = CliRunner().invoke(main, ["schema", "check", *map(str, releases.paths(version)[:2])])
    assert result.exit_code == 0, result.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_exported_schemas_validate_all_that_was_sent_and_written(
    releases: Releases, version: str
) -> None:
    validators = {
        name: Draft202012Validator(schema)
        for name, schema in json_schemas(releases.snapshot(version)).items()
    }
    count = 0
    for bucket, value in values(releases.paths(version)):
        validators[f"{bucket.replace('/', '.')}.json"].validate(value)
        count += 1
    assert count > 100


@pytest.mark.parametrize("version", VERSIONS)
def test_no_string_of_a_prompt_path_or_id_is_in_a_snapshot(
    releases: Releases, version: str
) -> None:
    text = dumps(releases.snapshot(version))
    every = {text for _, value in values(releases.paths(version)) for text in strings(value)}
    telling = {text for text in every if len(text) >= 8 and any(c in text for c in " /\\")}
    ids = {text for text in every if sum(c.isdigit() for c in text) >= 6 and "-20" not in text}
    assert len(telling) > 100
    assert len(ids) > 20
    allowed = {"/compact"}  # also part of a record type's name
    assert {t for t in telling | ids if t in text and not t.startswith("clear_")} - allowed == set()


def values(paths: Iterable[Path]) -> Iterator[tuple[str, Any]]:
    """Yield every observed value with its bucket."""
    for path in sources(paths):
        if path.suffix == ".jsonl":
            for line in path.read_bytes().splitlines():
                record = parse_json(line)
                target = hook_target(record) if is_hook(record) else record_target(record)
                yield target.bucket, record
        elif "_req_v1_messages." in path.name:
            yield "wire/request/messages", parse_json(path.read_bytes())["body"]["data"]
        elif "_resp_v1_messages." in path.name:
            for event in parse_json(path.read_bytes())["body"].get("events", ()):
                yield sse_target(event["data"]).bucket, event["data"]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
