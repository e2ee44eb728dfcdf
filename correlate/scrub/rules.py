"""Decide what a copy keeps unchanged: only words of the formats themselves. Pure.

An allow-list: what a schema snapshot may contain (field names, words of closed vocabularies) and a
few values needed for accounting. Everything else is text and is replaced through `Names`.
"""

import http
import re
from collections.abc import Callable, Collection
from urllib.parse import unquote

from ccwire.wire.hosts import ANTHROPIC_DOMAINS
from ccwire.wire.models import base_model
from ccwire.wire.versions import is_version
from correlate.reconcile.request_facts import PURPOSES
from correlate.schema.observe.vocabulary import (
    CLOSED,
    EMBEDDED,
    LISTED,
    MAPS,
    RESULT_KEYS,
    SEALED,
    is_beta,
    is_closed,
    is_field_name,
    is_word,
)
from correlate.scrub.names import Names
from correlate.scrub.words import (
    API_STEPS,
    HEADERS_KEPT,
    OWN_WORDS,
    PRODUCTS,
    QUERY_KEYS,
    SEALED_KEYS,
    VOCABULARY,
)

CAPTURE, EXCHANGE, MANIFEST, RECORD = "capture", "exchange", "manifest", "record"

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)")
_MODEL = re.compile(
    r"claude-(?:[a-z]+-\d[\d.-]*|\d[\d.-]*-[a-z]+)(?:-(?:\d{8}|latest))?(?:\[1m\])?|<synthetic>"
)
# What Bedrock and Vertex write around a model's name; an ARN has the number of an account in it.
_CLOUD_MODEL = re.compile(
    r"(?:[a-z]{2,6}(?:-gov)?\.)?anthropic\.claude-[a-z0-9.-]+(?::\d+)?(?:\[1m\])?"
    r"|claude-[a-z0-9.-]+@\d{8}(?:\[1m\])?"
)
_ACTION = re.compile(r"(.+?)(:(?:rawPredict|streamRawPredict))?", re.DOTALL)
_ANTHROPIC_HOST = re.compile(
    rf"([a-z0-9-]+\.)*({'|'.join(map(re.escape, ANTHROPIC_DOMAINS))})(:\d+)?"
)
# The public hosts of a region; the paths there have names of users in them.
_CLOUD_HOST = re.compile(
    r"bedrock(-runtime)?(-fips)?\.[a-z]{2,4}(-[a-z]+){1,2}-\d\.amazonaws\.com(\.cn)?"
    r"|([a-z]+-[a-z]+\d{1,2}-)?aiplatform\.((eu|us)\.rep\.)?googleapis\.com"
)
_URL = re.compile(r"(https?://)([^/?#]*)([^?#]*)(\?.*)?", re.DOTALL)
_ERROR = re.compile(r"((?:[a-z]+_)*error: |)(.*)", re.DOTALL)
# Fixed error texts of the API and of ccwire.
_ERROR_TEXT = re.compile(
    r"(?:[a-z]+_)*error|Overloaded|Internal server error|no answer|the proxy was (killed|stopped)"
    r"|prompt is too long: \d+ tokens > \d+ maximum|the capture fell behind and lost the rest"
    r"|expected a (?:stream|message), got (?:other JSON|a body without a type|[a-z]+/[a-z.+-]+)"
    r"|the stream (?:has no message|ended without message_stop)"
)
_USER = re.compile(r"user_(.*?)_account_(.*?)_session_(.*)", re.DOTALL)
_TELLING = re.compile(r"[A-Za-z]{2}(?!.*\d\d:\d\d:\d\d)")  # times are not words
_REASONS = frozenset(status.phrase for status in http.HTTPStatus) | {"Overloaded"}
_PHRASES: dict[str, Collection[str]] = {"reason": _REASONS, "purpose": PURPOSES}
_ROOTS = (("body", "events", "data"), ("body", "data"))
_RECORDS = ("usage", "attachment", "delta", "content_block", "content", "system", "tools")
_SHORT = 80
_MOST_REMEMBERED = 50_000
_OURS = (CAPTURE, EXCHANGE, MANIFEST)


class Where:
    """The path to an object's keys or a list's items."""

    def __init__(
        self,
        document: str,
        path: tuple[str, ...] = (),
        *,
        sealed: bool = False,  # belongs to a user, a tool or a server
        listed: bool = False,  # a tool's result: only the client's own keys are kept
        in_list: bool = False,
    ) -> None:
        self.document = document
        self.path = path
        self.sealed = sealed
        self.listed = listed
        self.in_list = in_list
        self.last = path[-1] if path else ""
        roots = (root for root in _ROOTS if document == CAPTURE and path == root)
        # Whether a record starts here: all its keys are fields.
        self.is_root = not path or self.last in _RECORDS or next(roots, None) is not None
        self.decided: dict[tuple[str, str | None, bool], str] = {}  # cached decisions
        self._under: dict[str, Where] = {}
        self._items: Where | None = None

    @property
    def items(self) -> "Where":
        """The same path for the items of a list."""
        if self._items is None:
            self._items = Where(
                self.document, self.path, sealed=self.sealed, listed=self.listed, in_list=True
            )
        return self._items

    @property
    def of_map(self) -> bool:
        return self.last in MAPS and not self.in_list

    def under(self, key: str) -> "Where":
        found = self._under.get(key)
        if found is None:
            found = Where(
                self.document,
                (*self.path, key),
                sealed=self.sealed or key in SEALED,
                listed=self.listed or key in LISTED,
            )
            if len(self._under) < _MOST_REMEMBERED:
                self._under[key] = found
        return found


class Rules:
    """Decides on every key and string; `kept` collects the words left unchanged, for review."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.kept: set[str] = set()
        self.roots = {name: Where(name) for name in (*_OURS, RECORD)}
        self._host = ""  # of the current capture file; it precedes the path
        self._headers: dict[str, Callable[[str], str]] = {
            "anthropic-beta": self._betas,
            "user-agent": self._user_agent,
            "host": self._host_name,
        }

    def key(self, where: Where, key: str, is_map: bool) -> str:
        """Return a key or its replacement; `is_map`: the object's keys are names or ids."""
        return self._once(where, (key, None, is_map), lambda: self._key(where, key, is_map))

    def _key(self, where: Where, key: str, is_map: bool) -> str:
        if where.of_map and _is_model(key):
            return self._keep(key)
        if where.sealed:
            return self._keep(key) if key in SEALED_KEYS else self.names.name(key)
        if where.document == MANIFEST and where.path == ("drift",):
            return self._keep(key)
        if where.document == CAPTURE and where.path == ("query",):
            return self._keep(key) if key in QUERY_KEYS else self.names.name(key)
        if is_map or where.of_map:
            return self.names.name(key)
        known = key in RESULT_KEYS if where.listed else is_field_name(key)
        return self._keep(key) if known else self.names.name(key)

    def value(self, where: Where, key: str, value: str, *, item: bool) -> str:
        """Return a string or its replacement; `item`: it is in a list under that key."""
        if len(value) > _SHORT or (where.document in _OURS and where.path == ()):
            return self._value(where, key, value, item)  # a path depends on its host
        return self._once(where, (key, value, item), lambda: self._value(where, key, value, item))

    def _value(self, where: Where, key: str, value: str, item: bool) -> str:
        if value in VOCABULARY:
            return self._keep(value)
        if where.sealed:
            is_name = key == "required" and value in SEALED_KEYS
            return self._keep(value) if is_name else self.names.text(value)
        if where.last == "headers" and not where.in_list:
            return self._header(key, value)
        if where.document in _OURS and (own := self._own(where, key, value)) is not None:
            return own
        if _TIME.fullmatch(value):
            return value
        if key in EMBEDDED and (user := _USER.fullmatch(value)):
            return self._user(user)
        if self._is_kept(where, key, value, item):
            return self._keep(value)
        if key == "querySource":
            return self._source(value)
        return self._betas(value) if key == "betas" else self.names.text(value)

    def _once(
        self, where: Where, asked: tuple[str, str | None, bool], decide: Callable[[], str]
    ) -> str:
        known = where.decided.get(asked)
        if known is None:
            known = decide()
            if len(where.decided) < _MOST_REMEMBERED:
                where.decided[asked] = known
        return known

    def number(self, where: Where, text: str) -> str:
        return self.names.number(text) if where.sealed else text

    def _is_kept(self, where: Where, key: str, value: str, item: bool) -> bool:
        if _is_model(value) or ("ersion" in key and is_version(value)):
            return True
        if where.listed or item or not is_word(value):
            return False
        of_usage = "usage" in where.path or "usage_at_start" in where.path
        return of_usage or key in CLOSED or is_closed(_bucket(where), key)

    def _own(self, where: Where, key: str, value: str) -> str | None:
        """Handle fields that ccwire itself writes; None: no special rule applies."""
        if (where.path, key) in (((), "host"), ((), "path"), ((), "url"), ((), "error")):
            return {
                "host": self._host_name,
                "path": self._api_path,
                "url": self._url,
                "error": self._error,
            }[key](value)
        if where.path == () and value in _PHRASES.get(key, ()):
            return self._keep(value)
        is_ours = (where.last, key) in OWN_WORDS and is_word(value)
        return self._keep(value) if is_ours or where.path == ("rate_limits",) else None

    def _header(self, name: str, value: str) -> str:
        if name in self._headers:
            return self._headers[name](value)
        closed = is_closed("wire/header/request/", name) and is_word(value)
        if closed or name.startswith(HEADERS_KEPT):
            return self._keep(value)
        return self.names.text(value)

    def _user_agent(self, value: str) -> str:
        """Keep known products and versions: `claude-cli/2.1.325 (external, cli)`."""

        def piece(found: re.Match[str]) -> str:
            name, slash, version = found[0].partition("/")
            known = name in PRODUCTS and (not slash or re.fullmatch(r"v?\d[\w.-]*", version))
            return self._keep(found[0]) if known else self.names.name(found[0])

        return re.sub(r"[^\s(),;]+", piece, value)

    def _betas(self, value: str) -> str:
        def piece(found: re.Match[str]) -> str:
            return self._keep(found[0]) if is_beta(found[0]) else self.names.name(found[0])

        return re.sub(r"[^\s,]+", piece, value)

    def _host_name(self, value: str) -> str:
        self._host = value
        return self._keep(value) if _is_public(value) else self.names.name(value)

    def _api_path(self, value: str) -> str:
        ours = _ANTHROPIC_HOST.fullmatch(self._host) is not None
        return "/".join(
            self._keep(step)
            if step in API_STEPS or _is_model_step(step) or (ours and is_field_name(step))
            else self.names.name(step)
            for step in value.split("/")
        )

    def _url(self, value: str) -> str:
        found = _URL.fullmatch(value)
        if found is None:
            return self.names.text(value)
        host = self._keep(found[2]) if _is_public(found[2]) else self.names.name(found[2])
        return found[1] + host + self._api_path(found[3]) + self._query(found[4] or "")

    def _query(self, text: str) -> str:
        def piece(found: re.Match[str]) -> str:
            known = found[0] in QUERY_KEYS or found[0] in VOCABULARY
            return self._keep(found[0]) if known else self.names.name(found[0])

        return re.sub(r"[^?&=]+", piece, text)

    def _error(self, value: str) -> str:
        """Keep the API's error type: `overloaded_error: …`."""
        found = _ERROR.fullmatch(value)
        assert found is not None
        message = found[2]
        known = _ERROR_TEXT.fullmatch(message) is not None
        return self._keep(found[1]) + (self._keep(message) if known else self.names.text(message))

    def _user(self, found: re.Match[str]) -> str:
        device, account, session = map(self.names.name, found.groups())
        return f"user_{device}_account_{account}_session_{session}"

    def _source(self, value: str) -> str:
        """Keep all but user-chosen names: `agent:builtin:general-purpose`."""
        first, *rest = value.split(":")
        start = self._keep(first) if is_word(first) else self.names.name(first)
        named = [self._keep(p) if p in VOCABULARY else self.names.name(p) for p in rest]
        return ":".join((start, *named))

    def _keep(self, text: str) -> str:
        if _TELLING.search(text):
            self.kept.add(text)
        return text


def _is_public(host: str) -> bool:
    return bool(_ANTHROPIC_HOST.fullmatch(host) or _CLOUD_HOST.fullmatch(host))


def _is_model(text: str) -> bool:
    if _MODEL.fullmatch(text):
        return True
    return bool(_CLOUD_MODEL.fullmatch(text) and _MODEL.fullmatch(base_model(text)))


def _is_model_step(step: str) -> bool:
    """Return whether a step of a path is a model: `claude-opus-5-5:rawPredict`."""
    found = _ACTION.fullmatch(unquote(step))
    return found is not None and _is_model(found[1])


def _bucket(where: Where) -> str:
    """Return the part of the bucket name that closed vocabularies depend on."""
    is_mode = where.document == RECORD and where.path == ()
    return "transcript/mode" if is_mode else ""
