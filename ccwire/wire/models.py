"""Names of models."""

import re

_FAMILY_OR_DATE = re.compile(r"^claude-|[-@]20\d{6}$")
_ALIAS = re.compile(r"-(?:latest|0)$")  # `claude-opus-4-0` is `claude-opus-4-20250514`
# A Bedrock id or ARN: region or profile, vendor, the model's own name, and a version.
_BEDROCK = re.compile(r"^(?:arn:[^/]*/)?(?:[a-z-]+\.)?anthropic\.(claude-.+?)(?:-v\d+(?::\d+)?)?$")


def base_model(model: str) -> str:
    """Return the model's own name: without the `[1m]` by which the client marks a long context."""
    return _own_name(model.partition("[")[0])


def short_model(model: str) -> str:
    """`opus-4-5` of `claude-opus-4-5-20251101`: for a table's column.

    Of the ARN of a profile without a model's name, its id.
    """
    name, mark, rest = model.partition("[")
    if name.startswith("arn:") and not _BEDROCK.match(name):
        name = name.rpartition("/")[2]
    return _FAMILY_OR_DATE.sub("", _own_name(name)) + mark + rest


def model_key(model: str) -> str:
    """Return what the names of one model have in common: an alias, a date or a mark is no other."""
    return _ALIAS.sub("", short_model(base_model(model)))


def _spelling(model: str) -> list[str]:
    """The words of a name in any order, then its numbers: gateways write `claude-4.5-sonnet`."""
    parts = re.split(r"[-.]", model_key(model))
    return [*sorted(p for p in parts if not p.isdigit()), *(p for p in parts if p.isdigit())]


def serving_model(asked: str | None, served: str | None) -> str | None:
    """Return the model that answered: the one asked, unless the answer names another Claude model.

    A gateway, a profile or an alias may answer under a name of its own, which is no other model.
    """
    if not asked or not served or asked == served:
        return asked or served
    names = (base_model(asked), base_model(served))
    is_other = _spelling(asked) != _spelling(served)
    return served if is_other and all(name.startswith("claude-") for name in names) else asked


def _own_name(model: str) -> str:
    """Return the name as Anthropic spells it; Vertex writes `@` before its date."""
    found = _BEDROCK.match(model)
    return found[1] if found else model.replace("@", "-", 1)
