"""Every path and every anchor that the documents name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
    + list((ROOT / "docs").glob("*.md"))
)
TOP = ("addon", "bench", "ccwire", "correlate", "docs", "examples", "lab", "tests", ".ci")

_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_COMMAND = re.compile(rf"(?<!\.)(?:{'|'.join(map(re.escape, TOP))})/[\w./-]+")
_TEST = re.compile(r"test_\w+\.py")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def named_paths(text: str) -> set[str]:
    """What is in backticks or code and begins with a folder of ours; tests also by name alone."""
    found = {word for code in _CODE.findall(_FENCE.sub("", text)) for word in code.split()}
    paths = {word.rstrip(",;:") for word in found if _PATH.fullmatch(word.rstrip(",;:"))}
    paths = {path for path in paths if path.split("/")[0] in TOP or _TEST.fullmatch(path)}
    for block in _FENCE.findall(text):
        paths |= {path.rstrip(".") for path in _COMMAND.findall(block)}
    return paths


def is_there(path: str) -> bool:
    if _TEST.fullmatch(path):
        return any((ROOT / "tests").rglob(path))
    return (ROOT / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_path_exists(page: Path) -> None:
    named = named_paths(page.read_text(encoding="utf-8"))
    assert sorted(path for path in named if not is_there(path)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def anchors(page: Path) -> set[str]:
    """As GitHub makes them from headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


def test_paths_are_found_in_prose_and_in_commands() -> None:
    text = "See `addon/no.py`, `a/b`, `tests/x/`, `test_y.py` and `ccwire pack`.\n"
    text += "```sh\nrun bench/y.py\n```\n"
    assert named_paths(text) == {"addon/no.py", "tests/x/", "test_y.py", "ccwire", "bench/y.py"}
    assert not is_there("addon/no.py")
    assert not is_there("test_y.py")
    assert is_there("test_docs_paths.py")


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT)) for page in PAGES if page.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in readme] == []
