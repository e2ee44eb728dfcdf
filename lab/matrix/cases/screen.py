"""Cases on the interactive screen: what a user does between two prompts."""

import time
from collections.abc import Callable
from contextlib import suppress

from ccwire.demo.stand_in.ledger import Served
from ccwire.demo.stand_in.scenario import Scenario, bash
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.scripted import with_tool
from lab.matrix.case import Case, Needs, OnScreen, Print, RunningCase
from lab.screen import ClientScreen

_PLAIN, _BASH, _COMPACT = named("plain"), named("bash"), named("compact")
_SLOW = named("slow:deltas=400,delay=0.05")
_ALLOWED = ("--allowedTools", "Bash,Task,Agent")
_MODES = Needs(options=("--permission-mode",))
_SINCE_1 = Needs(since="1.0.0")
_SHIFT_TAB = "\x1b[Z"
_SETTLE = 0.4  # seconds for the lines of the last answer, and for side calls to begin


class User:
    """The user: asks, and waits until the stand-in has answered."""

    def __init__(self, screen: ClientScreen, running: RunningCase) -> None:
        self.screen = screen
        self._running = running
        self._before = len(running.ledger.messages())
        self._asked = 0
        screen.ready()

    def calls(self) -> list[Served]:
        """Return the calls to the model since the case began."""
        return self._running.ledger.messages()[self._before :]

    def ask(self, scenario: Scenario, calls: int = 1) -> None:
        """Submit the scenario's prompt and wait for this many calls that offer tools."""
        before = len(self._main())
        self.begin(scenario)
        self.screen.until(lambda: len(self._main()) >= before + calls, f"{calls} calls")
        self.settle()

    def begin(self, scenario: Scenario) -> None:
        self._running.answer_with(scenario)
        self._asked += 1
        self.screen.submit(f"{scenario.prompt} Number {self._asked}.")

    def more_calls(self, what: str, action: Callable[[], None], seconds: float = 20.0) -> None:
        """Do something and wait for one more call to the model."""
        before = len(self.calls())
        action()
        self.screen.until(lambda: len(self.calls()) > before, what, seconds)
        self.settle()

    def settle(self) -> None:
        self._running.ledger.wait()
        time.sleep(_SETTLE)

    def _main(self) -> list[Served]:
        return [call for call in self.calls() if call.tools]


def _prompts(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    user.ask(_BASH, calls=2)


def _agents(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(named("three_subagents"), calls=7)
    user.ask(_PLAIN)


def _clear(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    screen.submit("/clear")
    screen.until(lambda: "A plain answer" not in screen.text(), "an empty screen")
    user.settle()
    user.ask(_BASH, calls=2)


def _compact(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_COMPACT)
    user.ask(_COMPACT)
    user.more_calls("the summary", lambda: screen.submit("/compact"))
    screen.expect("ompacted")
    user.ask(_PLAIN)


def _streaming(screen: ClientScreen) -> None:
    """Wait until an answer is on its way; older releases show its text only at its end."""
    with suppress(TimeoutError):
        screen.expect("www", 4.0)
    time.sleep(_SETTLE)


def _interrupt(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.begin(_SLOW)
    _streaming(screen)
    screen.press("escape")
    screen.expect("nterrupted")
    user.settle()
    user.ask(_PLAIN)


def _interrupt_tool(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(with_tool("waiting", bash("tail -f /dev/null")))
    screen.press("escape")
    with suppress(TimeoutError):  # some releases say nothing about it
        screen.expect("nterrupted", 4.0)
    user.settle()
    user.ask(_PLAIN)


def _queue(screen: ClientScreen, running: RunningCase) -> None:
    """Submit a second prompt while the first is being answered."""
    user = User(screen, running)
    user.begin(named("slow:deltas=150,delay=0.02"))
    _streaming(screen)
    user.more_calls("both answers", lambda: screen.submit("And this as well, please."))
    user.settle()


def _rewind(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    user.ask(_PLAIN)
    screen.press("escape", "escape")
    screen.expect("Rewind")
    screen.press("up", "enter")
    screen.until(lambda: "onversation" in screen.text(), "the choice")
    time.sleep(_SETTLE)
    screen.press("enter")
    time.sleep(2 * _SETTLE)
    user.more_calls("the prompt sent again", lambda: screen.press("enter"))


def _model(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    screen.submit("/model haiku")
    screen.until(lambda: screen.text().count("odel") > 1, "the model's name")
    user.settle()
    if "Switch model?" in screen.text():
        screen.press("enter")
        user.settle()
    user.ask(_PLAIN)


def _plan(screen: ClientScreen, running: RunningCase) -> None:
    """Cycle through the permission modes until plan mode is on."""
    user = User(screen, running)
    for _ in range(4):
        if "plan mode on" in screen.text():
            break
        screen.type(_SHIFT_TAB)
        time.sleep(_SETTLE)
    screen.expect("plan mode on")
    user.ask(_PLAIN)


def _permission(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(with_tool("asking", bash("touch asked")))
    screen.expect("Do you want")
    time.sleep(_SETTLE)
    user.more_calls("the tool's result", lambda: screen.press("enter"))


def _suggestion(screen: ClientScreen, running: RunningCase) -> None:
    """The client suggests the next prompt after an answer, from the second one on."""
    user = User(screen, running)
    user.ask(_PLAIN)
    user.more_calls("the second answer", lambda: user.begin(_PLAIN))
    time.sleep(4 * _SETTLE)
    user.settle()


def _side_question(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    user.more_calls("the side answer", lambda: screen.submit("/btw what is a lab"))
    screen.press("escape")
    user.ask(_PLAIN)


def _context(screen: ClientScreen, running: RunningCase) -> None:
    user = User(screen, running)
    user.ask(_PLAIN)
    screen.submit("/context")
    screen.expect("ontext")
    user.settle()
    user.ask(_PLAIN)


def _shell(screen: ClientScreen, running: RunningCase) -> None:
    """Run a command oneself, with `!`."""
    user = User(screen, running)
    screen.type("!")
    time.sleep(_SETTLE)
    screen.submit("echo by-hand")
    time.sleep(_SETTLE)
    user.ask(_PLAIN)


def _go_on(screen: ClientScreen, running: RunningCase) -> None:
    User(screen, running).ask(_PLAIN)


def _on_screen(
    name: str,
    drive: Callable[[ClientScreen, RunningCase], None],
    *options: str,
    scenario: Scenario = _PLAIN,
    needs: Needs = _SINCE_1,
    env: dict[str, str] | None = None,
    calls: int = 2,
) -> Case:
    step = OnScreen(scenario=scenario, drive=drive, options=options, env=env or {})
    return Case(name=f"screen_{name}", steps=(step,), needs=needs, calls=calls)


CASES = (
    _on_screen("prompts", _prompts, *_ALLOWED, calls=3),
    _on_screen("agents", _agents, *_ALLOWED, calls=8),
    _on_screen("clear", _clear, *_ALLOWED, calls=3),
    _on_screen("compact", _compact, scenario=_COMPACT, calls=4),
    _on_screen("interrupt", _interrupt),
    _on_screen("interrupt_tool", _interrupt_tool, *_ALLOWED),
    _on_screen("queue", _queue),
    _on_screen("rewind", _rewind, needs=Needs(since="2.0.0"), calls=3),
    _on_screen("model", _model, needs=Needs(since="1.0.62")),
    _on_screen("plan", _plan, needs=_MODES, calls=1),
    _on_screen("permission", _permission, needs=_MODES),
    _on_screen(
        "suggestion",
        _suggestion,
        env={"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "1"},
        needs=Needs(words=("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION",)),
    ),
    _on_screen("side_question", _side_question, needs=Needs(words=('name:"btw"',)), calls=3),
    _on_screen("context", _context, needs=Needs(since="1.0.86")),
    _on_screen("shell", _shell, calls=1),
    Case(
        name="screen_resumes_print",
        steps=(
            Print(scenario=_BASH),
            OnScreen(scenario=_PLAIN, drive=_go_on, go_on="resume"),
        ),
        needs=Needs(since="1.0.0", options=("--resume",)),
        calls=3,
    ),
)  # fmt: skip
