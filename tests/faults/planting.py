"""Exchanges with a secret at one position in one encoding, as the jobs that a recorder gets."""

import base64
import gzip
import itertools
import json
import logging
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import brotli
import zstandard

from ccwire.demo.stand_in import bedrock
from tests.addon.recording.recorders import START, STOP, RecorderRig
from tests.faults.made_secrets import Planted

type Encode = Callable[[str], str]
type Events = list[bytes]
type Headers = list[tuple[str, str]]

SESSION = "5e551011-0000-4000-8000-000000000001"


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _escaped(text: str) -> str:
    """Return the content of a JSON string with every character escaped."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def _half_escaped(text: str) -> str:
    return "".join(_escaped(c) if n % 3 == 0 else _in_json(c) for n, c in enumerate(text))


def _slashed(text: str) -> str:
    return _in_json(text).replace("/", "\\/")


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


# Of the text, before it is put into JSON.
OF_TEXT: dict[str, Encode] = {
    "plain": str,
    "percent": _percent,
    "percent twice": lambda text: urllib.parse.quote(_percent(text)),
    "base64": lambda text: base64.b64encode(f"x: {text} .".encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(f"ab {text} .".encode()).decode(),
}
# Of the content of a string in JSON.
OF_JSON: dict[str, Encode] = {
    "\\u escapes": _escaped,
    "some \\u escapes": _half_escaped,
    "\\/": _slashed,
}
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
SPLITS = ("two deltas", "many deltas", "two blocks", "two fields", "two data lines")
ENCODINGS = (*OF_TEXT, *OF_JSON, *COMPRESSED, *SPLITS)


@dataclass(frozen=True)
class Plant:
    """A secret to be planted in one encoding."""

    planted: Planted
    encoding: str

    @property
    def text(self) -> str:
        """Return the encoded secret as text; escapes of JSON as they are written."""
        if self.encoding in OF_JSON:
            return OF_JSON[self.encoding](self.planted.text)
        return OF_TEXT.get(self.encoding, str)(self.planted.text)

    @property
    def in_json(self) -> str:
        """Return the content of a string in JSON."""
        return self.text if self.encoding in OF_JSON else _in_json(self.text)

    def packed(self, body: bytes) -> tuple[bytes, Headers]:
        if pack := COMPRESSED.get(self.encoding):
            return pack(body), [("content-encoding", self.encoding)]
        return body, []

    def pieces(self) -> list[str]:
        """Return the contents of strings in JSON that together are the secret."""
        text = self.planted.text
        if self.encoding == "many deltas":
            return [_in_json(text[n : n + 3]) for n in range(0, len(text), 3)]
        if self.encoding in SPLITS:
            middle = (
                len(text)
                - len(self.planted.secret) // 2
                - text[::-1].index(self.planted.secret[-3:][::-1])
            )
            return [_in_json(text[:middle]), _in_json(text[middle:])]
        return [self.in_json]


type Run = Callable[[RecorderRig, str, Plant], None]


def _request(target: str = "/v1/messages", body: str | None = None, **more: Any) -> Run:
    """Plant in a request; {} is the text in the target, and the content of a string in the body."""

    def run(rig: RecorderRig, flow: str, plant: Plant) -> None:
        data, headers = b"{}", list(plant.planted.headers)
        if body is not None:
            data, packed = plant.packed(body.replace("{}", plant.in_json).encode())
            headers += packed
        headers += more.get("headers", [])
        headers = [(n.replace("{}", plant.text), v.replace("{}", plant.text)) for n, v in headers]
        path = target.replace("{}", urllib.parse.quote(plant.text, safe="/:@%\\"))
        named = [("x-claude-code-session-id", SESSION)]
        rig.begin(flow, target=path, body=data, headers=[*named, *headers])
        rig.answer(flow, START, STOP)
        rig.end(flow)

    return run


def _answer(
    body: str = "", content: str = "application/json", status: int = 200, **more: Any
) -> Run:
    def run(rig: RecorderRig, flow: str, plant: Plant) -> None:
        named = [("x-claude-code-session-id", SESSION)]
        rig.begin(flow, headers=[*named, *plant.planted.headers])
        is_json = content == "application/json"
        text = body.replace("{}", plant.in_json if is_json else plant.text)
        data, packed = plant.packed(text.encode())
        pairs = more.get("headers", [])
        headers = [(n, v.replace("{}", plant.text)) for n, v in pairs]
        rig.answer(
            flow,
            data,
            status=status,
            reason=more.get("reason", "OK").replace("{}", plant.text),
            headers=[("content-type", content), *packed, *headers],
        )
        rig.end(flow, error=more.get("error", "").replace("{}", plant.text) or None)

    return run


def _delta(block: int, delta: str) -> bytes:
    return (
        '{"type":"content_block_delta","index":%d,"delta":%s}' % (block, delta)  # noqa: UP031
    ).encode()


def _stream(make: Callable[[Plant], list[bytes]], *, is_frames: bool = False) -> Run:
    """Plant in a stream of events, each given as its data."""

    def run(rig: RecorderRig, flow: str, plant: Plant) -> None:
        named = [("x-claude-code-session-id", SESSION)]
        rig.begin(flow, headers=[*named, *plant.planted.headers])
        found = make(plant)
        if is_frames:
            start = b'{"type":"message_start","message":{"id":"msg_1","usage":{}}}'
            chunks = [bedrock.chunk(data) for data in (start, *found, b'{"type":"message_stop"}')]
            content = bedrock.CONTENT_TYPE
        else:
            chunks = [START, *(_event(data) for data in found), STOP]
            content = "text/event-stream"
        whole, packed = plant.packed(b"".join(chunks))
        if packed:
            chunks = [whole[n : n + 50] for n in range(0, len(whole), 50)]
        rig.answer(flow, *chunks, headers=[("content-type", content), *packed])
        rig.end(flow)

    return run


def _event(data: bytes) -> bytes:
    if data.startswith((b":", b"event:", b"data:")):
        return data
    kind = json.loads(data).get("type") if b"\n" not in data else "content_block_delta"
    lines = b"".join(b"data: %b\n" % line for line in data.split(b"\n"))
    return b"event: %b\n%b\n" % (str(kind).encode(), lines)


def _deltas(kind: str, name: str, before: str = "", after: str = "") -> Callable[..., list[bytes]]:
    """Return the events of one or two blocks; the secret is in the text field of their deltas."""

    def make(plant: Plant) -> list[bytes]:
        pieces = plant.pieces()
        if name == "partial_json":  # JSON in a string of JSON
            pieces = [_in_json(piece) for piece in pieces]
        pieces[0] = _in_json(before) + pieces[0]
        pieces[-1] += _in_json(after)
        deltas = [f'{{"type":"{kind}","{name}":"{piece}"}}' for piece in pieces]
        blocks = itertools.count() if plant.encoding == "two blocks" else itertools.repeat(0)
        if plant.encoding == "two fields":
            deltas = [f'{{"type":"{kind}","{name}":"{pieces[0]}","more":"{pieces[1]}"}}']
        if plant.encoding == "two data lines":
            deltas = [f'{{"type":"{kind}","{name}":"{pieces[0]}\n{pieces[1]}"}}']
        events: list[bytes] = []
        for block, found in itertools.groupby(zip(blocks, deltas, strict=False), lambda p: p[0]):
            events.append(
                b'{"type":"content_block_start","index":%d,"content_block":{"type":"text"}}' % block
            )
            events += [_delta(block, delta) for _, delta in found]
            events.append(b'{"type":"content_block_stop","index":%d}' % block)
        return events

    return make


def _one_event(data: str) -> Callable[[Plant], list[bytes]]:
    return lambda plant: [data.replace("{}", plant.in_json).encode()]


def _raw_event(data: str) -> Callable[[Plant], list[bytes]]:
    return lambda plant: [data.replace("{}", plant.text.replace("\n", " ")).encode()]


def _logged(rig: RecorderRig, flow: str, plant: Plant) -> None:
    for name, value in plant.planted.headers:
        rig.recorder._redactor.learn(name, value)
    logger = logging.getLogger("mitmproxy.proxy")
    logger.warning("Bad HTTP request line: %r", plant.text)
    try:
        raise ValueError(f"Invalid header: {plant.text}")
    except ValueError:
        logger.error("crashed", exc_info=True, stack_info=True)


_USER = '"messages":[{"role":"user","content":'
_TEXTS = [*OF_TEXT, *OF_JSON]
_BODIES = [*_TEXTS, *COMPRESSED]
_STREAMS = [*_BODIES, *SPLITS]
_IN_URL = list(OF_TEXT)
_FORM: Headers = [("content-type", "application/x-www-form-urlencoded")]

# Each position: how it is planted, and the encodings that exist there.
POSITIONS: dict[str, tuple[Run, list[str]]] = {
    "request header": (_request(headers=[("x-note", "see {} there")]), _TEXTS),
    "request header's name": (_request(headers=[("x-{}", "1")]), _TEXTS),
    "secret header": (_request(headers=[("x-api-key", "{}")]), _TEXTS),
    "URL path": (_request("/v1/{}/x"), _IN_URL),
    "URL query": (_request("/v1/messages?beta=true&q={}"), _IN_URL),
    "URL query's name": (_request("/v1/messages?{}=1"), _IN_URL),
    "form": (_request("/v1/oauth/form", "a=1&q={}", headers=_FORM), _BODIES),
    "system": (_request(body='{"model":"m","system":[{"type":"text","text":"{}"}]}'), _BODIES),
    "message": (_request(body='{"model":"m",' + _USER + '"see {} there"}]}'), _BODIES),
    "tool result": (
        _request(
            body="{" + _USER + '[{"type":"tool_result","tool_use_id":"toolu_1","content":'
            '[{"type":"text","text":"a\\n{}\\nb"}]}]}]}'
        ),
        _BODIES,
    ),
    "metadata": (_request(body='{"metadata":{"note":"{}"}}'), _BODIES),
    "name of a field": (_request(body='{"input":{"{}":1}}'), _BODIES),
    "JSON in a string": (
        lambda rig, flow, plant: _request(
            body='{"content":"' + _in_json('{"inner":"' + plant.in_json + '"}') + '"}'
        )(rig, flow, Plant(Planted("", "", "", plant.planted.headers), plant.encoding)),
        _BODIES,
    ),
    "request in plain text": (_request("/api/x", "see {} there"), _BODIES),
    "telemetry": (
        _request("/api/event_logging/batch", '{"events":[{"event_data":{"note":"{}"}}]}'),
        _BODIES,
    ),
    "answer header": (_answer("{}", headers=[("x-note", "see {} there")]), _TEXTS),
    "reason": (_answer("1", reason="no {}"), _TEXTS),
    "answer": (
        _answer('{"type":"message","id":"msg_1","content":[{"type":"text","text":"see {}."}]}'),
        _BODIES,
    ),
    "error answer": (
        _answer('{"type":"error","error":{"type":"bad","message":"no {}"}}', status=400),
        _BODIES,
    ),
    "answer in plain text": (_answer("no {} here", "text/plain"), _BODIES),
    "HTML answer": (_answer("<p>no {} here</p>", "text/html", 502), _BODIES),
    "connection error": (_answer("", error="peer sent {}"), _TEXTS),
    "text": (_stream(_deltas("text_delta", "text", "see ", ".")), _STREAMS),
    "thinking": (_stream(_deltas("thinking_delta", "thinking", "see ", " there")), _STREAMS),
    "tool input": (
        _stream(_deltas("input_json_delta", "partial_json", '{"command":"', '"}')),
        _STREAMS,
    ),
    "unknown delta": (_stream(_deltas("odd_delta", "odd")), _STREAMS),
    "error event": (
        _stream(_one_event('{"type":"error","error":{"type":"bad","message":"no {}"}}')),
        _BODIES,
    ),
    "unknown event": (_stream(_one_event('{"type":"odd","note":"{}"}')), _BODIES),
    "usage": (
        _stream(
            _one_event('{"type":"message_delta","delta":{"stop_reason":null},"usage":{"{}":1}}')
        ),
        _BODIES,
    ),
    "comment": (_stream(_raw_event(": see {}\n\n")), _BODIES),
    "event's name": (_stream(_raw_event('event: {}\ndata: {"type":"odd"}\n\n')), _BODIES),
    "unfinished event": (_stream(_raw_event("data: {}\n\n")), _BODIES),
    "Bedrock text": (_stream(_deltas("text_delta", "text", "see "), is_frames=True), _TEXTS),
    "Bedrock event": (_stream(_one_event('{"type":"odd","note":"{}"}'), is_frames=True), _TEXTS),
    "log": (_logged, _TEXTS),
}


def combinations() -> Iterator[tuple[str, str]]:
    for position, (_, encodings) in POSITIONS.items():
        for encoding in encodings:
            yield position, encoding
