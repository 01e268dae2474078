"""Design conjoint studies: choice sets of alternatives whose attributes vary, in both orders."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from experiments.designs.cards.alternatives import ChoiceCard, as_shown
from experiments.designs.cards.experiment_file import CardExperiment, Conjoint
from experiments.designs.cards.hotel_profiles import (
    HotelProfile,
    hotels,
    is_table_of_profiles,
    profiles_from,
)
from experiments.designs.cards.profile_sets import form_sets, most_sets, shown_sets_of
from experiments.designs.cards.ready_cards import ShownSet, shown_sets_from
from experiments.designs.cards.trial import CardTrial
from experiments.designs.cards.variants import cells_of, varied
from experiments.designs.inputs.csv_rows import read_rows
from interventions.yaml.yaml_source import Source, did_you_mean

SHIPPED: Final = "hotels"
_POOL: Final = ("design", "conjoint", "pool")
_BLOCKS: Final = ("design", "conjoint", "blocks")

Item = TypeVar("Item")


class ConjointDesign:
    """The trials of a conjoint; a block is one showing, in all its orders."""

    analysis = "conjoint"
    quota: int | None = None
    attempts: int = 0
    notes: Sequence[str] = ()

    def __init__(self, spec: Conjoint, experiment: CardExperiment, source: Source) -> None:
        self._spec = spec
        self._seed = experiment.seed
        self._card = ChoiceCard(experiment.cards, source)
        self._values = {"city": spec.city, "currency": spec.currency}
        self._cells = list(cells_of(spec.variants, experiment.temperature))
        self._profiles, self._ready = self._read_pool(source)
        self._both_orders = spec.order == "both"
        self._sets = {block.set_size: form_sets(self._profiles, block, self._seed) for block in spec.blocks}
        self.sets = sum(map(len, self._sets.values())) or len({shown_set.set for shown_set in self._ready})
        formed = sum(block.sets * block.repeats for block in spec.blocks)
        self.size = (len(self._ready) or formed) * (2 if self._both_orders else 1) * len(self._cells)
        for name, variant in spec.variants.items():
            for index, label in enumerate(variant.fields):
                if label not in (labels := self._card.labels[1:]):
                    hint = did_you_mean(label, labels, noun="besides the name there are")
                    place = ("design", "conjoint", "variants", name, "fields", index)
                    raise source.error(place, f'the card has no field "{label}"; {hint}')

    def _read_pool(self, source: Source) -> tuple[tuple[HotelProfile, ...], tuple[ShownSet, ...]]:
        """The profiles of the pool, or its ready cards. Raises UserError."""
        pool = self._spec.pool
        profiles: tuple[HotelProfile, ...] = ()
        ready: tuple[ShownSet, ...] = ()
        if pool == SHIPPED:
            profiles = hotels()
        elif pool.lower().endswith(".csv"):
            file, known = str(source.file_at(_POOL, pool)), HotelProfile.model_fields
            columns, rows, unused = read_rows(file, known)
            if is_table_of_profiles(columns):
                profiles = profiles_from(rows)
                self.notes = unused
            else:
                columns, rows, _ = read_rows(file)
                ready = shown_sets_from(pool, columns, rows, self._card.attributes)
        else:
            hint = did_you_mean(pool, [SHIPPED], noun="shipped")
            raise source.error(_POOL, f'unknown pool "{pool}"; {hint} (a file\'s name ends in .csv)')
        if ready and self._spec.blocks:
            message = f"{pool} holds ready cards, which are shown as they are; remove blocks"
            raise source.error(_BLOCKS, message)
        if profiles and not self._spec.blocks:
            raise source.error(_BLOCKS, "missing; say which sets to form, such as [{set_size: 2, sets: 50}]")
        for index, block in enumerate(self._spec.blocks):
            if block.sets > (most := most_sets(profiles, block.set_size)):
                within = " within their cities" if any(each.city for each in profiles) else ""
                made = f"make only {most} sets of {block.set_size}{within}"
                message = f"{len(profiles)} hotels {made}; lower sets"
                raise source.error((*_BLOCKS, index, "sets"), message)
        return profiles, ready

    def content(self) -> object:
        """Return what the design is made of, to be hashed."""
        card = self._card.fill(self._values, next(self._shown_sets()).alternatives)
        profiles = [profile.model_dump(mode="json", exclude_none=True) for profile in self._profiles]
        ready = [[shown_set.set, shown_set.repeat, shown_set.alternatives] for shown_set in self._ready]
        variants = {name: each.model_dump(mode="json") for name, each in self._spec.variants.items()}
        return [card.model_dump(mode="json"), profiles, ready, *([variants] if variants else [])]

    def blocks(self) -> Iterator[list[CardTrial]]:
        """Yield the trials of every showing, without agent, id and seed."""
        for shown_set in self._shown_sets():
            card = self._card.fill(self._values, shown_set.alternatives)
            shown = [
                CardTrial(
                    id="",
                    agent="",
                    set=shown_set.set,
                    cards=(varied(card, cell.variant),),
                    condition=cell.name,
                    repeat=shown_set.repeat,
                    temperature=cell.temperature,
                    options=tuple(map(as_shown, shown_set.alternatives)),
                )
                for cell in self._cells
            ]
            yield [each for one in shown for each in ([one, _reversed(one)] if self._both_orders else [one])]

    def summary(self) -> str:
        """Describe in words what is shown."""
        shown = [(block.sets, block.set_size, block.repeats) for block in self._spec.blocks]
        if self._ready:
            sizes = Counter(len(shown_set.alternatives) for shown_set in self._ready)
            shown = [(count, size, 1) for size, count in sizes.items()]
        parts = [f"{sets:,} sets of {size} x {repeats} showings" for sets, size, repeats in shown]
        orders = 2 if self._both_orders else 1
        number = orders * sum(sets * repeats for sets, _, repeats in shown) * len(self._cells)
        names = ", ".join(cell.name for cell in self._cells)
        variants = f" in {len(self._cells)} variants ({names})" if len(self._cells) > 1 else ""
        each = f"{orders} order{'s' * (orders > 1)} each"
        return f"{' and '.join(parts)}{variants}, {each} = {number:,} presentations"

    def _shown_sets(self) -> Iterator[ShownSet]:
        """Sizes alternate in proportion, repeats come one after the other: any prefix is balanced in both."""
        streams: list[tuple[int, Iterable[ShownSet]]] = [
            (block.sets * block.repeats, shown_sets_of(self._sets[block.set_size], block, self._seed))
            for block in self._spec.blocks
        ]
        by_size: dict[int, list[ShownSet]] = defaultdict(list)
        for shown_set in self._ready:
            by_size[len(shown_set.alternatives)].append(shown_set)
        for ready in by_size.values():
            streams.append((len(ready), sorted(ready, key=lambda shown_set: shown_set.repeat)))
        return _in_proportion(streams)


def _reversed(trial: CardTrial) -> CardTrial:
    """The same alternatives, as drawn, from the last to the first."""
    (card,) = trial.cards
    turned = card.model_copy(update={"alternatives": card.alternatives[::-1]})
    return replace(trial, cards=(turned,), ordering="reversed", options=trial.options[::-1])


def _in_proportion(streams: Iterable[tuple[int, Iterable[Item]]]) -> Iterator[Item]:
    """Several series of known length as one, each spread evenly over the whole."""

    def placed(number: int, length: int, items: Iterable[Item]) -> Iterator[tuple[float, int, Item]]:
        return (((index + 0.5) / length, number, item) for index, item in enumerate(items))

    series = [placed(number, length, items) for number, (length, items) in enumerate(streams)]
    return (item for _, _, item in heapq.merge(*series, key=lambda entry: entry[:2]))
