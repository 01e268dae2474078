"""Design batteries: every bias as a question with a treatment and one without."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiments.designs.cards.experiment_file import BatteryQuestions, CardExperiment, Scenario
from experiments.designs.cards.trial import CardTrial
from interventions.files.battery import CONDITIONS, load_battery
from interventions.yaml.yaml_source import Source, did_you_mean


class BatteryDesign:
    """The trials of a battery; a block is one repeat of one bias in one scenario at one temperature."""

    analysis = "biases"

    def __init__(self, spec: BatteryQuestions, experiment: CardExperiment, source: Source) -> None:
        self._spec = spec
        self._battery = load_battery(source.shipped_or_file(("cards",), experiment.cards))
        for index, name in enumerate(spec.biases):
            if name not in self._battery.biases:
                hint = did_you_mean(name, self._battery.biases, noun="biases")
                message = f'{experiment.cards} has no bias "{name}"; {hint}'
                raise source.error(("design", "battery", "biases", index), message)
        self._biases = spec.biases or self._battery.biases
        self.quota: int | None = spec.valid
        self.attempts = spec.attempts
        self.notes: Sequence[str] = ()
        self.sets = len(self._biases)
        self._questions = self.sets * len(spec.scenarios) * len(spec.temperatures) * len(CONDITIONS)
        self.size = self._questions * max(spec.valid, spec.attempts)
        """The number of questions to an agent, where each is asked as often as it may be."""

    def content(self) -> object:
        """Return what the design is made of, to be hashed."""
        return [
            card.model_dump(mode="json") for cell in self._cells() for trial in cell for card in trial.cards
        ]

    def blocks(self) -> Iterator[list[CardTrial]]:
        """Yield the trials of every cell in both conditions, cell after cell, repeat after repeat."""
        cells = list(self._cells())
        for repeat in range(self._spec.valid):
            for cell in cells:
                yield [replace(trial, repeat=repeat) for trial in cell]

    def _cells(self) -> Iterator[list[CardTrial]]:
        for temperature in self._spec.temperatures:
            for scenario in self._spec.scenarios:
                for bias in self._biases:
                    yield [self._trial(bias, condition, scenario, temperature) for condition in CONDITIONS]

    def _trial(self, bias: str, condition: str, scenario: Scenario, temperature: float | None) -> CardTrial:
        return CardTrial(
            id="",
            agent="",
            set=bias,
            cards=(self._battery.card(bias, condition, scenario, persona=self._spec.persona),),
            condition=condition,
            temperature=temperature,
            item=bias,
            scenario=scenario,
            biased=self._battery.biased_letter(bias),
        )

    def summary(self) -> str:
        """Describe in words what is asked."""
        spec = self._spec
        return (
            f"{self.sets} biases x {len(spec.scenarios)} scenarios x {len(spec.temperatures)} temperatures x "
            f"control and treatment = {self._questions:,} questions, "
            f"each asked for {spec.valid:,} valid answers ({spec.attempts:,} times at most)"
        )
