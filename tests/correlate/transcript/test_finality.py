from correlate.transcript.finality import finality_of, finality_of_sum

_USAGE = {"input_tokens": 3, "output_tokens": 2}


def test_a_turn_with_a_stop_reason_has_its_final_usage() -> None:
    assert finality_of(_USAGE, "end_turn") == "exact"


def test_a_turn_without_a_stop_reason_has_at_least_its_usage() -> None:
    assert finality_of(_USAGE, None) == "lower-bound"


def test_a_turn_without_usage_is_unknown() -> None:
    assert finality_of(None, "end_turn") == "unknown"


def test_missing_output_tokens_are_not_zero() -> None:
    assert finality_of({"input_tokens": 3, "output_tokens": None}, "end_turn") == "lower-bound"


def test_a_sum_is_as_final_as_its_least_certain_part() -> None:
    assert finality_of_sum([]) is None
    assert finality_of_sum(["exact", "exact"]) == "exact"
    assert finality_of_sum(["exact", "lower-bound"]) == "lower-bound"
    assert finality_of_sum(["lower-bound", "unknown", "exact"]) == "unknown"
