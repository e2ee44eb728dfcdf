"""Words of the client and the API that a copy keeps when they are a whole value or key."""

from correlate.schema.observe.vocabulary import words

_TOOLS = words(
    """Agent AskUserQuestion Bash BashOutput Brief Config CronCreate CronDelete CronList DesignSync
    Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP
    ListAgents ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead PowerShell REPL
    PushNotification Read ReadMcpResourceDirTool ReadMcpResourceTool RemoteTrigger ScheduleWakeup
    SendMessage SendUserFile SendUserMessage Skill SlashCommand StructuredOutput Task TaskCreate
    TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete TodoRead TodoWrite
    ToolSearch WebFetch WebSearch Workflow Write web_search web_fetch code_execution"""
)
_AGENT_TYPES = words(
    """general-purpose Explore Plan statusline-setup output-style-setup claude-code-guide builtin
    subagent worker fork"""
)
_VALUES = words(
    """true false null none auto any object string array integer number boolean user assistant
    system text json sse form binary empty main auxiliary compaction ephemeral standard completed
    async_launched default HTTP/1.0 HTTP/1.1 HTTP/2 HTTP/2.0 HTTP/3 HEAD"""
)
# A value equal to one of these reveals nothing about a user.
VOCABULARY = _TOOLS | _AGENT_TYPES | _VALUES

# Parameters of the client's own tools, and JSON Schema keywords: the keys kept in sealed objects.
SEALED_KEYS = words(
    """command description timeout run_in_background file_path content old_string new_string
    replace_all pattern path glob output_mode prompt subagent_type model notebook_path cell_id url
    query todos status activeForm limit offset skill args
    type properties required items enum additionalProperties $schema default anyOf oneOf allOf
    const minimum maximum minLength maxLength minItems maxItems format title propertyNames"""
)

# Fields that ccwire writes itself, as (parent, key).
OWN_WORDS = frozenset(
    [
        *(("", key) for key in words(
            """identified_by direction method scheme auth ended_by kind request_class stop_reason
            entrypoint"""
        )),
        ("body", "content_encoding"),
        ("events", "event"),
        ("gaps", "kind"),
    ]
)  # fmt: skip

# Prefixes of headers whose values come from the protocol or the client library.
HEADERS_KEPT = (
    "accept",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-ratelimit-",
    "anthropic-version",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "pragma",
    "retry-after",
    "sec-fetch-mode",
    "transfer-encoding",
    "vary",
    "x-should-retry",
    "x-stainless-",
)
PRODUCTS = words(
    """claude-cli claude-code claude-vscode agent-sdk axios Bun node undici external internal ant
    cli sdk-cli sdk-ts sdk-py"""
)
QUERY_KEYS = words("beta limit")
API_STEPS = words(
    """v1 v2 messages count_tokens batches api event_logging batch claude_code settings
    policy_limits claude_cli eval hello oauth models files
    model invoke invoke-with-response-stream count-tokens inference-profiles
    projects locations publishers anthropic count-tokens:rawPredict"""
)
