"""Read the files of the PriceBench study (Kireyev 2026) as a tidy table."""

from pathlib import Path

import pandas as pd

from analysis.tables.choice_table import Column, check_columns, columns_of, read_table
from analysis.tables.errors import AnalysisError
from analysis.tables.table_file import RowPlaces, first_row, read_frame

_LETTERS = ("a", "b", "c")
_TASK = tuple(columns_of("pricebench tasks").values())
_HOTEL = columns_of("pricebench hotels")
"""What becomes of each of a hotel's columns, which the study names by the option's letter: `a_price`."""
_CHOICE = tuple(columns_of("pricebench choices").values())
_ORDERINGS = {"orig": "forward", "swap": "reversed"}
_SWAP_OFFSET = 10_000
"""Added to the task numbers in the study's own files of the reversed order."""


def read_conjoint(path: str | Path) -> pd.DataFrame:
    """Read a tidy table from a `.csv` or `.parquet` file, or from a folder with the study's files."""
    return read_pricebench(path) if Path(path).is_dir() else read_table(path)


def read_pricebench(folder: str | Path) -> pd.DataFrame:
    """Read the tidy table from the study's files in a folder.

    The files are `tasks.csv`, `choices_AGENT_orig.csv` and `choices_AGENT_swap.csv`. A choice names the
    option by its letter in `tasks.csv`, in both orders. One that is no letter of its task is a trial without
    a choice.

    Raises AnalysisError if a file or column is missing, a value is wrong or a task is unknown.
    """
    folder = Path(folder)
    cards = _cards(folder / "tasks.csv")
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


def _refuse(table: pd.DataFrame, wrong: "pd.Series[bool]", column: str, problem: str) -> None:
    if wrong.any():
        row = first_row(wrong)
        task = table["task_id"].loc[row]
        raise AnalysisError(f"{RowPlaces(table).of(row, column)}: {column}: task {task:g}: {problem}")


def _hotel(letter: str) -> dict[str, Column]:
    """The columns of the option with this letter; the first two are in each task."""
    return {
        name: column._replace(name=f"{letter}_{column.name}", filled=name == "option" and letter != "c")
        for name, column in _HOTEL.items()
    }


def _cards(path: Path) -> pd.DataFrame:
    """One row per task and option."""
    tasks = read_frame(path, str)  # so that a message shows what stands there
    letters = [letter for letter in _LETTERS if letter != "c" or f"{letter}_hotel_id" in tasks]
    hotels = {letter: _hotel(letter) for letter in letters}
    columns = [*_TASK, *(column for hotel in hotels.values() for column in hotel.values())]
    tasks = check_columns(tasks, columns, RowPlaces(tasks), published=True)
    _refuse(tasks, tasks.duplicated("task_id"), "task_id", "stands twice; number the tasks")
    frames = []
    for place, (letter, hotel) in enumerate(hotels.items()):
        number = hotel["option"].name
        absent = tasks[number].isna()
        for column in hotel.values():
            nameless = absent & tasks[column.name].notna() & (tasks[column.name] != "")
            _refuse(tasks, nameless, number, f"is empty, but {column.name} is not; give the hotel's number")
        for earlier in letters[:place]:
            twice = tasks[number] == tasks[f"{earlier}_hotel_id"]
            _refuse(tasks, twice, number, f"the same hotel as {earlier}_hotel_id; give two different ones")
        shown = tasks[~absent]
        frame = pd.DataFrame({name: shown[column.name] for name, column in hotel.items()})
        frame["option"] = frame["option"].astype(int).astype(str)
        frame["rating"] *= 10
        frame["task_id"], frame["set"] = shown["task_id"].astype(int), shown["group_id"]
        frame["repeat"], frame["letter"], frame["place"] = shown["rep"], letter.upper(), place
        frames.append(frame)
    cards = pd.concat(frames, ignore_index=True)
    cards["size"] = cards.groupby("task_id")["option"].transform("size")
    return cards


def _shown(path: Path, agent: str, ordering: str, cards: pd.DataFrame) -> pd.DataFrame:
    choices = read_frame(path, str)
    choices = check_columns(choices, _CHOICE, RowPlaces(choices), published=True)
    number = choices["task_id"].astype(int)
    task = number.where(number <= _SWAP_OFFSET, number - _SWAP_OFFSET)
    _refuse(choices, ~task.isin(cards["task_id"]), "task_id", "is not in tasks.csv; correct it")
    _refuse(choices, task.duplicated(), "task_id", "stands twice; keep one of its choices")
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
        run="pricebench", agent=agent, category="hotel", currency="USD", ordering=ordering
    )
