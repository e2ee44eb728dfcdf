"""`ccwire search`: each text once, where it first appeared, in every form of a session."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from addon.storage.packing.pack import pack_session, pack_some
from addon.storage.packing.segments import SegmentWriter
from ccwire.cli import main
from ccwire.wire.pack.files import exchange_files
from lab.made_session import MadeSession

SESSION = "7e57ab1e-0000-4000-8000-000000000001"
AGENT = "a0000007"
SECRET = "sk-ant-api03-" + "Zq7aB3kL9mN2pR5s" * 5 + "AA"
LATER = 4e9


def as_open(folder: Path) -> None:
    assert exchange_files(folder)


def half_packed(folder: Path) -> None:
    pack_some(folder, SegmentWriter(folder), lambda numbers: set(numbers[: len(numbers) // 2]))


def packed(folder: Path) -> None:
    pack_session(folder, now=LATER)
    assert not exchange_files(folder)


class Home:
    """A capture folder and a client's folder with one session: two main calls, two of an agent."""

    def __init__(self, root: Path) -> None:
        self.captures, self.claude = root / "captures", root / "claude"
        made = MadeSession(SESSION)
        made.prompt(f'Say "grüße" with {SECRET} now.')
        made.call(("tool_use",), texts=("run the agent",))
        made.prompt("Look at the file.", AGENT)
        made.call(("tool_use",), texts=("cat notes",), agent_id=AGENT, agent_type="Explore")
        made.tool_result("first line\nquokka here\nlast line", AGENT)
        made.call(("text",), texts=("Done there.",), agent_id=AGENT, agent_type="Explore")
        made.tool_result("The agent is done.")
        made.call(("text",), texts=("All done.",))
        made.write(self.claude, self.captures)
        self.folder = self.captures / SESSION
        main_1 = [{"role": "user", "content": 'Say "grüße" with <redacted:api_key:00> now.'}]
        agent_1 = [{"role": "user", "content": [{"type": "text", "text": "Look at the file."}]}]
        read = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "notes"}}
        result = "first line\nquokka here\nlast line"
        agent_2 = [
            *agent_1,
            {"role": "assistant", "content": [read]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}],
            },
        ]
        self._call(1, main_1, {"type": "text", "text": "Wombat first."})
        self._call(2, agent_1, read)
        self._call(3, agent_2, {"type": "text", "text": "Done there."})
        said = {"role": "assistant", "content": [{"type": "text", "text": "Wombat first."}]}
        again = [*main_1, said, {"role": "user", "content": "Go on."}, agent_2[-1]]
        self._call(4, again, {"type": "text", "text": "All done."})

    def _call(self, number: int, messages: list[Any], answer: dict[str, Any]) -> None:
        body = {"system": [{"type": "text", "text": "You are made up. " * 40}]}
        body |= {"tools": [{"name": "Read", "description": "Reads a numbat."}]}
        body |= {"messages": messages}
        request = {"headers": {}, "body": {"type": "json", "data": body}}
        response = {"status_code": 200, "message": {"content": [answer]}, "body": {"type": "sse"}}
        for direction, value in (("req", request), ("resp", response)):
            name = f"{number:04d}_{direction}_v1_messages.json"
            (self.folder / name).write_bytes(orjson.dumps(value))

    def run(self, *words: str) -> Result:
        folders = ["--captures", str(self.captures), "--claude-dir", str(self.claude)]
        return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["search", *words, *folders])

    def hits(self, *words: str) -> list[dict[str, Any]]:
        ran = self.run(*words, "--json")
        assert ran.exit_code == 0, ran.output
        found: list[dict[str, Any]] = json.loads(ran.stdout)["hits"]
        return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


FORMS = pytest.mark.parametrize(
    "form", [as_open, half_packed, packed], ids=lambda form: form.__name__
)


@FORMS
def test_a_word_in_an_agents_tool_result_is_found_once(
    home: Home, form: Callable[[Path], None]
) -> None:
    form(home.folder)
    (hit,) = home.hits("quokka")
    assert (hit["call"], hit["message"], hit["role"], hit["tool"]) == (3, 3, "tool-result", "Read")
    assert (hit["agent_id"], hit["agent_type"]) == (AGENT, "Explore")
    assert hit["lines"] == [{"number": 2, "text": "quokka here", "spans": [[0, 6]]}]
    assert "show 7e57ab1e 3 --message 3" in hit["show"]


@FORMS
def test_a_secret_is_not_found(home: Home, form: Callable[[Path], None]) -> None:
    form(home.folder)
    for words in ([SECRET], [SECRET[20:30]], ["-e", "sk-ant-[A-Za-z0-9-]{20}"], ["-i", SECRET]):
        ran = home.run(*words)
        assert (ran.exit_code, ran.stdout) == (0, ""), words
        assert ran.stderr.endswith("No text matches.\n")


def test_a_text_of_wire_and_transcript_is_one_hit_of_the_wire(home: Home) -> None:
    (hit,) = home.hits("grüße")
    assert (hit["call"], hit["message"], hit["role"]) == (1, 1, "user")


def test_an_answer_is_reported_where_it_was_given(home: Home) -> None:
    (hit,) = home.hits("wombat", "-i", "-w")
    assert (hit["call"], hit["in_answer"], hit["role"]) == (1, True, "assistant")


def test_filters_narrow_the_texts(home: Home) -> None:
    assert [hit["role"] for hit in home.hits("numbat")] == ["tool-definition"]
    assert home.hits("numbat", "--role", "user") == []
    assert len(home.hits("quokka", "--tool", "Read")) == 1
    assert home.hits("quokka", "--tool", "Edit") == []
    assert home.hits("quokka", "--larger", "1kB") == []
    assert len(home.hits("quokka", "--smaller", "100")) == 1
    (hit,) = home.hits("quokka", "--type", "user")
    assert (hit["call"], hit["line"]) == (None, 3)


def test_context_is_shown_on_both_sides(home: Home) -> None:
    (hit,) = home.hits("quokka", "-C", "1")
    assert [line["text"] for line in hit["lines"]] == ["first line", "quokka here", "last line"]


def test_counts_by_session_have_no_texts(home: Home) -> None:
    ran = home.run("one", "--count")
    assert "7e57ab1e" in ran.stdout and "made up" not in ran.stdout


def test_a_session_without_a_capture_is_found_by_line(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("Where is the bilby?")
    path = made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    folders = ["--captures", str(tmp_path / "captures"), "--claude-dir", str(tmp_path / "claude")]
    ran = CliRunner().invoke(main, ["search", "bilby", "--json", *folders])
    (hit,) = json.loads(ran.stdout)["hits"]
    assert (hit["path"], hit["line"], hit["call"]) == (str(path), 1, None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            [
                "",
            ],
            "the pattern is empty",
        ),
        (["-e", "("], "not a regular expression"),
        (["x", "--role", "robot"], "there is no role 'robot'"),
        (["x", "--larger", "big"], "expected a number of bytes"),
        (["x", "--limit", "0"], "expected a number of texts"),
    ],
)
def test_a_mistake_is_one_sentence(home: Home, words: list[str], sentence: str) -> None:
    ran = home.run(*words)
    assert ran.exit_code == 2 and sentence in ran.stderr and ran.stderr.count("\n") == 1
