"""Variables in the texts of YAML files: `${row.price}`."""

import re
from typing import Final

VARIABLE: Final = re.compile(r"\$\{\s*([^{}]*?)\s*\}")
"""One variable; its group 1 is the name without spaces around it."""
