"""The shapes of secrets: one table of what each begins with, how it continues, and its kind.

`CANDIDATE` finds the places where a secret may be, in one pass: it stops at rare characters and
compares what is around them. The shape's own pattern decides. All take time linear in the text.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

SCHEME = rb"(?:[Bb]earer|BEARER)(?:\s|%20|\+|\\+[tnr])"
# A token ends where another begins, even without a separator.
_WORD = rb"(?:(?!%b|sk-ant-)[A-Za-z0-9_\-])" % SCHEME
_TOKEN = rb"(?:(?!%b)(?:[A-Za-z0-9._~+/\-]|\\/|%%[0-9A-Fa-f]{2}))" % SCHEME
_BASE64 = rb"(?:[A-Za-z0-9+/=_\-]|\\/|%[23][0-9A-Fa-f])"
# Where a word begins: an image in base64 may contain the same letters. A letter or digit before it
# may end an escape, or a colour of the terminal (`ESC[01;31m`, with any notation of ESC).
_HEX = rb"[0-9A-Fa-f]"
_COLOUR = b"|".join(rb"(?<=[\[;][0-9]{%d}[A-Za-z])" % digits for digits in range(4))
ALONE = (
    rb"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=%%%(h)b{2})|(?<=\\x%(h)b{2})|(?<=\\u%(h)b{4})|%(c)b)"
    % {b"h": _HEX, b"c": _COLOUR}
)
# What is between a name and its value, also in JSON inside a string.
_QUOTE = rb"(?:\\*[\"'])?"
_IS = rb"%b\s{0,4}(?:=>?|:)\s{0,4}%b" % (_QUOTE, _QUOTE)
_NAMED = rb"[\"'\\\s]{0,8}[=:]"
_VALUE = rb"[^\s\"'\\<>{}`;,&()|\[\]]{8,}+"
_PEM_BREAK = rb"(?:\s|\\+[rnt/])"
_PEM_HEADER = rb"(?:Proc-Type|DEK-Info|Version|Comment):[^\\\r\n\"]{0,100}"
_KEYS = b"API ACCESS SECRET PRIVATE ENCRYPTION AUTH SIGNING MASTER ACCOUNT ROLE SHARED".split()
_GITLAB = b"pat dt rt cbt ptt ft imt agent oas soat ffct".split()

_BREAKS = re.compile(rb"\\+[rnt]|\s")
_PLACEHOLDER = re.compile(
    rb"x{4}|X{4}|\*{3}|\A[$%{<*]"
    rb"|(?i:your|example|change.?me|placeholder|redacted|environ|getenv|secrets\."
    rb"|\A(?:user|pass(?:word)?|pwd|secret|token)\Z)"
)
# An attribute, a path or an address: what code and settings have in place of a value.
_REFERENCE = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[~./]{1,3}[\w./\-]*|https?://.*")


class Token(NamedTuple):
    """A secret in a text: where it is, its kind, and what its hash is computed from."""

    start: int
    end: int
    kind: str
    secret: bytes


class _Shape(NamedTuple):
    """Secrets of one shape.

    A candidate is an `anchor` right after `behind`, which matches a fixed number of characters, and
    right before `ahead`. The pattern is matched from `behind`, or from the last `back` before the
    anchor. Its last group is the secret; a match without a group contains none.
    """

    kind: str
    behind: bytes
    anchor: bytes
    ahead: bytes
    pattern: bytes
    back: bytes = b""
    accept: Callable[[bytes], bool] | None = None


def _word(kind: str, start: bytes, rest: bytes) -> _Shape:
    """Return a shape that is a word of its own; the anchor is the end of how it begins."""
    return _Shape(kind, start[:-1], start[-1:], b"", rb"%b(%b%b)" % (ALONE, start, rest))


def _assigned(kind: str, behind: bytes, anchor: bytes, ahead: bytes, name: bytes) -> _Shape:
    """Return the shape of a value that is assigned to a variable of the environment."""
    pattern = rb"%b%b(%b)" % (name, _IS, _VALUE)
    return _Shape(kind, behind, anchor, ahead + _NAMED, pattern, accept=_is_value)


def _is_value(value: bytes) -> bool:
    """Return whether it is a value: no placeholder, single word, number or reference."""
    used = set(value)
    return (
        len(used) > 4
        and any(chr(byte).isalpha() for byte in used)
        and not used.isdisjoint(b"0123456789!@#%^*+~?/=")
        and not _is_stand_in(value)
        and not _REFERENCE.fullmatch(value)
    )


def _is_stand_in(value: bytes) -> bool:
    return _PLACEHOLDER.search(value) is not None


_ANTHROPIC = rb"(sk-ant-%b++)" % _WORD
_OPENAI = (
    rb"%b(sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,}+|or-v1-[0-9a-f]{40,}+"
    rb"|[A-Za-z0-9]{40,}+))" % ALONE
)
_JWT = rb"(eyJ%(w)b{6,}+\.%(w)b{6,}+\.%(w)b*+)|eyJ%(w)b*+" % {b"w": _WORD}
_BEARER = rb"%(s)b{1,8}(%(t)b{16,}+=*+|(?=[A-Za-z._~+/\-]*+[0-9])%(t)b{6,}+=*+)" % {
    b"s": SCHEME,
    b"t": _TOKEN,
}
_AWS_SECRET = rb"%b([A-Za-z0-9/+]{40})(?![A-Za-z0-9+])" % _IS
_PEM = (
    rb"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-{5}%(b)b*+((?:%(h)b%(b)b++)*+"
    % {
        b"b": _PEM_BREAK,
        b"h": _PEM_HEADER,
    }
    + rb"[A-Za-z0-9+/=]{16,}+(?:[A-Za-z0-9+/=]{16,}+|%b)*+[A-Za-z0-9+/=]{0,15}+)" % _PEM_BREAK
)

_SHAPES: tuple[_Shape, ...] = (
    _Shape(
        "api_key",
        b"sk",
        b"-",
        rb"(?:ant-|proj-|svcacct-|admin-|or-v1-|[A-Za-z0-9]{40})",
        _ANTHROPIC + b"|" + _OPENAI,
    ),
    _Shape("jwt", b"ey", b"J", b"", _JWT),
    _Shape("bearer", b"", b"B", b"(?:earer|EARER)", _BEARER),
    _Shape("bearer", b"", b"b", b"earer", _BEARER),
    *(
        _Shape(
            *("access_key", start[:-1], b"A", b""),
            rb"%b(%b[A-Z0-9]{16})(?![A-Za-z0-9])" % (ALONE, start),
        )
        for start in (b"AKIA", b"ASIA")
    ),
    _Shape(
        *("api_key", b"A", b"I", b"za"),
        rb"%b(AIza[A-Za-z0-9_\-]{35})(?![A-Za-z0-9_\-])" % ALONE,
    ),
    _Shape("google_token", b"ya29", b".", b"", rb"(ya29\.[A-Za-z0-9_.\-]{10,}+)"),
    _Shape("google_token", b"1", b"/", b"/0", rb"%b(1//0[A-Za-z0-9_\-]{30,}+)" % ALONE),
    _Shape("client_secret", b"GOCSP", b"X", b"-", rb"(GOCSPX-[A-Za-z0-9_\-]{20,}+)"),
    *(
        _Shape("session_token", b"", start[:1], start[1:], rb"(%b%b{16,}+)" % (start, _BASE64))
        for start in (b"IQoJb3JpZ2lu", b"FwoGZXIvYXdz", b"FQoGZXIvYXdz")
    ),
    _Shape("api_key", b"ABS", b"K", b"Qm", rb"(ABSKQmVkcm9ja0FQSUtleS%b{16,}+)" % _BASE64),
    _Shape("api_key", b"bedrock-api-key", b"-", b"", rb"(bedrock-api-key-%b{16,}+)" % _BASE64),
    _Shape("signature", b"Signature", b"=", b"", rb"Signature=([0-9a-fA-F]{64})"),
    _Shape("aws_secret", b"secret", b"_", b"access_key", b"secret_access_key" + _AWS_SECRET),
    _Shape("aws_secret", b"ecret", b"A", b"ccessKey", b"ecretAccessKey" + _AWS_SECRET),
    *(_word("github_token", b"gh%c_" % letter, rb"[A-Za-z0-9]{30,}+") for letter in b"pousr"),
    _word("github_token", b"github_pat_", rb"[A-Za-z0-9_]{30,}+"),
    _Shape("slack_token", b"xox[a-z]", b"-", b"", rb"%b(xox[a-z]-[\w\-]{10,}+)" % ALONE),
    _word("slack_token", b"xapp-", rb"[A-Za-z0-9\-]{20,}+"),
    _Shape(
        *("slack_webhook", b"hooks", b".", rb"slack\.com"),
        rb"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_\-]{20,}+)",
    ),
    *(_word("gitlab_token", b"gl%b-" % name, rb"[\w.\-]{20,}+") for name in _GITLAB),
    _word("npm_token", b"npm_", rb"[A-Za-z0-9]{30,}+"),
    _word("huggingface_token", b"hf_", rb"[A-Za-z]{34}(?![A-Za-z0-9])"),
    *(
        _Shape(
            *("stripe_key", b"%ck" % first, b"_", b"(?:live|test|prod)_"),
            rb"%b(%ck_(?:live|test|prod)_[A-Za-z0-9]{16,}+)" % (ALONE, first),
        )
        for first in b"sr"
    ),
    _word("stripe_key", b"whsec_", rb"[A-Za-z0-9+/=]{24,}+"),
    _word("pypi_token", b"pypi-", rb"AgEI[A-Za-z0-9_\-]{40,}+"),
    _Shape(
        *("azure_key", b"Key", b"=", b""),
        rb"(?:(?<=Account)|(?<=SharedAccess))Key=((?:[A-Za-z0-9+/]|\\/){30,}+={0,2})",
    ),
    _Shape(
        *("sendgrid_key", b"SG", b".", b""),
        rb"%b(SG\.[A-Za-z0-9_\-]{16,32}+\.[A-Za-z0-9_\-]{32,64}+)" % ALONE,
    ),
    _Shape(*("twilio_key", b"S", b"K", b"[0-9a-f]{8}"), rb"%b(SK[0-9a-f]{32})(?![0-9a-f])" % ALONE),
    _Shape(
        *("telegram_token", b"[0-9]{8}", b":", b"AA"),
        rb"([0-9]{8}:AA[A-Za-z0-9_\-]{33})(?![A-Za-z0-9_\-])",
    ),
    _Shape("private_key", b"PRI", b"V", b"ATE KEY", _PEM, back=b"BEGIN"),
    _Shape(
        *("password", b"[^\\s\"'/]", b"@", b"[A-Za-z0-9\\[]"),
        rb"://[^\s\"'<>/@:\\]{0,128}:([^\s\"'<>/\\{}$]{3,256})@",
        back=b"://",
        accept=lambda value: not _is_stand_in(value),
    ),
    _assigned("secret", b"TO", b"K", b"EN", b"TOKEN"),
    _assigned("secret", b"SE", b"C", b"RET", b"SECRET"),
    _assigned("password", b"PASS", b"W", b"(?:OR)?D", b"PASSW(?:OR)?D"),
    _assigned(
        *("secret", b"_", b"K", b"EY"),
        b"(?:" + b"|".join(b"(?<=%b)" % name for name in _KEYS) + b")_KEY",
    ),
)
_FARTHEST_BACK = 400
_WIDTH = re.compile(rb"\[[^\]]*\](?:\{(\d+)\})?|\\.|.")


class _Compiled(NamedTuple):
    kind: str
    offset: int  # of the anchor from the start of the pattern
    match: Callable[..., re.Match[bytes] | None]
    back: bytes
    accept: Callable[[bytes], bool] | None


def _compiled(shape: _Shape) -> _Compiled:
    offset = sum(int(found[1] or 1) for found in _WIDTH.finditer(shape.behind))
    match = re.compile(shape.pattern).match
    return _Compiled(shape.kind, offset, match, shape.back, shape.accept)


# Reasons to look closer that are no shapes: Anthropic's prefix in base64 in each alignment, the
# field of the user's identity, and escapes that may hide any of the others.
_ENCODED, _USER_ID, _HIDING = "encoded", "user_id", "hiding"
_MORE: tuple[tuple[str, bytes, bytes, bytes], ...] = (
    (_ENCODED, b"c2stYW50", b"L", b""),
    (_ENCODED, b"NrLWFud", b"C", b""),
    (_ENCODED, b"zay1hbn", b"Q", b"t"),
    (_USER_ID, b'"user', b"_", b'id"'),
    (_HIDING, b"", b"\\", b"u00[2-7]|/"),
    (_HIDING, b"", b"%", b"[2-7][0-9A-Fa-f]"),
)


def _candidates() -> tuple[re.Pattern[bytes], list[_Compiled | str]]:
    """Return one pattern for all anchors, and what each of its (empty) groups recognises."""
    entries: list[tuple[bytes, bytes, bytes, _Compiled | str]] = [
        (shape.behind, shape.anchor, shape.ahead, _compiled(shape)) for shape in _SHAPES
    ]
    entries += [(behind, anchor, ahead, name) for name, behind, anchor, ahead in _MORE]
    by_anchor: dict[bytes, list[tuple[bytes, _Compiled | str]]] = {}
    for behind, anchor, ahead, what in entries:
        before = b"(?<=%b%b)" % (behind, re.escape(anchor)) if behind else b""
        after = b"(?=%b)" % ahead if ahead else b""
        by_anchor.setdefault(anchor, []).append((before + after + b"()", what))
    alternatives = [
        re.escape(anchor) + b"(?:%b)" % b"|".join(around for around, _ in found)
        for anchor, found in by_anchor.items()
    ]
    table = [what for found in by_anchor.values() for _, what in found]
    return re.compile(b"|".join(alternatives)), table


CANDIDATE, _TABLE = _candidates()
_NAMED_KINDS = frozenset(("bearer", "secret", "password"))


# How the words begin that are secrets; the anchor is not always their last character.
_LITERAL = re.compile(rb"[\w\-.=/]+")
WORD_STARTS = (
    *(start for shape in _SHAPES if _LITERAL.fullmatch(start := shape.behind + shape.anchor)),
    *(b"xoxb-", b"1//0", b"hooks.slack.com/services/", b"sk-proj-", b"sk-svcacct-", b"sk_live_"),
    *(b"rk_live_", b"IQoJb3JpZ2lu", b"FwoGZXIvYXdz", b"FQoGZXIvYXdz", b"secret_access_key"),
)


def place_of(candidate: re.Match[bytes], earliest: int) -> int:
    """Return where the secret would start; not before `earliest`."""
    assert candidate.lastindex is not None
    shape = _TABLE[candidate.lastindex - 1]
    if isinstance(shape, str):
        return earliest
    return max(earliest, candidate.start() - shape.offset)


class Scan(NamedTuple):
    """What a text contains: tokens, and reasons to look closer."""

    tokens: list[Token]
    hiding: list[int]  # the places of escapes that may hide something
    is_encoded: bool
    has_user_id: bool


def scan(data: bytes, *, named: bool = True) -> Scan:
    """Find the tokens in a text; none of them overlap. `named`: also those that a name precedes."""
    tokens: list[Token] = []
    hiding: list[int] = []
    is_encoded = has_user_id = False
    done = refused = 0
    for candidate in CANDIDATE.finditer(data):
        index = candidate.lastindex
        assert index is not None
        shape = _TABLE[index - 1]
        at = candidate.start()
        if isinstance(shape, str):
            if shape is _HIDING:
                hiding.append(at)
            is_encoded = is_encoded or shape is _ENCODED
            has_user_id = has_user_id or shape is _USER_ID
            continue
        if not named and shape.kind in _NAMED_KINDS:
            continue
        start = at - shape.offset
        if shape.back:
            start = data.rfind(shape.back, max(done, at - _FARTHEST_BACK), at)
        if start < done or (shape.accept and start < refused):
            continue
        if not (found := shape.match(data, start)):
            continue
        if not found.lastindex:
            done = found.end()  # of what begins like a secret but is none
            continue
        begin, end = found.span(found.lastindex)
        secret = data[begin:end]
        if shape.accept and not shape.accept(secret):
            refused = end
            continue
        tokens.append(_token(begin, end, shape.kind, secret))
        done = end
    return Scan(tokens, hiding, is_encoded, has_user_id)


def is_suspect(data: bytes) -> bool:
    """Return whether the text may contain a secret; most events do not."""
    return CANDIDATE.search(data) is not None


def shape_of(secret: bytes) -> str | None:
    """Return the kind of a text that is one token, if it is one of a known shape."""
    tokens = scan(secret, named=False).tokens
    if len(tokens) != 1 or (tokens[0].start, tokens[0].end) != (0, len(secret)):
        return None
    return tokens[0].kind


def _token(start: int, end: int, kind: str, secret: bytes) -> Token:
    if kind == "private_key":
        secret = _BREAKS.sub(b"", secret)  # equal in any notation
    elif secret.startswith(b"sk-ant-o"):
        kind = "oauth"
    elif kind in _NAMED_KINDS:  # by what is before it: its own shape says more
        kind = shape_of(secret) or kind
    return Token(start, end, kind, secret)
