"""Made-up workers are those of the results' tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "results"))  # made_project
