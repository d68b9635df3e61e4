"""How far identical experiments lie apart."""

from cputrain.run import suite


class Baseline(suite.Suite):
    """The baseline some times over (A/A): what differs here is noise."""

    values = ("A", "B")
    engines = {"jax": values, "native": values, "numpy": ("A",), "ipex": ("A",)}
    name = "copy"
    quick = ("A", "B", ("A", "jax"), ("A", "native"))
    measures_again = True
    version = "3"

    def vary(self, base, value):
        return base
