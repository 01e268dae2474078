"""Simulated agents that choose from lists of products, with known shares."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


def lists(
    agents: Mapping[str, Sequence[Sequence[float]]],
    *,
    pages: int = 20,
    repeats: int = 1,
    alike: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Each agent's shares of the products of each set; all agents are shown the same pages.

    A page has an order of its own. It is shown `repeats` times, and then answered `alike` or not.
    """
    rng, frames = np.random.default_rng(seed), []
    for agent, sets in agents.items():
        for number, shares in enumerate(sets):
            options, trials = len(shares), pages * repeats
            orders = np.random.default_rng(number).permuted(np.tile(np.arange(options), (pages, 1)), axis=1)
            chosen = rng.choice(options, p=shares, size=(pages, 1 if alike else repeats))
            chosen = np.broadcast_to(chosen, (pages, repeats)).ravel()
            price = np.repeat(10 + np.arange(pages), repeats)  # so that no two pages are the same
            frame = pd.DataFrame(
                {
                    "run": "r",
                    "agent": agent,
                    "trial": np.repeat([f"{number}/{trial}" for trial in range(trials)], options),
                    "set": f"set{number}",
                    "option": np.tile([f"product{each}" for each in range(options)], trials),
                    "position": np.repeat(orders, repeats, axis=0).ravel(),
                    "price": np.repeat(price, options) + np.tile(np.arange(options), trials),
                    "category": "c",
                    "outcome": "choice",
                    "chosen": (np.tile(np.arange(options), trials) == np.repeat(chosen, options)).astype(int),
                }
            )
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)
