import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from addon.claude_settings.hooks_text import (
    CommentsAtStake,
    HooksFound,
    command_files,
    find_hooks,
    hook_command,
    hook_settings,
    installed,
    uninstalled,
)
from addon.claude_settings.jsonc import JsoncError, parse
from addon.hooks.events import INSTALLED
from tests.addon.claude_settings.texts import settings_texts

OURS = "python hook.py # ccwire"
HOOK = {"type": "command", "command": OURS, "timeout": 10}
LINE = json.dumps(HOOK)
ALL: dict[str, tuple[str, ...]] = dict.fromkeys(INSTALLED, (OURS,))


@settings(max_examples=100, deadline=None)
@given(settings_texts())
def test_install_then_uninstall_gives_the_same_text_again(text: str) -> None:
    before = parse(text)
    after = installed(text, OURS)
    assert installed(after, OURS) == after
    assert find_hooks(after).commands == ALL
    assert len(parse(after).comments) == len(before.comments)
    assert uninstalled(after, [text]) == text
    # Without a backup, only the meaning is restored, and empty lists of hooks are removed.
    bare = uninstalled(after, [])
    value = parse(bare).root.value if bare is not None else {}
    assert _without_empty(value) == _without_empty(before.root.value)


@settings(max_examples=100, deadline=None)
@given(settings_texts())
def test_other_hooks_stay_as_they_are(text: str) -> None:
    before, after = parse(text).root.value, parse(installed(text, OURS)).root.value
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    rest = {key: value for key, value in after.items() if key != "hooks"}
    assert rest == {key: value for key, value in before.items() if key != "hooks"}


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    hooks = {event: groups for event, groups in value.get("hooks", {}).items() if groups}
    rest = {key: inner for key, inner in value.items() if key != "hooks"}
    return {**rest, "hooks": hooks} if hooks else rest


def test_a_file_that_is_not_there_is_made_and_is_ours_alone() -> None:
    text = installed(None, OURS)
    assert text.endswith("}\n")
    assert json.loads(text) == hook_settings(OURS)
    assert uninstalled(text, []) is None
    assert uninstalled(text, ["{}\n"]) == "{}\n"


def test_other_hooks_in_the_same_event_and_their_layout_are_untouched() -> None:
    text = """{
    // keep me
    "hooks": {
        "Stop": [{"hooks": [{"type": "command",   "command": "say done"}]}], // theirs
        "PreToolUse": []
    }
}"""
    after = installed(text, OURS)
    assert '[{"hooks": [{"type": "command",   "command": "say done"}]}, {"hooks": [' in after
    assert "// theirs\n" in after
    assert uninstalled(after, []) == text


def test_ours_in_a_group_of_somebody_else_is_taken_out_alone() -> None:
    text = (
        f'{{"hooks": {{"Stop": [{{"hooks": [{{"command": "x"}}, {LINE}, {{"command": "y"}}]}}]}}}}'
    )
    assert uninstalled(text, []) == (
        '{"hooks": {"Stop": [{"hooks": [{"command": "x"}, {"command": "y"}]}]}}'
    )


def test_what_others_put_into_the_file_since_stays() -> None:
    after = installed('{\n  "a": 1\n}\n', OURS)
    changed = after.replace('"a": 1,', '"a": 1,\n  "b": 2,')
    assert uninstalled(changed, ['{\n  "a": 1\n}\n']) == '{\n  "a": 1,\n  "b": 2\n}\n'


def test_a_client_that_laid_the_file_out_anew_has_not_changed_it() -> None:
    original = '{"model": "opus", /* mine */ "hooks": {"Stop": []}}'
    anew = json.dumps(parse(installed(original, OURS)).root.value, indent=2, sort_keys=True)
    assert uninstalled(anew, ["{}", original]) == original
    assert uninstalled(json.dumps(hook_settings(OURS)), []) is None


def test_comments_that_came_since_are_not_taken_back() -> None:
    noted = installed('{"model": "opus"}', OURS).replace("opus", 'opus" /* new */, "x": "')
    assert uninstalled(noted, ['{"model": "opus"}', '{"model": "opus", "x": ""}']) == (
        '{"model": "opus" /* new */, "x": ""}'
    )


def test_a_command_that_drifted_is_put_right_in_its_place() -> None:
    old = installed('{"a": 1}', "old hook.py # ccwire")
    assert installed(old, OURS) == installed('{"a": 1}', OURS)


def test_hooks_of_ours_that_are_there_twice_or_not_needed_go() -> None:
    group = f'{{"hooks": [{LINE}]}}'
    text = f'{{"hooks": {{"Stop": [{group}, {group}], "PreToolUse": [{group}, {{"x": 1}}]}}}}'
    after = installed(text, OURS)
    assert find_hooks(after).commands == ALL
    assert parse(after).root.value["hooks"]["PreToolUse"] == [{"x": 1}]


def test_comments_in_our_hook_are_lost_only_by_force() -> None:
    noted = LINE.replace("{", "{ // noted\n", 1)
    text = f'{{"hooks": {{\n"Stop": [{{"hooks": [{noted}]}}]}}}}'
    with pytest.raises(CommentsAtStake, match="at line 2 contains comments"):
        uninstalled(text, [])
    assert uninstalled(text, [], force=True) == "{}"


def test_comments_around_our_hook_stay_where_they_are() -> None:
    text = f'{{"hooks": {{ // all\n"Stop": [ /* mine */ {{"hooks": [{LINE}]}}]}}}}'
    left = uninstalled(text, [])
    assert left is not None
    assert "// all" in left
    assert "/* mine */" in left
    assert find_hooks(left).commands == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "line 1, column 1: the settings must be an object"),
        ('{\n  "hooks": null}', 'line 2, column 12: "hooks" must be an object'),
        ('{"hooks": {"Stop": {}}}', 'line 1, column 20: "Stop" must be a list'),
        ("{", "line 1, column 2: expected a name in double quotes"),
    ],
)
def test_settings_of_another_shape_are_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(JsoncError) as caught:
        installed(text, OURS)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["[]", '{"hooks": 5}', '{"hooks": {"Stop": [5, {"hooks": 7}]}}'])
def test_where_nothing_is_ours_nothing_is_taken_out(text: str) -> None:
    assert uninstalled(text, []) == text


def test_of_an_event_that_is_there_twice_the_last_counts() -> None:
    text = f'{{"hooks": {{"Stop": [{{"hooks": [{LINE}]}}], "Stop": []}}}}'
    assert find_hooks(text).commands == {}
    assert find_hooks(installed(text, OURS)).commands == ALL


def test_drift_is_what_an_install_would_put_right() -> None:
    assert HooksFound({}, None).drift(OURS) == []
    assert HooksFound(ALL, None).drift(OURS) == []
    assert HooksFound({"Stop": (OURS, "old hook.py # ccwire"), "PreToolUse": (OURS,)}, None).drift(
        OURS
    ) == [
        "missing: SessionStart, SessionEnd, UserPromptSubmit, SubagentStop",
        "not needed: PreToolUse",
        "more than once: Stop",
        "the command belongs to another installation",
    ]


def test_disabled_hooks_are_seen() -> None:
    assert find_hooks('{"disableAllHooks": true}').disabled is True
    assert find_hooks('{"disableAllHooks": false}').disabled is False
    assert find_hooks("{}").disabled is None


def test_the_command_runs_from_any_directory_and_writes_to_the_given_file(tmp_path: Path) -> None:
    sessions = tmp_path / "a folder" / "it's.json"
    payload = b'{"hook_event_name": "Stop", "session_id": "aaa"}'
    run = subprocess.run(
        ["/bin/sh", "-c", hook_command(sessions)],
        input=payload,
        cwd="/",
        env={},
        capture_output=True,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert '"aaa"' in sessions.read_text()


@pytest.mark.parametrize("number", [0, 3])
def test_a_command_whose_files_are_gone_blocks_nothing(number: int) -> None:
    command = hook_command()
    words = shlex.split(command, comments=True)
    broken = command.replace(words[number], "/nowhere/at/all")
    run = subprocess.run(["/bin/sh", "-c", broken], input=b"{}", capture_output=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_the_files_of_a_command_are_the_interpreter_and_the_script() -> None:
    interpreter, script = command_files(hook_command(Path("x y")))
    assert interpreter.exists()
    assert (script.name, script.exists()) == ("hook.py", True)
    assert command_files("it's taken apart # ccwire") == []
