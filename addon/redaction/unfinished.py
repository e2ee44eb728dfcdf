"""Finds the secret that a text ends within: more of it may follow in the next piece of a stream."""

import re

from addon.redaction.encodings import base64_shapes
from addon.redaction.learned import TOKEN_BYTES, LearnedSecrets, Starts
from addon.redaction.shapes import ALONE, CANDIDATE, SCHEME, WORD_STARTS, place_of

# How secrets begin that may be anywhere in a word.
_ANYWHERE = Starts((b"sk-ant-", b"eyJ", b"Bearer", b"bearer", *base64_shapes(b"sk-ant-")))
_APART = Starts(WORD_STARTS, apart=True)
_TOKEN = b"[" + re.escape(TOKEN_BYTES) + b"]"
_NAMES = rb"(?:TOKEN|SECRET|PASSW(?:OR)?D|_KEY|secret_access_key|ecretAccessKey)"
# A text that ends in a scheme, in a name in capitals or the value assigned to it, in the user and
# password of a URL, in the head of a private key, or within an escape.
_OPEN = re.compile(
    rb"%(scheme)b{0,8}%(token)b*+\Z"
    rb"|%(names)b[\"'\\\s]{0,8}(?:(?:=>?|:)[\"'\\\s]{0,8}[^\s\"'<>{}`;,&()|\[\]]*+)?\Z"
    rb"|(?<!_)%(alone)b[A-Z][A-Z0-9_]++\Z"
    rb"|%(alone)b(?:sk-[A-Za-z0-9]{0,64}+|[0-9]{8,10}+:A{0,2}[\w\-]*+)\Z"
    rb"|:(?://?[^\s\"'<>/\\{}$]*+)?\Z"
    rb"|BEGIN [A-Z0-9 ]{0,40}+-{0,5}\s*+(?:\\+[nr]?)*+\Z"
    % {
        b"alone": ALONE,
        b"scheme": SCHEME,
        b"token": _TOKEN,
        b"names": _NAMES,
    }
)
_OPEN_ESCAPE = re.compile(rb"(?:\\[ux]?[0-9A-Fa-f]{0,3}|%[0-9A-Fa-f]?)\Z")
_OPEN_COLOUR = re.compile(rb"[\[;][0-9]{0,3}\Z")  # the token after it is no part of the word
_OPEN_FROM = 512  # bytes before the last word: more than what introduces a secret
_PRIVATE_KEY = re.compile(
    rb"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-{5}[A-Za-z0-9+/=\s\\:,\-]*+\Z"
)


def unfinished(text: bytes, learned: LearnedSecrets) -> tuple[int, bool] | None:
    """Return where that secret starts, and whether any token character would continue it."""
    tail = len(text.rstrip(TOKEN_BYTES))
    begins = []
    is_running = False
    if len(text) - tail > 2:
        begins = [at for head in learned.heads if (at := text.find(head, tail)) >= 0]
        if found := CANDIDATE.search(text, tail):
            begins.append(place_of(found, tail))
        is_running = bool(begins)
    if found := _OPEN.search(text, max(0, tail - _OPEN_FROM)):
        begins.append(found.start())
        is_running = is_running or found[0][:1] in b"Bb"
    if _OPEN_ESCAPE.search(text, max(tail, len(text) - 6)):
        begins.append(tail)
    if found := _OPEN_COLOUR.search(text, max(0, len(text) - 4)):
        begins.append(found.start())
    for starts in (_ANYWHERE, _APART, learned.starts):
        if (start := starts.at_end(text)) is not None:
            begins.append(start)
    if b"PRIVATE KEY" in text and (found := _PRIVATE_KEY.search(text)):
        begins.append(found.start())
    return (learned.outside(text, min(begins)), is_running) if begins else None
