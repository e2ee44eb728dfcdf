"""The threads of a session, and the branches of a rewound one: which prompts were abandoned. Pure.

The lines of a thread form a tree (`uuid`, `parentUuid`). A rewind gives a line a second child that
is a prompt. The last line of the thread is on the live branch; prompts that it does not descend
from are abandoned. Several answers, tool results or notes below one line are no branches: parallel
tool calls have them. A line whose parent is not in the thread follows the line before it in its
file, as does the summary of a compaction. Lines of a compaction or a command are not in the order
of their times, and may have a parent that was never written, so the order is that of the file.
Linear in the number of lines but for sorting, and not recursive: a transcript may have a cycle or
any depth.
"""

from collections.abc import Callable, Sequence

from ccwire.wire.json_text import text
from correlate.transcript.conversation import Entry

RESULT_TYPES = ("tool_result", "web_search_tool_result", "web_fetch_tool_result")


def rewinds(entries: Sequence[Entry]) -> int:
    """Return how often the user went back in the main thread: its abandoned branches."""
    return len(branch_of(threads_of(entries)[None], is_prompt)[1])


def threads_of(entries: Sequence[Entry]) -> dict[str | None, list[Entry]]:
    """Return the lines by agent, None is the main thread; a copied line is there once.

    Older clients write agents into the session's file without naming them: such an agent is named
    after its first line, as `correlate.transcript.reader` does.
    """
    found: dict[str | None, list[Entry]] = {None: []}
    chains: dict[str, str] = {}
    seen: set[str] = set()
    for entry in entries:
        if entry.uuid is not None:
            if entry.uuid in seen:
                continue
            seen.add(entry.uuid)
        agent = entry.agent_id
        if agent is None and entry.sidechain:
            agent = chains.get(entry.parent_uuid or "") or f"sidechain-{(entry.uuid or '')[:8]}"
            if entry.uuid is not None:
                chains[entry.uuid] = agent
        found.setdefault(agent, []).append(entry)
    return found


def speaks(entry: Entry) -> bool:
    """Whether a user line says something to the model; a tool's result is no such line."""
    if entry.type != "user" or entry.record.get("isCompactSummary") is True:
        return False
    blocks = entry.blocks
    return bool(blocks) and not any(block.get("type") in RESULT_TYPES for block in blocks)


def is_prompt(entry: Entry) -> bool:
    return speaks(entry) and entry.record.get("isMeta") is not True


def branch_of(
    entries: Sequence[Entry], is_prompt: Callable[[Entry], bool]
) -> tuple[list[int | None], dict[int, int | None]]:
    """Return the abandoned branch of each entry, and where each abandoned branch leaves the rest.

    Both are by index: a branch is named by the index of its first prompt, None is the live one; it
    leaves at the last entry that both have, or at None if they have none in common.
    """
    places = _as_written(entries)
    parents = _parents(entries, places)
    owners = _owners(entries, parents, is_prompt)
    live = _line_of_descent(entries, places, parents, owners)
    branches: dict[int | None, int | None] = {None: None}
    for prompt in dict.fromkeys(owners):
        if prompt is not None:
            _assign(prompt, parents, owners, live, branches)
    found = [branches[owner] for owner in owners]
    starts = {branch for branch in found if branch is not None}
    return found, {start: parents[start] for start in sorted(starts)}


def _parents(entries: Sequence[Entry], written: Sequence[int]) -> list[int | None]:
    """Return the index of each entry's parent, None for a root."""
    places: dict[str, int] = {}
    for place, entry in enumerate(entries):
        if entry.uuid is not None:
            places.setdefault(entry.uuid, place)
    is_tree = any(entry.parent_uuid in places for entry in entries if entry.parent_uuid)
    before = dict(zip(written, [None, *written], strict=False))
    found: list[int | None] = []
    for place, entry in enumerate(entries):
        named = entry.parent_uuid or text(entry.record.get("logicalParentUuid"))
        parent = places.get(named) if named else None
        is_root = is_tree and named is None and _names_no_parent(entry)
        found.append(parent if parent is not None else None if is_root else before[place])
    return found


def _as_written(entries: Sequence[Entry]) -> list[int]:
    """Return the indexes of entries in the order of their files and lines."""
    files = {path: number for number, path in enumerate(dict.fromkeys(e.path for e in entries))}

    def at(place: int) -> tuple[int, int]:
        return files[entries[place].path], entries[place].line

    return sorted(range(len(entries)), key=at)


def _names_no_parent(entry: Entry) -> bool:
    """Whether a conversation starts here, as after rewinding to its very beginning."""
    record = entry.record
    is_summary = record.get("isCompactSummary") is True
    is_null = "parentUuid" in record and record["parentUuid"] is None
    return entry.type == "user" and is_null and not is_summary


def _owners(
    entries: Sequence[Entry],
    parents: Sequence[int | None],
    is_prompt: Callable[[Entry], bool],
) -> list[int | None]:
    """Return for each entry the prompt that it descends from, itself included."""
    owners: list[int | None] = [None] * len(entries)
    known = [False] * len(entries)
    for start in range(len(entries)):
        path: list[int] = []
        place: int | None = start
        while place is not None and not known[place]:
            known[place] = True  # in a cycle, the walk ends here
            path.append(place)
            if is_prompt(entries[place]):
                owners[place] = place
                break
            place = parents[place]
        owner = owners[place] if place is not None else None
        for visited in path:
            owners[visited] = owner
    return owners


def _line_of_descent(
    entries: Sequence[Entry],
    written: Sequence[int],
    parents: Sequence[int | None],
    owners: Sequence[int | None],
) -> set[int]:
    """Return the prompts that the last line descends from."""
    spoken = (
        place
        for place in reversed(written)
        if entries[place].type in ("user", "assistant") and owners[place] is not None
    )
    prompt = owners[last] if (last := next(spoken, None)) is not None else None
    live: set[int] = set()
    while prompt is not None and prompt not in live:
        live.add(prompt)
        parent = parents[prompt]
        prompt = owners[parent] if parent is not None else None
    return live


def _assign(
    prompt: int,
    parents: Sequence[int | None],
    owners: Sequence[int | None],
    live: set[int],
    branches: dict[int | None, int | None],
) -> None:
    """Note the branch of a prompt and of those above it: the topmost one that is not live."""
    path: list[int] = []
    seen: set[int] = set()
    above: int | None = prompt
    while above is not None and above not in branches and above not in live and above not in seen:
        seen.add(above)
        path.append(above)
        parent = parents[above]
        above = owners[parent] if parent is not None else None
    if above in live:
        branches[above] = None
    branch = branches.get(above)
    if branch is None and path:
        branch = path[-1]
    for visited in path:
        branches[visited] = branch
