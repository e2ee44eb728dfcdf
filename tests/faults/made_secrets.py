"""Made-up secrets of every promised shape, and a search for any part of them."""

import base64
import json
import random
import re
import string
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
B64 = ALNUM + "+/"
HEX = "0123456789abcdef"
LENGTH = 8  # of a part that is too long to occur by chance


@dataclass(frozen=True)
class Planted:
    """A secret in the text that introduces it, with the request headers that it is known from."""

    shape: str
    text: str
    secret: str
    headers: list[tuple[str, str]] = field(default_factory=list)


def _random(rng: random.Random, alphabet: str, size: int) -> str:
    """Return text with a digit and a letter in each half, so that it is never a plain word."""
    text = "".join(rng.choices(alphabet, k=size))
    digit = "7" if "7" in alphabet else "q"
    letter = "a" if "a" in alphabet else "A"
    return digit + text[1 : size // 2] + letter + digit + text[size // 2 + 2 : size - 1] + letter


def _token(start: str, alphabet: str, size: int, around: str = "{}") -> Callable[..., Planted]:
    def made(rng: random.Random, shape: str) -> Planted:
        secret = _random(rng, alphabet, size)
        return Planted(shape, around.replace("{}", start + secret), secret)

    return made


def _known(
    header: str, value: str, alphabet: str, size: int, around: str = "{}"
) -> Callable[..., Planted]:
    def made(rng: random.Random, shape: str) -> Planted:
        secret = _random(rng, alphabet, size)
        return Planted(
            shape,
            around.replace("{}", secret),
            secret,
            [(header, value.replace("{}", around.replace("{}", secret)))],
        )

    return made


def _jwt(rng: random.Random, shape: str) -> Planted:
    parts = [_random(rng, WORD, size) for size in (20, 40, 43)]
    return Planted(shape, "eyJ" + ".".join(parts), "".join(parts))


def _pem(rng: random.Random, shape: str) -> Planted:
    lines = [_random(rng, B64, 64) for _ in range(4)]
    head, end = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    return Planted(shape, "\n".join([head, *lines, end]), "".join(lines))


def _basic(rng: random.Random, shape: str) -> Planted:
    password = _random(rng, WORD, 14)
    pair = base64.b64encode(f"me:{password}".encode()).decode()
    return Planted(shape, password, password, [("proxy-authorization", f"Basic {pair}")])


SHAPES: dict[str, Callable[[random.Random, str], Planted]] = {
    "anthropic": _token("sk-ant-api03-", WORD, 40),
    "anthropic_oauth": _token("sk-ant-oat01-", WORD, 40),
    "bearer": _token("Bearer ", ALNUM, 30),
    "jwt": _jwt,
    "aws_access_key": _token("AKIA", string.digits + string.ascii_uppercase, 16),
    "aws_secret": _token("", ALNUM, 40, "aws_secret_access_key = {}"),
    "aws_session": _token("IQoJb3JpZ2lu", ALNUM, 60),
    "google_key": _token("AIza", WORD, 35),
    "google_token": _token("ya29.", WORD, 40),
    "google_refresh": _token("1//0", WORD, 50),
    "google_client": _token("GOCSPX-", WORD, 28),
    "openai": _token("sk-proj-", WORD, 60),
    "openai_legacy": _token("sk-", ALNUM, 48),
    **{f"github_{kind}": _token(f"gh{kind}_", ALNUM, 36) for kind in "pousr"},
    "github_fine": _token("github_pat_", ALNUM, 82),
    "gitlab": _token("glpat-", WORD, 20),
    "slack": _token("xoxb-", ALNUM, 40),
    "slack_app": _token("xapp-1-", ALNUM, 40),
    "slack_hook": _token("https://hooks.slack.com/services/T0MADEUP/B0MADEUP/", ALNUM, 24),
    "npm": _token("npm_", ALNUM, 36),
    "huggingface": _token("hf_", string.ascii_letters, 34),
    "stripe": _token("sk_live" + "_", ALNUM, 24),
    "stripe_hook": _token("whsec_", ALNUM, 32),
    "pypi": _token("pypi-AgEI", WORD, 80),
    "azure": _token("AccountKey=", ALNUM, 86, "{}=="),
    "sendgrid": _token("SG.", WORD, 22, "{}." + "a7" * 21 + "b"),
    "twilio": _token("SK", HEX, 32),
    "telegram": _token("12345678:AA", WORD, 33),
    "private_key": _pem,
    "url_password": _token("", ALNUM, 16, "postgres://me:{}@db.example.org/x"),
    "env_token": _token("DEPLOY_TOKEN=", ALNUM, 20),
    "env_password": _token("DB_PASSWORD=", ALNUM + "!#", 12),
    "env_json": _token("", ALNUM, 20, '{"SERVICE_API_KEY": "{}"}'),
    "header": _known("x-api-key", "{}", WORD, 24),
    "header_short": _known("x-api-key", "{}", ALNUM, 9),
    "header_odd": _known("authorization", "Bearer {}", ALNUM, 20, 'odd"/\\{}'),
    "cookie": _known("cookie", "theme=dark; sid={}", ALNUM, 24),
    "basic": _basic,
}
# Found in base64 in any body; the others only in telemetry.
IN_BASE64 = {
    *("anthropic", "anthropic_oauth", "header", "header_short", "header_odd", "cookie", "basic"),
}


def parts(text: str) -> set[bytes]:
    data = text.encode()
    return {data[n : n + LENGTH] for n in range(len(data) - LENGTH + 1)}


def found_in(data: bytes, secrets: Iterable[Planted]) -> set[str]:
    """Return the shapes of which a part is in the data: as it is, unescaped, or in base64."""
    texts = _readings(data)
    texts += [inside for text in texts for inside in _from_base64(text)]
    there = {text[n : n + LENGTH] for text in texts for n in range(len(text) - LENGTH + 1)}
    return {planted.shape for planted in secrets if there & parts(planted.secret)}


_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_\-]{12,}")
_JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')


def _readings(data: bytes) -> list[bytes]:
    """Return the data, and what it becomes when escapes are decoded once and more often."""
    found = [data]
    text = data.decode("utf-8", "replace")
    for _ in range(5):
        text, before = urllib.parse.unquote(_JSON_ESCAPE.sub(_unescaped, text)), text
        if text == before:
            break
        found.append(text.encode("utf-8", "surrogatepass"))
    return found


def _unescaped(found: re.Match[str]) -> str:
    return str(json.loads(f'"{found[0]}"'))


def _from_base64(data: bytes) -> list[bytes]:
    found = []
    for run in _BASE64_RUN.findall(data):
        text = run.translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):
            part = text[start : len(text) - (len(text) - start) % 4]
            found.append(base64.b64decode(part))
    return found
