import pytest

from ccwire.wire.models import base_model, short_model


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("claude-opus-4-5-20251101", "opus-4-5"),
        ("claude-3-5-haiku-20241022", "3-5-haiku"),
        ("gateway/claude-opus-4-5", "gateway/claude-opus-4-5"),
        ("other-12345678", "other-12345678"),
    ],
)
def test_a_short_name_has_neither_family_nor_date(model: str, short: str) -> None:
    assert short_model(model) == short


def test_a_long_window_is_no_other_model() -> None:
    assert base_model("claude-opus-4-5[1m]") == base_model("claude-opus-4-5") == "claude-opus-4-5"
