"""Read what `ccwire show` needs of a session: the lines of its conversation, agents and calls.

From the transcript where there is one, else from the capture. A transcript may lag behind: an
answer is waited for, and taken from the capture if it never arrives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import text
from ccwire.wire.regular_file import open_regular
from correlate.captures.folder import transcript_files
from correlate.reconcile.session import TranscriptWait
from correlate.show.conversation import AgentLink, message_of
from correlate.show.final_answer import PromptAnswer, prompt_answers
from correlate.show.stored import session_exchanges
from correlate.show.wire_conversation import answer_entry, is_of_thread, wire_entries
from correlate.transcript.conversation import Entry, read_conversation
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.reader import Transcript, read_transcript

_QUIET = 0.3  # seconds without a new line, after which an answer is taken to be complete

Source = Literal["transcript", "wire", "transcript and wire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContent:
    """A session as it was read; `exchanges` is empty if nothing was captured."""

    session_id: str
    source: Source
    entries: Sequence[Entry]
    transcript: Transcript
    exchanges: Sequence[Exchange]

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
        return prompt_answers(self.entries)


@dataclass(frozen=True, slots=True)
class HookProof:
    """What a Stop hook recorded of the last answer: when, and a test of a text."""

    at: float
    is_of: Callable[[str], bool]


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
        return self._completed(content, proof)

    def _is_awaited(
        self, content: SessionContent, proof: HookProof | None, patience: TranscriptWait
    ) -> bool:
        now = patience.now()
        since = now - patience.recent
        last = content.answers()[-1:]
        if proof is not None and proof.at > since:
            return not _has(last, proof)
        if content.source == "wire":  # a new session's file may have no message yet
            return _changed(self._files(), since)
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

    def _completed(self, content: SessionContent, proof: HookProof | None) -> SessionContent:
        """Add the newest answer on the wire, if the transcript lacks it and it is surely one.

        Older clients send side calls that look like the conversation's own, such as one that
        suggests the next prompt.
        """
        call = _unwritten(content)
        last = max((entry.timestamp or 0 for entry in content.entries), default=0.0)
        if call is None or self._capture is None or (call.ended or 0) <= last:
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


def _unwritten(content: SessionContent) -> Exchange | None:
    """Return the newest finished answer of the main thread, if the transcript lacks it."""
    own = [
        call
        for call in content.exchanges
        if is_of_thread(call) and call.agent_id is None and call.complete and call.message_id
    ]
    if not own:
        return None
    newest = max(own, key=lambda call: call.ended or call.started)
    names = {text(message_of(entry).get("id")) for entry in content.entries}
    return None if newest.message_id in names else newest


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
    for path in files.main:
        try:
            if path.stat().st_mtime > since:
                return True
        except OSError:
            continue
    return False


def _is_readable(path: Path) -> bool:
    try:
        open_regular(path).close()
    except OSError:
        return False
    return True
