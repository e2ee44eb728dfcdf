"""`ccwire schema`: output, exit codes, and one-sentence errors."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from ccwire.cli import main
from correlate.schema.snapshot.file import loads
from tests.correlate.schema.made_up import (
    SESSION,
    record,
    request,
    response,
    write_captures,
    write_exchange,
    write_lines,
)

Command = Callable[..., Result]


@pytest.fixture
def ccwire() -> Command:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(main, ["schema", *map(str, arguments)])

    return run


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    return write_captures(tmp_path / "captures", exchanges=10)


@pytest.fixture
def drifted(tmp_path: Path) -> Path:
    """The same captures with one more field in the third request."""
    folder = write_captures(tmp_path / "drifted", exchanges=10)
    write_exchange(folder / SESSION, 3, request(3, surprise={"a": 1}), response(3))
    return folder


def test_observe_writes_a_snapshot_and_says_what_it_saw(
    ccwire: Command, captures: Path, tmp_path: Path
) -> None:
    output = tmp_path / "snapshot.json"
    result = ccwire("observe", captures, "-o", output)
    assert result.exit_code == 0
    assert result.stdout == ("18 buckets, 65 fields from 10 exchanges and 0 records of 2.1.325\n")
    snapshot = loads(output.read_bytes())
    assert snapshot["wire/request/messages"].count == 10
    again = ccwire("observe", captures)
    assert again.stdout == output.read_text()


def test_observe_prints_the_same_as_json(ccwire: Command, captures: Path, tmp_path: Path) -> None:
    lines = write_lines(captures / "t.jsonl", record())
    lines.write_text(lines.read_text() + "{rubbish\n")
    result = ccwire("observe", captures, "-o", tmp_path / "s.json", "--json")
    assert json.loads(result.stdout) == {
        "exchanges": 10,
        "records": 1,
        "buckets": 20,
        "fields": 76,
        "versions": ["2.1.325"],
        "unreadable": [{"file": str(captures / "t.jsonl"), "line": 2, "reason": "malformed"}],
    }
    assert result.stderr == f"ccwire: skipped {captures / 't.jsonl'}:2: malformed.\n"


def test_an_earlier_snapshot_is_merged_in(ccwire: Command, captures: Path, tmp_path: Path) -> None:
    first, both = tmp_path / "first.json", tmp_path / "both.json"
    ccwire("observe", captures, "-o", first)
    assert ccwire("observe", first, captures, "-o", both).exit_code == 0
    assert loads(both.read_bytes())["wire/request/messages"].count == 20


def test_exported_schemas_validate_what_was_captured(
    ccwire: Command, captures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "schemas"
    ccwire("observe", captures, "-o", tmp_path / "s.json", "--json-schema", folder)
    schemas = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    assert len(schemas) == 18
    Draft202012Validator(schemas["wire.request.messages.json"]).validate(request()["body"]["data"])
    for event in response()["body"]["events"]:
        data = event["data"]
        Draft202012Validator(schemas[f"wire.sse.{data['type']}.json"]).validate(data)


def test_diff_of_a_snapshot_and_a_folder(
    ccwire: Command, captures: Path, drifted: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.json"
    ccwire("observe", captures, "-o", old)
    result = ccwire("diff", old, drifted, "--json")
    assert result.exit_code == 0
    (change,) = json.loads(result.stdout)
    assert change == {
        "kind": "added",
        "bucket": "wire/request/messages",
        "path": "surprise",
        "before": "",
        "after": "object",
        "severity": "additive",
        "sure": pytest.approx(0.6145, abs=0.001),
        "count": 1,
        "file": str(drifted / SESSION / "0003_req_v1_messages.json"),
        "line": None,
        "versions_before": ["2.1.325"],
        "versions_after": ["2.1.325"],
    }
    table = ccwire("diff", old, drifted).stdout
    assert "additive" in table
    assert "surprise" in table
    markdown = ccwire("diff", old, drifted, "--markdown").stdout
    assert markdown.startswith("### Additive (1)\n")


def test_diff_hides_what_may_be_a_gap_and_says_so(ccwire: Command, tmp_path: Path) -> None:
    full = write_lines(tmp_path / "a" / "t.jsonl", *[record()] * 50, record(rare=1)).parent
    small = write_lines(tmp_path / "b" / "t.jsonl", record()).parent
    result = ccwire("diff", full, small)
    assert result.stdout == "1 uncertain change not shown; see --all.\n"
    assert "rare" in ccwire("diff", full, small, "--all").stdout
    assert [
        change["path"] for change in json.loads(ccwire("diff", full, small, "--json").stdout)
    ] == ["rare"]


def test_check_is_quiet_and_0_where_nothing_drifted(
    ccwire: Command, captures: Path, tmp_path: Path
) -> None:
    baseline = tmp_path / "baseline.json"
    ccwire("observe", captures, "-o", baseline)
    result = ccwire("check", "--baseline", baseline, captures)
    assert result.exit_code == 0
    assert result.stdout == "10 exchanges and 0 records compared with baseline.json: no drift.\n"
    assert ccwire("check", "--baseline", baseline, captures, "--json").stdout == "[]\n"


def test_check_ends_with_1_and_names_file_and_line(
    ccwire: Command, captures: Path, drifted: Path, tmp_path: Path
) -> None:
    baseline = tmp_path / "baseline.json"
    lines = write_lines(captures / "t.jsonl", *[record()] * 10)
    ccwire("observe", captures, "-o", baseline)
    write_lines(lines, *[record()] * 4, record(surprise=1), *[record()] * 5)
    result = ccwire("check", "--baseline", baseline, lines, drifted, "--json")
    assert result.exit_code == 1
    assert [(c["bucket"], c["file"], c["line"]) for c in json.loads(result.stdout)] == [
        ("transcript/user", str(lines), 5),
        ("wire/request/messages", str(drifted / SESSION / "0003_req_v1_messages.json"), None),
    ]
    shown = ccwire("check", "--baseline", baseline, lines, drifted)
    assert shown.exit_code == 1
    assert shown.stdout.endswith(
        "10 exchanges and 10 records compared with baseline.json: 2 changes.\n"
    )
    markdown = ccwire("check", "--baseline", baseline, lines, drifted, "--markdown")
    assert markdown.exit_code == 1
    assert "| added | `transcript/user surprise` |" in markdown.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("observe", "{empty}"), "no captures or transcripts in {empty}"),
        (("check", "{empty}"), "no captures or transcripts in {empty}"),
        (("diff", "{text}", "{text}"), "{text} is not a snapshot (it is not JSON"),
        (("check", "--baseline", "{text}", "{captures}"), "{text} is not a snapshot"),
    ],
)
def test_what_a_user_can_do_wrong_is_one_sentence_and_exit_2(
    ccwire: Command, captures: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    places = {"captures": captures, "empty": tmp_path / "empty", "text": tmp_path / "note.json"}
    places["empty"].mkdir()
    places["text"].write_text("not a snapshot")
    result = ccwire(*(argument.format(**places) for argument in arguments))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"ccwire: {sentence.format(**places)}")
    assert result.stderr.count("\n") == 1


def test_a_path_that_is_not_there_is_exit_2(ccwire: Command) -> None:
    assert ccwire("check", "/nowhere/at/all").exit_code == 2
