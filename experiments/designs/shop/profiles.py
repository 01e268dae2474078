"""Profiles: sentences in the goal that describe the user for whom the agent shops."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from experiments.designs.shop.experiment_file import UserProfile
from interventions.yaml.yaml_source import Source, did_you_mean, load_model

NO_PROFILE: Final = "none"
"""The profile that adds nothing to the goal."""


class ShippedProfile(BaseModel, frozen=True, extra="forbid"):
    """A shipped sentence about the user.

    It names the attribute that the sentence speaks of, and whether that is to count more (+1) or less (-1).
    """

    id: str
    text: str
    attribute: str
    direction: Literal[1, -1]


class ProfileFile(BaseModel, frozen=True, extra="forbid"):
    """The file `profiles.yaml`: profiles by id."""

    profiles: tuple[ShippedProfile, ...]


@cache
def shipped_profiles() -> dict[str, ShippedProfile]:
    """Return the profiles that come with Souk, by id."""
    file = load_model(Path(__file__).with_name("profiles.yaml"), ProfileFile)
    return {profile.id: profile for profile in file.profiles}


def sentences(wanted: Sequence[UserProfile], source: Source) -> dict[str, str]:
    """Return profile id -> sentence, empty for `none`. Raises UserError for an unknown or repeated id."""
    found: dict[str, str] = {}
    shipped = shipped_profiles()
    for index, profile in enumerate(wanted):
        if profile.id in found:
            raise source.error(("profiles", index), f"{profile.id} stands twice; remove one of them")
        if profile.text is not None:
            found[profile.id] = profile.text
        elif profile.id == NO_PROFILE:
            found[profile.id] = ""
        elif profile.id in shipped:
            found[profile.id] = shipped[profile.id].text
        else:
            hint = did_you_mean(profile.id, [NO_PROFILE, *shipped], noun="shipped profiles")
            message = (
                f'unknown profile "{profile.id}"; {hint} (one of your own is written {{id: ..., text: ...}})'
            )
            raise source.error(("profiles", index), message)
    return found
