"""How far identical experiments lie apart."""

from cputrain.run import suite


class Baseline(suite.Suite):
    """The baseline six times over (A/A): what differs here is noise."""

    values = ("A", "B", "C", "D", "E", "F")
    name = "copy"

    def vary(self, base, value):
        return base
