"""Measure how far the choices from a set of products gather on few of them."""

import numpy as np
import pandas as pd
from scipy.special import xlogy


def concentration(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the concentration of the choices in each market, indexed by `market`.

    choices: a row for each answer, with the columns market, option and unit. Units (pages, or trials) are
    independent draws, and the answers of one unit may be alike. Columns:

    answers, units, chosen: how many there are; chosen: of options with an answer. leader: the largest share
    (0 to 1). hhi: the Herfindahl-Hirschman index without its bias: the chance that answers of two different
    units are the same option. For units of one answer it is (n H - 1) / (n - 1), where H is the sum of
    squared shares (Simpson 1949, Nature 163). effective_n: how many independent answers give H the same bias,
    (1 - hhi) / effective_n: n for units of one answer, and the number of units where the answers of each of
    equal units are alike. entropy: in nats, with Miller's (1955) correction (chosen - 1) / (2 effective_n).
    hhi_variance, entropy_variance: of leaving out each unit (the jackknife; Efron and Stein 1981, Annals of
    Statistics 9). A bootstrap would draw some units twice, and these always agree.

    A market of one unit has no hhi and no entropy, one of two no variances: they are NaN.
    """
    cells = choices.groupby(["market", "unit", "option"], sort=False).size().rename("count").reset_index()
    cells["total"] = cells.groupby(["market", "option"])["count"].transform("sum")
    count, total = cells["count"], cells["total"]
    cells["own"], cells["cross"] = count**2, count * total
    cells["log"] = xlogy(total, total) - xlogy(total - count, total - count)
    units = cells.groupby(["market", "unit"])[["count", "own", "cross", "log"]].sum().reset_index("unit")
    units["pairs"] = units["count"] ** 2
    totals = cells.drop_duplicates(["market", "option"]).set_index("market")["total"]
    markets, options = units.groupby("market"), totals.groupby("market")
    whole = markets[["count", "pairs", "own", "cross"]].sum()
    whole["log"] = pd.Series(xlogy(totals, totals), totals.index).groupby("market").sum()
    n, number = whole["count"], markets.size()
    hhi, entropy = _measures(n, whole["pairs"], whole["cross"] - whole["own"], whole["log"])
    found = pd.DataFrame({"answers": n, "units": number, "chosen": options.size()})
    found["leader"] = options.max() / n
    # How much more answers of one unit agree, each paired with itself, too; 1 where they all do.
    agree = ((whole["own"] / whole["pairs"] - hhi) / (1 - hhi).where(hhi < 1)).fillna(1.0)
    found["effective_n"] = (n**2 / whole["pairs"] / agree.where(agree > 0)).fillna(np.inf).clip(upper=n)
    correction = (found["chosen"] - 1) / (2 * found["effective_n"])
    found["hhi"], found["entropy"] = hhi, (entropy + correction).where(number > 1)
    # The same without each unit: pairs of an answer in the unit with one outside count from both ends.
    its = whole.loc[units.index]
    alike = its["cross"] - its["own"] - 2 * (units["cross"] - units["own"])
    units["hhi"], units["entropy"] = _measures(
        its["count"] - units["count"], its["pairs"] - units["pairs"], alike, its["log"] - units["log"]
    )
    for name, spread in units.groupby("market")[["hhi", "entropy"]].var(ddof=0).items():
        found[f"{name}_variance"] = (spread * (number - 1)).where(number > 2)
    return found


def _measures(
    n: "pd.Series[int]", within: "pd.Series[int]", alike: "pd.Series[int]", logs: "pd.Series[float]"
) -> "tuple[pd.Series[float], pd.Series[float]]":
    """The concentration, and the entropy without its correction.

    n: answers. within: the sum of squared numbers of answers over units. alike: pairs of answers of different
    units that are the same option. logs: the sum over options with k answers of k log k.
    """
    pairs, known = n**2 - within, n.where(n > 0)
    return alike / pairs.where(pairs > 0), pd.Series(np.log(known)) - logs / known
