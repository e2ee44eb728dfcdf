"""Profiles of the client's releases: the behaviour that a capture shows, measured on real clients.

`profile("2.1.39")` returns the profile of that release, or of the newest known one before it.
"""

from dataclasses import dataclass, field, replace

from ccwire.wire.versions import is_version, parse_version

_FIRST_HOOKS = frozenset({"PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop"})
_SESSION_HOOKS = _FIRST_HOOKS | {"UserPromptSubmit", "PreCompact", "SessionStart", "SessionEnd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The behaviour of one release.

    user_id          format of metadata.user_id: "hash", "text" (user_…_session_…) or "json"
    session_header, agent_header, class_header, prompt_header, call_header
                     which of the client's own request headers it sends; call_header has a new id
                     per attempt
    subagents        their transcript: "inline", "beside" (agent-<id>.jsonl), "folder" (subagents/)
    agent_meta       writes agent-<id>.meta.json
    background       subagents run in the background and send a notification when they are done
    usage            in the transcript: "final", "placeholder" (as in message_start), "sidechain"
                     (final in subagents, else placeholder), "last" (final on a call's last line)
    line_a_call      one transcript line per response, else one per content block
    request_id       transcript lines contain the response's request-id
    stop_reason      transcript lines contain the final stop reason, else null
    side_call        when it makes an auxiliary call: per prompt ("prompt"), per prompt of the
                     interactive screen ("screen"), before each command ("command"), or never (None)
    count_tokens     calls count_tokens at startup, without a session
    warm_ups         number of subagents started to warm the cache
    statsig          number of telemetry calls to statsig (a tenth of the real number)
    starting, ending other calls, before SessionStart and after SessionEnd
    streamed_retry   failures that are retried with streaming: "status", "drop"; others, and error
                     events in every release, are retried without
    api_error_lines  writes system/api_error to the transcript for a failed attempt
    aborted_line     writes an assistant line with isAbortedMidStream for an interrupted response
    resume_copies    --resume copies the old lines to a new file, under a new session
    forks            supports --fork-session
    settings         supports --settings
    hooks            the supported hook events; with `strict_hooks`, an unknown event disables every
                     hook of its file
    compact_boundary /compact writes system/compact_boundary
    live_record      writes sessions/<pid>.json
    cost_state       writes cost-state, and the api-request records that requestRef refers to
    """

    version: str
    model: str
    small_model: str
    agent_tool: str = "Task"
    user_id: str = "text"
    session_header: bool = False
    agent_header: bool = False
    class_header: bool = False
    prompt_header: bool = False
    call_header: bool = False
    subagents: str = "inline"
    agent_meta: bool = False
    background: bool = False
    usage: str = "final"
    line_a_call: bool = False
    request_id: bool = True
    stop_reason: bool = False
    side_call: str | None = "command"
    count_tokens: bool = False
    warm_ups: int = 0
    statsig: int = 0
    starting: tuple[str, ...] = ()
    ending: str | None = None
    streamed_retry: frozenset[str] = frozenset()
    api_error_lines: bool = False
    aborted_line: bool = False
    resume_copies: bool = False
    forks: bool = True
    settings: bool = True
    hooks: frozenset[str] = field(default_factory=frozenset)
    strict_hooks: bool = False
    compact_boundary: bool = True
    live_record: bool = False
    cost_state: bool = False

    @property
    def release(self) -> tuple[int, ...]:
        return parse_version(self.version)


def profile(version: str) -> Profile:
    """Return the profile of a release; raise ValueError if it is older than every known one."""
    if not is_version(version):
        raise ValueError(f"expected a release such as 2.1.39, got {version!r}")
    wanted = parse_version(version)
    known = [found for found in PROFILES.values() if found.release <= wanted]
    if not known:
        raise ValueError(f"no profile for {version}; known releases: {', '.join(PROFILES)}")
    return replace(known[-1], version=version)


_V1_0_0 = Profile(
    version="1.0.0",
    model="claude-sonnet-4-20250514",
    small_model="claude-3-5-haiku-20241022",
    user_id="hash",
    line_a_call=True,
    request_id=False,
    stop_reason=True,
    resume_copies=True,
    forks=False,
    settings=False,
    compact_boundary=False,
)
_V1_0_30 = replace(
    _V1_0_0,
    version="1.0.30",
    line_a_call=False,
    request_id=True,
    stop_reason=False,
    usage="sidechain",
    statsig=3,
    hooks=_FIRST_HOOKS,
)
_V1_0_100 = replace(
    _V1_0_30,
    version="1.0.100",
    model="claude-opus-4-1-20250805",
    user_id="text",
    usage="final",
    settings=True,
    hooks=_SESSION_HOOKS,
    strict_hooks=True,
)
_V2_0_73 = replace(
    _V1_0_100,
    version="2.0.73",
    model="claude-sonnet-4-5-20250929",
    small_model="claude-haiku-4-5-20251001",
    subagents="beside",
    count_tokens=True,
    warm_ups=2,
    statsig=6,
    starting=("/api/claude_code/settings", "/api/eval/sdk-lab"),
    ending="/api/event_logging/batch",
    resume_copies=False,
    forks=True,
    hooks=_SESSION_HOOKS | {"SubagentStart"},
    strict_hooks=False,
    compact_boundary=True,
)
_V2_1_39 = replace(
    _V2_0_73,
    version="2.1.39",
    subagents="folder",
    usage="placeholder",
    warm_ups=0,
    statsig=0,
    starting=(*_V2_0_73.starting, "/api/claude_code/policy_limits"),
    streamed_retry=frozenset({"status"}),
)
_V2_1_78 = replace(
    _V2_1_39,
    version="2.1.78",
    agent_tool="Agent",
    user_id="json",
    usage="last",
    stop_reason=True,
    side_call=None,
    count_tokens=False,
    agent_meta=True,
)
_V2_1_98 = replace(
    _V2_1_78,
    version="2.1.98",
    session_header=True,
    call_header=True,
    usage="final",
    live_record=True,
)
_V2_1_139 = replace(_V2_1_98, version="2.1.139", agent_header=True, side_call="prompt")
_V2_1_168 = replace(
    _V2_1_139,
    version="2.1.168",
    model="claude-opus-4-8",
    starting=(*_V2_1_39.starting, "/api/claude_cli/bootstrap"),
    ending="/api/event_logging/v2/batch",
    streamed_retry=frozenset({"status", "drop"}),
)
_V2_1_274 = replace(
    _V2_1_168,
    version="2.1.274",
    model="claude-opus-5",
    class_header=True,
    background=True,
    api_error_lines=True,
)
_V2_1_325 = replace(
    _V2_1_274,
    version="2.1.325",
    model="claude-opus-5-5",
    small_model="claude-haiku-5-5",
    prompt_header=True,
    side_call="screen",
    aborted_line=True,
    cost_state=True,
)

PROFILES = {
    found.version: found
    for found in (
        _V1_0_0,
        _V1_0_30,
        _V1_0_100,
        _V2_0_73,
        _V2_1_39,
        _V2_1_78,
        _V2_1_98,
        _V2_1_139,
        _V2_1_168,
        _V2_1_274,
        _V2_1_325,
    )
}
