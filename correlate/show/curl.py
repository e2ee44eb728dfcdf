"""A captured request as a curl command. Pure.

A secret is not in a capture: in its place the command has a shell variable. The body is a quoted
here-document, in which the shell replaces nothing; `head` removes the line feed after it.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from ccwire.wire.json_text import as_dict, text, text_at
from correlate.show.blocks import headers_of

_REDACTED = re.compile(r"<redacted:([a-z0-9_-]*)[^>]*>", re.IGNORECASE)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL = re.compile(r"https?://[^\s]+")
# Of one connection, or of what curl does by itself. The body is stored decoded.
_LEFT_OUT = frozenset(
    (
        *("accept-encoding", "connection", "content-encoding", "content-length", "expect", "host"),
        *("keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade"),
    )
)
_VARIABLES = {"authorization": "ANTHROPIC_AUTH_TOKEN", "x-api-key": "ANTHROPIC_API_KEY"}
_OTHER_VARIABLE = "REDACTED_"  # before the name of any other: $USER or $PATH are not ours to send
_SCHEMES = {"authorization": "Bearer "}  # a redacted value has lost it
_BREAKS = re.compile(r"[\r\n\0]")


class NotRepeatable(ValueError):
    """The reason, as the end of a sentence, why a request cannot be sent again."""


@dataclass(frozen=True, slots=True)
class CurlCommand:
    """The command, the variables to set first, and sentences about what differs."""

    text: str
    variables: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Variables:
    """The shell variables of a command, one per redacted value."""

    names: dict[str, str] = field(default_factory=dict)

    def quoted(self, value: str, variable: str | None = None) -> str:
        """Return a word of the shell; redacted values in it become variables.

        Without a name for them, they are named after the kind of secret.
        """
        words: list[str] = []
        done = 0
        for found in _REDACTED.finditer(value):
            if literal := value[done : found.start()]:
                words.append(shlex.quote(literal))
            wanted = variable or _variable(found[1] or "value")
            words.append(f'"${{{self._of(found[0], wanted)}}}"')
            done = found.end()
        if value[done:]:
            words.append(shlex.quote(value[done:]))
        return "".join(words)

    def _of(self, mark: str, wanted: str) -> str:
        taken = [known for known in self.names.values() if re.fullmatch(rf"{wanted}(_\d+)?", known)]
        return self.names.setdefault(mark, f"{wanted}_{len(taken) + 1}" if taken else wanted)


def curl_command(
    file: Mapping[str, Any], stored: bytes, clean: Callable[[str], str] = str
) -> CurlCommand:
    """Return the command that sends a request again; raise NotRepeatable.

    `stored` are the bytes of the file: JSON is sent as it was, byte for byte. `clean` redacts.
    """
    headers = headers_of(file)
    _check_signature(file, headers)
    url, method = text(file.get("url")) or "", text(file.get("method")) or ""
    if not _URL.fullmatch(url) or not _TOKEN.fullmatch(method):
        raise NotRepeatable("its file has no URL or method that can be sent")
    body = _body(file, stored, clean)
    variables = _Variables()
    arguments = ["curl -sS", "--head" if method == "HEAD" else f"-X {shlex.quote(method)}"]
    if as_dict(as_dict(file.get("body")).get("data")).get("stream") is True:
        arguments.append("--no-buffer")
    arguments += [
        f"-H {_header(variables, name, clean(value))}"
        for name, value in headers.items()
        if _is_sent(name, value)
    ]
    if body:
        arguments.append("--data-binary @-")
    arguments.append(f"--globoff {variables.quoted(clean(url))}")
    command = " \\\n  ".join(arguments)
    if body:
        command = _here_document(body, command)
    return CurlCommand(command + "\n", tuple(variables.names.values()), tuple(_notes(file, body)))


def _check_signature(file: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    if file.get("auth") == "sigv4":
        raise NotRepeatable("it was signed for AWS, and a signature is valid for minutes only")
    for name, value in headers.items():
        if "signature" in name.lower() and _REDACTED.search(value):
            raise NotRepeatable(f"it was signed (header {name}), and the signature is not stored")


def _header(variables: _Variables, name: str, value: str) -> str:
    if not value.strip():
        return shlex.quote(f"{name};")  # curl sends a header without a value only so
    known = name.lower()
    scheme = _SCHEMES.get(known, "") if _REDACTED.match(value) else ""
    return variables.quoted(f"{name}: {scheme}{value}", _VARIABLES.get(known, _variable(known)))


def _variable(name: str) -> str:
    return _OTHER_VARIABLE + re.sub(r"\W+", "_", name, flags=re.ASCII).upper()


def _is_sent(name: str, value: str) -> bool:
    is_valid = _TOKEN.fullmatch(name) is not None and not _BREAKS.search(value)
    return is_valid and name.lower() not in _LEFT_OUT


def _body(file: Mapping[str, Any], stored: bytes, clean: Callable[[str], str]) -> str:
    body = as_dict(file.get("body"))
    data, kind = body.get("data"), body.get("type")
    if kind == "empty":
        return ""
    if "data" not in body:
        raise NotRepeatable(f"its body ({kind}) is not stored")
    if kind == "form":
        return clean(urlencode(as_dict(data), doseq=True))
    if kind == "text":
        if "\0" in str(data):
            raise NotRepeatable("its body has a null byte, which no shell can pass on")
        return clean(str(data))
    try:
        exact = text_at(stored.decode(), "body", "data")
    except ValueError as error:
        raise NotRepeatable(f"its file cannot be read ({error})") from error
    return clean(exact or "")


def _here_document(body: str, command: str) -> str:
    size = len(_encoded(body))
    lines = set(body.split("\n"))
    end, number = "EOF", 1
    while end in lines:
        number += 1
        end = f"EOF{number}"
    return f"head -c {size} <<'{end}' | {command}\n{body}\n{end}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _notes(file: Mapping[str, Any], body: str) -> list[str]:
    fields = as_dict(file.get("body"))
    notes = []
    if marks := len(_REDACTED.findall(body)):
        values = "1 value" if marks == 1 else f"{marks:,} values"
        notes.append(f"the body is sent with {values} redacted, as `<redacted:…>`")
    if fields.get("type") == "form":
        notes.append("the form is encoded anew, and its bytes may differ")
    if fields.get("decode_error"):
        notes.append(f"the body is not whole ({fields['decode_error']})")
    return notes
