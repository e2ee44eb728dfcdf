import pytest

from ccwire.wire.models import base_model, serving_model, short_model


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("claude-opus-4-5-20251101", "opus-4-5"),
        ("claude-3-5-haiku-20241022", "3-5-haiku"),
        ("gateway/claude-opus-4-5", "gateway/claude-opus-4-5"),
        ("other-12345678", "other-12345678"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/ab1c", "ab1c"),
    ],
)
def test_a_short_name_has_neither_family_nor_date(model: str, short: str) -> None:
    assert short_model(model) == short


def test_a_long_window_is_no_other_model() -> None:
    assert base_model("claude-opus-4-5[1m]") == base_model("claude-opus-4-5") == "claude-opus-4-5"


@pytest.mark.parametrize(
    ("model", "own"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
        ("global.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku-20241022"),
        ("us-gov.anthropic.claude-opus-4-6-v1[1m]", "claude-opus-4-6"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-7-v1:0",
            "claude-opus-4-7",
        ),
        (
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12",
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12",
        ),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("claude-opus-5-5", "claude-opus-5-5"),
    ],
)
def test_a_cloud_spells_the_same_model_in_its_own_way(model: str, own: str) -> None:
    assert base_model(model) == own


def test_the_short_name_is_the_same_on_every_cloud() -> None:
    assert short_model("us.anthropic.claude-sonnet-4-5-20250929-v1:0") == "sonnet-4-5"
    assert short_model("claude-sonnet-4-5@20250929") == "sonnet-4-5"
    assert short_model("claude-opus-4-5[1m]") == "opus-4-5[1m]"


@pytest.mark.parametrize(
    ("served", "serving"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("gateway/small", "claude-sonnet-4-5"),
        (None, "claude-sonnet-4-5"),
        ("claude-sonnet-4", "claude-sonnet-4"),
        ("claude-haiku-4-5", "claude-haiku-4-5"),
    ],
)
def test_another_spelling_is_no_other_model(served: str | None, serving: str) -> None:
    assert serving_model("claude-sonnet-4-5", served) == serving
