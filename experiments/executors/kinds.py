"""How the trials of each kind of design run; the kinds themselves are in designs/loading.py."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from agents.providers.batches import BatchQueue
from environments.shop.shop import Shop
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from experiments.designs.design import Trial
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.trial import ScoreTrial
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.card_episode import CardTrialRunner
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, TrialRunner
from experiments.executors.executor import Attempt, Executor
from experiments.executors.scores import CardScoring, PromptScoring, Scoring
from experiments.executors.start_pages import check_start_pages
from experiments.executors.text import TextExecutor
from experiments.records.record import TrialRecord

if TYPE_CHECKING:
    from experiments.episodes.guest_trial import GuestTrials, Observe
    from experiments.executors.programs import ProgramGuests

D_contra = TypeVar("D_contra", contravariant=True)
T = TypeVar("T", bound=Trial)
T_contra = TypeVar("T_contra", bound=Trial, contravariant=True)


class Check(Protocol[D_contra, T_contra]):
    """The protocol of a check before the first trial."""

    def __call__(
        self,
        design: D_contra,
        trials: Iterable[T_contra],
        shop: Shop,
        *,
        upstream_ca: Path | None,
        strict: bool = False,
    ) -> Awaitable[None]:
        """Raise UserError where a trial could not be treated; `strict`: also for what is only told else."""


class AsText(Executor[T_contra], Protocol[T_contra]):
    """The protocol of executors that ask trials as prompts."""

    def lost(self, attempt: Attempt[T_contra], reason: str) -> TrialRecord:
        """Make the record of an attempt that never came back from another process."""


class _AsGuests(Protocol[D_contra]):
    """The protocol of what lets guests of the proxy act in trials."""

    def __call__(
        self, design: D_contra, shop_url: str, guests: "ProgramGuests", *, observe: "Observe"
    ) -> "GuestTrials":
        """Prepare to begin trials at a shop with this address; `observe`: what counts as shown."""


@dataclass(frozen=True)
class TrialRunners(Generic[D_contra, T]):
    """The functions that run the trials of one kind; None: its trials never run in this way.

    on_pages: from the design and the shop's address to what runs an episode. as_text: from the design, the
    number of slots and what collects requests in batches, if anything does, to what asks prompts. scoring:
    from the design to what scores the answers of a trial. check: looks, before the first trial, whether
    trials can be treated, from the design, the trials and the shop's address (None: the embedded one), and
    the file `upstream_ca`; it raises UserError. on_programs: opens what lets programs act in trials, from the
    design, the testbed, the proxy's guests, the number of programs at once, what counts as shown and what
    they may not read. guests: lets guests of the proxy act, such as those that are replayed.
    """

    on_pages: Callable[[D_contra, str], TrialRunner[T]] | None = None
    as_text: Callable[[D_contra, int, BatchQueue | None], AsText[T]] | None = None
    scoring: Callable[[D_contra], Scoring[T]] | None = None
    check: Check[D_contra, T] | None = None
    on_programs: (
        Callable[
            [D_contra, Testbed, "ProgramGuests", int, "Observe", Sequence[Path]],
            AbstractAsyncContextManager[Executor[T]],
        ]
        | None
    ) = None
    guests: _AsGuests[D_contra] | None = None


def _in_shops(
    design: ShopDesign,
    testbed: Testbed,
    guests: "ProgramGuests",
    at_once: int,
    observe: "Observe",
    private: Sequence[Path],
) -> AbstractAsyncContextManager[Executor[ShopTrial]]:
    from experiments.executors.programs import open_programs  # noqa: PLC0415 (few runs)

    return open_programs(design, testbed, guests, at_once, observe, private)


def _guests_of_shops(
    design: ShopDesign, shop_url: str, guests: "ProgramGuests", *, observe: "Observe"
) -> "GuestTrials":
    from experiments.executors.programs import guest_trials  # noqa: PLC0415 (few runs)

    return guest_trials(design, shop_url, guests, observe=observe)


# The kind of a design, by which a row is found, does not tell the types of it and its trials.
KINDS: Final[dict[str, TrialRunners[Any, Any]]] = {
    "shop": TrialRunners[ShopDesign, ShopTrial](
        on_pages=ShopTrialRunner, check=check_start_pages, on_programs=_in_shops, guests=_guests_of_shops
    ),
    "cards": TrialRunners[CardDesign, CardTrial](
        on_pages=CardTrialRunner, as_text=TextExecutor.of, scoring=CardScoring
    ),
    "scores": TrialRunners[ScoreDesign, ScoreTrial](scoring=PromptScoring),
}
