"""The words of a run of engines side by side. Standard library only."""

from cputrain.engines.specs import FIRST as FIRST

SUITE = "engines"
"""The folder of its run records, as a suite's name."""

PARAMETERS = ("shape", "engine", "threads")
"""What the values of its cells are."""

AGAIN = "torch again"
"""The same once more: what lies between the two is the noise of the run."""
INDUCTOR = "torch inductor"
