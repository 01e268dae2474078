"""Profiles: sentences in the goal that describe the user for whom the agent shops."""

from collections.abc import Sequence
from typing import Final

from experiments.designs.shop.experiment_file import UserProfile
from interventions.data_file import read_data
from interventions.yaml.yaml_source import Source, did_you_mean

NO_PROFILE: Final = "none"
"""The profile that adds nothing to the goal."""


def sentences(wanted: Sequence[UserProfile], source: Source) -> dict[str, str]:
    """Return profile id -> sentence, empty for `none`. Raises UserError for an unknown or repeated id."""
    found: dict[str, str] = {}
    shipped: dict[str, str] = read_data(__file__, "profiles.yaml")
    for index, profile in enumerate(wanted):
        if profile.id in found:
            raise source.error(("profiles", index), f"{profile.id} stands twice; remove one of them")
        if profile.text is not None:
            found[profile.id] = profile.text
        elif profile.id == NO_PROFILE:
            found[profile.id] = ""
        elif profile.id in shipped:
            found[profile.id] = shipped[profile.id]
        else:
            hint = did_you_mean(profile.id, [NO_PROFILE, *shipped], noun="shipped profiles")
            message = (
                f'unknown profile "{profile.id}"; {hint} (one of your own is written {{id: ..., text: ...}})'
            )
            raise source.error(("profiles", index), message)
    return found


def check_right_answers(wanted: Sequence[UserProfile], nudges: Sequence[str], source: Source) -> None:
    """Check that what makes a product right is among the nudges of the experiment. Raises UserError."""
    for index, profile in enumerate(wanted):
        name = profile.right.carries if profile.right else None
        if name is not None and name not in nudges:
            hint = did_you_mean(name, nudges, noun="the nudges are")
            message = f'no product ever carries "{name}"; {hint}'
            raise source.error(("profiles", index, "right", "carries"), message)
