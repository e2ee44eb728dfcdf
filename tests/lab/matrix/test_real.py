"""Cases on releases of the real client: run, kept, judged, and not run again."""

from pathlib import Path

import pytest

from lab.matrix.cases import CASES_BY_NAME, CLASSES
from lab.matrix.evidence import pair_folder
from lab.matrix.judge import judge
from lab.matrix.run import missing, run_release
from tests.e2e.real_rig import NEWEST, client_or_skip

pytestmark = pytest.mark.real

SPREAD = ("1.0.100", "2.1.39", "2.1.168", NEWEST)


def test_three_cases_of_one_release_are_right(tmp_path: Path) -> None:
    client_or_skip(NEWEST)
    cases = [CASES_BY_NAME[name] for name in ("plain", "continue", "mcp")]
    lines: list[str] = []
    run_release(NEWEST, cases, tmp_path, lines.append)
    assert [line.partition(":")[0] for line in lines] == ["plain", "continue", "mcp"]
    found = [judge(pair_folder(tmp_path, NEWEST, case.name), case) for case in cases]
    assert [(v.mark, v.reason) for v in found if v] == [("right", "")] * 3
    assert missing(tmp_path, NEWEST, cases, again=False) == []


@pytest.mark.parametrize("version", SPREAD)
def test_what_needs_a_rule_of_its_own_is_right_where_a_release_knows_it(
    version: str, tmp_path: Path
) -> None:
    client_or_skip(version)
    cases = [CASES_BY_NAME[name] for names in CLASSES.values() for name in names]
    run_release(version, cases, tmp_path, lambda line: None)
    found = [judge(pair_folder(tmp_path, version, case.name), case) for case in cases]
    verdicts = [verdict for verdict in found if verdict is not None]
    assert len(verdicts) == len(cases)
    assert [v for v in verdicts if v.mark not in ("right", "not known")] == []
    known = {v.case for v in verdicts if v.mark == "right"}
    shown = [name for name, names in CLASSES.items() if known.intersection(names)]
    assert len(shown) >= len(CLASSES) - 2  # the oldest have no agents' files, and no --tools
