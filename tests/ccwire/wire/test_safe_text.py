import pytest

from ccwire.wire.safe_text import shortened


@pytest.mark.parametrize(
    ("text", "short"), [("", ""), ("four", "four"), ("five5", "fiv…"), ("x" * 99, "xxx…")]
)
def test_a_shortened_text_is_never_longer(text: str, short: str) -> None:
    assert shortened(text, 4) == short
