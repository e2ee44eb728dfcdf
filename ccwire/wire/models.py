"""Names of models."""

import re

_FAMILY_OR_DATE = re.compile(r"^claude-|-20\d{6}$")


def base_model(model: str) -> str:
    """The model's own name: the client marks a long context window as `[1m]` behind it."""
    return model.partition("[")[0]


def short_model(model: str) -> str:
    """`opus-4-5` of `claude-opus-4-5-20251101`: for a table's column."""
    return _FAMILY_OR_DATE.sub("", model)
