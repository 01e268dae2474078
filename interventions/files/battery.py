"""A battery of biases: cards in a control and a treatment version, whose numbers differ by scenario."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from interventions.cards.card import Card
from interventions.cards.template import BiasRule, CardTemplate
from interventions.errors import UserError
from interventions.files.schema import InterventionFile, load_interventions
from interventions.yaml.yaml_source import did_you_mean

CONDITIONS: Final = ("control", "treatment")
SCENARIOS: Final = ("base", "no-persona", "odd", "large")
_BASE_WITHOUT_PERSONA: Final = "no-persona"
_LEVELS: Final = {
    "condition": CONDITIONS,
    "scenario": ("base", "odd", "large"),
    "persona": ("system", "none"),
}


@dataclass(frozen=True)
class Battery:
    """The cards of a file, one for each bias."""

    file: InterventionFile

    @property
    def biases(self) -> tuple[str, ...]:
        """The names of the biases, in the order of the file."""
        return tuple(intervention.id for intervention in self.file.interventions)

    def card(
        self,
        bias: str,
        condition: Literal["control", "treatment"] | str,
        scenario: str = "base",
        *,
        persona: Literal["system", "user", "both"] | str = "system",
    ) -> Card:
        """Return one question; `persona` is the message that holds the persona. Raises UserError."""
        if scenario not in SCENARIOS:
            hint = did_you_mean(scenario, SCENARIOS, noun="there are")
            raise UserError(f'no scenario "{scenario}"; {hint}')
        if scenario == _BASE_WITHOUT_PERSONA:
            scenario, persona = "base", "none"
        values = {"condition": condition, "scenario": scenario, "persona": persona}
        return self._template(bias).fill(values, id=bias)

    def biased_letter(self, bias: str) -> str:
        """Return the letter that counts as the biased answer; empty where numbers are asked for."""
        return self._biased(bias).letter

    def direction(self, bias: str) -> Literal["higher", "either"]:
        """Return which difference is the bias.

        `higher`: biased answers are more frequent, or higher, in the treatment; `either`: any difference is a
        bias.
        """
        return self._biased(bias).direction

    def _template(self, bias: str) -> CardTemplate:
        card = self.file[bias].card
        assert card is not None  # noqa: S101 - load_battery has looked
        return card

    def _biased(self, bias: str) -> BiasRule:
        return self._template(bias).biased or BiasRule()


def load_battery(name_or_path: str | Path = "biases") -> Battery:
    """Load a shipped battery by name, or any file of cards with control and treatment cases.

    Raises UserError.
    """
    file = load_interventions(name_or_path)
    for intervention in file.interventions:
        if intervention.card is None:
            raise intervention.error(("kind",), "a battery holds cards only; write kind: card")
        if intervention.card.biased is None:
            raise intervention.error(("card",), "a battery says which answers are biased; add `biased`")
        for factor, levels in _LEVELS.items():
            known = intervention.card.levels(factor)
            for level in levels:
                if level not in known:
                    raise intervention.error(("cases", factor), f'the level "{level}" is missing; add it')
    return Battery(file)
