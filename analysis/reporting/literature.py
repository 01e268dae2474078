"""The sources of methods that a methods section names, as BibTeX."""

from collections.abc import Sequence
from typing import Final

ENTRIES: Final = {
    "mcnemar1947": r"""@article{mcnemar1947,
  author = {McNemar, Quinn},
  title = {Note on the sampling error of the difference between correlated proportions or percentages},
  journal = {Psychometrika}, volume = {12}, number = {2}, pages = {153--157}, year = {1947}
}""",
    "tango1998": r"""@article{tango1998,
  author = {Tango, Toshiro},
  title = {Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design},
  journal = {Statistics in Medicine}, volume = {17}, number = {8}, pages = {891--908}, year = {1998}
}""",
    "fisher1935": r"""@book{fisher1935,
  author = {Fisher, Ronald A.},
  title = {The Design of Experiments}, publisher = {Oliver and Boyd}, address = {Edinburgh}, year = {1935}
}""",
    "cameron2011": r"""@article{cameron2011,
  author = {Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.},
  title = {Robust inference with multiway clustering},
  journal = {Journal of Business \& Economic Statistics}, volume = {29}, number = {2},
  pages = {238--249}, year = {2011}
}""",
    "mcfadden1974": r"""@incollection{mcfadden1974,
  author = {McFadden, Daniel},
  title = {Conditional logit analysis of qualitative choice behavior},
  booktitle = {Frontiers in Econometrics}, editor = {Zarembka, Paul},
  publisher = {Academic Press}, address = {New York}, pages = {105--142}, year = {1974}
}""",
    "wilson1927": r"""@article{wilson1927,
  author = {Wilson, Edwin B.},
  title = {Probable inference, the law of succession, and statistical inference},
  journal = {Journal of the American Statistical Association}, volume = {22}, number = {158},
  pages = {209--212}, year = {1927}
}""",
    "cohen1988": r"""@book{cohen1988,
  author = {Cohen, Jacob},
  title = {Statistical Power Analysis for the Behavioral Sciences}, edition = {2},
  publisher = {Lawrence Erlbaum}, address = {Hillsdale, NJ}, year = {1988}
}""",
}
"""Entries by their keys."""


def bibtex(keys: Sequence[str], software: str) -> str:
    """Return a BibTeX file with these entries, and one for Souk; software: its version."""
    note = f"{{Computer software, version {software}}}"
    own = f"@misc{{souk,\n  key = {{Souk}}, title = {{Souk}}, note = {note}\n}}"
    return "\n\n".join([*(ENTRIES[key] for key in keys), own]) + "\n"
