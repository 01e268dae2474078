"""A study's file: every mistake has its line and key, and texts are there in every language."""

from pathlib import Path
from typing import Any

import pytest

from experiments.people.study_file import ENDINGS, PeopleStudy, in_language
from interventions.errors import UserError
from tests.experiments.people.study_files import STUDY, study_file

PAGES = STUDY["pages"]
CODES = {each: {"env": f"TEST_CODE_{each.upper()}"} for each in ENDINGS}
BACK = "https://platform.example.org/complete?cc={code}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pages": {**PAGES, "debriefing": None}}, "debriefing"),
        ({"pages": {k: v for k, v in PAGES.items() if k != "debriefing"}}, "debriefing is missing"),
        ({"languages": ["en", "de"], "pages": {**PAGES, "consent": {"en": "Yes?"}}}, "no text in de"),
        ({"source": {"kind": "prolific"}}, "return address"),
        ({"source": {"kind": "prolific", "return": "http://x.org/{code}"}}, "write an https:// address"),
        ({"source": {"kind": "open", "return": BACK}}, "complete has no code"),
        ({"source": {"kind": "open", "codes": {"complete": {"env": "A", "file": "b"}}}}, "one place"),
        (
            {"block": {"trials": 2, "attention": {3: {"text": "a", "options": ["b", "c"], "answer": 1}}}},
            "2 trials",
        ),
        ({"check": {"questions": [{"text": "a", "options": ["b", "c"], "answer": 3}]}}, "2 options"),
        ({"questions": [{"id": "a", "text": "b", "options": ["c"]}]}, "one option is no choice"),
        ({"questions": [{"id": "a", "text": "b"}, {"id": "a", "text": "c"}]}, "two questions"),
        ({"questions": [{"id": "stage", "text": "a"}]}, "a name of the page itself"),
        ({"pages": {**PAGES, "consent": "gone.md"}}, "no such file"),
        ({"exclusion": {}}, "exclusion"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = study_file(tmp_path, **changes)
    with pytest.raises(UserError, match=message) as told:
        PeopleStudy.load(path)
    assert str(told.value).startswith(f"{path}:")


def test_texts_are_read_from_files_by_language(tmp_path: Path) -> None:
    (tmp_path / "consent.de.md").write_text("# Wollen Sie?\n", encoding="utf-8")
    pages = {**PAGES, "consent": {"en": "# Will you?", "de": "consent.de.md"}}
    study = PeopleStudy.load(study_file(tmp_path, languages=["en", "de"], pages=pages))
    assert study.texts["consent"] == {"en": "# Will you?", "de": "# Wollen Sie?\n"}
    assert in_language(study.texts["instructions"], "de") == PAGES["instructions"]


def test_codes_come_from_the_environment_and_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = PeopleStudy.load(study_file(tmp_path, source={"kind": "open", "return": BACK, "codes": CODES}))
    with pytest.raises(UserError, match="TEST_CODE_COMPLETE is not set"):
        study.codes()
    for number, each in enumerate(ENDINGS):
        monkeypatch.setenv(f"TEST_CODE_{each.upper()}", f"CODE{number}")
    assert study.codes() == {each: f"CODE{number}" for number, each in enumerate(ENDINGS)}
    monkeypatch.setenv("TEST_CODE_FULL", "CODE0")
    with pytest.raises(UserError, match="codes have to differ"):
        study.codes()
