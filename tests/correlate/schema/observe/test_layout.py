"""Paths become patterns that keep only names chosen by the client."""

from pathlib import PurePath

import pytest

from correlate.schema.observe.layout import layout_of

UUID = "5e551011-0000-4000-8000-00000000c0de"


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        (f"projects/-home-x/{UUID}.jsonl", "projects/<project>/<session>.jsonl"),
        ("projects/-home-x/agent-1f2e.jsonl", "projects/<project>/agent-<agent>.jsonl"),
        (
            f"projects/-home-x/{UUID}/subagents/agent-a9f5.meta.json",
            "projects/<project>/<session>/subagents/agent-<agent>.meta.json",
        ),
        (f"todos/{UUID}-agent-{UUID}.json", "todos/<session>-agent-<agent>.json"),
        ("sessions/4711.json", "sessions/<number>.json"),
        ("history.jsonl", "history.jsonl"),
        ("commands/my secret.md", "commands/<name>.md"),
        ("anything/of mine/here.txt", "<name>/<name>/<name>.txt"),
        ("no-suffix", "<name>"),
    ],
)
def test_patterns(path: str, pattern: str) -> None:
    assert layout_of(PurePath(path)) == pattern
