"""Fields that are private by name: who the user is, and what a login exchanges."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from addon.redaction.views import DecodedText

_PRIVATE = (
    rb"device_?[iI][dD]|account_?(?:[uU][uU])?[iI][dD]|organization_?(?:[uU][uU])?[iI][dD]"
    rb"|org_?(?:[uU][uU])?[iI][dD]|organization_?[nN]ame|tenant_?[iI][dD]"
    rb"|email_?(?:[aA]ddress)?|user_?[iI][dD]|user_?[eE]mail|full_?[nN]ame|display_?[nN]ame"
    rb"|(?:access|refresh|id|session|auth)_?[tT]oken|(?:client_?)?[aA]ssertion"
    rb"|client_?[sS]ecret|code_?[vV]erifier|password|passwd|api_?[kK]ey"
)
# Ordinary words otherwise: only with a value that is no word.
_LOGIN = rb"(?:code|state|token|nonce)(?=\\*\"\s*:\s*\\*\"(?:[A-Za-z]*+[^A-Za-z\"\\]){2})"
_NAME = rb"(?:%b|%b)" % (_PRIVATE, _LOGIN)
_FIELD = re.compile(rb'"(%b)"\s*:\s*"(?!\{\\*")((?:[^"\\]|\\.)++)(?=")' % _NAME)
# OAuth answers have the user's and the organization's ids in objects of these names.
_OWNER = re.compile(rb'"(account|organization)"\s*:\s*\{([^{}]{0,4000})\}')
_OF_OWNER = re.compile(rb'"(?:uu)?(?:id|name)"\s*:\s*"((?:[^"\\]|\\.)++)(?=")')
# A text that ends within such a field or object, or within what may be its name.
_OPEN = re.compile(
    rb'\\*"(?:%b|code|state|token|nonce)\\*"\s*(?::\s*(?:\\*"(?:[^"\\]|\\.)*+\\?)?)?\Z'
    rb'|\\*"(?:account|organization)\\*"\s*(?::\s*(?:\{[^{}]{0,4000}+)?)?\Z'
    rb'|\\*"\w{0,24}+\Z' % _PRIVATE
)
_USER = re.compile(rb"\buser_([0-9A-Za-z\-]++)_account_([0-9A-Za-z\-]*+)(?=_session_)")
_USER_ID = re.compile(rb'"user_id"\s*:\s*"(?:[^"\\]|\\.)*+"')
_OF_SESSION = re.compile(rb"_session_[A-Za-z0-9\-]+\Z")
_DONE = (b"<redacted:", b"user_<redacted:")
_KINDS = (
    *("device", "account", "organization", "email", "user", "token", "secret", "password"),
    *("signature", "credential", "key", "state", "name", "assertion"),
)

_QUERY_NAME = re.compile(
    rf"{_PRIVATE.decode()}|code|state|nonce|sig|signature|token|auth|secret|jwt|id_token_hint"
    r"|(?i:x-(?:amz|goog)-(?:signature|credential|security-token)"
    r"|(?:[a-z]+[-_])?(?:api|subscription|access|account|auth|shared)?[-_]?(?:key|token|secret)"
    r"|x-api-key|authorization|pass(?:word|wd)?|pwd)"
)


class Private(NamedTuple):
    """A private value in a text."""

    start: int
    end: int
    kind: str
    value: bytes


def private_in(text: bytes) -> Iterator[Private]:
    """Find the private fields of JSON, not those of JSON inside its strings."""
    for found in _USER.finditer(text):
        yield Private(*found.span(1), "device", found[1])
        if found[2]:
            yield Private(*found.span(2), "account", found[2])
    for found in _FIELD.finditer(text):
        yield from _without_session(found, 2, kind_of_field(found[1].decode()))
    for owner in _OWNER.finditer(text):
        for found in _OF_OWNER.finditer(text, *owner.span(2)):
            yield from _without_session(found, 1, owner[1].decode())


def open_field(text: bytes) -> int | None:
    """Return where a private field starts that the text does not end."""
    found = _OPEN.search(text)
    return found.start() if found else None


def user_ids(text: bytes) -> Iterator[tuple[int, int]]:
    """Return where the `user_id` fields are, name included."""
    for found in _USER_ID.finditer(text):
        yield found.span()


def is_plain_key(data: bytes, view: DecodedText, start: int) -> bool:
    """Return whether the name that starts there in the view has no escapes but those of quotes."""
    place = view.span(start + 1, start + len(b'"user_id'))
    return place is None or data[slice(*place)].endswith(b"user_id")


def is_private_parameter(name: str) -> bool:
    return _QUERY_NAME.fullmatch(name) is not None


def kind_of_field(name: str) -> str:
    return next((kind for kind in _KINDS if kind in name.lower()), "code")


def _without_session(found: re.Match[bytes], group: int, kind: str) -> Iterator[Private]:
    """Leave out the session id at the end of a value, which is evidence."""
    value = found[group]
    if value.startswith(_DONE) or _USER.search(value):
        return
    session = _OF_SESSION.search(value)
    end = session.start() if session else len(value)
    start = found.start(group)
    yield Private(start, start + end, kind, value[:end])
