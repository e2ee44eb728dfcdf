import pytest

from ccwire.wire.usage import (
    TOKEN_GROUPS,
    Difference,
    Tokens,
    billed_iterations,
    differences,
    fingerprint,
    output_of,
)

WIRE = {
    "input_tokens": 10,
    "output_tokens": 249,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 1000,
    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
    "service_tier": "standard",
}


def test_counts_are_split_by_token_class() -> None:
    assert Tokens.of(WIRE) == Tokens(
        input=10, output=249, cache_read=1000, cache_write_5m=100, cache_write_1h=200
    )


def test_cache_writes_without_a_breakdown_are_five_minute_ones() -> None:
    assert Tokens.of({"cache_creation_input_tokens": 300}).cache_write_5m == 300


def test_missing_usage_is_no_tokens() -> None:
    assert not Tokens.of(None)
    assert not Tokens.of({})
    assert not Tokens.of({"input_tokens": None, "output_tokens": None})


def test_iterations_are_summed_as_the_top_level_leaves_some_out() -> None:
    usage = {
        "input_tokens": 5,
        "output_tokens": 7,
        "iterations": [
            {"type": "compaction", "input_tokens": 100, "output_tokens": 50},
            {"type": "message", "input_tokens": 5, "output_tokens": 7},
        ],
        "server_tool_use": {"web_search_requests": 2},
    }
    assert Tokens.of(usage) == Tokens(input=105, output=57, web_searches=2)


@pytest.mark.parametrize("iterations", [[], None, ["odd"], [{}], [1]])
def test_iterations_without_counts_leave_the_top_level(iterations: object) -> None:
    assert Tokens.of({"output_tokens": 7, "iterations": iterations}).output == 7


def test_context_is_the_whole_prompt_cached_or_not() -> None:
    assert Tokens.of(WIRE).context == 1310


def test_tokens_go_back_to_the_api_names() -> None:
    usage = Tokens.of(WIRE).to_usage()
    assert {key: usage[key] for key in WIRE if key != "service_tier"} == {
        key: WIRE[key] for key in WIRE if key != "service_tier"
    }
    assert Tokens.of(usage) == Tokens.of(WIRE)


def test_tokens_go_back_to_the_client_names() -> None:
    used = Tokens.of(WIRE).to_client()
    assert used == {
        "inputTokens": 10,
        "outputTokens": 249,
        "cacheReadInputTokens": 1000,
        "cacheCreationInputTokens": 300,
        "cacheCreationEphemeral5mInputTokens": 100,
        "cacheCreationEphemeral1hInputTokens": 200,
        "webSearchRequests": 0,
    }
    assert Tokens.of_client(used) == Tokens.of(WIRE)


def test_a_client_that_does_not_tell_cache_lifetimes_apart_wrote_for_five_minutes() -> None:
    assert Tokens.of_client({"cacheCreationInputTokens": 300}) == Tokens(cache_write_5m=300)


def test_what_is_cached_was_read_or_written() -> None:
    assert Tokens.of(WIRE).cached == 1300
    assert Tokens.of(WIRE).cache_share == 1000 / 1310
    assert Tokens(output=1).cache_share is None


def test_every_class_is_in_the_definition_once() -> None:
    counts = Tokens(1, 2, 3, 4, 5, 6)
    assert {made.name: n for made, n in counts.by_class()} == {
        "input": 1,
        "output": 2,
        "cache_read": 3,
        "cache_write_5m": 4,
        "cache_write_1h": 5,
        "web_searches": 6,
    }
    assert {group.key: counts.of_group(group) for group in TOKEN_GROUPS} == {
        "fresh": 1,
        "output": 2,
        "read": 3,
        "write": 9,
        "web_searches": 6,
    }


def test_sums_and_differences_are_by_class() -> None:
    both = Tokens.of(WIRE) + Tokens(input=1, web_searches=3)
    assert both.input == 11
    assert both - Tokens.of(WIRE) == Tokens(input=1, web_searches=3)


def test_what_the_client_fills_in_is_no_difference() -> None:
    transcript = {
        **WIRE,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "speed": "standard",
        "inference_geo": "",
        "iterations": [],
        "fallback_credit": None,
        "output_tokens_details": {"thinking_tokens": 0},
    }
    assert differences(WIRE, transcript) == ()


def test_what_an_old_client_drops_is_no_difference() -> None:
    core = {k: v for k, v in WIRE.items() if k not in ("cache_creation", "service_tier")}
    assert differences(WIRE, core) == ()


def test_a_count_that_differs_is_named() -> None:
    assert differences(WIRE, {**WIRE, "output_tokens": 2}) == (Difference("output_tokens", 249, 2),)


def test_a_count_that_one_side_has_as_nothing_is_a_difference() -> None:
    assert differences(WIRE, {**WIRE, "cache_read_input_tokens": None}) == (
        Difference("cache_read_input_tokens", 1000, None),
    )


def test_a_moved_cache_lifetime_is_a_difference() -> None:
    moved = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0}
    found = differences(WIRE, {**WIRE, "cache_creation": moved})
    assert [d.field for d in found] == [
        "cache_creation.ephemeral_5m_input_tokens",
        "cache_creation.ephemeral_1h_input_tokens",
    ]


def test_another_service_tier_is_a_difference() -> None:
    found = differences({"service_tier": "priority"}, {"service_tier": "batch"})
    assert found == (Difference("service_tier", "priority", "batch"),)


def test_output_may_be_missing() -> None:
    assert output_of({"output_tokens": None}) is None
    assert output_of(None) is None
    assert output_of(WIRE) == 249


def test_a_fingerprint_is_the_four_counts() -> None:
    assert fingerprint(WIRE) == (10, 249, 300, 1000)
    assert fingerprint(None) is None


@pytest.mark.parametrize("output", [None, "1000", -5, True, 500])
def test_a_breakdown_of_less_than_the_whole_is_none(output: object) -> None:
    usage = {
        "input_tokens": 4,
        "output_tokens": 1_000,
        "iterations": [{"type": "message", "input_tokens": 4, "output_tokens": output}],
    }
    assert billed_iterations(usage) == []
    assert Tokens.of(usage) == Tokens(input=4, output=1_000)
