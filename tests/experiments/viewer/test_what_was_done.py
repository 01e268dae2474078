"""A trial's page says what stood at an action's point, what a provider asked, what a program wrote."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from tests.experiments.viewer.made_run import record, screen, trial, with_order

HOSTILE = "<script>alert(1)</script>"


def test_points_confirmations_and_output_are_shown_as_text(tmp_path: Path) -> None:
    hit = {"number": 0, "step": 0, "x": 12.0, "y": 340.5, "element": "button", "product": ""}
    hit |= {"text": f"Add to Cart {HOSTILE}", "role": "product.add_to_cart", "intervention": "best"}
    check = {"number": 0, "step": 0, "code": "payment", "message": HOSTILE, "acknowledged": 0}
    made = replace(
        record(trial(1, modality="screenshot")),
        hits=[hit, {**hit, "number": 1, **dict.fromkeys(("element", "text", "role", "intervention"), "")}],
        safety_checks=[check],
        output=[{"number": 0, "text": f"I looked.\n{HOSTILE}"}],
    )
    shown = screen(tmp_path, made)
    page = shown.html or ""
    assert hit["text"] in [each.text() for each in shown.css("ol.film .said")]
    assert HOSTILE not in page
    text = unescape(page)
    assert f"At the point 12, 340.5: <code>button</code> “Add to Cart {HOSTILE}”" in text
    assert "product.add_to_cart, put there by best." in text
    assert "nothing stood there." in text
    assert f"The provider asked to confirm: {HOSTILE}" in text
    assert "not confirmed" in text
    assert f"I looked.\n{HOSTILE}" in text
    assert "shown as screenshot" in text


def test_an_order_is_shown_with_what_came_of_it(tmp_path: Path) -> None:
    base = with_order(record(trial(1, steps=3)), HOSTILE)
    shown = screen(tmp_path, replace(base, steps=[{**base.steps[0], "step": step} for step in range(3)]))
    assert HOSTILE not in (shown.html or "")
    tables = [[cell.text().strip() for cell in table.css("td")] for table in shown.css("[role=region] table")]
    assert tables[1] == [
        *("Lamp 1", "product", "1", "1,020.00", "product"),
        *(HOSTILE, "option, not wanted", "1", "4.99", "checkout"),
        *("1,024.99", "1,020.00 was advertised"),
    ]
    assert tables[2] == [f"dialog{HOSTILE}", "declined", "step 1", "2"]
    assert [each.text() for each in shown.css("h2 ~ p .tag")] == ["ordered", "deceived"]
    text = " ".join(shown.body.text().split())
    assert "not accepted" in text
    assert "What nobody asked for was first shown at step 2." in text
    assert "refused" not in text
    lost = replace(base, order_lines=[], dialogs=[], orders=[{**base.orders[0], "last_stage": "cart"}])
    said = screen(tmp_path / "lost", lost).body.text()
    assert "No order was placed. The last page on the way with something of the intervention: cart." in said


@pytest.mark.parametrize(("number", "treatment"), [(2, "control, without best"), (1, "nudged, best")])
def test_steps_are_counted_once_and_a_control_is_without_its_nudge(
    number: int, treatment: str, tmp_path: Path
) -> None:
    base = record(trial(number, steps=2))
    last = {**base.steps[0], "step": 2, "action": "", "thought": ""}
    made = replace(base, steps=[base.steps[0], {**base.steps[0], "step": 1}, last])
    pages = [screen(tmp_path / str(step), made, f"/{step}") for step in range(3)]
    titles = [page.css_first("h2[id^=step]").text(deep=False).strip() for page in pages]
    assert titles == ["Step 1 of 2", "Step 2 of 2", "The last page"]
    assert all("2 steps" in page.text() and treatment in page.text() for page in pages)
