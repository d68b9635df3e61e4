"""Made comparisons and records are where other rooms' tests have them."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path += [str(TESTS / "results"), str(TESTS / "analysis" / "releases")]
