"""The words of runs beside the suites: engines side by side, and claims. Standard library only."""

from cputrain.engines.specs import FIRST as FIRST

SUITE = "engines"
"""The folder of its run records, as a suite's name."""

PARAMETERS = ("shape", "engine", "threads")
"""What the values of its cells are."""

INDUCTOR = "torch inductor"

CLAIMS = "claims"
"""The folder of the records of pairs that decide claims, as a suite's name."""
CLAIM_PARAMETERS = ("beside", "change")
"""What the values of their cells are."""
AGAIN_BESIDE = "again"
"""The change of a pair that has none: what lies between its sides is noise."""
