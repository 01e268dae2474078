"""The sizes of models: as given, else from their labels, by one rule in all studies."""

import pandas as pd
import pytest

from analysis.conjoint.across import model_size
from analysis.tables.errors import AnalysisError
from analysis.tables.sizes import model_sizes

NAMED = {
    "llama-3.1-70b": 70,
    "gemma2:9b": 9,
    "gemma2_9b": 9,
    "org/qwen2.5_7b-instruct": 7,
    "phi_3.8B_chat": 3.8,
    "Phi-3.8B": 3.8,
    "q:1.5b-chat": 1.5,
    "qwen3-30b-a3b": 30,
}
UNNAMED = ("openai:gpt-4o", "gpt-5.4", "a-7b-8b", "b2b", "x-1b2", "mixtral-8x7b", "v1.2.7b", "bob")


def test_sizes_are_read_from_labels() -> None:
    assert model_sizes([*NAMED, *UNNAMED]) == NAMED


def test_a_given_size_goes_before_the_label() -> None:
    assert model_sizes(["gemma2:9b"], {"gemma2:9b": 27, "other": 1}) == {"gemma2:9b": 27}
    for size in (-1, 0, float("nan"), float("inf")):
        with pytest.raises(AnalysisError, match=f"sizes: a: {size} is not above 0"):
            model_sizes(["a"], {"a": size})


def test_conjoint_studies_have_the_same_sizes() -> None:
    agents = [*NAMED, *UNNAMED]
    sensitivity = pd.DataFrame({"term": "price_sensitivity", "group": agents, "estimate": 1.0, "note": ""})
    rows = model_size(sensitivity, None).set_index("group")
    assert rows["size"].drop("all agents").dropna().to_dict() == NAMED
    assert rows.loc[list(UNNAMED), "note"].eq("size unknown").all()
    assert rows.loc["all agents", ["n", "n_missing"]].tolist() == [len(NAMED), len(UNNAMED)]
    with pytest.raises(AnalysisError, match=r"sizes: gpt-5\.4: 0 is not above 0"):
        model_size(sensitivity, {"gpt-5.4": 0})
