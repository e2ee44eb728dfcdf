import pytest
from markdown_it import MarkdownIt

from ccwire.output.show.markdown import contained, quoted


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


@pytest.mark.parametrize("margin", ["", "> ", "> > "])
@pytest.mark.parametrize(
    "text",
    [
        "1. Run this:\n\n   ```sh\n   ls -l",
        "- a\n  - b\n    ~~~\n    x",
        "* ```\n  x",
        "> ```\n> x",
        "Write in the file:\n\n    ```\n    x",
        "```\nx\n      ```\nstill in it",
        "\t```\n\tx",
        "- a\n\n  <!-- open",
        "<div>\nx",
        "- " * 200 + "x",
        "para\nline\n===",
    ],
)
def test_what_follows_is_of_the_document(text: str, margin: str) -> None:
    made = quoted(f"{contained(text, margin)}\n\n### Next\n\nafter", margin)
    html = MarkdownIt("commonmark").render(f"{made}\n\n## After\n")
    assert "<h3>Next</h3>\n<p>after</p>" in html
    assert "\n<h2>After</h2>\n" in html
    assert "<h1>" not in html


@pytest.mark.parametrize(
    "text",
    [
        "1. Run this:\n\n   ```sh\n   ls -l\n   ```\n\n2. Done.",
        "Write in the file:\n\n    ```\n    x\n    ```\n\nDone.",
        "> quoted\n\nand a tail",
    ],
)
def test_a_text_that_ends_is_left_as_it_is(text: str) -> None:
    assert contained(text) == text


def test_a_text_that_cannot_be_ended_is_a_code_block() -> None:
    text = "1. Run this:\n\n   ```sh\n   ls -l"
    assert contained(text) == f"````\n{text}\n````"
