"""The content view of an API stream in mitmproxy."""

import sys

import pytest
from inline_snapshot import snapshot
from mitmproxy.contentviews import Metadata, prettify_message
from mitmproxy.contentviews._registry import ContentviewRegistry
from mitmproxy.contentviews._view_raw import raw
from mitmproxy.http import Response
from mitmproxy.test import taddons, tflow

from addon.view import AnswerView, answer_text
from ccwire.demo.stand_in import bedrock
from ccwire.demo.stand_in.scenario import Answer, Failure, Raw, Text, Thinking, Usage, bash
from ccwire.demo.stand_in.stream import Call, error_event, events

CALL = Call(seed=1, order=1, model="claude-opus-5-5", offered=frozenset({"Bash"}))
USAGE = Usage(
    input_tokens=3_441,
    output_tokens=8_211,
    cache_read_input_tokens=16_601,
    ephemeral_5m_input_tokens=3_232,
)


def stream(*content: Text | Thinking | Raw, last: int | None = None) -> bytes:
    answer = Answer((*content, bash("echo <b>é</b>")), usage=USAGE)
    return b"".join(list(events(answer, CALL, USAGE))[:last])


def shown(data: bytes, content_type: str = "text/event-stream; charset=utf-8") -> tuple[str, str]:
    """Return the text as mitmproxy shows it, and the view that it chose."""
    registry = ContentviewRegistry()
    registry.register(raw)
    registry.register(AnswerView())
    flow = tflow.tflow(resp=Response.make(200, data, {"content-type": content_type}))
    assert flow.response is not None
    with taddons.context() as context:
        context.options.add_option("protobuf_definitions", str, "", "")
        result = prettify_message(flow.response, flow, registry=registry)
    return result.view_name or "", result.text


def test_a_stream_is_shown_as_its_answer_and_usage() -> None:
    view, text = shown(stream(Thinking("Let me see."), Text("Two words.")))
    assert view == "Claude answer"
    assert text == snapshot("""\
claude-opus-5-5 · msg_01ghxTDoOu8SBmi6Ni7pLbkD · tool_use
usage     input 3,441 · output 8,211 · cache read 16,601 · cache write 5m 3,232
at start  input 3,441 · output 2 · cache read 16,601 · cache write 5m 3,232
          service_tier: "standard"
          inference_geo: "not_available"
events    message_start, 3 content_block_start, ping, 12
          content_block_delta, 3 content_block_stop, message_delta,
          message_stop

── thinking ────────────────────────────────────────────────────────────
Let me see.

── text ────────────────────────────────────────────────────────────────
Two words.

── tool_use Bash toolu_010fI0LBJzvNj23nH9u3Sucx ────────────────────────
{
  "command": "echo <b>é</b>",
  "description": "Run a command of the lab"
}
""")


def test_a_cut_stream_is_marked_and_its_start_is_shown() -> None:
    text = answer_text(stream(Text("Said before the cut."), last=6))
    assert "CUT OFF   no message_stop event" in text
    assert "Said before" in text
    assert "usage     input 3,441 · output 2 ·" in text


def test_half_an_event_is_counted_not_shown() -> None:
    whole = stream(Text("All of it."))
    text = answer_text(whole + b"event: message_st")
    assert "left over 17 bytes of an incomplete event" in text


def test_an_error_event_is_named() -> None:
    failure = Failure(status=529, type="overloaded_error", message="Overloaded")
    text = answer_text(stream(Text("Begun."), last=4) + error_event(failure))
    assert "ERROR     overloaded_error: Overloaded" in text


def test_an_error_without_a_message_is_shown_too() -> None:
    failure = Failure(status=529, type="overloaded_error", message="Overloaded")
    assert "overloaded_error: Overloaded" in answer_text(error_event(failure))


def test_a_block_nobody_knows_is_shown_whole() -> None:
    text = answer_text(stream(Raw({"type": "hologram", "depth": {"mm": 3}})))
    assert "── hologram ─" in text
    assert '"mm": 3' in text


def test_tool_input_that_was_cut_is_shown_as_it_came() -> None:
    data = stream()
    text = answer_text(data[: data.rindex(b"event: content_block_delta")])
    assert "── tool_use Bash toolu_01" in text
    assert '{"command": "echo' in text


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (b'data: {"type": "response.created"}\n\n', "text/event-stream"),
        (b"event: message_start\ndata: not json\n\n", "text/html"),
        (b"", "text/event-stream"),
    ],
)
def test_what_is_no_answer_is_left_to_the_other_views(data: bytes, content_type: str) -> None:
    view, _ = shown(data, content_type)
    assert view == "Raw"


def test_a_stream_that_only_looks_like_one_falls_back_to_its_bytes() -> None:
    view, text = shown(b"event: message_start\ndata: not json\n\n")
    assert view == "Raw"
    assert "not json" in text


def test_the_view_sorts_among_mitmproxy_s_own() -> None:
    assert AnswerView() < raw
    assert AnswerView().render_priority(b"", Metadata()) < 0


def test_the_module_is_free_of_mitmproxy() -> None:
    assert "mitmproxy" not in vars(sys.modules["addon.view"])


def test_bedrocks_frames_are_shown_as_the_same_answer() -> None:
    whole = stream(Text("Two words."))
    frames = b"".join(bedrock.frames(events(Answer((Text("Two words."),)), CALL, USAGE), USAGE))
    view, text = shown(frames, bedrock.CONTENT_TYPE)
    assert view == "Claude answer"
    assert text.splitlines()[:3] == [
        line.replace("tool_use", "end_turn") for line in shown(whole)[1].splitlines()[:3]
    ]
    assert "Two words." in text
    cut = shown(frames[:-9], bedrock.CONTENT_TYPE)[1]
    assert "CUT OFF   no message_stop event" in cut and "damaged" in cut
    assert shown(b"rubbish of some length", bedrock.CONTENT_TYPE)[0] != "Claude answer"


def test_the_view_shows_no_secret() -> None:
    key = "sk-ant-api03-" + "MADEUP" * 4
    view, text = shown(stream(Text(f"see {key} there")))
    assert view == "Claude answer"
    assert "MADEUP" not in text and "see <redacted:api_key:" in text
