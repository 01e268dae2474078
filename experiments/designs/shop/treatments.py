"""Say which edits each trial of a study in a shop needs, and what simulated shoppers see of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from agents.simulated.nudges import DeclaredNudges, Nudge, as_searched
from environments.observation.views import View
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.shop.experiment_file import Experiment
from experiments.designs.shop.listing import show_only
from experiments.designs.shop.trial import ShopTrial
from interventions.apply.plan import OTHER, Plan, ProductFacts, Treatment, compile_treatment
from interventions.edits.base import Edit
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import STAGES, Data, SiteMap

_FIGURES: Final = {"price", "rating", "reviews"}
"""The figures of a product that simulated shoppers read besides texts."""


def is_given(edit: Edit, view: View) -> bool:
    """Return whether what an edit makes is in what an agent with this view is given, where it is in view."""
    if view.interface != "page":
        return True  # else it was refused
    texts = {"texts", "whole texts"} if view.page == "whole" else {"texts"}
    given = (texts if view.html or view.tree else set()) | ({"picture"} if view.screenshot else set())
    return edit.observed_in() in given | {"all"}


def as_data(treatment: Treatment) -> Treatment:
    """Return a treatment of answers: what shows on a product's own page is said of the product anywhere.

    Lines of a cart, a checkout or an order stand for their pages.
    """
    if not treatment.is_on(("product",)):
        return treatment
    return replace(treatment, pages=() if treatment.is_on(STAGES) else ("data",))


def is_in_data(edit: Edit, data: Data) -> bool:
    """Return whether an edit has a place in data: for its text, or for all of its values."""
    values = edit.values()
    return bool(edit.told and data.told) or (bool(values) and all(part in data.roles for part in values))


class Treatments:
    """The edits of a study: nudges, what is matched and drawn, what is shown everywhere."""

    def __init__(
        self,
        experiment: Experiment,
        site: SiteMap,
        nudges: Sequence[Intervention | None],
        badges: Sequence[Intervention],
    ) -> None:
        self._experiment, self._site = experiment, site
        self._nudges = tuple(nudge for nudge in nudges if nudge is not None)
        self._badges = tuple(badges)
        drawn = experiment.shown_attributes
        matching, drawing = (load_interventions(name, site) for name in ("matching", "attributes"))
        shown = [
            *(matching[f"match-{name}"] for name in experiment.match),
            *(drawing[f"drawn-{name}"] for name in drawn),
        ]
        self._shown = tuple(shown)
        """They show matched and drawn attributes; the kind of each is its attribute."""
        display = load_interventions("display", site).interventions
        # A shop whose map has no place for them can be studied without; beside a text they would stand twice.
        self._is_said = any(place.attribute is None for place in site.role("product.rating")[:1])
        self._display = tuple(item for item in display if not item.lacks(site) and not self._is_said)
        self._left_out = tuple(item for item in display if item.lacks(site))
        self._everywhere = tuple(compile_treatment(item, None) for item in self._display)
        self._treatments: dict[tuple[str, ProductFacts, str], Treatment] = {}
        twins = {each.id: each.twin for each in self._nudges if each.twin} if experiment.treats_shop else {}
        of_shop = (*self._nudges, *twins.values()) if experiment.treats_shop else ()
        self._of_shop = {each.id: compile_treatment(each, None) for each in of_shop}
        self.inputs = (
            *self._nudges,
            *badges,
            *matching.interventions,
            *self._display,
            *(drawing.interventions if drawn else ()),
            *twins.values(),
        )
        """All interventions from which the trials follow."""

    @property
    def meant(self) -> tuple[Intervention, ...]:
        """The nudges and badges that mean something: all but the placebos."""
        every = (*self._nudges, *self._badges)
        return tuple(nudge for nudge in every if nudge.kind != "placebo")

    @property
    def said_by_tools(self) -> list[str]:
        """The interventions that are in the description of a tool."""
        return [each.id for each in (*self._nudges, *self._badges) if each.tool]

    def check(self, sets: Iterable[ChoiceSet]) -> None:
        """Compile each nudge for each product: what does not fit is found before any trial.

        Raises UserError.
        """
        for products in sets if not self._of_shop else ():
            for product in products:
                for nudge in (*self._nudges, *self._badges):
                    self._check_links(nudge, product, products)

    def _check_links(self, nudge: Intervention, product: ProductFacts, products: ChoiceSet) -> None:
        others = [each.key for each in products if each.key != product.key]
        for index, edit in enumerate(self._treatment(nudge, product, products).edits):
            to = edit.leads_to(self._site)
            if to and to not in others:
                what = (
                    "is the product itself"
                    if to == product.key
                    else f"is not in its set ({', '.join(others)})"
                )
                message = f'for {product.key}: "{to}" {what}; write ${{{OTHER}}}, which fits all sets'
                raise nudge.error(("edits", index, edit.kind(), "to"), message)

    def plan(self, trial: ShopTrial) -> Plan:
        """Return the edits of a trial.

        These are the edits for matching, for what is drawn, for listing and display, and the nudge on its
        carrier.
        """
        treatments: list[Treatment] = []
        for product in trial.products:
            nudge = trial.carried.get(product.key)
            own = self._treatment(nudge, product).edits if nudge else ()
            changed = {part for edit in own for part in edit.values()}
            for intervention in self._shown:
                if intervention.kind in changed:  # a product has one price
                    continue
                shown_value = getattr(product, intervention.kind)
                treatments.append(self._treatment(intervention, product, value=shown_value))
            if nudge:
                treatments.append(self._treatment(nudge, product, trial.products))
            treatments += [
                self._treatment(badge, product, trial.products)
                for badge, key in trial.badges
                if key == product.key
            ]
        if self._of_shop and trial.nudge and (shown := trial.nudge if trial.carrier else trial.nudge.twin):
            treatments.append(self._of_shop[shown.id])
        cut = self._experiment.task != "compare-tabs" and not trial.whole
        listing = (show_only(trial.products),) if cut else ()
        if trial.interface != "page":
            return Plan(tuple(map(as_data, treatments)))
        return Plan((*treatments, *listing, *self._everywhere))

    def interventions(self, trial: ShopTrial) -> Iterator[Intervention]:
        """Yield the interventions of a trial's cell: the nudge too where no product carries it."""
        yield from self._shown
        yield from trial.nudges
        yield from self._badges
        yield from (nudge.twin for nudge in trial.nudges if self._of_shop and nudge.twin)
        yield from self._display

    def lacks(self) -> Iterator[str]:
        """Yield what the site map lacks for this experiment, a line for each role."""
        found: dict[str, dict[str, None]] = {}
        for intervention in (*self._nudges, *self._badges, *self._shown):
            for role in intervention.lacks(self._site):
                found.setdefault(role, {})[intervention.id] = None
        for role, names in found.items():
            yield (
                f"the site map {self._site.name} has no role {role}, which {', '.join(names)} needs on a "
                "product's page: no such page can be treated; add it to the map"
            )
        missing = [role for item in self._left_out for role in item.lacks(self._site)]
        if self._is_said:
            where = f"{self._site.name}: product.rating"
            yield f"ratings are not added as text: they are one on the pages ({where})"
        elif missing:
            yield (
                f"ratings are not added as text: the site map {self._site.name} has no role "
                f"{' and no role '.join(missing)}"
            )

    def declared(self, products: Sequence[ProductFacts]) -> tuple[Nudge, ...]:
        """Return the texts that the nudges have on these products; a placebo has no meaning.

        What the shop as a whole says speaks for no product.
        """
        if self._of_shop:
            return ()
        return tuple(dict.fromkeys(text for product in products for text in self._texts(product)))

    def not_carried(self, site: SiteMap, product: ProductFacts) -> list[str]:
        """Return the interventions of which something has no place in a shop's answers without pages."""

        def carried(treatment: Treatment) -> bool:
            there = [data for data in site.data if treatment.is_on(data.shown_on or ("data",))]
            return all(any(is_in_data(edit, data) for data in there) for edit in treatment.edits)

        return [
            each.id
            for each in (*self._nudges, *self._badges)
            if not carried(as_data(treatment := self._treatment(each, product)))
            or 0 < len({*each.pages} & {*STAGES}) < len(STAGES)
            or (each.tool and not all(edit.told for edit in treatment.edits))
        ]

    def not_given(self, view: View) -> list[str]:
        """Return the interventions of which nothing is in what an agent with this view is given."""
        return [
            nudge.id
            for nudge in (*self._nudges, *self._badges)
            if not any(is_given(edit, view) for edit in nudge.edits)
        ]

    def unreadable(self, product: ProductFacts) -> list[str]:
        """Return the interventions that a simulated shopper cannot see on a product.

        These change no figure and have no text, or one that another intervention uses in the other direction.
        """
        if self._of_shop:
            return []
        known = DeclaredNudges(self._texts(product))
        return [
            nudge.id
            for nudge in self.meant
            if nudge.kind != "order"
            and not any(
                known.cue(as_searched(edit.words())) or _FIGURES & edit.values().keys()
                for edit in self._treatment(nudge, product).edits
            )
        ]

    def _texts(self, product: ProductFacts) -> Iterator[Nudge]:
        for nudge in self.meant:
            for edit in self._treatment(nudge, product).edits:
                if words := edit.words():
                    yield Nudge(words, nudge.direction, nudge.family)

    def _treatment(
        self,
        intervention: Intervention,
        product: ProductFacts,
        among: Iterable[ProductFacts] = (),
        **values: object,
    ) -> Treatment:
        """Compiled once for a product as displayed, from which `values` follow, and its choice set (`among`).

        The set says what `product.other` is: the next key in alphabetical order, after the last the first.
        """
        keys = sorted({product.key, *(each.key for each in among)})
        other = keys[(keys.index(product.key) + 1) % len(keys)]
        known = self._treatments.get((intervention.id, product, other))
        if known is None:
            known = compile_treatment(intervention, product, **{OTHER: other}, **values)
            self._treatments[intervention.id, product, other] = known
        return known
