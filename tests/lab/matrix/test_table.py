"""The table: its figures, its lines, and every pair that is not right."""

from inline_snapshot import snapshot

from lab.matrix.judge import Verdict
from lab.matrix.table import BEGIN, END, figures, section, with_section

VERDICTS = [
    Verdict("1.0.100", "plain", "right"),
    Verdict("2.1.39", "plain", "right"),
    Verdict("2.1.325", "plain", "wrong", "unexplained differs"),
    Verdict("1.0.100", "fork", "not known", "no option --fork-session"),
    Verdict("2.1.39", "fork", "not run", "did not exit within 45 s"),
    Verdict("2.1.325", "fork", "right"),
]


def test_the_figures_add_up() -> None:
    assert figures(VERDICTS) == snapshot("""\
| | |
|---|---|
| releases that ran | 3 |
| cases | 2 |
| pairs | 6 |
| judged | 4 |
| right | 3 |
| wrong | 1 |
| not known to the release | 1 |
| not run to the end | 1 |\
""")


def test_a_class_has_the_releases_on_which_its_cases_were_judged() -> None:
    text = section(VERDICTS, {"copied lines": ("fork",), "both": ("plain", "fork")})
    assert "| copied lines | 1 | 1/1 |\n| both | 3 | **3/4** |" in text


def test_the_section_names_every_pair_that_is_not_right() -> None:
    text = section(VERDICTS, {"copied lines": ("fork",)})
    assert text.partition("Right pairs of those judged:")[2] == snapshot("""\


| case | 1.0.62 to 1.0.128 | 2.1.0 to 2.1.85 | 2.1.273 and later |
|---|---|---|---|
| `plain` | 1/1 | 1/1 | **0/1** |
| `fork` | - | not run | 1/1 |

### Pairs that are wrong

| reason | case | releases |
|---|---|---|
| unexplained differs | `plain` | 2.1.325 |

### Pairs that were not run to their end

| reason | case | releases |
|---|---|---|
| did not exit within 45 s | `fork` | 2.1.39 |

### Cases that a release does not know

| reason | case | releases |
|---|---|---|
| no option --fork-session | `fork` | 1.0.100 |\
""")


def test_the_section_is_replaced_between_its_markers() -> None:
    first = with_section("# Proof\n\nText.\n", "one")
    assert first == f"# Proof\n\nText.\n\n{BEGIN}\none\n{END}\n"
    assert with_section(first + "\n## More\n", "two") == (
        f"# Proof\n\nText.\n\n{BEGIN}\ntwo\n{END}\n\n## More\n"
    )
