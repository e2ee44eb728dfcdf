from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import (
    calc_price,
    extract_usage,  # type: ignore[attr-defined,unused-ignore]
)
from genai_prices.data_snapshot import get_snapshot

from ccwire.wire.models import base_model
from ccwire.wire.usage import Tokens
from ccwire.wire.vocabulary import Provider
from correlate.reconcile.prices import Price, price, usd_of_call
from lab.made_session import MadeSession

AT = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
USAGE = {
    "input_tokens": 1_000,
    "output_tokens": 200,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 5_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
    "server_tool_use": {"web_search_requests": 2},
}


def priced(model: str | None, usage: dict[str, Any]) -> Price | None:
    return price(model, usage, Tokens.of(usage), AT)


def anthropic_models() -> list[str]:
    return [m.id for p in get_snapshot().providers if p.id == "anthropic" for m in p.models]


@pytest.mark.parametrize("model", anthropic_models())
@pytest.mark.parametrize("prompt", [1_000, 150_000, 400_000])
def test_the_total_is_genai_prices_own(model: str, prompt: int) -> None:
    usage = {**USAGE, "input_tokens": prompt}
    extracted = extract_usage({"usage": usage, "model": model}, provider_id="anthropic").usage
    wanted = calc_price(
        extracted,
        model,
        provider_id="anthropic",
        genai_request_timestamp=datetime.fromtimestamp(AT, UTC),
    )
    found = priced(model, usage)
    if wanted.model_price.web_searches_kcount is None:
        assert found is None
        del usage["server_tool_use"]
        found = priced(model, usage)
    assert found is not None
    assert found.cost.total == wanted.total_price
    assert found.client_usd == pytest.approx(float(wanted.total_price))


def test_cache_writes_of_both_lifetimes_are_priced_apart() -> None:
    found = priced("claude-sonnet-4-5-20250929", USAGE)
    assert found is not None
    paid = found.cost.by_class()
    assert paid["cache_write_5m"] == Decimal("0.000375")
    assert paid["cache_write_1h"] == Decimal("0.0012")
    assert paid["web_searches"] == Decimal("0.02")


def test_an_unknown_model_has_no_price_rather_than_none_to_pay() -> None:
    assert priced("gpt-unheard-of", USAGE) is None
    assert priced("<synthetic>", USAGE) is None
    assert priced(None, USAGE) is None


def test_a_class_without_a_price_leaves_the_call_without_one() -> None:
    searched = {"input_tokens": 1, "server_tool_use": {"web_search_requests": 1}}
    assert priced("claude-3-opus-latest", searched) is None
    assert priced("claude-3-opus-latest", {"input_tokens": 1}) is not None


def test_fast_mode_has_no_known_price() -> None:
    assert priced("claude-opus-5-5", {**USAGE, "speed": "fast"}) is None


def test_inference_held_within_the_us_costs_more_but_searches_do_not() -> None:
    here = priced("claude-opus-5-5", USAGE)
    there = priced("claude-opus-5-5", {**USAGE, "inference_geo": "us"})
    assert here is not None
    assert there is not None
    ours, theirs = here.cost.by_class(), there.cost.by_class()
    assert theirs["output"] == ours["output"] * Decimal("1.1")
    assert theirs["web_searches"] == ours["web_searches"]


def test_the_mark_of_a_long_context_window_is_no_part_of_the_name() -> None:
    assert base_model("claude-opus-5-5[1m]") == "claude-opus-5-5"
    assert priced("claude-opus-5-5[1m]", USAGE) == priced("claude-opus-5-5", USAGE)


PLAIN = {"input_tokens": 1_000_000, "output_tokens": 0}


def served_by(provider: Provider, model: str) -> Price:
    found = price(model, PLAIN, Tokens(input=100_000), AT, provider)
    assert found is not None
    return found


def test_a_region_of_bedrock_costs_more_than_the_client_says() -> None:
    found = served_by("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert (found.price_list, found.cost.total) == ("aws", Decimal("0.33"))
    assert found.client_usd == pytest.approx(0.33)
    assert found.anthropic_usd == pytest.approx(0.3)


def test_the_same_price_is_the_same_dollars_to_the_last_digit() -> None:
    direct = priced("claude-opus-5-5", {"input_tokens": 7, "output_tokens": 333})
    usage = {"input_tokens": 7, "output_tokens": 333}
    there = price("claude-opus-5-5", usage, Tokens.of(usage), AT, "vertex")
    assert direct is not None and there is not None
    assert (there.price_list, there.client_usd) == ("google", direct.client_usd)
    worldwide = served_by("bedrock", "global.anthropic.claude-opus-5-5[1m]")
    assert worldwide.client_usd == worldwide.anthropic_usd


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("vertex", "claude-sonnet-4-5@20250929", "google"),
        ("foundry", "claude-sonnet-4-5", "azure"),
        ("gateway", "claude-sonnet-4-5", "anthropic"),
    ],
)
def test_each_provider_has_its_price_list(provider: Provider, model: str, expected: str) -> None:
    assert served_by(provider, model).price_list == expected


def test_a_profile_that_names_no_model_has_no_price() -> None:
    profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12"
    assert price(profile, PLAIN, Tokens(input=1), AT, "bedrock") is None


def advised(by: str) -> dict[str, Any]:
    """Usage of an answer on which another model advised."""
    own = {"type": "message", "input_tokens": 1_000, "output_tokens": 200}
    advice = {"type": "advisor_message", "model": by, "output_tokens": 50}
    return {"input_tokens": 1_000, "output_tokens": 200, "iterations": [own, advice]}


def test_the_dollars_of_a_call_are_those_of_the_models_that_served_it() -> None:
    usage = advised(by="claude-opus-4-5")
    call = MadeSession("s").call(model="claude-sonnet-4-5", usage=usage)
    own, advice = usage["iterations"]
    parts = (priced("claude-sonnet-4-5", own), priced("claude-opus-4-5", advice))
    assert usd_of_call(call, usage) == sum(part.client_usd for part in parts if part)
    assert usd_of_call(call, None) == 0.0


def test_a_call_of_which_a_part_has_no_price_has_none() -> None:
    usage = advised(by="made-up")
    call = MadeSession("s").call(model="claude-sonnet-4-5", usage=usage)
    assert usd_of_call(call, usage) is None
