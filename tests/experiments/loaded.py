"""What a command loads when it is used for the first time, for those who fork commands from one process."""

import gc
from importlib import import_module

import pandas as pd

from analysis.reporting.plots import estimates, to_svg
from experiments.designs.choice_sets.shop_products import shop_products

for name in (
    "experiments.cli", "experiments.runs.experiment_run", "experiments.studies.printing",
    "experiments.executors.browser", "experiments.console.detach", "analysis.reporting.html",
    "experiments.studies.kinds", "proxy.server", "pyarrow", "PIL.Image", "openai",
):  # fmt: skip
    import_module(name)

shop_products()
_ROW = pd.DataFrame({"group": ["abc"], "estimate": [1.0], "conf_low": [0.0], "conf_high": [2.0]})
to_svg(estimates(_ROW, "the letters of a figure"))

gc.collect()
gc.freeze()  # a fork that collects garbage would copy all these pages
