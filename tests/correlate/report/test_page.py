"""The page around the data: embedded data cannot break out of its element."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from correlate.report.model import page_model
from correlate.report.page import inert_json, render
from tests.correlate.report.made import ReportSession, small_session

NASTY = "</script><script>alert(1)</script><!-- \"'` & \u2028\u2029 \x00\x1b[31m \ud800 é 漢 👍"


class Elements(HTMLParser):
    """Collects what a browser would parse: elements, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._in: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag in self.texts:
            self._in = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in:
            self.texts[self._in][-1] += data


def nasty_page(root: Path) -> str:
    made = ReportSession("6f1c2d3e-0000-4000-8000-000000000003", cwd=f"/home/{NASTY[:9]}x")
    made.prompt(NASTY.replace("\ud800", ""))
    made.call(("text", "tool_use"), texts=(NASTY.replace("\ud800", ""),), error=NASTY[:30])
    return render(page_model(made.source(root)))


def data_of(page: str) -> Any:
    return json.loads(Elements(page).texts["script"][0])


def test_no_captured_text_can_end_the_element_it_is_in(tmp_path: Path) -> None:
    elements = Elements(nasty_page(tmp_path))
    scripts = [attributes for tag, attributes in elements.seen if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert "alert(1)" in elements.texts["script"][0]
    assert "alert(1)" not in elements.texts["script"][1]


def test_the_text_is_all_there_and_visible(tmp_path: Path) -> None:
    content = data_of(nasty_page(tmp_path))["calls"][0]["content"]
    text = content["answer"][0]["text"]
    assert text.startswith("</script><script>alert(1)</script><!-- \"'` & ⟨U+2028⟩⟨U+2029⟩ ␀␛[31m")
    assert content["request"]["pieces"][0]["text"] == text


def test_json_is_inert_anywhere_in_a_page() -> None:
    written = inert_json({NASTY: [NASTY, 1, None, True, 1 << 80, 1.5, (2,)]})
    assert re.search("[<>&\u2028\u2029\x00-\x1f]", written) is None
    spelled = NASTY.replace("\ud800", "\\ud800")
    assert json.loads(written) == {spelled: [spelled, 1, None, True, float(1 << 80), 1.5, [2]]}


def test_numbers_that_json_has_not_become_null() -> None:
    assert inert_json([float("nan"), float("inf")]) == "[null,null]"
    assert json.loads(inert_json(["\ud800", 10**400])) == ["\\ud800", None]


def test_the_policy_allows_the_page_s_own_pieces_and_nothing_else(tmp_path: Path) -> None:
    elements = Elements(render(page_model(small_session().source(tmp_path))))
    (policy,) = [
        attributes["content"]
        for tag, attributes in elements.seen
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (elements.texts["script"][1], elements.texts["style"][0])
    ]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; "
        f"style-src 'sha256-{digests[1]}'; base-uri 'none'; form-action 'none'"
    )


def test_the_page_points_to_nothing_outside_of_it(tmp_path: Path) -> None:
    page = render(page_model(small_session().source(tmp_path)))
    elements = Elements(page)
    links = [a.get("href") or a.get("src") or "#" for _, a in elements.seen]
    assert all(link.startswith("#") for link in links)
    known = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"'<>)]+", elements.texts["script"][1])) <= known
    assert "innerHTML" not in page
    assert "url(" not in elements.texts["style"][0]
