"""Let a model write the table of a variable by category, for a person to review."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agents.base import AgentError, ProviderError
from agents.providers.network import close_connections
from agents.registry import make_respondent
from experiments.records.whole_file import whole_file
from interventions.data_file import read_source
from interventions.errors import UserError
from interventions.html.numbers import one_line
from interventions.yaml.writing import scalar
from interventions.yaml.yaml_source import load_yaml

QUESTION: Final = read_source(__file__, "table_values.txt")


async def add_table(path: Path, name: str, agent: str, categories: Iterable[str]) -> None:
    """Ask `agent` for the words of `${name}` for each category, and add the table at the end of a file.

    Raises:
        UserError: no text has the variable, the file has tables, or the agent gave no words for a category;
            then the file stays as it is.
    """
    has_tables, variable = "tables" in load_yaml(path).data, f"${{{name}}}"
    old = path.read_text(encoding="utf-8")  # noqa: ASYNC240 - one small file
    text = next((line.strip() for line in old.splitlines() if variable in line), "")
    if not text or has_tables:
        raise UserError(f"{path}: --fill needs a text with {variable}, and no tables; write such a file")
    rows = [f"{old.rstrip()}\ntables:\n  {scalar(name)}: # written by {agent}\n"]
    try:
        for category in dict.fromkeys(categories):
            said = QUESTION.format(variable=variable, text=json.dumps(text), category=json.dumps(category))
            reply = await make_respondent(agent, seed=0).answer(
                [{"role": "user", "content": said}], temperature=0.0, max_tokens=200
            )
            if not (words := one_line(reply.text).strip("\"'. ")):
                raise AgentError("an empty answer")
            rows.append(f"    {scalar(category)}: {scalar(words)}\n")
    except (AgentError, ProviderError) as error:
        raise UserError(
            f"--fill: {agent} gave no words for {category} ({error}); try another model"
        ) from None
    finally:
        await close_connections()
    with whole_file(path) as partial:
        partial.write_text("".join(rows), encoding="utf-8")
