"""Programs that use Anthropic's SDKs, in Python and Node: captured and filed, streaming and not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.sdks import SdksUnreachable, node_sdks, python_sdks
from tests.e2e.isolated_run import (
    IsolatedRun,
    check_filed_under_the_run,
    check_no_file_has_the_key,
    isolated_run,
)
from tests.e2e.real_rig import NEWEST, client_or_skip

pytestmark = pytest.mark.real

PLAIN_PYTHON = """
import asyncio
from anthropic import Anthropic, AsyncAnthropic, DefaultAioHttpClient

call = dict(model="claude-opus-4-5", max_tokens=64, messages=[{"role": "user", "content": "hi"}])
ids = [Anthropic().messages.create(**call).id]
with Anthropic().messages.stream(**call) as stream:
    ids.append(stream.get_final_message().id)

async def other_http_clients():
    ids.append((await AsyncAnthropic().messages.create(**call)).id)
    async with AsyncAnthropic(http_client=DefaultAioHttpClient()) as client:
        ids.append((await client.messages.create(**call)).id)

asyncio.run(other_http_clients())
print(*ids)
"""

PLAIN_NODE = """
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic();
const messages = [{ role: "user", content: "hi" }];
const call = { model: "claude-opus-4-5", max_tokens: 64, messages };
const answer = await client.messages.create(call);
const streamed = await client.messages.stream(call).finalMessage();
console.log(answer.id, streamed.id);
"""

AGENT_PYTHON = """
import asyncio, json, sys
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

async def main():
    options = ClaudeAgentOptions(include_partial_messages=sys.argv[1] == "streaming")
    async for message in query(prompt="hi", options=options):
        if isinstance(message, ResultMessage):
            print(json.dumps({"session": message.session_id, "error": message.is_error}))

asyncio.run(main())
"""

AGENT_NODE = """
import { query } from "@anthropic-ai/claude-agent-sdk";
const [mode, pathToClaudeCodeExecutable] = process.argv.slice(2);
const options = { pathToClaudeCodeExecutable, includePartialMessages: mode === "streaming" };
for await (const message of query({ prompt: "hi", options }))
  if (message.type === "result")
    console.log(JSON.stringify({ session: message.session_id, error: message.is_error }));
"""


def sdks_or_skip(fetch: Callable[[], Path]) -> Path:
    try:
        return fetch()
    except SdksUnreachable as error:
        pytest.skip(f"NOT RUN: the SDKs could not be fetched: {error}")


def node_script(folder: Path, text: str) -> str:
    """Write a script beside the packages that it imports."""
    (folder / "node_modules").symlink_to(sdks_or_skip(node_sdks) / "node_modules")
    script = folder / "app.mjs"
    script.write_text(text)
    return str(script)


def test_the_plain_sdk_of_python(tmp_path: Path) -> None:
    run = isolated_run(tmp_path, str(sdks_or_skip(python_sdks)), "-c", PLAIN_PYTHON)
    check_filed_under_the_run(run, 4)
    assert set(run.stdout.split()) == {call["message_id"] for call in run.served}
    assert sorted(call["stream"] for call in run.served) == [False, False, False, True]
    check_no_file_has_the_key(tmp_path)


def test_the_plain_sdk_of_node(tmp_path: Path) -> None:
    run = isolated_run(tmp_path, "node", node_script(tmp_path, PLAIN_NODE))
    check_filed_under_the_run(run, 2)
    assert set(run.stdout.split()) == {call["message_id"] for call in run.served}
    assert sorted(call["stream"] for call in run.served) == [False, True]
    check_no_file_has_the_key(tmp_path)


@pytest.mark.parametrize("mode", ["streaming", "whole"])
def test_the_agent_sdk_of_python(mode: str, tmp_path: Path) -> None:
    run = isolated_run(tmp_path, str(sdks_or_skip(python_sdks)), "-c", AGENT_PYTHON, mode)
    check_filed_under_its_session(run)
    check_no_file_has_the_key(tmp_path)


@pytest.mark.parametrize("mode", ["streaming", "whole"])
def test_the_agent_sdk_of_node(mode: str, tmp_path: Path) -> None:
    client = client_or_skip(NEWEST)
    script = node_script(tmp_path, AGENT_NODE)
    run = isolated_run(tmp_path, "node", script, mode, client.command[0])
    check_filed_under_its_session(run)
    check_no_file_has_the_key(tmp_path)


def check_filed_under_its_session(run: IsolatedRun) -> None:
    """The SDK starts a client, which names its session."""
    assert run.returncode == 0, (run.stdout, run.stderr)
    result = json.loads(run.stdout)
    assert result["error"] is False
    served = run.message_request_ids()
    assert served
    assert served <= run.calls(result["session"])
    assert not run.captured.get("unknown")
