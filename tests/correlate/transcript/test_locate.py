from pathlib import Path

import pytest

from correlate.transcript.locate import ClaudeDir, first_cwd, has_message, last_time, slug_of

SESSION = "11111111-2222-4333-8444-555555555555"


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("cwd", "slug"),
    [
        ("/tmp/My Proj.v1~ü_x", "-tmp-My-Proj-v1---x"),
        ("/", "-"),
        ("C:\\Users\\x", "C--Users-x"),
        ("/a/\U0001f600", "-a---"),
    ],
)
def test_a_folder_becomes_a_slug_as_the_client_makes_it(cwd: str, slug: str) -> None:
    assert slug_of(cwd) == slug


def test_a_session_is_found_by_its_files_name(tmp_path: Path) -> None:
    main = touch(tmp_path / "projects" / "-any-where" / f"{SESSION}.jsonl")
    assert ClaudeDir(tmp_path).session(SESSION).main == (main,)


def test_what_a_hook_named_goes_first(tmp_path: Path) -> None:
    here = touch(tmp_path / "projects" / "-any" / f"{SESSION}.jsonl")
    named = touch(tmp_path / "elsewhere" / f"{SESSION}.jsonl")
    assert ClaudeDir(tmp_path).session(SESSION, [str(named)]).main == (named, here)
    assert ClaudeDir(tmp_path).session(SESSION, [str(here)]).main == (here,)
    gone = str(tmp_path / "gone.jsonl")
    assert ClaudeDir(tmp_path).session(SESSION, [gone]).main[0].parent.name == "-any"


@pytest.mark.parametrize("place", ["projects", "sessions", "projects/L2hvbWUvbGFi"])
def test_legacy_places_are_tried_last(tmp_path: Path, place: str) -> None:
    legacy = touch(tmp_path / place / f"{SESSION}.jsonl")
    assert ClaudeDir(tmp_path).session(SESSION).main == (legacy,)


def test_a_project_goes_before_a_legacy_place(tmp_path: Path) -> None:
    touch(tmp_path / "sessions" / f"{SESSION}.jsonl")
    main = touch(tmp_path / "projects" / "-p" / f"{SESSION}.jsonl")
    assert ClaudeDir(tmp_path).session(SESSION).main == (main,)


def test_agents_are_found_in_every_layout(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    touch(folder / f"{SESSION}.jsonl")
    touch(folder / "agent-beside.jsonl", f'{{"isSidechain":true,"sessionId":"{SESSION}"}}\n')
    touch(folder / "agent-other.jsonl", '{"sessionId":"another"}\n')
    touch(folder / SESSION / "subagents" / "agent-own.jsonl")
    touch(folder / SESSION / "subagents" / "agent-own.meta.json", "{}")
    touch(folder / SESSION / "subagents" / "workflows" / "w1" / "agent-flow.jsonl")
    agents = ClaudeDir(tmp_path).session(SESSION).agents
    assert {agent.agent_id for agent in agents} == {"own", "flow", "beside"}
    assert [agent.agent_id for agent in agents if agent.meta] == ["own"]


def test_agents_without_a_main_file_are_found_too(tmp_path: Path) -> None:
    touch(tmp_path / "projects" / "-p" / SESSION / "subagents" / "agent-a1.jsonl")
    files = ClaudeDir(tmp_path).session(SESSION)
    assert files.main == ()
    assert [agent.agent_id for agent in files.agents] == ["a1"]
    assert files.exists


def test_no_persistence_is_no_files(tmp_path: Path) -> None:
    files = ClaudeDir(tmp_path / "nothing").session(SESSION)
    assert not files.exists
    assert files.size == 0


def test_sessions_of_a_folder_are_selected_by_the_cwd_in_the_lines(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / slug_of("/home/a.b")
    touch(folder / "one.jsonl", '{"cwd":"/home/a.b"}\n')
    touch(folder / "two.jsonl", '{"cwd":"/home/a/b"}\n')
    found = ClaudeDir(tmp_path).sessions_of("/home/a.b")
    assert [path.stem for path in found] == ["one"]


def test_a_long_slug_is_cut_and_ends_in_a_hash(tmp_path: Path) -> None:
    cwd = "/" + "deep/" * 60
    folder = tmp_path / "projects" / (slug_of(cwd)[:200] + "-1x2y3z")
    main = touch(folder / "one.jsonl", f'{{"cwd":"{cwd}"}}\n')
    assert ClaudeDir(tmp_path).sessions_of(cwd) == [main]


def test_a_cwd_keeps_its_backslashes(tmp_path: Path) -> None:
    path = touch(tmp_path / "x.jsonl", '{"cwd":"C:\\\\lab\\\\\\"q\\""}\n')
    assert first_cwd(path) == 'C:\\lab\\"q"'


def test_a_cwd_with_escaped_characters_is_read_as_json(tmp_path: Path) -> None:
    path = touch(tmp_path / "x.jsonl", '{"cwd":"/lab/a\\tb\\u001bc"}\n')
    assert first_cwd(path) == "/lab/a\tb\x1bc"


def test_every_session_with_a_transcript_is_listed_once(tmp_path: Path) -> None:
    touch(tmp_path / "projects" / "-p" / "one.jsonl")
    touch(tmp_path / "projects" / "-p" / "agent-x.jsonl", '{"sessionId":"one"}')
    touch(tmp_path / "sessions" / "one.jsonl")
    touch(tmp_path / "sessions" / "two.jsonl")
    touch(tmp_path / "sessions" / "4242.json")
    assert list(ClaudeDir(tmp_path).session_ids()) == ["one", "two"]


@pytest.mark.parametrize("padding", [0, 1 << 17])
def test_the_last_time_is_that_of_the_last_line_that_has_one(tmp_path: Path, padding: int) -> None:
    said = '{"type":"user","x":"%s","timestamp":"2026-11-01T00:00:00Z"}\n' % ("x" * padding)
    inner = '{"timestamp":"2026-11-01T00:00:09.5Z","data":{"timestamp":"2099-01-01T00:00:00Z"}}\n'
    end = '{"type":"summary"}\n{"timestamp":"2030-01'
    assert last_time(touch(tmp_path / "a.jsonl", said + inner + end)) == 1793491209.5
    assert last_time(touch(tmp_path / "b.jsonl", end)) is None
    assert last_time(tmp_path / "none.jsonl") is None


def test_a_file_without_a_prompt_or_an_answer_has_no_message(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    assert has_message(path) is False
    line = '{"type":"queue-operation","content":"say \\"type\\":\\"user\\""}\n'
    path.write_text(line)
    assert has_message(path) is False
    path.write_text(line + '{"type": "user", "message": "Hello?"}\n')
    assert has_message(path) is True
    path.write_text(line * 2000)  # a message may follow what is not read
    assert has_message(path) is True
