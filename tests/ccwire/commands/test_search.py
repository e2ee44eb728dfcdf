"""`ccwire search`: each text once, where it first appeared, in every form of a session."""

import json
import shlex
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from addon.storage.packing.pack import pack_session, pack_some
from addon.storage.packing.segments import SegmentWriter
from ccwire.cli import main
from ccwire.wire.format import EXCHANGES, UNKNOWN
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.segment import SEGMENT_SUFFIX
from correlate.search.session import SessionHits
from correlate.search.time_limit import TooSlow
from lab.made_session import MadeSession

SESSION = "7e57ab1e-0000-4000-8000-000000000001"
OTHER = "07e57ab1-0000-4000-8000-000000000002"
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


LONG = "\n".join(f"line {number} of many" for number in range(300))


def long(word: str) -> str:
    """Return a text that `show` shortens, unless it is asked for all."""
    return f"{LONG}\n{word}\n{LONG}"


def wire_words(home: Home) -> list[str]:
    """Add a call with a word in every part, and return the words."""
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": long("in-call")}}
    said = [{"type": "thinking", "thinking": long("in-thinking")}, call]
    said += [{"type": "text", "text": long("in-answer")}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": long("in-result")}
    text = {"type": "text", "media_type": "text/plain", "data": long("in-document")}
    body = {
        "system": [{"type": "text", "text": long("in-system")}],
        "tools": [{"name": "mcp__a__b", "input_schema": {"description": long("in-schema")}}],
        "messages": [
            {"role": "user", "content": long("in-prompt")},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result, {"type": "document", "source": text}]},
        ],
    }
    index = home.folder / EXCHANGES
    last = json.loads(index.read_bytes().split(b"\n")[-2])
    with index.open("ab") as file:
        file.write(orjson.dumps(last | {"sequence": 5, "started": 1.8e9}) + b"\n")
    request = {"headers": {}, "body": {"type": "json", "data": body}}
    response = {"status_code": 200, "message": {"content": said}, "body": {"type": "sse"}}
    for direction, value in (("req", request), ("resp", response)):
        name = f"0005_{direction}_v1_messages.json"
        (home.folder / name).write_bytes(orjson.dumps(value))
    words = "call thinking answer result document system schema prompt"
    return [f"in-{word}" for word in words.split()]


def transcript_words(home: Home, agent: str | None) -> list[str]:
    """Write a session without a capture, and return the words in its lines."""
    made = MadeSession(OTHER)
    made.prompt("Start.")
    made.prompt(long("t-prompt"), agent)
    texts = tuple(map(long, ("t-thinking", "t-answer", "t-call")))
    made.call(("thinking", "text", "tool_use"), texts=texts, agent_id=agent)
    made.tool_result(long("t-result"), agent)
    made.system("local_command", content=long("t-command"))
    lines = made.lines if agent is None else made.agent_lines[agent]
    used = lines[-2 if agent is None else -1]["message"]["content"][0]
    used["tool_use_id"] = lines[4 if agent is None else 3]["message"]["content"][0]["id"]
    made.write(home.claude)
    words = "prompt thinking answer call result command"
    return [f"t-{word}" for word in words.split()]


@FORMS
@pytest.mark.parametrize("agent", [None, AGENT])
def test_the_printed_command_shows_the_text(
    tmp_path: Path, form: Callable[[Path], None], agent: str | None
) -> None:
    home = Home(tmp_path / "it's $HOME here")
    words = [*wire_words(home), *transcript_words(home, agent)]
    form(home.folder)
    for word in words:
        (hit,) = home.hits(word)
        assert word in ran(hit["show"]), hit["show"]


def ran(command: str) -> str:
    """Run a printed command and return what it prints."""
    words = shlex.split(command)
    if words[0] == "sed":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return CliRunner().invoke(main, words[words.index("show") :]).stdout


def test_what_is_only_in_another_copy_of_a_session_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that is resumed elsewhere may have a folder in each of two places."""
    first, second = Home(tmp_path / "home"), Home(tmp_path / "work")
    wire_words(first)
    (tmp_path / "work" / "captures" / SESSION / EXCHANGES).touch()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "home"))
    ran_there = CliRunner().invoke(
        main, ["search", "in-answer", "--json", "--claude-dir", str(second.claude)]
    )
    (hit,) = json.loads(ran_there.stdout)["hits"]
    assert hit["folder"] == str(first.folder)
    assert "in-answer" in ran(hit["show"])


def test_the_older_of_two_copies_has_the_text_first(tmp_path: Path) -> None:
    first, second = Home(tmp_path / "home"), Home(tmp_path / "work")
    later = [{**json.loads(line), "started": 4e9} for line in index_of(second).splitlines()]
    (second.folder / EXCHANGES).write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in later))
    env = {"CCWIRE_HOME": str(tmp_path / "home")}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "work")
        words = ["search", "Wombat first", "--json", "--claude-dir", str(second.claude)]
        found = CliRunner(env=env).invoke(main, words)
    (hit,) = json.loads(found.stdout)["hits"]
    assert (hit["folder"], hit["call"], hit["in_answer"]) == (str(first.folder), 1, True)


def index_of(home: Home) -> bytes:
    return (home.folder / EXCHANGES).read_bytes()


def test_a_damaged_pack_is_named(home: Home) -> None:
    packed(home.folder)
    (pack,) = home.folder.glob(f"*{SEGMENT_SUFFIX}")
    data = bytearray(pack.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    pack.write_bytes(data)
    printed = home.run("quokka")
    assert printed.exit_code == 0 and "cannot be read; left out" in printed.stderr
    assert "agent-a0000007.jsonl:3" in printed.stdout


@FORMS
def test_a_secret_is_not_found(home: Home, form: Callable[[Path], None]) -> None:
    form(home.folder)
    for words in ([SECRET], [SECRET[20:30]], ["-e", "sk-ant-[A-Za-z0-9-]{20}"], ["-i", SECRET]):
        ran = home.run(*words)
        assert (ran.exit_code, ran.stdout) == (0, ""), words
        assert ran.stderr.endswith("No text matches.\n")


TOKEN = "8f3bQ9xzz7!wombatvalue"  # a secret only because of the name before it


def with_token(home: Home) -> None:
    """Add a tool call, a result of another tool, and an attachment that have the token."""
    holder = {"env": {"GITHUB_TOKEN": TOKEN, "PLAIN": "bilby"}}
    call = {"type": "tool_use", "id": "t9", "name": "Bash", "input": holder}
    lines: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"content": [call]}},
        {"type": "attachment", "attachment": {"more": holder}, "DEPLOY_TOKEN": TOKEN},
    ]
    (path,) = home.claude.rglob(f"{SESSION}.jsonl")
    with path.open("ab") as file:
        file.writelines(orjson.dumps(line) + b"\n" for line in lines)


def test_what_is_a_secret_by_the_name_of_its_field_is_not_found(home: Home) -> None:
    with_token(home)
    for words in ([TOKEN], ["wombatvalue"], ["-e", "[a-z]*wombat[a-z]*"]):
        assert home.run(*words).stdout == "", words
    beside = home.run("bilby", "--json")
    assert [hit["role"] for hit in json.loads(beside.stdout)["hits"]] == ["tool-call"]
    assert "wombatvalue" not in home.run("bilby", "-C", "9").output


def test_a_mark_in_place_of_a_secret_is_no_match(home: Home) -> None:
    made = MadeSession(OTHER)
    made.prompt(f"The key {SECRET} is mine.")
    made.write(home.claude)
    assert home.hits("redacted", "--session", OTHER[:8]) == []
    assert home.hits("-e", "sk-ant-api03-Z|redacted", "--session", OTHER[:8]) == []
    (hit,) = home.hits("mine", "--session", OTHER[:8])
    assert home.hits("mine", "--session", OTHER[:8], "--larger", str(hit["size"])) == []
    assert len(home.hits("mine", "--session", OTHER[:8], "--smaller", str(hit["size"] + 1))) == 1


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
    assert len(home.hits("quokka", "--smaller", "100 B", "--larger", "9B")) == 1
    (hit,) = home.hits("quokka", "--type", "user")
    assert (hit["call"], hit["line"]) == (None, 3)


def test_a_role_finds_a_text_that_another_role_had_before(home: Home) -> None:
    (call,) = home.hits("made up", "--role", "system")
    assert (call["call"], call["role"]) == (1, "system")
    body = {"messages": [{"role": "user", "content": "You are made up. " * 40}]}
    request = {"headers": {}, "body": {"type": "json", "data": body}}
    (home.folder / "0007_req_v1_messages.json").write_bytes(orjson.dumps(request))
    assert [hit["call"] for hit in home.hits("made up")] == [1]
    (said,) = home.hits("made up", "--role", "user")
    assert (said["call"], said["role"]) == (7, "user")


@FORMS
def test_a_call_of_no_session_is_found_with_its_command(
    home: Home, form: Callable[[Path], None]
) -> None:
    form(home.folder)
    unknown = home.folder.rename(home.captures / UNKNOWN)
    (hit,) = home.hits("quokka", "--role", "tool-result", "--tool", "Read")
    assert (hit["session_id"], hit["folder"]) == (UNKNOWN, str(unknown))
    assert "quokka" in ran(hit["show"])
    at = datetime.fromtimestamp(hit["at"]).isoformat()
    assert len(home.hits("Wombat first", "--session", UNKNOWN, "--until", "2030-01-01")) == 1
    assert len(home.hits("Wombat first", "--role", "assistant", "--since", at)) == 1
    assert home.hits("Wombat first", "--role", "assistant", "--since", "2030-01-01") == []


def test_a_session_that_is_being_written_is_searched(home: Home) -> None:
    (home.folder / "0008_resp_v1_messages.part").write_bytes(b"data: numbat\n")
    (path,) = home.claude.rglob(f"{SESSION}.jsonl")
    with path.open("ab") as file:
        line = {"type": "user", "isSidechain": True, "message": {"content": "a potoroo"}}
        file.write(b"\0\xff potoroo\n" + orjson.dumps(line) + b"\n" + orjson.dumps(line)[:-3])
    (hit,) = home.hits("potoroo")
    assert (hit["role"], hit["matches"]) == ("user", 1)
    assert [hit["role"] for hit in home.hits("numbat")] == ["tool-definition"]


def test_a_text_of_two_sessions_is_reported_for_each(home: Home) -> None:
    made = MadeSession(OTHER)
    made.prompt("first line\nquokka here\nlast line")
    made.write(home.claude)
    assert {hit["session_id"] for hit in home.hits("quokka")} == {SESSION, OTHER}
    assert [hit["session_id"] for hit in home.hits("quokka", "--session", OTHER[:8])] == [OTHER]


def test_a_pattern_that_never_ends_is_one_sentence(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_too_slow(*_: object, **__: object) -> SessionHits:
        raise TooSlow

    monkeypatch.setattr("ccwire.commands.search.search_session", is_too_slow)
    printed = home.run("-e", "(a+)+$")
    assert printed.exit_code == 2
    assert "'(a+)+$' takes more than 10 s on one text" in printed.stderr


def test_context_is_shown_on_both_sides(home: Home) -> None:
    (hit,) = home.hits("quokka", "-C", "1")
    assert [line["text"] for line in hit["lines"]] == ["first line", "quokka here", "last line"]


def test_counts_by_session_have_no_texts(home: Home) -> None:
    ran = home.run("one", "--count")
    assert "7e57ab1e" in ran.stdout and "made up" not in ran.stdout
    (counts,) = json.loads(home.run("one", "--count", "--json").stdout)["sessions"]
    assert (counts["texts"], counts["matches"], counts["roles"]) == (
        3,
        3,
        ["assistant", "tool-result"],
    )


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
