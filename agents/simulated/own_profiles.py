"""Shoppers of the user's own: profiles in YAML files, each known by its file's name and by what is in it.

`simulated:folder/mine.yaml` is the agent `simulated:mine@1a2b3c4d`; the digits are a digest of the profile.
So a changed file is another agent with trials of its own, two files of one name are never taken for each
other, and no file takes the place of a shipped profile.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agents.base import SIMULATED, is_simulated
from agents.providers.model_settings import with_settings
from agents.simulated.tab_shopper import ShopperProfile, shipped_profile
from interventions.errors import UserError
from interventions.yaml.yaml_source import load_model

_LONGEST_NAME: Final = 40

_read: dict[str, ShopperProfile] = {}
"""The profiles that this process has read or was given, by the name of their agent.

A name has the digest of its profile, so that no other profile can take its place.
"""


def file_of(agent: str) -> str | None:
    """Return the path of the profile that an agent's name has; None: it has none."""
    path = agent.partition(":")[2]
    return path if is_simulated(agent) and path.endswith((".yaml", ".yml")) else None


def known_as(agent: str) -> str:
    """Return the name under which an agent's trials are stored; where it names a file, that is read.

    Raises YamlError with every mistake in the file, and UserError for a setting that no model has.
    """
    path = file_of(agent)
    if path is None:
        return with_settings(agent)
    profile = load_model(path, ShopperProfile)
    stem = re.sub(r"[^\w.-]+", "-", re.split(r"[/\\]", path)[-1].rpartition(".")[0])[:_LONGEST_NAME]
    name = f"{SIMULATED}:{stem or 'own'}@{_digest(profile)}"
    _read[name] = profile
    return name


def profile_of(agent: str) -> ShopperProfile:
    """Return the profile of a simulated agent, shipped or of a file.

    Raises:
        UserError: there is none, or its file has a mistake.
    """
    name = known_as(agent)
    argument = name.partition(":")[2]
    if name in _read:
        return _read[name]
    if "@" in argument:
        stem, _, settings = argument.partition("@")
        if "=" in settings:
            raise UserError(f"agents: {agent}: simulated agents take no settings; leave them out")
        raise UserError(f"agents: {agent}: its file was not read; name the file, {SIMULATED}:{stem}.yaml")
    return shipped_profile(argument)


def own_profiles(agents: Iterable[str]) -> dict[str, ShopperProfile]:
    """Return the profiles of those of these agents that are known by their files, for other processes."""
    return {name: _read[name] for name in agents if name in _read}


def take(profiles: Mapping[str, ShopperProfile]) -> None:
    """Know the profiles that another process has read."""
    _read.update(profiles)


def plain_data(profile: ShopperProfile) -> dict[str, Any]:
    """Return what a profile says, without what every profile says by default."""
    return profile.model_dump(mode="json", exclude_defaults=True)


def _digest(profile: ShopperProfile) -> str:
    """Eight digits from what the profile says: neither its comments nor its order or its defaults count."""
    text = json.dumps(plain_data(profile), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
