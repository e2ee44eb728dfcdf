"""Read what `ccwire show` needs of a session: the lines of its conversation, agents and calls.

From the transcript where there is one, else from the capture. A transcript may lag behind: an
answer is waited for, and taken from the capture if it never arrives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ccwire.wire.format import PART_SUFFIX, Exchange, parse_file_name
from ccwire.wire.json_text import text
from ccwire.wire.regular_file import open_regular
from correlate.captures.folder import transcript_files
from correlate.reconcile.session import TranscriptWait
from correlate.show.conversation import AgentLink, message_of
from correlate.show.final_answer import PromptAnswer, prompt_answers
from correlate.show.stored import session_exchanges
from correlate.show.wire_conversation import answer_entry, is_in_flight, is_of_thread, wire_entries
from correlate.transcript.conversation import Entry, read_conversation
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.reader import Transcript, read_transcript

_QUIET = 0.3  # seconds without a new line, after which an answer is taken to be complete

Source = Literal["transcript", "wire", "transcript and wire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContent:
    """A session as it was read; `exchanges` is empty if nothing was captured.

    `missing` is why its last answer is not the session's, as far as is known.
    """

    session_id: str
    source: Source
    entries: Sequence[Entry]
    transcript: Transcript
    exchanges: Sequence[Exchange]
    missing: str | None = None

    @property
    def calls(self) -> dict[str, int]:
        """The numbers of the exchanges by message and request id."""
        named = [
            (name, call.sequence)
            for call in self.exchanges
            for name in (call.message_id, call.request_id)
            if name and call.kind == "messages"
        ]
        return dict(named)

    @property
    def agents(self) -> dict[str, AgentLink]:
        found = {
            agent.agent_id: AgentLink(
                agent.type, agent.tool_use_id, getattr(agent, "description", None)
            )
            for agent in self.transcript.agents.values()
        }
        for call in self.exchanges:
            if call.agent_id and call.agent_id not in found:
                found[call.agent_id] = AgentLink(call.agent_type)
        return found

    def answers(self) -> list[PromptAnswer]:
        """Return the prompts with their answers; older clients record no end of an answer."""
        ended = {call.message_id for call in self.exchanges if call.complete and call.message_id}
        return [
            replace(answer, is_whole=True)
            if answer.is_unsure and answer.message_id in ended
            else answer
            for answer in prompt_answers(self.entries)
        ]


@dataclass(frozen=True, slots=True)
class HookProof:
    """What the hooks recorded: when the last answer ended, a test of its text, the last prompt."""

    at: float | None
    is_of: Callable[[str], bool]
    prompted_at: float | None = None


class SessionReader:
    """Reads one session; `capture` is its folder, or `unknown/`, or None."""

    def __init__(self, session_id: str, capture: Path | None, claude: ClaudeDir) -> None:
        self._session_id = session_id
        self._capture = capture
        self._claude = claude

    def read(self) -> SessionContent:
        files = self._files()
        exchanges = self._exchanges()
        entries: Sequence[Entry] = read_conversation(files).entries if files.exists else ()
        source: Source = "transcript"
        if not any(entry.type in ("user", "assistant") for entry in entries):
            entries, source = self._from_wire(exchanges), "wire"
        return SessionContent(
            session_id=self._session_id,
            source=source,
            entries=entries,
            transcript=read_transcript(files),
            exchanges=exchanges,
        )

    def read_settled(
        self,
        proof: HookProof | None = None,
        patience: TranscriptWait | None = None,
    ) -> SessionContent:
        """Read; repeat while the last answer may not be written yet, then take it from the wire."""
        patience = patience or TranscriptWait()
        content = self.read()
        size = self._files().size
        for _ in range(patience.tries):
            if not self._is_awaited(content, proof, patience):
                break
            patience.sleep(patience.pause)
            if self._files().size != size or content.source == "wire":
                size = self._files().size
                content = self.read()
        content = self._completed(content, proof)
        return replace(content, missing=self._missing(content, proof))

    def _is_awaited(
        self, content: SessionContent, proof: HookProof | None, patience: TranscriptWait
    ) -> bool:
        now = patience.now()
        since = now - patience.recent
        last = content.answers()[-1:]
        if any(_mtime(part) > since for part in self._parts(content)):
            return True
        if proof is not None and (proof.at or 0) > since:
            return not _has(last, proof)
        if proof is not None and (proof.prompted_at or 0) > since and _is_overtaken(last, proof):
            return True
        if content.source == "wire":  # a new session's file may have no message yet
            return _changed(self._files(), since)
        if last and last[0].is_interrupted:
            return False
        is_open = not last or not last[0].is_whole
        call = _unwritten(content)
        if call is not None and (call.ended or 0) > since and not is_open:
            return call.request_class == "main"
        if not _changed(self._files(), since):
            return call is not None and (call.ended or 0) > since
        # A client may be at work for long: only lines that follow soon are waited for.
        if is_open:
            return True
        texts = _texts_on_the_wire(content, last[0])
        if texts is not None:
            return _texts_written(content, last[0]) < texts
        # One line per block: older clients write it when the block ends, and the stop reason last.
        return last[0].stop_reason is None or _changed(self._files(), now - _QUIET)

    def _missing(self, content: SessionContent, proof: HookProof | None) -> str | None:
        last = content.answers()[-1:]
        if parts := self._parts(content):
            (number, _) = parse_file_name(parts[-1].with_suffix(".json").name) or (0, "")
            return f"exchange {number} is in flight"
        # Of an empty answer, the hook is given the text before it.
        is_silent = bool(last) and last[0].is_whole and last[0].parts[-1:] == ("",)
        if proof is not None and proof.at is not None and not (is_silent or _has(last, proof)):
            return "the Stop hook has seen another answer, which is not written yet"
        if proof is not None and _is_overtaken(last, proof):
            return "a later prompt was given"
        return None

    def _parts(self, content: SessionContent) -> list[Path]:
        """Return the part files of the main thread's answers that are in flight."""
        own = {call.sequence for call in content.exchanges if is_in_flight(call)}
        if self._capture is None or not own:
            return []
        paths = sorted(self._capture.glob(f"*{PART_SUFFIX}"))
        names = [(path, parse_file_name(path.with_suffix(".json").name)) for path in paths]
        return [path for path, found in names if found is not None and found[0] in own]

    def _completed(self, content: SessionContent, proof: HookProof | None) -> SessionContent:
        """Add the newest answer on the wire, if the transcript lacks it and it is surely one.

        Older clients send side calls that look like the conversation's own, such as one that
        suggests the next prompt.
        """
        call = _unwritten(content)
        if call is None or self._capture is None:
            return content
        entry = answer_entry(self._capture, call)
        if entry is None:
            return content
        completed = replace(
            content, entries=[*content.entries, entry], source="transcript and wire"
        )
        known = content.answers()[-1:]
        is_open = not known or not known[0].is_whole
        is_proved = proof is not None and _has(completed.answers()[-1:], proof)
        is_sure = is_open or is_proved or call.request_class == "main"
        return completed if is_sure else content

    def _files(self) -> SessionFiles:
        """Return the files that can be opened: one of them may be anything, or be gone."""
        if self._capture is None:
            files = self._claude.session(self._session_id)
        else:
            files = transcript_files(self._claude, self._capture, self._session_id)
        return replace(
            files,
            main=tuple(path for path in files.main if _is_readable(path)),
            agents=tuple(agent for agent in files.agents if _is_readable(agent.path)),
        )

    def _exchanges(self) -> list[Exchange]:
        if self._capture is None:
            return []
        return session_exchanges(self._capture, self._session_id, self._claude)

    def _from_wire(self, exchanges: Sequence[Exchange]) -> list[Entry]:
        return [] if self._capture is None else wire_entries(self._capture, exchanges)


def _has(answers: Sequence[PromptAnswer], proof: HookProof) -> bool:
    return any(proof.is_of(part) for answer in answers for part in answer.parts[-1:])


def _is_overtaken(answers: Sequence[PromptAnswer], proof: HookProof) -> bool:
    """Whether a prompt was given after the last answer had ended."""
    if proof.prompted_at is None or not answers:
        return False
    ended = answers[-1].ended
    return ended is not None and answers[-1].is_whole and ended < proof.prompted_at


def _unwritten(content: SessionContent) -> Exchange | None:
    """Return the newest finished answer of the main thread, if the transcript lacks it.

    Lines are written in order: one that is newer than the answer proves that it has none.
    """
    own = [
        call
        for call in content.exchanges
        if is_of_thread(call) and call.agent_id is None and call.complete and call.message_id
    ]
    if not own:
        return None
    newest = max(own, key=lambda call: call.ended or call.started)
    names = {text(message_of(entry).get("id")) for entry in content.entries}
    main = (entry for entry in content.entries if entry.agent_id is None and not entry.sidechain)
    said = (entry.timestamp or 0 for entry in main if entry.type in ("user", "assistant"))
    is_written = newest.message_id in names or (newest.ended or 0) <= max(said, default=0.0)
    return None if is_written else newest


def _texts_on_the_wire(content: SessionContent, answer: PromptAnswer) -> int | None:
    """Return how many texts the answer's message has by the capture; None if it is not there."""
    calls = (call for call in content.exchanges if call.complete and call.message_id)
    own = [call for call in calls if call.message_id == answer.message_id]
    return (own[-1].blocks or {}).get("text", 0) if own else None


def _texts_written(content: SessionContent, answer: PromptAnswer) -> int:
    return sum(
        block.get("type") == "text"
        for entry in content.entries
        if text(message_of(entry).get("id")) == answer.message_id
        for block in entry.blocks
    )


def _changed(files: SessionFiles, since: float) -> bool:
    return any(_mtime(path) > since for path in files.main)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_readable(path: Path) -> bool:
    try:
        open_regular(path).close()
    except OSError:
        return False
    return True
