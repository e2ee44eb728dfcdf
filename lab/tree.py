"""Generate a transcript tree of any size and its captures, in real formats with made-up text.

    python -m lab.tree FOLDER --megabytes 1024

writes FOLDER/claude (for --claude-dir) and FOLDER/captures (for --captures). The sizes of tool
results are log-uniform between 100 B and 1 MB.
"""

import argparse
import math
import random
import uuid
from dataclasses import dataclass
from pathlib import Path

from lab.made_session import MadeSession

_WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "juniper",
    "kettle",
    "lantern",
    "meadow",
]
_SMALLEST, _LARGEST = 100, 1_000_000
_SESSION_BYTES = 12_000_000
_TEXT_POOL = 2_000_000


@dataclass(frozen=True, slots=True)
class Tree:
    """A generated tree: its folders, its size in bytes, its sessions and calls."""

    claude_dir: Path
    captures: Path
    size: int
    sessions: int
    calls: int


def write_tree(root: Path, size: int, seed: int = 1) -> Tree:
    """Write about `size` bytes of transcripts; the same seed gives the same tree."""
    chance = random.Random(seed)
    pool = _text(chance)
    claude_dir, captures = root / "claude", root / "captures"
    written = sessions = calls = 0
    while written < size:
        sessions += 1
        made = _session(chance, pool, sessions, min(_SESSION_BYTES, size - written))
        path = made.write(claude_dir, captures)
        written += path.stat().st_size + sum(
            file.stat().st_size for file in (path.parent / made.session_id).rglob("*.jsonl")
        )
        calls += len(made.exchanges)
    return Tree(claude_dir, captures, written, sessions, calls)


def _session(chance: random.Random, pool: str, number: int, size: int) -> MadeSession:
    made = MadeSession(
        str(uuid.UUID(int=chance.getrandbits(128))),
        cwd=f"/home/lab/project-{number % 7}",
        final=number % 4 != 0,
        version="2.1.325" if number % 4 else "2.1.39",
    )
    total = 0
    while total < size:
        agent = f"a{number:08x}" if chance.random() < 0.2 else None
        made.prompt(_cut(chance, pool, 400), agent)
        for _ in range(chance.randrange(1, 12)):
            words = _cut(chance, pool, chance.randrange(40, 2_000))
            made.call(
                ("text", "tool_use"),
                output=chance.randrange(20, 4_000),
                agent_id=agent,
                texts=(words, words[:200]),
            )
            result = _cut(chance, pool, _result_size(chance))
            made.tool_result(result, agent)
            total += 2 * len(result) + 4_000
        made.call(("text",), output=chance.randrange(20, 900), agent_id=agent)
        if chance.random() < 0.3:
            made.call(
                in_transcript=False, model="claude-haiku-4-5", request_class="auxiliary", tools=0
            )
    return made


def _result_size(chance: random.Random) -> int:
    return int(_SMALLEST * math.exp(chance.random() * math.log(_LARGEST / _SMALLEST)))


def _cut(chance: random.Random, pool: str, size: int) -> str:
    start = chance.randrange(0, len(pool) - size)
    return pool[start : start + size]


def _text(chance: random.Random) -> str:
    """Return words, quotes, newlines and some non-ASCII letters, as tool results contain them."""
    parts: list[str] = []
    length = 0
    while length < _TEXT_POOL:
        word = chance.choice(_WORDS)
        part = chance.choice((word, word, word, f'"{word}":', f"{word}\n", f"{word}\té", "{}();"))
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.tree", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tree = write_tree(given.folder, given.megabytes << 20, given.seed)
    print(f"{tree.sessions} sessions, {tree.calls} calls, {tree.size:,} bytes in {given.folder}")


if __name__ == "__main__":
    main()
