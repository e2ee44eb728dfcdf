"""Evidence: kept per pair, split by case, and the reason why a pair is not run again."""

from pathlib import Path

from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.format import EXCHANGES, UNKNOWN
from ccwire.wire.pack.reader import packs
from correlate.captures.folder import read_exchanges
from correlate.transcript.locate import slug_of
from lab.made_session import MadeSession, write_lines
from lab.matrix.case import Case, Print
from lab.matrix.evidence import (
    CAPTURES,
    CLAUDE,
    FinishedCase,
    Outcome,
    keep,
    keep_outcome,
    pair_folder,
    read_ledger,
    read_outcome,
)
from lab.matrix.run import missing
from tests.lab.matrix.made_pair import served

PLAIN, BASH = (Case(name=n, steps=(Print(scenario=named(n)),)) for n in ("plain", "bash"))


def test_a_pair_with_an_outcome_is_not_run_again(tmp_path: Path) -> None:
    keep_outcome(tmp_path, Outcome(version="2.1.39", case="plain", lacks="no option --x"))
    assert missing(tmp_path, "2.1.39", [PLAIN, BASH], again=False) == [BASH]
    assert missing(tmp_path, "2.1.39", [PLAIN, BASH], again=True) == [PLAIN, BASH]
    assert missing(tmp_path, "2.1.40", [PLAIN, BASH], again=False) == [PLAIN, BASH]


def test_an_interrupted_pair_has_no_outcome_and_is_run_again(tmp_path: Path) -> None:
    folder = pair_folder(tmp_path, "2.1.39", "plain")
    folder.mkdir(parents=True)
    (folder / "ledger.json").write_text("[]")
    assert missing(tmp_path, "2.1.39", [PLAIN], again=False) == [PLAIN]
    (folder / "outcome.json").write_text('{"version"')
    assert missing(tmp_path, "2.1.39", [PLAIN], again=False) == [PLAIN]


def test_each_case_keeps_its_own_sessions_and_calls(tmp_path: Path) -> None:
    root, captures, claude = tmp_path / "root", tmp_path / "captures", tmp_path / "claude"
    done = []
    for number, name in enumerate(("plain", "bash"), 1):
        project = tmp_path / "projects" / name
        made = MadeSession(f"{number}f1c0000-0000-4000-8000-000000000001", cwd=str(project))
        made.now += 100 * number
        made.prompt("A prompt of the lab.")
        made.call()
        made.write(claude, captures)
        (captures / made.session_id / "0001_req_v1_messages.json").write_text("{}")
        outcome = Outcome(version="2.1.39", case=name, started=made.now - 50, ended=made.now)
        row = served(made.exchanges[0], made.session_id)
        done.append(FinishedCase(outcome, (row,), project))
    stray = MadeSession("unknown")
    stray.now += 190
    lost = [stray.call(request_id="req_of_none")]
    stray.now += 60  # of a case that was interrupted
    lost.append(stray.call(request_id="req_of_nobody"))
    (captures / UNKNOWN).mkdir()
    write_lines(captures / UNKNOWN / EXCHANGES, [one.to_json() for one in lost])
    (captures / UNKNOWN / "0001_req_v1_messages.json").write_text("{}")

    keep(root, captures, claude, done)

    for finished in done:
        pair = pair_folder(root, "2.1.39", finished.outcome.case)
        (row,) = finished.served
        assert read_outcome(pair) == finished.outcome
        assert [call.request_id for call in read_ledger(pair)] == [row.request_id]
        session = pair / CAPTURES / str(row.session_id)
        assert [e.request_id for e in read_exchanges(session)] == [row.request_id]
        assert len(packs(session)) == 1
        slug = slug_of(str(finished.project))
        assert (pair / CLAUDE / "projects" / slug / f"{row.session_id}.jsonl").is_file()
    unknown = [pair_folder(root, "2.1.39", n) / CAPTURES / UNKNOWN for n in ("plain", "bash")]
    assert [len(read_exchanges(folder)) for folder in unknown] == [0, 1]


def test_evidence_of_a_pair_replaces_what_was_there(tmp_path: Path) -> None:
    keep_outcome(tmp_path, Outcome(version="2.1.39", case="plain", problem="did not exit"))
    (pair_folder(tmp_path, "2.1.39", "plain") / "old").touch()
    outcome = Outcome(version="2.1.39", case="plain", started=1.0, ended=2.0)
    keep(tmp_path, tmp_path / "none", tmp_path / "none", [FinishedCase(outcome, (), tmp_path)])
    names = sorted(path.name for path in pair_folder(tmp_path, "2.1.39", "plain").iterdir())
    assert names == ["ledger.json", "outcome.json"]
