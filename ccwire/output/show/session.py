"""`ccwire show` without a number: the conversation of a session, or its final answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from addon.hooks.answer_proof import key_beside, proves
from addon.hooks.sessions import SessionEntry, default_sessions_path, read_sessions
from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError
from ccwire.output.hints import session_command
from ccwire.output.redacted import redacted
from ccwire.output.show.about import about_line, print_about, print_about_markdown
from ccwire.output.show.conversation import print_conversation, print_markdown
from ccwire.output.terminal import SafeConsole, echo, page, print_json, write_exactly
from ccwire.sessions.argument import FoundSession, captured_session
from ccwire.sessions.heads import hook_records
from ccwire.wire.times import moment
from correlate.show.answer_json import answer_json
from correlate.show.conversation import Item, conversation_items
from correlate.show.final_answer import PromptAnswer
from correlate.show.session_content import HookProof, SessionContent, SessionReader
from correlate.transcript.about import About, read_about
from correlate.transcript.locate import ClaudeDir


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A session that was found, and how it is to be printed."""

    session: FoundSession
    captures: CaptureFolders
    claude_dir: Path
    full: bool = False
    markdown: bool = False
    use_pager: bool = True

    def print(self) -> None:
        content = self._reader().read()
        items, about = self._items(content), self._about(content)
        notes = [*filter(None, [about_line(about)]), *self._notes(content, items)]
        prompts = len(content.answers())
        show = self._markdown if self.markdown else partial(self._text, prompts)
        page(partial(show, items, about, notes), use_pager=self.use_pager)

    def print_json(self) -> None:
        content = self._reader().read()
        items = [item.to_json() for item in self._items(content)]
        print_json(
            {
                "session_id": content.session_id,
                "from": content.source,
                "about": self._about(content).to_json(),
                "items": items,
            }
        )

    def print_answer(self, turn: int | None, *, as_json: bool) -> None:
        content = self._reader().read_settled(self._proof())
        answers = content.answers()
        chosen = self._chosen(answers, turn)
        doubt = _doubt(content, answers, chosen, alone=turn is not None)
        if as_json:
            told = answer_json(content, answers, chosen, alone=turn is not None)
            print_json({**told, "is_final": doubt is None, "doubt": doubt})
            return
        if content.source != "transcript":
            echo(f"ccwire: {_WIRE_ANSWER}", err=True)
        if doubt is not None:
            echo(f"ccwire: {doubt}.", err=True)
        elif not chosen.text:
            echo("ccwire: the last message has no text.", err=True)
        # Other than a conversation, this is to be used as it is; secrets are still left out.
        write_exactly(redacted(chosen.printed).encode("utf-8", "backslashreplace"))

    def _chosen(self, answers: list[PromptAnswer], turn: int | None) -> PromptAnswer:
        session_id = self.session.session_id
        if turn is None:
            answered = [answer for answer in answers if answer.parts]
            if not answered:
                raise UserError(f"session {session_id} has no answer yet; repeat this later.")
            return answered[-1]
        place = turn - 1 if turn > 0 else turn + len(answers)
        if turn == 0 or not 0 <= place < len(answers):
            has = f"1 to {len(answers)}" if answers else "none"
            raise UserError(f"session {session_id} has no prompt {turn}; its prompts are {has}.")
        if not answers[place].parts:
            raise UserError(f"prompt {turn} of session {session_id} has no answer.")
        return answers[place]

    def _reader(self) -> SessionReader:
        folder = self.session.folder
        if folder is None:
            try:
                found = captured_session(self.session.session_id, self.captures, self.claude_dir)
                folder = found.capture  # `unknown/`: the oldest clients name no session
            except UserError:
                folder = None
        return SessionReader(self.session.session_id, folder, ClaudeDir(self.claude_dir))

    def _items(self, content: SessionContent) -> list[Item]:
        items = conversation_items(
            content.entries, content.agents, content.calls, content.transcript.compactions
        )
        if items:
            return items
        if not content.exchanges:
            raise UserError(f"session {content.session_id} has no message in its transcript.")
        calls = session_command(
            "show", content.session_id, self.captures, self.claude_dir, "--calls"
        )
        raise UserError(
            f"session {content.session_id} has no message yet; `{calls}` lists what was captured."
        )

    def _notes(self, content: SessionContent, items: list[Item]) -> list[str]:
        notes = []
        if content.source == "wire":
            notes.append("From the wire: there is no transcript, and nothing before a compaction.")
        if any(item.call is not None for item in items):
            command = session_command(
                "show", content.session_id, self.captures, self.claude_dir, "N"
            )
            notes.append(f"`{command}` shows exchange N.")
        return notes

    def _text(
        self, prompts: int, items: list[Item], about: About, notes: list[str], to: SafeConsole
    ) -> None:
        session_id, full = self.session.session_id, self.full
        print_conversation(to, session_id, items, prompts=prompts, full=full, notes=notes)
        print_about(to, about, full=self.full)

    def _markdown(self, items: list[Item], about: About, notes: list[str], to: SafeConsole) -> None:
        print_markdown(to, self.session.session_id, items, full=self.full, notes=notes)
        print_about_markdown(to, about, full=self.full)

    def _about(self, content: SessionContent) -> About:
        hooks = hook_records(self._entries())
        return read_about(ClaudeDir(self.claude_dir), content.transcript, content.entries, hooks)

    def _entries(self) -> list[SessionEntry]:
        every = read_sessions(default_sessions_path())
        return [entry for entry in every if entry.session_id == self.session.session_id]

    def _proof(self) -> HookProof | None:
        """Return what the hooks recorded of the session's last prompt and last answer."""
        own = self._entries()
        if not own:
            return None
        proof = own[-1].last_answer
        key = key_beside(str(default_sessions_path()))
        at = moment(proof.get("at"))
        return HookProof(at, lambda message: proves(proof, message, key), own[-1].prompted_at)


def _doubt(
    content: SessionContent,
    answers: Sequence[PromptAnswer],
    chosen: PromptAnswer,
    *,
    alone: bool,
) -> str | None:
    """Return why this may not be the final answer; None if it is, as far as is known."""
    last = answers[-1]
    if alone and chosen is not last:
        return None if chosen.is_whole else "this answer was not ended"
    if chosen is not last:
        reason = "was interrupted and has no answer" if last.is_interrupted else "has no answer yet"
        return f"the last prompt {reason}; this is the answer to an earlier one"
    if chosen.is_interrupted:
        return "the answer was interrupted; this is what is written of it"
    if content.missing is not None:
        return f"{content.missing}; this is the last answer that is written"
    return None if chosen.is_whole else "the answer is not complete; this is what is written of it"


_WIRE_ANSWER = "from the wire: the transcript does not have this answer."
