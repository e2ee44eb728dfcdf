"""Every command has the same output for a session that is open, half packed or packed."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from addon.storage.packing.pack import pack_session, pack_some, unpack_session
from addon.storage.packing.segments import SegmentWriter
from ccwire.cli import COMMANDS, main
from ccwire.kept_output import KEPT
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import segments
from correlate.captures.folder import read_exchanges
from tests.addon.storage.exchange_files import all_there
from tests.ccwire.wire.pack.tar_packs import tar_pack
from tests.recorded import SESSION, Recorded, record

LATER = 4e9
NOW = time.time()

# What each command is run with; those without an entry read no exchange, or write captures.
RUNS = {
    "sessions": ["sessions", "sessions --json", "sessions --all"],
    "show": [
        f"show {SESSION}",
        f"show {SESSION} --answer",
        f"show {SESSION} --calls",
        f"show {SESSION} {{call}}",
        f"show {SESSION} {{call}} --full",
        f"show {SESSION} {{call}} --json",
        f"show {SESSION} {{call}} --request",
        f"show {SESSION} {{call}} --response",
        f"show {SESSION} {{call}} --events",
        f"show {SESSION} {{call}} --raw",
        f"show {SESSION} {{call}} --curl",
    ],
    "reconcile": [
        f"reconcile {SESSION}",
        f"reconcile {SESSION} -v",
        f"reconcile {SESSION} --json",
        "reconcile --all",
    ],
    "spend": ["spend", "spend --by model,agent --json", "spend --by session --csv"],
    "search": ["search one", "search agent -i --json", "search the -i --count"],
    "diff": [f"diff {SESSION}", f"diff {SESSION} --json"],
    "report": [f"report {SESSION} -o {{tmp}}/report.html"],
    "watch": ["watch --once --all", "watch --once --all --json"],
    "schema": ["schema observe {captures} -o {tmp}/snapshot.json", "schema check {captures}"],
    "scrub": [f"scrub {SESSION} -o {{tmp}}/copy"],
}
OTHERS = {"demo", "run", "proxy", "hooks", "pack", "prune", "doctor"}
_SIZE = re.compile(r'"bytes": \d+|\d[\d.,]* [kMG]?B\b')  # packing is about this


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def whole(recorded: Recorded) -> dict[str, bytes]:
    return all_there(recorded.folder)


def half_packed(folder: Path) -> None:
    """As during a capture: the older half and the telemetry are packed."""
    telemetry = {e.sequence for e in read_exchanges(folder) if e.kind == "event_logging"}
    pack_some(
        folder,
        SegmentWriter(folder),
        lambda numbers: {*numbers[: len(numbers) // 2], *telemetry.intersection(numbers)},
    )
    assert exchange_files(folder) and segments(folder)


def packed(folder: Path) -> None:
    pack_session(folder, now=LATER)
    assert not exchange_files(folder)


def packed_one_by_one(folder: Path) -> None:
    for path in exchange_files(folder):
        SegmentWriter(folder).append([path])
        path.unlink()


def packed_as_before(folder: Path) -> None:
    tar_pack(folder)
    assert not exchange_files(folder)


@pytest.mark.parametrize(
    "form",
    [half_packed, packed, packed_one_by_one, packed_as_before],
    ids=lambda form: form.__name__,
)
def test_every_command_has_the_same_output(
    recorded: Recorded,
    whole: dict[str, bytes],
    tmp_path: Path,
    form: Callable[[Path], None],
) -> None:
    assert not segments(recorded.folder)
    expected = outputs(recorded, tmp_path / "open")
    form(recorded.folder)
    try:
        assert all_there(recorded.folder) == whole
        found = outputs(recorded, tmp_path / "packed")
    finally:
        unpack_session(recorded.folder, now=LATER)
    assert all_there(recorded.folder) == whole
    for command, output in found.items():
        assert output == expected[command], command


def test_no_command_is_left_out() -> None:
    assert RUNS.keys() | OTHERS >= COMMANDS.keys()


def outputs(recorded: Recorded, tmp: Path) -> dict[str, str]:
    tmp.mkdir()
    return dict(_outputs(recorded, tmp))


def _outputs(recorded: Recorded, tmp: Path) -> Iterator[tuple[str, str]]:
    environment = {"COLUMNS": "160", "CCWIRE_CAPTURES": str(recorded.captures)}
    environment |= {"CLAUDE_CONFIG_DIR": str(recorded.claude_dir), "CCWIRE_HOME": str(tmp)}
    answered = [e for e in read_exchanges(recorded.folder) if e.message_id]
    call = answered[0].sequence
    for name, commands in RUNS.items():
        for command in commands if name in COMMANDS else ():
            words = command.format(tmp=tmp, captures=recorded.captures, call=call).split()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("secrets.token_bytes", bytes)  # the key of `scrub`
                patch.setattr("time.time", lambda: NOW)
                ran = CliRunner(env=environment).invoke(main, words)
            assert ran.exit_code in (0, 1), (words, ran.output)
            written = "".join(
                f"{path.relative_to(tmp)}\n{path.read_text(errors='replace')}"
                for path in sorted(tmp.rglob("*"))
                if path.is_file() and path.name != KEPT  # written only if no file is recent
            )
            output = (ran.output + written).replace(str(tmp), "TMP")
            yield command, _SIZE.sub("SIZE", output)


def test_the_recorded_session_has_every_kind_of_exchange(recorded: Recorded) -> None:
    kinds = {exchange.kind for exchange in read_exchanges(recorded.folder)}
    assert {"messages", "event_logging"} <= kinds
    assert json.loads((recorded.folder / "manifest.json").read_bytes())["session_id"] == SESSION
