"""The command is run by bash and curl, and a server on loopback compares what it gets."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlate.captures.folder import read_exchanges, read_request, read_request_bytes
from correlate.show.curl import NotRepeatable, curl_command
from tests.properties import property_test
from tests.recorded import SESSION, Recorded

KEY = "<redacted:api_key:0123456789abcdef>"
ODD_TEXTS = (
    "plain",
    'it\'s a "quote", `backticks`, $HOME ${HOME} $(id) !history \\ \\\\ %s',
    "two\nlines\r\nand a tab\t",
    "EOF\nEOF2\n EOF\nEOF3",
    "ends with a line feed\n",
    "ends with several\n\n\n",
    "\n",
    "wide 日本語 and 🙂 and e\u0301",
    "unseen \u200b \u202e \x7f \x85 \x1b[31m",
    "-d @/etc/hostname",
    "@/etc/hostname",
    "'; echo broken; '",
)


@dataclass
class Seen:
    """What a request was when it arrived."""

    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@contextmanager
def server() -> Iterator[tuple[str, Seen]]:
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            seen.method, seen.path = self.command, self.path
            seen.headers = {name.lower(): value for name, value in self.headers.items()}
            seen.body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_HEAD = do_PUT = handle_any

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_port}", seen
        finally:
            http.shutdown()


def stored(url: str, body: Any, kind: str = "json", **more: Any) -> tuple[dict[str, Any], bytes]:
    """Return a request file, and its bytes in the layout that captures have."""
    data = {"type": kind, "size": 0} | ({} if body is None else {"data": body})
    headers = {"content-type": "application/json", "host": "api.anthropic.com"}
    file = {"method": "POST", "url": url, "auth": "none", "headers": headers, **more, "body": data}
    return file, json.dumps(file, ensure_ascii=False).encode()


def run(command: str, tmp_path: Path, **variables: str) -> None:
    """Run a command with no other environment: no proxy, no settings of curl."""
    script = tmp_path / "call.sh"
    script.write_bytes(command.encode())
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), **variables}
    ran = subprocess.run(["bash", str(script)], env=environment, capture_output=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, b"")


pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("bash")), reason="needs bash and curl"
)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("kind", ["json", "text"])
def test_any_body_arrives_byte_for_byte(tmp_path: Path, kind: str, text: str) -> None:
    with server() as (url, seen):
        body = {"messages": [{"role": "user", "content": text}]} if kind == "json" else text
        file, data = stored(f"{url}/v1/messages", body, kind)
        run(curl_command(file, data).text, tmp_path)
    sent = json.dumps(body, ensure_ascii=False) if kind == "json" else text
    assert seen.body == sent.encode()
    assert (seen.method, seen.path) == ("POST", "/v1/messages")


def test_json_keeps_its_spaces_its_numbers_and_its_lines(tmp_path: Path) -> None:
    exact = b'{ "a" :1.0e2,\n"b": [ 1,2 ],"c":"\\u00e9\\ud83d\\ude42 EOF\\n"\n}'
    with server() as (url, seen):
        file, _ = stored(url, json.loads(exact))
        head, end = json.dumps({**file, "body": None}).encode()[:-5], b"}"
        data = head + b'{"type": "json", "size": 1, "data": ' + exact + b"}" + end
        assert json.loads(data)["body"]["data"] == json.loads(exact)
        run(curl_command(file, data).text, tmp_path)
    assert seen.body == exact


def test_a_large_body_arrives_whole(tmp_path: Path) -> None:
    body = {"text": "It's $5.\n" * 300_000}
    with server() as (url, seen):
        file, data = stored(url, body)
        run(curl_command(file, data).text, tmp_path)
    assert seen.body == json.dumps(body, ensure_ascii=False).encode()


def test_captured_calls_arrive_as_they_are_stored(recorded: Recorded, tmp_path: Path) -> None:
    folder = recorded.captures / SESSION
    calls = [call for call in read_exchanges(folder) if call.kind == "messages"]
    assert calls
    for call in calls:
        data = read_request_bytes(folder, call.sequence)
        with server() as (url, seen):
            file = {**read_request(folder, call.sequence), "url": f"{url}/v1/messages?beta=true"}
            made = curl_command(file, data)
            run(made.text, tmp_path, ANTHROPIC_API_KEY="a-key")
        assert made.variables == ("ANTHROPIC_API_KEY",)
        assert seen.headers["x-api-key"] == "a-key"
        assert seen.body in data
        assert json.loads(seen.body) == file["body"]["data"]
        for name in ("user-agent", "anthropic-version", "content-type"):
            assert seen.headers[name] == file["headers"][name]
        assert not any("<redacted" in value for value in seen.headers.values())


def test_secrets_are_variables(tmp_path: Path) -> None:
    headers = {
        "authorization": "<redacted:bearer:01>",
        "x-api-key": KEY,
        "x-portkey-api-key": "<redacted:api_key:02>",
        "cookie": "<redacted:cookie:03>",
        "referer": "https://example.test/?key=<redacted:key:04>&a=<redacted:key:05>",
    }
    with server() as (url, seen):
        file, data = stored(f"{url}/x?token=<redacted:path:06>&b[]={{1}}", {}, headers=headers)
        made = curl_command(file, data)
        names = {name: f"the $value of '{name}'" for name in made.variables}
        run(made.text, tmp_path, **names | {"REDACTED_PATH": "t"})
    assert made.variables == (
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_API_KEY",
        "REDACTED_X_PORTKEY_API_KEY",
        "REDACTED_COOKIE",
        "REDACTED_REFERER",
        "REDACTED_REFERER_2",
        "REDACTED_PATH",
    )
    assert seen.headers["authorization"] == "Bearer the $value of 'ANTHROPIC_AUTH_TOKEN'"
    assert seen.headers["x-api-key"] == "the $value of 'ANTHROPIC_API_KEY'"
    assert seen.headers["referer"] == (
        "https://example.test/?key=the $value of 'REDACTED_REFERER'"
        "&a=the $value of 'REDACTED_REFERER_2'"
    )
    assert seen.path == "/x?token=t&b[]={1}"
    assert "<redacted" not in made.text


def test_a_secret_that_is_not_set_is_not_sent(tmp_path: Path) -> None:
    with server() as (url, seen):
        file, data = stored(url, {}, headers={"x-api-key": KEY, "x-app": "cli"})
        run(curl_command(file, data).text, tmp_path)
    assert "x-api-key" not in seen.headers
    assert seen.headers["x-app"] == "cli"


def test_headers_of_the_connection_are_left_out(tmp_path: Path) -> None:
    headers = {
        "accept-encoding": "br",
        "connection": "close",
        "content-encoding": "zstd",
        "content-length": "9999",
        "host": "api.anthropic.com",
        "transfer-encoding": "chunked",
        "x-empty": "",
        "x-odd": "it's `odd` $HOME",
        "@/etc/passwd": "x",
        "x-broken": "a\r\nx-injected: b",
    }
    with server() as (url, seen):
        file, data = stored(url, {"a": 1}, headers=headers)
        made = curl_command(file, data).text
        run(made, tmp_path)
    assert seen.headers["content-length"] == "8"
    assert seen.headers["host"] == url.removeprefix("http://")
    assert seen.headers["x-empty"] == ""
    assert seen.headers["x-odd"] == "it's `odd` $HOME"
    assert {"accept-encoding", "content-encoding", "transfer-encoding"}.isdisjoint(seen.headers)
    assert "/etc/passwd" not in made and "x-injected" not in made


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "POST"])
def test_a_request_without_a_body_has_its_method(tmp_path: Path, method: str) -> None:
    with server() as (url, seen):
        file, data = stored(f"{url}/api/hello", None, "empty", method=method)
        run(curl_command(file, data).text, tmp_path)
    assert (seen.method, seen.path, seen.body) == (method, "/api/hello", b"")


def test_a_form_is_encoded_anew(tmp_path: Path) -> None:
    with server() as (url, seen):
        file, data = stored(url, {"a": "1 2", "b": ["x", "y&"]}, "form")
        made = curl_command(file, data)
        run(made.text, tmp_path)
    assert seen.body == b"a=1+2&b=x&b=y%26"
    assert made.notes == ("the form is encoded anew, and its bytes may differ",)


def test_what_is_redacted_in_the_body_is_noted() -> None:
    file, data = stored("http://127.0.0.1/", {"user": KEY, "other": KEY})
    (note,) = curl_command(file, data).notes
    assert note == "the body is sent with 2 values redacted, as `<redacted:…>`"


def test_the_body_and_the_headers_are_redacted_again(tmp_path: Path) -> None:
    with server() as (url, seen):
        file, data = stored(url, {"a": "my-secret"}, headers={"x-a": "my-secret"})
        made = curl_command(file, data, lambda text: text.replace("my-secret", KEY))
        run(made.text, tmp_path)
    assert "my-secret" not in made.text
    assert seen.body == json.dumps({"a": KEY}).encode()
    assert made.variables == ("REDACTED_X_A",)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"auth": "sigv4"}, "signed for AWS"),
        ({"headers": {"x-hub-signature-256": "<redacted:bearer:01>"}}, "x-hub-signature-256"),
        ({"url": "file:///etc/passwd"}, "no URL"),
        ({"url": "-K/etc/passwd"}, "no URL"),
        ({"method": "POST; id"}, "no URL or method"),
        ({"method": None}, "no URL or method"),
    ],
)
def test_what_cannot_be_repeated_has_a_reason(more: dict[str, Any], reason: str) -> None:
    file, data = stored("https://api.anthropic.com/v1/messages", {})
    with pytest.raises(NotRepeatable, match=reason):
        curl_command({**file, **more}, data)


def test_a_binary_body_is_not_stored() -> None:
    file, data = stored("https://api.anthropic.com/v1/files", None, "binary")
    with pytest.raises(NotRepeatable, match=r"its body \(binary\) is not stored"):
        curl_command(file, data)


def test_a_null_byte_cannot_be_sent() -> None:
    file, data = stored("https://api.anthropic.com/v1/files", "a\0b", "text")
    with pytest.raises(NotRepeatable, match="null byte"):
        curl_command(file, data)


def test_damaged_bytes_have_a_reason() -> None:
    file, _ = stored("https://api.anthropic.com/v1/messages", {})
    with pytest.raises(NotRepeatable, match="cannot be read"):
        curl_command(file, b'{"body": {"data": {"a"')


@property_test
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60))
def test_bash_gives_any_text_to_curl(text: str) -> None:
    """Only the shell's part is run: `cat` in the place of curl."""
    file, data = stored("http://127.0.0.1/?a&b", text, "text")
    first, _, rest = curl_command(file, data).text.partition("| curl")
    _, _, document = rest.partition("'http://127.0.0.1/?a&b'\n")
    script = f"{first}| cat\n{document}".encode()
    ran = subprocess.run(["bash"], input=script, capture_output=True, timeout=30)
    assert ran.stdout == text.encode()
