import pytest

from ccwire.output.show.markdown import contained


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n\n- a\n- b", "plain\n\n- a\n- b"),
        ("# One\n## Two\n###### Six\n#hash", "#### One\n##### Two\n###### Six\n#hash"),
        ("```sh\n# no heading\n", "```sh\n# no heading\n\n```"),
        ("````\n```\n# code\n```\n````\n# One", "````\n```\n# code\n```\n````\n#### One"),
        ("~~~\n```\nopen", "~~~\n```\nopen\n~~~"),
        ("  ```\n  x\n  ```\n# One", "  ```\n  x\n  ```\n#### One"),
        ("Title\n=====\nOther\n---\n\n---", "Title\n\\=====\nOther\n\n---\n\n---"),
        ("<!-- open", "\\<!-- open"),
        ("<PRE>\nx", "\\<PRE>\nx"),
        ("<b>bold</b> and `<!--`", "<b>bold</b> and `<!--`"),
        ("``` is no fence ```\n# One", "``` is no fence ```\n#### One"),
        ("| a |\n|---|\n| 1 |", "| a |\n|---|\n| 1 |"),
        ("", ""),
    ],
)
def test_a_text_ends_where_it_ends(text: str, expected: str) -> None:
    assert contained(text) == expected
