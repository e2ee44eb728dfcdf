"""A conversation as it is printed: what others wrote stays within its own place."""

import io

from markdown_it import MarkdownIt

from ccwire.output.show.conversation import print_conversation, print_markdown
from ccwire.output.terminal import SafeConsole
from correlate.show.conversation import Item

SECRET = "ghp_" + "A1b2C3d4E5" * 4
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq\n" * 9 + "-----END PRIVATE KEY-----"


def printed(*items: Item) -> str:
    to = SafeConsole(file=io.StringIO(), width=100)
    print_conversation(to, "one", items, prompts=0, full=True, notes=())
    return to.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def as_markdown(*items: Item) -> str:
    to = SafeConsole(file=io.StringIO(), width=100)
    print_markdown(to, "one", items, full=True, notes=())
    return to.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def agent(text: str, agent_id: str = "a1") -> Item:
    return Item(kind="agent", text=text, agent_id=agent_id, depth=1)


def test_the_description_of_an_agent_is_one_line() -> None:
    described = agent("Look\n\n# Around\n```")
    assert "agent a1 · Look # Around ```\n" in printed(described)
    html = MarkdownIt("commonmark").render(as_markdown(described, Item(kind="answer", text="Yes.")))
    assert html.count("<h") == 2  # of the session and of the answer
    assert "<p>Yes.</p>" in html


def test_a_secret_in_the_name_of_an_agent_is_redacted_before_it_is_cut() -> None:
    for shown in (printed(agent("", SECRET)), as_markdown(agent("", SECRET))):
        assert SECRET[:8] not in shown
        assert "agent <redacted" in shown


def test_a_secret_of_several_lines_is_redacted_in_a_subagent_too() -> None:
    said = Item(kind="answer", text=KEY, depth=1)
    done = Item(kind="tool", text="cat key", title="Bash", result=KEY, depth=1)
    assert "MIIE" not in as_markdown(said, done)


def test_an_html_block_ends_before_the_subagent_that_follows() -> None:
    shown = as_markdown(Item(kind="answer", text="<div>\nx"), agent("Look"))
    assert "<strong>agent a1" in MarkdownIt("commonmark").render(shown)
