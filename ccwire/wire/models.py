"""Names of models."""

import re

_FAMILY_OR_DATE = re.compile(r"^claude-|[-@]20\d{6}$")
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


def _own_name(model: str) -> str:
    """Return the name as Anthropic spells it; Vertex writes `@` before its date."""
    found = _BEDROCK.match(model)
    return found[1] if found else model.replace("@", "-", 1)
