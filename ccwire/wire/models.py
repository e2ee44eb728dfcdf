"""Names of models."""


def base_model(model: str) -> str:
    """The model's own name: the client marks a long context window as `[1m]` behind it."""
    return model.partition("[")[0]
