"""Registered results: Holm against statsmodels and by hand, equality against scipy, tables that compile."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.reporting.latex import tex
from analysis.reporting.methods import markdown, methods
from analysis.reporting.registered import DeclaredHypothesis, Registration, equality_p, judged, with_plan
from analysis.reporting.sections import NamedTable, Report, Section
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import result_frame

p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=8)


def plan(
    *hypotheses: DeclaredHypothesis, correction: str = "holm", agents: tuple[str, ...] = ("a",)
) -> Registration:
    return Registration("0" * 64, "2026-01-01", hypotheses, agents, correction)


@pytest.mark.thorough
@pytest.mark.slow
@given(p_values, st.sampled_from(["holm", "bonferroni", "benjamini-hochberg"]))
def test_adjusted_p_values_are_those_of_the_whole_family(values: list[float | None], correction: str) -> None:
    terms = [f"t{place}" for place in range(len(values))]
    frame = result_frame(
        {"term": term, "group": "a", "estimate": 1.0, "p_value": p}
        for term, p in zip(terms, values, strict=True)
    )
    asked = [DeclaredHypothesis(term, "effects", {"term": term}, "above") for term in terms]
    asked.append(DeclaredHypothesis("absent", "effects", {"term": "absent"}))
    found = judged({"effects": frame}, plan(*asked, correction=correction))
    p = [1.0 if value is None else value for value in [*values, None]]
    named = {"holm": "holm", "bonferroni": "bonferroni", "benjamini-hochberg": "fdr_bh"}[correction]
    expected = multipletests(p, method=named)[1]
    known = found["p_value"].notna()
    assert np.allclose(found["p_adjusted"][known], expected[known], atol=1e-12)
    supported = expected <= 0.05
    assert [verdict == "supported" for verdict in found["verdict"]] == list(supported & known)


@given(st.floats(-5, 5), st.floats(0.1, 3), st.floats(3, 200), st.floats(0.5, 10))
def test_equality_is_two_one_sided_tests(estimate: float, error: float, df: float, margin: float) -> None:
    half = stats.t.ppf(0.975, df) * error
    row = {"estimate": estimate, "std_error": error}
    row |= {"conf_low": estimate - half, "conf_high": estimate + half}
    lower = stats.t.sf((estimate + margin) / error, df)
    upper = stats.t.cdf((estimate - margin) / error, df)
    assert equality_p(row, margin) == pytest.approx(max(lower, upper), abs=1e-6)
    bound = equality_p({**row, "std_error": float("nan")}, margin)
    assert bound >= equality_p(row, margin) - 1e-6 or bound == 1.0


@pytest.mark.thorough
@pytest.mark.slow
def test_verdicts_and_what_is_not_there() -> None:
    up = {"term": "up", "estimate": 3.0, "p_value": 0.001, "conf_low": 2.0, "conf_high": 4.0}
    none = {"term": "none", "estimate": 0.1, "conf_low": -0.5, "conf_high": 0.6}
    frame = result_frame([each | {"group": "a"} for each in (up, none)])
    frame = pd.concat([frame, frame.assign(term="double"), frame.assign(term="double")])
    asked = [
        DeclaredHypothesis("up", "t", {"term": "up"}, "above"),
        DeclaredHypothesis("down", "t", {"term": "up"}, "below"),
        DeclaredHypothesis("flat", "t", {"term": "none"}, "equal", 1.0, family="other"),
        DeclaredHypothesis("not-flat", "t", {"term": "up"}, "equal", 1.0, family="third"),
        DeclaredHypothesis("twice", "t", {"term": "double"}),
        DeclaredHypothesis("nowhere", "none", {"term": "up"}),
    ]
    found = judged({"t": frame}, plan(*asked)).set_index("hypothesis")
    assert found["verdict"].to_dict() == {
        "up": "supported",
        "down": "not supported",
        "flat": "supported",
        "not-flat": "not supported",
        "twice": "undecided",
        "nowhere": "undecided",
    }
    assert "4 rows" in found.loc["twice", "note"]
    assert "no row" in found.loc["nowhere", "note"]


def test_an_exact_test_of_the_margin_is_better_than_a_bound() -> None:
    """The interval is not Student's; the test of another margin does not count."""
    row = {"term": "x", "group": "a", "estimate": 0.0, "p_value": 1.0, "conf_low": -3.0, "conf_high": 4.0}
    frame = result_frame([row])
    tested = result_frame([row | {"margin": 5.0, "p_equivalent": 0.004}], "margin", "p_equivalent")
    asked = [
        DeclaredHypothesis(f"within-{m:.0f}", "exact", {"term": "x"}, "equal", m) for m in (5.0, 6.0, 2.0)
    ]
    found = judged({"exact": frame, "exact, margin 5.0": tested}, plan(*asked, correction="none"))
    assert found["p_value"].tolist() == [0.004, 0.025, 1.0]
    assert [("bound" in note) for note in found["note"]] == [False, True, True]
    assert found["verdict"].tolist() == ["supported", "supported", "undecided"]


def test_each_agent_is_a_test_and_the_report_tells_registered_from_exploratory() -> None:
    frame = result_frame(
        [{"term": "x", "group": name, "estimate": 1.0, "p_value": 0.03} for name in ("a", "b", "c")]
    )
    known = plan(DeclaredHypothesis("h", "t", {"term": "x"}), agents=("a", "b"))
    found = judged({"t": frame}, known)
    assert list(found["group"]) == ["a", "b"]
    assert np.allclose(found["p_adjusted"], 0.06)
    before = Report((Section("Effects", "", (NamedTable("t", "T", frame),)),), ("a: said.",))
    report = with_plan(before, known, found)
    assert [each.title for each in report.sections] == [
        "Registered results",
        "Exploratory results",
        "Effects",
    ]
    assert [each.partition(":")[0] for each in report.answer] == ["Registered", "Registered", "Exploratory"]
    empty = with_plan(before, plan(), judged({}, plan()))
    assert empty.sections[0].title == "Effects"


def tokens(text: str) -> str:
    """What LaTeX prints of an escaped text: every command that `tex` writes, read back."""
    signs = {
        "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
        "textgreater": ">", "textbar": "|", "textquotedbl": '"', "textasciigrave": "`",
    }  # fmt: skip
    text = text.replace(r"\allowbreak{}", "").replace("{[}", "[").replace("{]}", "]")
    mathematical = {
        "-": "−", r"\times": "×", r"\geq": "≥", r"\leq": "≤", r"\neq": "≠", r"\rightarrow": "→",
    }  # fmt: skip
    for command, sign in mathematical.items():
        text = text.replace(rf"\ensuremath{{{command}}}", sign)
    return re.sub(
        r"\\(?:([a-z]+)\{\}|([&%$#_{}]))", lambda found: signs[found[1]] if found[1] else found[2], text
    )


@given(st.text())
@example("≤ ≥ ≠ × → −")
@example("0" * 64)
def test_no_text_is_a_command(text: str) -> None:
    one_line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    escaped = tex(text)
    assert tokens(escaped) == one_line
    bare = re.sub(
        r"\\(?:text[a-z]+|allowbreak)\{\}|\\[&%$#_{}]|\\ensuremath\{(?:-|\\[a-z]+)\}|\{[\[\]]\}", "", escaped
    )
    assert not set(bare) & set("\\{}$&#^_%~")
    assert re.sub(r"\\([\\`*_{}\[\]<>#|~$])", r"\1", markdown(text)) == one_line


def test_a_methods_section_in_both_forms(tmp_path: Path) -> None:
    frame = result_frame([{"term": "x", "group": "a_1&b", "estimate": -1.5, "p_value": 0.03}])
    found = judged({"t": frame}, plan(DeclaredHypothesis("h", "t", {"term": "x"}), agents=("a_1&b",)))
    text = methods({"Design": "100 % of {all}"}, found, tmp_path / "m.tex")
    assert text.count("{") == text.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\tabularnewline")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {7}
    assert r"a\_1\&b" in text
    table = methods({"Design": "x"}, found, tmp_path / "m.md")
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if line.startswith("|")} == {9}
    with pytest.raises(AnalysisError, match="suffix"):
        methods({}, found, tmp_path / "m.doc")
