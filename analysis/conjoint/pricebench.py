"""The files of the PriceBench study (Kireyev 2026) as a tidy table."""

from pathlib import Path

import pandas as pd

from analysis.errors import AnalysisError
from analysis.table import read_table

_LETTERS = ("a", "b", "c")
_ATTRIBUTES = {
    "attr_name": "name",
    "attr_stars": "stars",
    "attr_neighborhood": "neighborhood",
    "attr_room": "room_type",
    "attr_cancellation": "cancellation_free",
    "attr_breakfast": "breakfast_included",
    "attr_amenities": "amenities",
    "price": "price",
    "reviews": "review_count",
}
_ORDERINGS = {"orig": "forward", "swap": "reversed"}
_SWAP_OFFSET = 10_000
"""Added to the task numbers in the study's own files of the reversed order."""


def read_conjoint(path: str | Path) -> pd.DataFrame:
    """A tidy table from a `.csv` or `.parquet` file, or from a folder with the study's files."""
    return read_pricebench(path) if Path(path).is_dir() else read_table(path)


def read_pricebench(folder: str | Path) -> pd.DataFrame:
    """The tidy table of `tasks.csv` and `choices_AGENT_orig.csv`, `choices_AGENT_swap.csv` in a folder.

    A choice names the option by its letter in `tasks.csv`, in both orders. One that is no letter of its task
    is a trial without a choice.

    Raises AnalysisError if a file or column is missing or a task is unknown.
    """
    folder = Path(folder)
    cards = _cards(_read(folder / "tasks.csv", ["task_id", "group_id", "rep"]))
    tables = []
    for path in sorted(folder.glob("choices_*.csv")):
        agent, _, order = path.stem.removeprefix("choices_").rpartition("_")
        if not agent or order not in _ORDERINGS:
            raise AnalysisError(
                f"{path}: unknown name; call it choices_AGENT_orig.csv or choices_AGENT_swap.csv"
            )
        tables.append(_shown(path, agent, _ORDERINGS[order], cards))
    if not tables:
        raise AnalysisError(f"{folder}: no choices_AGENT_orig.csv; put the choices beside tasks.csv")
    table = pd.concat(tables, ignore_index=True)
    table.attrs["source"] = str(folder)
    return table


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    table = read_table(path)
    if missing := [name for name in columns if name not in table]:
        raise AnalysisError(f"{path}: column {missing[0]!r} is missing; use the study's own file")
    return table


def _cards(tasks: pd.DataFrame) -> pd.DataFrame:
    """One row per task and option."""
    frames = []
    for place, letter in enumerate(_LETTERS):
        shown = tasks[tasks[f"{letter}_hotel_id"].notna()] if f"{letter}_hotel_id" in tasks else tasks[:0]
        frame = pd.DataFrame(
            {name: shown[f"{letter}_{source}"] for name, source in _ATTRIBUTES.items()} if len(shown) else {}
        )
        if len(shown):
            frame["option"] = shown[f"{letter}_hotel_id"].astype(int).astype(str)
            frame["rating"] = 10 * shown[f"{letter}_review_score"].astype(float)
            frame["task_id"], frame["set"] = shown["task_id"], shown["group_id"].astype(str)
            frame["repeat"], frame["letter"], frame["place"] = shown["rep"], letter.upper(), place
            frames.append(frame)
    cards = pd.concat(frames, ignore_index=True)
    cards["size"] = cards.groupby("task_id")["option"].transform("size")
    return cards


def _shown(path: Path, agent: str, ordering: str, cards: pd.DataFrame) -> pd.DataFrame:
    choices = _read(path, ["task_id", "choice"])
    task = choices["task_id"].where(choices["task_id"] <= _SWAP_OFFSET, choices["task_id"] - _SWAP_OFFSET)
    unknown = ~task.isin(cards["task_id"])
    if unknown.any() or task.duplicated().any():
        at = int((unknown | task.duplicated()).to_numpy().argmax())
        raise AnalysisError(f"{path}:{at + 2}: task_id: {task[at]} is not in tasks.csv, or stands twice")
    chosen = pd.Series(choices["choice"].to_numpy(), index=task)
    table = cards[cards["task_id"].isin(task)].copy()
    answer = table["task_id"].map(chosen).fillna("").astype(str).str.strip()
    table["chosen"] = (answer == table["letter"]).astype("Int64")
    valid = table.groupby("task_id")["chosen"].transform("sum") == 1
    table["chosen"] = table["chosen"].where(valid)
    table["outcome"] = valid.map({True: "choice", False: "agent_error"})
    table["position"] = table["place"] if ordering == "forward" else table["size"] - 1 - table["place"]
    table["trial"] = table["task_id"].astype(str) + "-" + ordering
    return table.drop(columns=["task_id", "letter", "place", "size"]).assign(
        run="pricebench", agent=agent, category="hotel", ordering=ordering
    )
