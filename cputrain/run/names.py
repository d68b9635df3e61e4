"""The words of a run of engines side by side. Standard library only."""

SUITE = "engines"
"""The folder of its run records, as a suite's name."""

PARAMETERS = ("shape", "engine", "threads")
"""What the values of its cells are."""

FIRST = "torch"
"""What the others are compared with."""
AGAIN = "torch again"
"""The same once more: what lies between the two is the noise of the run."""
INDUCTOR = "torch inductor"
