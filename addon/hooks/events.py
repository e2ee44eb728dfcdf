"""The hook events that ccwire handles, one line per event; everything else is derived from them.

A client up to 2.1.100 ignores a settings file with an unknown event, so only the events
that every release since 1.0.85 knows are installed. `ccwire run` asks the client for its version
and adds the others. This module imports nothing: the hook runs at every prompt.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ccwire.wire.versions import Version
    from ccwire.wire.vocabulary import HookEvent

# The event, the first release that knows it, whether it is installed; in the comment, its effect.
EVENTS: "tuple[tuple[HookEvent, Version, bool], ...]" = (
    ("SessionStart", (1, 0, 62), True),  # the session is the active one of its process
    ("SessionEnd", (1, 0, 85), True),  # the session has exited
    ("UserPromptSubmit", (1, 0, 62), True),  # active, even if it had exited
    ("Stop", (1, 0, 62), True),  # active, unless it has exited
    ("SubagentStart", (2, 0, 44), False),  # the same, and names an agent
    ("SubagentStop", (1, 0, 62), True),  # the same; names the agent where there is no start
)

HANDLED = tuple([event for event, _, _ in EVENTS])
INSTALLED = tuple([event for event, _, installed in EVENTS if installed])


def events_for(version: "Version") -> "tuple[HookEvent, ...]":
    """Return the events that a client of this version knows, for the settings of a single run."""
    return tuple([event for event, since, _ in EVENTS if version >= since])
