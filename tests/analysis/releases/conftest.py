"""Made records are where the tests of results have them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "results"))  # made_project
