"""What the client's files record of a session besides its turns: lineage, compactions, todos, plan.

Reads the start of other sessions' files, the summaries of compactions, `todos/` and `plans/`. What
a hook knows, whether the session was resumed, is given by the caller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from correlate.transcript.branches import rewinds
from correlate.transcript.client_records import Todo, read_plan, read_todos
from correlate.transcript.conversation import Entry
from correlate.transcript.lineage import (
    FirstAnswers,
    HookRecords,
    Lineage,
    lineage_of,
    summary_of,
)
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import Transcript
from correlate.transcript.records import Compaction, compaction_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """`branches` are of git, `slug` is the client's name of the session.

    `todos` are by agent id, that of the main thread is the session's; `rewinds` is the number of
    abandoned branches of the conversation.
    """

    session_id: str
    branches: tuple[str, ...] = ()
    slug: str | None = None
    lineage: Lineage
    rewinds: int = 0
    compactions: tuple[Mapping[str, Any], ...] = ()  # with numbers and summary
    todos: Mapping[str, tuple[Todo, ...]] = field(default_factory=dict)
    plan: str | None = None

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        lineage = found.pop("lineage")
        del found["session_id"]
        return {
            "branches": found.pop("branches"),
            "slug": found.pop("slug"),
            "forked_from": lineage["forked_from"],
            "resumed": lineage["resumed"],
            **found,
        }


def read_about(
    claude: ClaudeDir,
    transcript: Transcript,
    entries: Sequence[Entry],
    hooks: HookRecords = HookRecords(),  # noqa: B008, it is frozen
) -> About:
    """Read what is known of a session; `entries` are the lines of its main thread at least."""
    files = transcript.files
    origin = FirstAnswers().origin(files.main[0]) if files.main else None
    return About(
        session_id=files.session_id,
        branches=transcript.branches,
        slug=transcript.slug,
        lineage=lineage_of(transcript, origin, hooks),
        rewinds=rewinds(entries),
        compactions=tuple(map(_compacted, transcript.compactions)),
        todos=read_todos(claude.claude_dir, files.session_id),
        plan=read_plan(claude.claude_dir, transcript.slug),
    )


def _compacted(found: Compaction) -> dict[str, Any]:
    summary = summary_of(found)
    return {"at": found.timestamp, **compaction_facts(found), "summary": summary}
