"""Paths of the client's files as patterns: `projects/<project>/<session>.jsonl`.

Only names chosen by the client are kept; names a user may have chosen become placeholders.
"""

import re
from pathlib import PurePath

from correlate.schema.observe.vocabulary import words

_FOLDERS = words(
    """agents backups cache commands debug downloads file-history ide image-cache jobs local logs
    marketplaces memory paste-cache plans plugins projects session-env session-memory sessions
    shell-snapshots skills statsig store subagents tasks teams telemetry todos tool-results uploads
    workflows"""
)
_FILES = words(
    """.claude.json .credentials.json .last-cleanup CLAUDE.md __store.db config.json history.jsonl
    installed_plugins.json known_marketplaces.json mcp-needs-auth-cache.json policy-limits.json
    policy-limits.json.stamp.json remote-settings.json remote-settings.json.synced-at
    sessions-index.json settings.json settings.local.json stats-cache.json"""
)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PATTERNS = (
    (re.compile(rf"{_UUID}-agent-{_UUID}"), "<session>-agent-<agent>"),
    (re.compile(r"agent-[0-9A-Za-z_-]+"), "agent-<agent>"),
    (re.compile(_UUID), "<session>"),
    (re.compile(r"\d+"), "<number>"),
)
_SUFFIXES = re.compile(r"(\.[a-z]{2,8}){1,2}$")


def layout_of(relative: PurePath) -> str:
    """Return the pattern of a path relative to the client's folder."""
    *folders, name = relative.parts
    steps = [_folder(step, folders[:place]) for place, step in enumerate(folders)]
    return "/".join([*steps, _file(name)])


def _folder(name: str, above: list[str]) -> str:
    if above == ["projects"]:
        return "<project>"
    if name in _FOLDERS:
        return name
    return _pattern(name)


def _file(name: str) -> str:
    if name in _FILES:
        return name
    suffix = found[0] if (found := _SUFFIXES.search(name)) else ""
    return _pattern(name.removesuffix(suffix)) + suffix


def _pattern(stem: str) -> str:
    for pattern, shown in _PATTERNS:
        if pattern.fullmatch(stem):
            return shown
    return "<name>"
