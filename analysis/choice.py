"""The choice analysis as a whole: attrition and treatment check first, then the effects."""

import json
from dataclasses import dataclass

import pandas as pd

from analysis.attrition import attrition, equal_attrition
from analysis.effects import choice_effects
from analysis.table import TRIAL, check_table
from analysis.treatment import treatment_check


@dataclass(frozen=True)
class ChoiceAnalysis:
    """Tidy frames, each documented by the function of its name; `treatment` is None without receipts."""

    effects: pd.DataFrame
    attrition: pd.DataFrame
    equal_attrition: pd.DataFrame
    treatment: pd.DataFrame | None
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """A JSON object with a list of records per frame; what is undefined is null."""
        frames = {
            "effects": self.effects,
            "attrition": self.attrition,
            "equal_attrition": self.equal_attrition,
            "treatment": self.treatment,
        }
        document = {
            name: None if frame is None else json.loads(frame.to_json(orient="records", double_precision=15))
            for name, frame in frames.items()
        }
        return json.dumps(document | {"notes": self.notes}, indent=2, ensure_ascii=False)


def analyze_choice(table: pd.DataFrame, receipts: pd.DataFrame | None = None) -> ChoiceAnalysis:
    """Analyse a tidy table, with its receipts (see `treatment_check`) where the run kept them.

    Raises AnalysisError for a table that `check_table` refuses or receipts that `treatment_check` refuses.
    """
    table = check_table(table)
    return ChoiceAnalysis(
        effects=choice_effects(table),
        attrition=attrition(table),
        equal_attrition=equal_attrition(table),
        treatment=None if receipts is None else treatment_check(receipts),
        notes=_notes(table),
    )


def _notes(table: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    trials = table.drop_duplicates(TRIAL)
    missing = int((trials["outcome"] != "choice").sum())
    if missing:
        notes.append(
            f"{missing:,} of {len(trials):,} trials have no choice; they are left out of the effects."
        )
    for name, feature in (("price", "cheaper"), ("rating", "higher rated")):
        if name in table and table[name].isna().any():
            count = len(table.loc[table[name].isna(), TRIAL].drop_duplicates())
            notes.append(f"No option is taken for {feature} in the trials that lack a {name} ({count:,}).")
    if table["direction"].eq(-1).any():
        notes.append("A nudge meant to push away counts as a nudge of the other options of its set.")
    return tuple(notes)
