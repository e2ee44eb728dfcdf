"""The encoded forms of a secret, and base64 text that may contain one."""

import base64
import json
import re
import urllib.parse

SHORTEST_FORM = 11  # of base64 text; a shorter one may be a word

# Base64 text, long enough to contain a secret.
ENCODED = re.compile(rb"(?:[A-Za-z0-9+/_\-]|\\/){16,}+={0,2}")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def base64_shapes(secret: bytes) -> list[bytes]:
    """Return the base64 text that any encoding of the secret contains, per byte alignment."""
    shapes: list[bytes] = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        start = -(-shift * 8 // 6)
        whole = (shift + len(secret)) * 8 // 6
        core = encoded[start:whole]
        shapes += {core, core.translate(_TO_URL_SAFE)}
    return shapes


def forms_of(text: str, secret: bytes, is_shaped: bool) -> list[bytes]:
    """Return the encoded forms of a secret that would be missed otherwise.

    A secret of a known shape is found as it is. Escapes that are always a reason to look closer
    need no form of their own; those of quotes, backslashes and letters beyond ASCII do, also within
    JSON inside a string.
    """
    forms = {shape for shape in base64_shapes(secret) if len(shape) >= SHORTEST_FORM}
    if not is_shaped:
        forms |= {secret, urllib.parse.quote_from_bytes(secret, safe="").encode()}
        forms.add(repr(text)[1:-1].encode("utf-8", "surrogateescape"))  # in log lines
        for ascii_only in (True, False):
            once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
            twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
            forms |= {form.encode("utf-8", "surrogateescape") for form in (once, twice)}
    return sorted(forms, key=len, reverse=True)  # the longest first: it may contain a shorter one


def decoded_in(text: bytes) -> list[bytes]:
    """Return what base64 text contains; it may start up to three characters later than the text."""
    text = text.rstrip(b"=").replace(b"\\/", b"/").translate(_TO_STANDARD)
    found = []
    for start in range(4):
        part = text[start : len(text) - ((len(text) - start) % 4 == 1)]
        found.append(base64.b64decode(part + b"=" * (-len(part) % 4)))
    return found
