"""A small study for tests."""

from pathlib import Path
from typing import Any

import yaml

STUDY: dict[str, Any] = {
    "name": "small",
    "experiment": "nudges",
    "block": {
        "trials": 2,
        "attention": {1: {"text": "Choose the second.", "options": ["one", "two"], "answer": 2}},
    },
    "participants": {"target": 20, "spare": 0.2},
    "source": {"kind": "labels"},
    "pages": {
        "consent": "# Will you?\n\nWe record **pages** and clicks. <script>no()</script>",
        "instructions": "# Shop\n\nChoose a product.",
        "debriefing": "# What was false\n\nNothing was bought.",
    },
    "check": {
        "questions": [
            {"text": "What do you do?", "options": ["choose", "rate"], "answer": 1, "why": "You choose."}
        ]
    },
    "reasons": True,
    "questions": [
        {"id": "unusual", "text": "Anything unusual?"},
        {"id": "age", "text": "Your age?", "options": ["younger", "older"]},
    ],
    "privacy": {"contact": "lab@example.org", "keep_until": "2028-12-31"},
}


class _Plain(yaml.SafeDumper):
    """Writes what stands twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def study_file(folder: Path, **changes: Any) -> Path:
    """Write the study, with other values of some keys; None leaves a key out."""
    told = {key: value for key, value in {**STUDY, **changes}.items() if value is not None}
    path = folder / "study.yaml"
    path.write_text(yaml.dump(told, Dumper=_Plain, sort_keys=False, allow_unicode=True))
    return path
