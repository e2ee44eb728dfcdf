"""The report in a real browser: it shows the results of reconcile, and its controls work."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.demo.stand_in.scenarios import named
from correlate.report.model import Model, page_model
from correlate.report.page import render
from tests.correlate.report.made import SESSION, ReportSession, long_session, small_session
from tests.e2e.browser import Page, browser
from tests.e2e.real_rig import real_rig

NASTY = "</script><script>window.hurt = 1</script> \"'`<img src=x onerror=hurt()> \x1b[31m & é 漢"
ROWS = "document.querySelectorAll('#rows > .row').length"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as tab:
        yield tab


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> "Report":
    root = tmp_path_factory.mktemp("report")
    other = ReportSession("aaaa0000-0000-4000-8000-000000000001")
    other.tools = other.tools[:1]
    other.prompt("The same without a lamp.")
    other.call(("text",), output=77)
    other.write(root / "claude", root / "captures")
    made = small_session(final=False)
    made.system("compact_boundary", compactMetadata={"trigger": "manual", "preTokens": 9})
    made.prompt(f"The summary: {NASTY}")
    made.lines[-1]["isCompactSummary"] = True
    made.call(("text",), output=64, texts=(NASTY,))
    made.call(("text",), output=5, captured=False)
    made.write(root / "claude", root / "captures")
    todos = root / "claude" / "todos"
    todos.mkdir()
    for agent, content, status in (
        (SESSION, "Look at it", "completed"),
        ("a1b2c3d4e5", NASTY, "pending"),
    ):
        listed = json.dumps([{"content": content, "status": status}])
        (todos / f"{SESSION}-agent-{agent}.json").write_text(listed)
    return Report.written(root, SESSION, "--compare", "aaaa")


class Report:
    """A report file, and the output of `ccwire reconcile --json` for the same session."""

    def __init__(self, path: Path, reconciled: dict[str, Any]) -> None:
        self.url = path.as_uri()
        self.reconciled = reconciled

    @classmethod
    def written(cls, root: Path, session: str, *arguments: str, claude: str = "claude") -> "Report":
        folders = ["--captures", str(root / "captures"), "--claude-dir", str(root / claude)]
        path = root / f"{session[:8]}.html"
        run = CliRunner().invoke(main, ["report", session, "-o", str(path), *arguments, *folders])
        assert run.exit_code == 0, run.output
        told = CliRunner().invoke(main, ["reconcile", session, "--json", *folders])
        return cls(path, json.loads(told.stdout))


def opened(page: Page, report: Report, place: str = "", *, width: int = 1280) -> Page:
    page.complaints.clear()
    page.requests.clear()
    page.look(width=width)
    page.open(report.url + place)
    return page


def numbers_are_reconciles(page: Page, reconciled: dict[str, Any]) -> int:
    """Compare every number that has a path into reconcile's JSON; return how many there are."""
    page.evaluate("document.querySelectorAll('#rows .open').forEach((button) => button.click())")
    found = told(page, "path")
    for path, text in found:
        assert minus(text) in written(path, at(reconciled, path)), path
    totals = told(page, "total")
    for place, text in totals:
        side, model, field = place.split("|")
        usage = reconciled["totals"][side]["models"].get(model, {})
        assert text == f"{at(usage, field) or 0:,}", place
    return len(found) + len(totals)


def told(page: Page, name: str) -> list[tuple[str, str]]:
    """Return the value of `data-…` and the text of every element that has it."""
    elements = f"[...document.querySelectorAll('[data-{name}]')]"
    found: list[tuple[str, str]] = page.evaluate(
        f"{elements}.map((e) => [e.dataset.{name}, e.textContent])"
    )
    return found


def at(value: Any, path: str) -> Any:
    for name in path.split("."):
        if value is None:
            return None
        if name == "length":
            return len(value)
        value = value[int(name)] if isinstance(value, list) else value.get(name)
    return value


def written(path: str, value: Any) -> list[str]:
    """Return the formats in which the page may show a value."""
    if path == "summary.seconds":
        minutes, seconds = divmod(round(value), 60)
        return [f"{round(value * 1000)} ms", f"{value:.1f} s", f"{minutes} min {seconds} s"]
    if path == "summary.cache_share":
        return [f"{100 * value:.0f} %", f"{100 * value:.1f} %"]
    if "usd" in path:
        sign, amount = ("-", -value) if value and value < 0 else ("", value)
        return ["unpriced"] if value is None else [f"{sign}${amount:,.4f}", f"{sign}${amount:.8f}"]
    if isinstance(value, int | float):
        return [f"{value:,}", f"+{value:,}"]
    return [value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))]


def minus(text: str) -> str:
    return text.replace("\N{MINUS SIGN}", "-")


def rows_of(page: Page) -> list[dict[str, str]]:
    cells = "Object.fromEntries([...row.cells].map((c) => [c.dataset.label, c.textContent]))"
    found: list[dict[str, str]] = page.evaluate(
        f"[...document.querySelectorAll('#rows > .row')].map((row) => {cells})"
    )
    return found


def choose(page: Page, label: str, value: str) -> int:
    """Set a filter; return how many rows are shown."""
    rows: int = page.evaluate(f"""(() => {{
        const labels = [...document.querySelectorAll('#filters label')];
        const label = labels.find((one) => one.textContent.startsWith('{label}'));
        const select = label.querySelector('select');
        select.value = '{value}';
        select.dispatchEvent(new Event('change'));
        return {ROWS};
    }})()""")
    return rows


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_renders_without_errors_and_fits(
    page: Page, report: Report, width: int, dark: bool
) -> None:
    opened(page, report, width=width)
    page.look(width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(250, 250, 248)"
    assert light is not dark
    assert page.complaints == []
    assert page.requests == [report.url]


def test_the_button_chooses_the_colours(page: Page, report: Report) -> None:
    opened(page, report)
    color = "getComputedStyle(document.body).backgroundColor"
    seen = [page.evaluate(color)]
    for _ in range(3):
        page.evaluate("document.getElementById('theme').click()")
        seen.append(page.evaluate(color))
    assert seen == ["rgb(250, 250, 248)", "rgb(250, 250, 248)", "rgb(20, 22, 24)", *seen[:1]]


def test_every_number_equals_reconciles(page: Page, report: Report) -> None:
    opened(page, report)
    assert numbers_are_reconciles(page, report.reconciled) > 150
    assert page.complaints == []


def test_the_rows_are_the_calls(page: Page, report: Report) -> None:
    rows = rows_of(opened(page, report))
    for row, call in zip(rows, report.reconciled["calls"], strict=False):
        usage = call["wire"]
        assert row["#"] == str(call["sequence"])
        assert row["Output"] == f"{usage.get('output_tokens', 0):,}"
        assert row["Cache read"] == f"{usage.get('cache_read_input_tokens', 0):,}"
        assert row["Verdict"].endswith(call["verdict"]) or call["verdict"] == "wire-only"
    assert len(rows) == 8
    assert rows[-1]["Verdict"] == "✕ not-captured"


def test_the_verdict_is_at_the_top(page: Page, report: Report) -> None:
    opened(page, report)
    assert page.evaluate("document.getElementById('verdict').textContent") == (
        "7 of 7 calls explained, 1 finding unexplained; "
        "the transcript under-reports output by 99 %."
    )


def test_what_the_client_wrote_besides_turns_is_shown(page: Page, report: Report) -> None:
    opened(page, report)
    text = "document.getElementById('{}').textContent"
    assert "BranchHEAD" in page.evaluate(text.format("facts"))
    compactions = page.evaluate(text.format("compactions-list"))
    assert "manual9" in compactions and "The summary: </script>" in compactions
    todos = page.evaluate(text.format("plans-list"))
    assert todos == "Todos✓ Look at itTodos of a1b2c3d4e5· " + NASTY.replace("\x1b", "␛")
    assert "Todos and plan" in page.evaluate(text.format("nav"))
    assert page.complaints == []


def test_filters_show_the_matching_calls(page: Page, report: Report) -> None:
    opened(page, report)
    assert choose(page, "Verdict", "placeholder") == report.reconciled["verdicts"]["placeholder"]
    assert choose(page, "Thread", "a1b2c3d4e5") == 2
    assert page.evaluate("document.getElementById('shown').textContent") == "2 of 8 shown"
    assert choose(page, "Model", "claude-haiku-4-5") == 0
    assert "No calls match" in page.evaluate("document.getElementById('more').textContent")
    page.evaluate("document.querySelector('#filters [type=reset]').click()")
    assert page.evaluate(ROWS) == 8


def test_a_search_looks_through_ids_and_texts(page: Page, report: Report) -> None:
    opened(page, report)
    search = "document.querySelector('#filters [type=search]')"
    for text, left in (("window.hurt", 1), ("OVERLOADED", 1), ("req_6f1c2d3e000002", 1)):
        page.evaluate(f"{search}.value = '{text}'; {search}.dispatchEvent(new Event('input'))")
        assert page.evaluate(ROWS) == left, text


def test_sorting_brings_the_most_output_first(page: Page, report: Report) -> None:
    opened(page, report)
    choose(page, "Sort", "output")
    assert [row["Output"] for row in rows_of(page)][:3] == ["512", "249", "100"]


def test_a_row_opens_to_its_request_answer_and_transcript(page: Page, report: Report) -> None:
    opened(page, report)
    page.evaluate("document.querySelector('#row-2').click()")
    text = page.evaluate("document.querySelector('#detail-2').textContent")
    for part in (
        "placeholder: joined by request_id",
        "No changes since call 1, the previous one in this thread.",
        "✓ identical",
        "line 4",
        "A made-up command",
    ):
        assert part in text
    differs = "document.querySelector('#detail-2 .differs').textContent"
    assert page.evaluate(differs) == "output_tokens2492"
    page.evaluate("document.querySelector('#row-2 .open').click()")
    assert page.evaluate("document.querySelector('#detail-2')") is None


def test_a_failed_call_shows_its_error_and_links_to_its_retry(page: Page, report: Report) -> None:
    opened(page, report, "#call-1")
    assert "overloaded_error" in page.evaluate("document.querySelector('#detail-1').textContent")
    page.evaluate("document.querySelector('#detail-1 a').click()")
    page.until("document.querySelector('#detail-2') !== null")


def test_the_keyboard_reaches_a_call_in_the_timeline(page: Page, report: Report) -> None:
    opened(page, report)
    page.until("document.querySelector('#timeline-chart svg') !== null")
    page.evaluate("document.querySelector('#timeline-chart .plot').focus()")
    for number in (1, 2, 3):
        page.press("ArrowRight")
        shown = "document.querySelector('#timeline-chart .tip').textContent"
        page.until(f"{shown}.startsWith('Call {number} ')")
    tip = page.evaluate("document.querySelector('#timeline-chart .tip').textContent")
    assert tip.startswith("Call 3 · a1b2c3d4e5 · opus-5-5")
    assert "1.5 s: first byte after 400 ms, then 1.1 s" in tip
    page.press("Enter")
    assert page.evaluate("document.activeElement.closest('tr').id") == "row-3"
    assert page.evaluate("location.hash") == "#call-3"


def test_the_pointer_reads_the_context_chart(page: Page, report: Report) -> None:
    opened(page, report)
    page.evaluate("document.querySelector('#context').scrollIntoView()")
    place = page.evaluate("""(() => {
        const frame = document.querySelector('#context-chart .plot').getBoundingClientRect();
        return [frame.left + 60, frame.top + 100];
    })()""")
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    page.until("!document.querySelector('#context-chart .tip').hidden")
    tip = page.evaluate("document.querySelector('#context-chart .tip').textContent")
    assert tip.startswith("Call 2 · ")
    assert "output249" in tip
    assert page.evaluate("document.querySelectorAll('#context-chart .compaction').length") == 1


def test_captured_text_appears_as_text(page: Page, report: Report) -> None:
    opened(page, report, "#call-7")
    shown = page.evaluate("document.querySelector('#detail-7 .wire-side pre').textContent")
    assert shown == NASTY.replace("\x1b", "␛")
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.complaints == []


def test_the_policy_stops_a_script_that_got_in(page: Page, report: Report) -> None:
    opened(page, report)
    page.evaluate("""(() => {
        const intruder = document.createElement('script');
        intruder.textContent = 'window.hurt = 1';
        document.body.append(intruder);
    })()""")
    assert page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_two_sessions_are_compared(page: Page, report: Report) -> None:
    opened(page, report)
    text = page.evaluate("document.querySelector('#compare').textContent")
    assert "Tools only in this session: mcp__lamp__on" in text
    assert "1 of 1 call explained" in text


def test_two_thousand_calls_open_and_filter_without_a_pause(page: Page, tmp_path: Path) -> None:
    """Measured in the browser's CPU time, so that other load on the machine does not count."""
    path = tmp_path / "long.html"
    path.write_text(render(repeated(page_model(long_session(100).source(tmp_path)), 20)))
    page.look(width=1280)
    page.send("Performance.enable", timeDomain="threadTicks")
    assert spent(page, lambda: page.open(path.as_uri())) < 1.5
    assert page.evaluate("document.querySelectorAll('*').length") < 4_000
    for label, value in (("Verdict", "placeholder"), ("Thread", "agent0003"), ("Sort", "time")):
        assert spent(page, lambda label=label, value=value: choose(page, label, value)) < 0.15
    page.evaluate("document.querySelector('#filters [type=reset]').click()")
    assert spent(page, lambda: page.evaluate("openCall('1990')")) < 0.15
    assert page.evaluate("document.activeElement.textContent") == "1990"


def repeated(model: Model, times: int) -> Model:
    """Return a model with its calls repeated, an hour apart and renumbered."""
    calls, known = model["reconcile"]["calls"], model["calls"]
    more = [
        {**call, "sequence": n * len(calls) + call["sequence"], "started": call["started"] + later}
        for n in range(times)
        for later in [3_600.0 * n]
        for call in calls
    ]
    ends = [{**one, "ended": one["ended"] + 3_600.0 * n} for n in range(times) for one in known]
    return {**model, "reconcile": {**model["reconcile"], "calls": more}, "calls": ends}


def spent(page: Page, act: Any) -> float:
    """Return the CPU seconds of the page's thread until the result was rendered."""

    def worked() -> float:
        told = page.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in told if one["name"] == "TaskDuration"))

    before = worked()
    act()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 10)))")
    return worked() - before


@pytest.mark.real
@pytest.mark.parametrize(
    ("version", "verdict", "sentence"),
    [
        ("2.1.325", "match", "calls explained; the transcript matches the wire exactly."),
        ("2.1.39", "placeholder", "calls explained; the transcript under-reports output by"),
    ],
)
def test_a_real_session_with_three_subagents(
    page: Page, tmp_path: Path, version: str, verdict: str, sentence: str
) -> None:
    with real_rig(version, tmp_path) as rig:
        outcome = rig.run(named("three_subagents"))
        rig.wait_for(outcome.served)
    written_report = Report.written(tmp_path, outcome.session_id, claude="home/.claude")
    opened(page, written_report)
    calls = len(written_report.reconciled["calls"])
    said = page.evaluate("document.getElementById('verdict').textContent")
    assert said.startswith(f"{calls} of {calls} ")
    assert sentence in said
    page.until("document.querySelectorAll('.lane-labels div').length > 0")  # drawn by an observer
    lanes = page.evaluate(
        "[...document.querySelectorAll('.lane-labels div')].map((e) => e.textContent)"
    )
    assert len([lane for lane in lanes if lane.startswith("general-purpose ")]) == 3
    assert choose(page, "Verdict", verdict) == written_report.reconciled["verdicts"][verdict]
    choose(page, "Verdict", "")
    assert numbers_are_reconciles(page, written_report.reconciled) > 100
    same = page.evaluate("document.querySelectorAll('.block-verdict.good').length")
    assert same >= 10
    assert page.evaluate("document.querySelectorAll('.block-verdict.bad').length") == 0
    assert page.complaints == []
    for dark in (False, True):
        page.look(width=1280, dark=dark)
        page.screenshot(tmp_path / f"{version}-{'dark' if dark else 'light'}.png")
