"""Which data a snapshot may contain: field names and values of closed vocabularies.

Anything a user may have written or named (text, paths, ids, map keys, tool arguments) is excluded;
at worst, a single plain word passes by mistake.
"""

import re


def words(text: str) -> frozenset[str]:
    """Return the whitespace-separated words of a text as a set."""
    return frozenset(text.split())


# Objects that belong to a user, a tool or a server: their content is never examined.
SEALED = words(
    """input input_schema inputSchema output_schema outputSchema tool_input arguments properties
    structuredContent structured_output mcpMeta _meta env environment mcpServers mcp_servers
    hookSpecificOutput updatedInput"""
)
# Objects whose keys are names or ids, whatever they look like.
MAPS = words(
    """modelUsage trackedFileBackups features feature_gates dynamic_configs layer_configs
    modelCosts toolCounts tool_counts agents pastedContents"""
)
# Results of tools: only the keys used by the client's own tools are recorded.
LISTED = frozenset(("toolUseResult", "tool_response", "tool_result"))
RESULT_KEYS = words(
    """activeForm agentId agentType backgroundTaskId bashCount cache_creation
    cache_creation_input_tokens cache_read_input_tokens canContinueAgent canReadOutputFile
    code codeText content countIsComplete description durationMs durationSeconds
    editFileCount ephemeral_1h_input_tokens ephemeral_5m_input_tokens error exitCode file
    filenames filePath id inference_geo input_tokens interrupted is_error isAsync isError
    isImage iterations lines linesAdded linesRemoved message mode newLines newStart
    newString newTodos noOutputExpected numFiles numLines numMatches oldLines oldStart
    oldString oldTodos originalFile otherToolCount output output_tokens outputFile priority
    prompt query readCount replaceAll resolvedModel result results returnCodeInterpretation
    sandbox searchCount server_tool_use service_tier sourceToolAssistantUUID speed startLine
    status stderr stdout structuredPatch success task task_id taskId text toolStats
    totalDurationMs totalFiles totalLines totalMatches totalTokens totalToolUseCount
    truncated type url usage userModified verificationNudgeNeeded wasInterrupted web_fetch_requests
    web_search_requests"""
)

# Names whose values are words of the format itself.
CLOSED = words(
    """type subtype role stop_reason service_tier speed level userType user_type entrypoint
    permissionMode permission_mode hook_event_name hookEvent operation ttl media_type trigger
    attachmentType commandMode origin_kind display effort thinking_type caller_type
    agentStatus priority"""
)
# The same for names that hold free text elsewhere: (bucket prefix, name).
CLOSED_IN = (
    ("hook/SessionStart", "source"),
    ("hook/SessionEnd", "reason"),
    ("hook/Pre", "trigger"),
    ("transcript/mode", "mode"),
    ("transcript/permission-mode", "permissionMode"),
    ("wire/header/request/", "x-claude-code-request-class"),
    ("wire/header/request/", "x-app"),
)
# Strings that contain JSON.
EMBEDDED = frozenset(("user_id",))

_NAME = re.compile(r"[$_@#]{0,2}[A-Za-z][A-Za-z0-9_-]{0,63}")
_ID = re.compile(
    r"""\d{4} | (\d+\D+){2}\d                                   # long numbers, three numbers
    | ^(?=[a-f-]*\d)[0-9a-f-]{8,}$ | ^[0-9a-f]{16,}$            # hex
    | ^[a-z]{2,8}[_-](?=\w*[0-9A-Z])[0-9A-Za-z]{8,}$            # toolu_…, agent-…
    | ^claude-""",
    re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_ODD_WORD = re.compile(
    r"\d{1,2}[smhd]|[a-z][a-z_]{1,39}_20\d{6}|(image|audio|video|text|application)/[a-z0-9.+-]{1,40}"
)
_BETA = re.compile(r"[a-z][a-z0-9-]{1,60}-20\d\d-\d\d-\d\d")


def is_field_name(key: str) -> bool:
    """Whether a key looks like a field of a format, not like a name or an id in a map."""
    return _NAME.fullmatch(key) is not None and _ID.search(key) is None


def is_closed(bucket: str, name: str) -> bool:
    """Whether a field's values are words of the format, to be kept as an enum."""
    return name in CLOSED or any(
        name == closed and bucket.startswith(start) for start, closed in CLOSED_IN
    )


def is_word(value: str) -> bool:
    """Whether a value of a closed vocabulary is a plain word and not an id."""
    if _WORD.fullmatch(value) is None:
        return _ODD_WORD.fullmatch(value) is not None
    return _ID.search(value) is None or _ODD_WORD.fullmatch(value) is not None


def is_beta(value: str) -> bool:
    return _BETA.fullmatch(value) is not None
