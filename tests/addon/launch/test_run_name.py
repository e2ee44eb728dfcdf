import re

from addon.launch.run_name import new_run_name


def test_a_run_has_a_name_of_its_own_that_is_a_valid_folder() -> None:
    first, second = new_run_name(), new_run_name()
    assert re.fullmatch(r"run-\d{8}T\d{6}Z-[0-9a-f]{6}", first)
    assert first != second
