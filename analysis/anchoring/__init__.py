"""Anchoring in log-probabilities: expected answers, paired tests, attribution to prompt fields, ABSS."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.anchoring.coalitions import coalitions

if TYPE_CHECKING:
    from analysis.anchoring.study import AnchoringAnalysis, analyze_anchoring
    from analysis.anchoring.table import read_anchoring

__all__ = ["AnchoringAnalysis", "analyze_anchoring", "coalitions", "read_anchoring"]

_LATER = {"AnchoringAnalysis": "study", "analyze_anchoring": "study", "read_anchoring": "table"}


def __getattr__(name: str) -> Any:
    # A design needs only the coalitions; the libraries of tests and figures take seconds to import.
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
