"""The types of a case: what the stand-in answers, and how a release is run through it.

A `Case` is a list of steps in one project folder of its own: `Print` runs `claude -p`, `Together`
runs several at once, `OnScreen` drives the interactive screen. `Needs` decides which releases know
it. In the text of files, `@PYTHON@`, `@CLIENT@` and `@PROJECT@` are replaced. No I/O here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ccwire.demo.stand_in.ledger import Ledger
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.wire.versions import parse_version
from lab.screen import ClientScreen

FIRST_WITH_PROXY = "0.2.70"

GoOn = Literal["no", "continue", "resume", "fork"]


class RunningCase(Protocol):
    """What a case on the screen may look at while it runs."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def cwd(self) -> Path: ...

    def answer_with(self, scenario: Scenario) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a release must have: its number, options in `--help`, words in its program."""

    since: str = FIRST_WITH_PROXY
    options: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def lacking(self, version: str, help_text: str, contains: Callable[[str], bool]) -> str | None:
        """Return what this release lacks; None if it knows the case."""
        if parse_version(version) < parse_version(self.since):
            return f"known since {self.since}"
        for option in self.options:
            if option not in help_text:
                return f"no option {option}"
        for word in self.words:
            if not contains(word):
                return f"its program does not contain {word}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Print:
    """One run of `claude -p`.

    prompt      None: the scenario's own, made unique to the step
    go_on       continue the folder's newest session, resume it by its id, or fork it
    sends       messages on stdin as stream-json, in place of a prompt
    older       run this release in place of the one under test
    kill_after  SIGKILL the client when this many calls to the model were served
    tools       None: those of the scenario
    """

    scenario: Scenario
    prompt: str | None = None
    go_on: GoOn = "no"
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    sends: tuple[Mapping[str, Any], ...] = ()
    older: tuple[str, ...] = ()
    kill_after: int | None = None
    tools: tuple[str, ...] | None = None
    stream_json: bool = False


@dataclass(frozen=True, slots=True)
class Together:
    """Several runs at the same time, in one folder; the first one's scenario answers all."""

    runs: tuple[Print, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnScreen:
    """The interactive screen; `drive` types, presses and waits; `/exit` follows."""

    scenario: Scenario
    drive: Callable[[ClientScreen, RunningCase], None]
    go_on: GoOn = "no"
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


type Step = Print | Together | OnScreen


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A named case.

    needs       which releases know it
    files       files of the project, by relative path
    settings    settings of the client, in addition to the hooks of ccwire
    calls       fewer calls to the model than this: the release did not do what the case is about
    expects     labels of findings, one of which must be there
    seconds     the time limit of each step
    """

    name: str
    steps: tuple[Step, ...]
    needs: Needs = Needs()
    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 1
    expects: tuple[str, ...] = ()
    seconds: float = 45.0


def older_releases(cases: tuple[Case, ...]) -> tuple[str, ...]:
    """Return the releases that the cases need besides the one under test."""
    runs = [step for case in cases for step in case.steps if isinstance(step, Print)]
    return tuple(dict.fromkeys(version for run in runs for version in run.older))
