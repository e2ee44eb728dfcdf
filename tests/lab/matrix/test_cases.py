"""The cases, and which releases know one."""

import re

from lab.matrix.case import Needs, older_releases
from lab.matrix.cases import CASES_BY_NAME, CLASSES


def test_a_cases_name_is_a_folders_name() -> None:
    assert len(CASES_BY_NAME) > 100
    assert [name for name in CASES_BY_NAME if not re.fullmatch(r"[a-z0-9_]+", name)] == []


def test_every_class_names_cases_of_its_own() -> None:
    named = [name for names in CLASSES.values() for name in names]
    assert set(named) <= set(CASES_BY_NAME)
    assert len(named) == len(set(named))


def test_older_releases_are_fetched_before_the_network_is_gone() -> None:
    assert older_releases(tuple(CASES_BY_NAME.values())) == ("1.0.100", "2.1.39")


def test_a_release_that_lacks_anything_does_not_know_the_case() -> None:
    needs = Needs(since="2.0.0", options=("--agents",), words=("Skill",))

    def lacking(version: str, help_text: str, *words: str) -> str | None:
        return needs.lacking(version, help_text, lambda word: word in words)

    assert lacking("2.0.0", "--agents", "Skill") is None
    assert lacking("1.0.128", "--agents", "Skill") == "known since 2.0.0"
    assert lacking("2.0.0", "", "Skill") == "no option --agents"
    assert lacking("2.0.0", "--agents") == "its program does not contain Skill"
