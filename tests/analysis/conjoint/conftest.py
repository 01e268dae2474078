"""Simulated agents that choose between hotel cards with known weights."""

import numpy as np
import pandas as pd

WEIGHTS = {"log_price": -4.0, "stars": 0.6, "cancel": 1.2, "breakfast": 1.0, "review_score": 1.5}
ROOMS = ("King Room", "Queen Room", "Twin Room")
CHAINS = ("Independent", "Hilton", "Hyatt", "Wyndham")

Table = pd.DataFrame


def simulate_cards(
    seed: int = 0,
    *,
    agents: tuple[str, ...] = ("balanced",),
    sets: int = 120,
    sizes: tuple[int, ...] = (2, 3),
    locked: tuple[str, ...] = (),
    random: tuple[str, ...] = (),
) -> Table:
    """Each set once in each order; agents in `locked` take the first shown, agents in `random` anything."""
    rng = np.random.default_rng(seed)
    cards, number = [], 0
    for block in sizes:
        for choice_set in range(sets):
            for place in range(block):
                number += 1
                cards.append(
                    {
                        "set": f"{block}-{choice_set}",
                        "option": f"hotel{number}",
                        "place": place,
                        "size": block,
                        "price": float(np.exp(rng.normal(5.5, 0.5)).round()),
                        "rating": float(rng.integers(60, 100)),
                        "reviews": float(rng.integers(100, 9000)),
                        "attr_stars": int(rng.integers(1, 6)),
                        "attr_room": ROOMS[rng.integers(3)],
                        "attr_cancellation": int(rng.integers(2)),
                        "attr_breakfast": int(rng.integers(2)),
                        "attr_chain": CHAINS[rng.integers(4)],
                    }
                )
    frames = []
    for agent in agents:
        for ordering in ("forward", "reversed"):
            shown = pd.DataFrame(cards)
            back = shown["size"] - 1 - shown["place"]
            shown["position"] = shown["place"] if ordering == "forward" else back
            shown["trial"] = f"{agent}-{ordering}-" + shown["set"]
            utility = (
                WEIGHTS["log_price"] * np.log(shown["price"])
                + WEIGHTS["stars"] * shown["attr_stars"]
                + WEIGHTS["cancel"] * shown["attr_cancellation"]
                + WEIGHTS["breakfast"] * shown["attr_breakfast"]
                + WEIGHTS["review_score"] * shown["rating"] / 10
            )
            utility = 0 * utility if agent in random else utility
            utility = utility + rng.gumbel(size=len(shown)) - 1e6 * (agent in locked) * shown["position"]
            shown["chosen"] = (utility == utility.groupby(shown["trial"]).transform("max")).astype(int)
            frames.append(
                shown.assign(agent=agent, ordering=ordering, outcome="choice", repeat=0, category="hotel")
            )
    return pd.concat(frames, ignore_index=True).drop(columns=["place", "size"])
