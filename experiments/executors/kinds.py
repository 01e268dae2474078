"""How the trials of each kind of design run; which kinds there are is said in designs/loading.py."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from experiments.designs.design import Kind
from experiments.episodes.card_episode import CardTrialRunner
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import TrialRunner
from experiments.executors.scores import CardScoring, PromptScoring, Scoring
from experiments.executors.start_pages import check_start_pages


@dataclass(frozen=True, slots=True)
class Running:
    """What runs the trials of one kind; None: they never run so.

    on_pages: from the design and the shop's address to what runs an episode. scoring: from the design to what
    scores the answers of a trial. check: looks, before the first trial, whether trials can be treated, from
    the design, the trials and the shop's address (None: the embedded one); it raises UserError.
    """

    on_pages: Callable[[Any, str], TrialRunner[Any]] | None = None
    scoring: Callable[[Any], Scoring] | None = None
    check: Callable[[Any, Iterable[Any], str | None], Awaitable[None]] | None = None


KINDS: Final[Mapping[Kind, Running]] = {
    "shop": Running(on_pages=ShopTrialRunner, check=check_start_pages),
    "cards": Running(on_pages=CardTrialRunner, scoring=CardScoring),
    "scores": Running(scoring=PromptScoring),
}
