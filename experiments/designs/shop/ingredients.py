"""Read what the experiment of a shop names, and check that it fits: address, prompt, nudges, choice sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import mean
from typing import Any, Final, NamedTuple

from agents.language_model.prompt import DEFAULT, PromptTemplates, default_prompt, load_prompt
from environments.launch.launchable import launchable
from environments.shop.shop import Shop
from experiments.designs.catalogue.own_shop import own_catalogue, says_pages
from experiments.designs.choice_sets.forming import form_choice_sets
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.shop.attributes import value
from experiments.designs.shop.cells import Arm, on_host
from experiments.designs.shop.experiment_file import EMBEDDED, Experiment
from experiments.designs.shop.listing import catalogue_lists, category_address, listed_sets
from experiments.designs.shop.stopping import Stopping
from interventions.apply.plan import ProductFacts
from interventions.edits.base import Edit
from interventions.errors import CannotEdit, UserError
from interventions.files.presets import presets
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import STAGES, SiteMap, load_site_map
from interventions.yaml.yaml_source import Source, did_you_mean

STEPS_OF_ORDER: Final = 16
"""About how many actions an order takes in the embedded shop's pages."""
NO_ADDRESSES: Final[Mapping[str, str]] = {}


class _ShopSets(NamedTuple):
    """Choice sets, notes, and the addresses of the pages of products or categories that are known.

    `products`: those of the products, where the pages of categories are opened.
    """

    sets: list[ChoiceSet]
    notes: list[str]
    addresses: Mapping[str, str]
    products: Mapping[str, str] = NO_ADDRESSES


def shop_map(name: str, source: Source) -> SiteMap:
    """Return the site map of the shop. Raises UserError where it does not know choices."""
    with source.placing(("site",)):
        site = load_site_map(source.shipped_or_file(("site",), name))
    if not site.knows_choices:
        cause = f"the site map {site.name} does not say what puts a product into the cart"
        raise source.error(("site",), f"{cause}; give it the key choice (docs/site-maps.md)")
    return site


def check_orders(experiment: Experiment, site: SiteMap, source: Source, subject: str) -> None:
    """Raise UserError where trials are to end with an order, and the map, or who acts, does not know any."""
    if experiment.to_order and subject:
        cause = "the trials of a subject that Souk does not run end at the cart"
        raise source.error(("ends",), f"{cause}; remove the key")
    if experiment.to_order and (site.order is None or "order" not in site.pages):
        cause = f"the site map {site.name} does not say what an order is"
        raise source.error(("ends",), f"{cause}; write site: embedded, or give the map the key order")


def prompt_of(name: str, source: Source) -> PromptTemplates:
    """Return the prompt of an experiment, known by the name that the experiment gives it.

    Raises UserError.
    """
    if name == DEFAULT:
        return default_prompt()
    return replace(load_prompt(str(source.file_at(("prompt",), name))), name=name)


def nudges_of(experiment: Experiment, site: SiteMap, source: Source) -> tuple[Intervention | None, ...]:
    """Return the nudges of an experiment; only None without any. Raises UserError."""
    factor = experiment.factors.nudge
    if factor is None:
        return (None,)
    place = ("factors", "nudge", "interventions")
    with source.placing(place):
        file = load_interventions(source.shipped_or_file(place, factor.interventions), site)
    known = {item.id: item for item in file.interventions}
    wanted = dict[str, None]()
    for index, name in enumerate(factor.only):
        at = ("factors", "nudge", "only", index)
        preset = presets().get(name) if name not in known else None
        ids = preset.ids(factor.interventions) if preset else [name] if name in known else []
        if not preset and name in factor.only[:index]:
            raise source.error(at, f"{name} stands twice; remove one of them")
        if preset and not ids:
            others = f"{', '.join(preset.files)}; name that file, or leave the preset out"
            raise source.error(at, f"{factor.interventions} has no pattern of {name}, which is in {others}")
        if not ids:
            known_as = did_you_mean(name, [*known, *presets()], noun=f"{factor.interventions} has")
            raise source.error(at, f"{factor.interventions} has no intervention {name!r}; {known_as}")
        wanted |= dict.fromkeys(ids)
    found = tuple(known[name] for name in wanted or known)
    for item in found:
        for role, edit in item.lacks(site).items():
            if role.partition(".")[0] in STAGES:
                where = f"the site map {site.name} has no role {role}, which {edit} needs"
                raise source.error(place, f"{item.id}: {where}; map it, or leave the intervention out")
        if not experiment.to_order and any(edit.stages() for edit in item.edits):
            message = f"{item.id} shows on the way to an order; write ends: order, or leave it out"
            raise source.error(place, message)
        if unfit := _unfit_for_lists(item, experiment):
            raise source.error(place, f"{item.id}: {unfit}")
        if item.has_two_prices and "price" in (*experiment.match, *experiment.shown_attributes):
            message = f"{item.id} has two prices, and the design sets the price itself; remove one of the two"
            raise source.error(place, message)
        if experiment.treats_shop != (item.kind == "pattern"):
            own = (
                "the shop's: write none and shop"
                if item.kind == "pattern"
                else "a product's: write none and each"
            )
            message = f"{item.id} (kind: {item.kind}) is {own}"
            raise source.error(("factors", "nudge", "on"), message)
    if cards := [item.id for item in found if item.card]:
        message = f"{', '.join(cards)}: cards change no page; name nudges, or ask cards with task: card"
        raise source.error(place, message)
    return found


def file_notes(experiment: Experiment) -> Iterator[str]:
    """Yield what each preset of the nudges holds here, and whether there are too few actions for an order."""
    modalities, most = experiment.observation.modality, experiment.limits.steps
    has_pages = not modalities or set(modalities) > set(experiment.interfaces)
    if experiment.to_order and has_pages and most < STEPS_OF_ORDER:
        yield f"limits.steps is {most}, and an order takes about {STEPS_OF_ORDER} actions; write 40"
    if factor := experiment.factors.nudge:
        for name in (each for each in factor.only if each in presets()):
            yield f"{name}: {presets()[name].note(factor.interventions)}"


def _unfit_for_lists(item: Intervention, experiment: Experiment) -> str:
    """Why lists cannot show the edits of an intervention in all its trials; empty where they can."""
    cut = experiment.task != "compare-tabs" and not experiment.shows_whole_lists
    for edit in item.edits:
        if edit.of_list and item.kind != "pattern":
            return f"{edit.kind()} is of a whole list; write kind: pattern, and on: [none, shop]"
        if cut and edit.orders and not edit.doubles:
            why = "each trial sets itself what its list shows, and in which order"
            return f"{why}; write options.pairing: whole-list, or leave {edit.kind()} out"
        if edit.pages and experiment.task in ("compare-tabs", "home"):
            lists = f"{edit.kind()} is made on pages of a category or a search only"
            return f"{lists}; write task: listing or search, or leave it out"
    return ""


def _changes(edit: Edit) -> bool:
    """Whether an edit changes a figure of a product, or its place."""
    try:
        return edit.orders or bool(edit.values())
    except CannotEdit:  # the figure follows from the product
        return True


def badges_of(
    experiment: Experiment, site: SiteMap, nudges: Sequence[str], source: Source
) -> list[Intervention]:
    """Return the badges that an experiment draws; nudges: the ids of its nudges. Raises UserError."""
    drawn = experiment.attributes and experiment.attributes.badges
    if not drawn:
        return []
    place = ("attributes", "badges", "interventions")
    with source.placing(place):
        file = load_interventions(source.shipped_or_file(place, drawn.interventions), site)
    found = []
    for at, name in enumerate(drawn.only):
        with source.placing(("attributes", "badges", "only", at)):
            found.append(file[name])
            if name in (*drawn.only[:at], *nudges):
                raise UserError(f"{name} is there twice, or a nudge too; give one of the two another id")
            if found[-1].card or found[-1].kind == "pattern" or any(map(_changes, found[-1].edits)):
                raise UserError(f"{name} is no badge; name nudges of products that change no figure or place")
    return found


def arms_of(
    experiment: Experiment, nudges: Sequence[Intervention | None], sets: Iterable[ChoiceSet], source: Source
) -> list[Arm]:
    """Return the nudges alone and, where asked for, all pairs of them.

    Raises UserError where two of them cannot stand head to head.
    """
    factor = experiment.factors.nudge
    if factor is None or not experiment.head_to_head:
        return [(nudge, None) for nudge in nudges]
    named = [nudge for nudge in nudges if nudge]
    place = ("factors", "nudge", "on")
    if {len(products) for products in sets} != {2}:
        raise source.error(place, "both needs sets of two products; write set_size: 2, or none and each")
    if len(named) < 2:
        raise source.error(place, "both needs two nudges, and there is one; name more, or write each")
    if orders := [each.id for each in named if any(edit.orders for edit in each.edits)]:
        raise source.error(place, f"{orders[0]} orders the list, and both would do so twice; leave it out")
    alone: list[Arm] = [(nudge, None) for nudge in named if {*factor.on} != {"both"}]
    return [*alone, *combinations(named, 2)]


def shop_of(experiment: Experiment, source: Source) -> Shop:
    """Return the shop of an experiment; the embedded one sells the products of a catalogue without keys.

    Raises UserError.
    """
    options, environment, url = experiment.options, experiment.environment, None
    if environment.startswith("compose:"):
        target = launchable(environment.removeprefix("compose:"))
        url = target.url.format(port=target.port)
    elif environment != EMBEDDED:
        url = environment.rstrip("/") + "/"
    if options.catalogue is None:
        return Shop(url)
    path = source.file_at(("options", "catalogue"), options.catalogue)
    if environment == EMBEDDED and not says_pages(path):
        return Shop(own=own_catalogue(path, options.currency or "USD", options.language or "en"))
    if experiment.task != "compare-tabs" and not experiment.shows_whole_lists:
        message = f"{experiment.task} needs products that the embedded shop serves; write compare-tabs"
        raise source.error(("task",), message)
    for name in ("currency", "language"):
        if getattr(options, name) is not None:
            message = "is of products that the embedded shop serves, and these are another shop's; remove it"
            raise source.error(("options", name), message)
    return Shop(url)


def formed_sets(experiment: Experiment, site: SiteMap, source: Source, shop: Shop) -> _ShopSets:
    """Form the choice sets of an experiment. Raises UserError."""
    options = experiment.options
    why = "no column key or url: the embedded shop serves its"
    served = [f"{options.catalogue}: {why} {len(shop.own.products)} products"] if shop.own else []
    if experiment.task == "compare-tabs":
        formed = form_choice_sets(source, options, experiment.seed, site.query, shop)
        return _ShopSets(
            formed.sets, [*served, *formed.notes], {} if experiment.says_page else formed.addresses
        )
    if options.catalogue is not None and not shop.own:
        sets, file = catalogue_lists(options, experiment.seed, source, site.query)
        if not sets:
            raise source.error(("options", "catalogue"), f"{file.note()}; no list has two of them")
        starts = {category: on_host(address) for category, address in file.lists.items()}
        return _ShopSets(sets, [file.note(), *file.unused], starts, file.addresses)
    sets, left_out = listed_sets(experiment.task, options, experiment.seed, source, shop)
    if not sets:
        raise source.error(
            ("options",),
            "no page lists two products that can be compared; add products"
            if experiment.shows_whole_lists
            else f"no {options.set_size} products on one page are that close; raise max_price_gap",
        )
    served += left_out
    if experiment.task == "home":
        return _ShopSets(sets, served, NO_ADDRESSES)
    addresses = {first.category: category_address(first.category, shop) for first, *_ in sets}
    page = "page of a category" if experiment.task == "listing" else "page of results"
    if len(sets) < options.sets and not experiment.shows_whole_lists:
        served.append(f"there are only {len(sets)} of the {options.sets} choice sets asked for on one {page}")
    return _ShopSets(sets, served, addresses)


def displayed(products: ChoiceSet, match: Sequence[str]) -> Iterator[ProductFacts]:
    """Yield the products with the matched attributes set to the mean of the set."""
    price = round(mean(product.price or 0.0 for product in products), 2)
    reviews = round(mean(product.reviews or 0 for product in products))
    known = [product.rating for product in products if product.rating is not None]
    equal: dict[str, Any] = {
        "price": price,
        "reviews": reviews,
        "rating": round(mean(known)) if known else None,
    }
    for product in products:
        yield replace(product, **{name: equal[name] for name in match})


def check_stopping(
    stopping: Stopping | None,
    sets: Mapping[str, ChoiceSet],
    nudges: Sequence[Intervention | None],
    source: Source,
) -> None:
    """Raise UserError where a rule that may stop the run does not fit its sets or nudges."""
    if stopping is None or stopping.rule == "fixed":
        return
    largest = max(map(len, sets.values()))
    if largest != 2 or min(map(len, sets.values())) != 2:
        message = f"it needs choice sets of two products, and there are some of {largest}; write fixed"
        raise source.error(("stopping", "rule"), message)
    if stopping.effect == "nudge" and not any(nudge.kind != "placebo" for nudge in nudges if nudge):
        message = "the interventions are placebos only; write effect: order, or choose others"
        raise source.error(("stopping", "effect"), message)


def check_levels(experiment: Experiment, products: Sequence[ProductFacts], source: Source) -> None:
    """Raise UserError where a product has no price to change, or two levels are one price of it."""
    attributes = experiment.attributes
    if attributes is None or not any(isinstance(level, str) for level in attributes.price):
        return
    for product in products:
        if product.price is None:
            message = f"{product.key} has no price that could be changed; write amounts, or leave it out"
            raise source.error(("attributes", "price"), message)
        prices = [value(level, product) for level in attributes.price]
        if len(set(prices)) < len(prices):
            message = (
                f"two levels are one price of {product.key}, which costs {product.price:.2f} (prices keep"
                " their last cent); put the levels further apart"
            )
            raise source.error(("attributes", "price"), message)
