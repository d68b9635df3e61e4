"""Made records are where the tests of results and of the analysis have them."""

import sys
from pathlib import Path

for name in ("analysis/releases", "results"):
    sys.path.append(str(Path(__file__).parents[1] / name))
