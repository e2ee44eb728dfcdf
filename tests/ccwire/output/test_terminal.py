"""Whatever is printed has no effect on the terminal and contains no secret."""

import io
import json
import sys

import click
import pytest
from click.testing import CliRunner
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ccwire.cli import main
from ccwire.options import raw_option
from ccwire.output.tables import Column, print_table
from ccwire.output.terminal import (
    SafeConsole,
    echo,
    print_json,
    safe,
    safe_json,
    write_exactly,
)
from tests.faults.trees import UNSAFE

HOSTILE = "a\x1b]0;x\x07\x9b2J\x7f\u202e\u200b\u2066\ufeff\ud800\x00\r\x08b"
SECRET = "sk-ant-" + "api03-" + "A1b2C3d4" * 8


def shown(*objects: object) -> str:
    out = io.StringIO()
    SafeConsole(file=out, width=200, markup=False).print(*objects)
    return out.getvalue()


@pytest.mark.parametrize("name", ["text", "str", "group", "table", "nested"])
def test_no_renderable_has_an_effect(name: str) -> None:
    table = Table()
    table.add_column(HOSTILE)
    table.add_row(HOSTILE, Text(HOSTILE))
    renderables = {
        "text": Text(HOSTILE, "red"),
        "str": HOSTILE,
        "group": Group(HOSTILE, Text(HOSTILE)),
        "table": table,
        "nested": Group(table, Group(Text.assemble((HOSTILE, "bold")))),
    }
    printed = shown(renderables[name])
    assert "a" in printed
    assert UNSAFE.search(printed) is None


def test_markup_in_captured_text_is_text() -> None:
    table = Table()
    table.add_column("[bold]name[/bold]")
    table.add_row("[link=file:///etc/passwd]x[/link][/nothing]")
    printed = shown("[red]x[/red]", table)
    assert "[red]x[/red]" in printed
    assert "[link=file:///etc/passwd]x[/link][/nothing]" in printed


def test_a_line_feed_in_a_cell_does_not_make_a_row() -> None:
    out = io.StringIO()
    print_table(SafeConsole(file=out, width=100), [Column("n")], [["a\n0 unexplained"]])
    assert "a 0 unexplained" in out.getvalue()


def test_a_plain_text_keeps_its_styles() -> None:
    out = io.StringIO()
    to = SafeConsole(file=out, force_terminal=True, color_system="standard", markup=False)
    to.print(Text.assemble(("good", "green"), " and ", ("bad", "red")))
    assert out.getvalue() == "\x1b[32mgood\x1b[0m and \x1b[31mbad\x1b[0m\n"


def test_echo_prints_no_secret_and_no_control(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"{HOSTILE} {SECRET}")
    echo(f"{HOSTILE} {SECRET}", err=True)
    for printed in capsys.readouterr():
        assert UNSAFE.search(printed) is None
        assert SECRET not in printed
        assert "<redacted:" in printed


@pytest.mark.parametrize("text", ["", "plain", "ä → “x”", "two\nlines\tand a tab", "{[x]}"])
def test_harmless_text_is_unchanged(text: str) -> None:
    assert safe(text) == text


def test_json_stays_json_and_is_safe() -> None:
    value = {f"k{HOSTILE}": [HOSTILE, {"n": 1.5, "ok": None}], "ä": "ü"}
    data = safe_json(value)
    assert UNSAFE.search(data.decode()) is None
    assert json.loads(data) == value


def test_json_is_redacted_by_value_and_key_and_stays_json() -> None:
    value = {"deep": [{"text": f'say "{SECRET}"\n'}], SECRET: 1, "id": "msg_1", "n": [1, 2.5]}
    found = json.loads(safe_json(value))
    assert SECRET not in json.dumps(found)
    assert found["deep"][0]["text"].startswith('say "<redacted:')
    assert (found["id"], found["n"]) == ("msg_1", [1, 2.5])


def test_a_surrogate_next_to_a_secret_is_still_json() -> None:
    found = json.loads(safe_json(["\ud800", SECRET]))
    assert found[0] == "\ud800"
    assert SECRET not in found[1]


@click.command()
@raw_option
def shows_a_secret() -> None:
    echo(SECRET)
    print_json([SECRET])


def test_the_switch_shows_it_raw() -> None:
    assert SECRET not in CliRunner().invoke(shows_a_secret).output
    assert CliRunner().invoke(shows_a_secret, ["--raw"]).output.count(SECRET) == 2


@pytest.mark.parametrize("arguments", [["\x1b[2J"], ["sessions", "--\u202e"], ["diff", "\x1b]0;x"]])
def test_an_argument_that_is_quoted_has_no_effect(arguments: list[str]) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert UNSAFE.search(ran.output) is None


def long_text(method: str, text: str, width: int = 40) -> str:
    out = io.StringIO()
    to = SafeConsole(file=out, width=width, markup=False, highlight=False)
    match method:
        case "indented":
            to.print_indented(Text(text), 4, Text(text))
        case "unwrapped":
            to.print_unwrapped(text, 4)
        case "cut":
            to.print_cut(text)
    return out.getvalue()


@pytest.mark.parametrize("method", ["indented", "unwrapped", "cut"])
def test_no_way_to_print_a_long_text_has_an_effect(method: str) -> None:
    printed = long_text(method, f"{HOSTILE} {SECRET} [red]")
    assert "a" in printed
    assert UNSAFE.search(printed) is None
    assert SECRET[:9] not in printed


def test_an_indented_text_is_wrapped_within_its_margin() -> None:
    printed = long_text("indented", "one two three\n\nfour", width=12)
    assert printed == "one two three\n\nfour\n    one two\n    three\n\n    four\n"


def test_an_unwrapped_text_keeps_its_lines() -> None:
    assert long_text("unwrapped", "x" * 90 + "\ny") == f"    {'x' * 90}\n    y\n"


def test_a_cut_line_fits_with_wide_characters_too() -> None:
    assert long_text("cut", "日本語日本語\nrest", width=8) == "日本語 …\n"


def test_bytes_are_exact_in_a_pipe() -> None:
    data = HOSTILE.encode("utf-8", "surrogatepass") + b"\xff\r\n"
    command = click.Command("write", callback=lambda: write_exactly(data))
    assert CliRunner().invoke(command).stdout_bytes == data


def test_bytes_have_no_effect_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    data = HOSTILE.encode("utf-8", "surrogatepass") + b"\xff\n"

    def write() -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        write_exactly(data)

    ran = CliRunner().invoke(click.Command("write", callback=write))
    assert UNSAFE.search(ran.stdout) is None and ran.stdout.startswith("a\u241b]0;x")
    assert ran.stderr.startswith("Control characters are shown as pictures")
