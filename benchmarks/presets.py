"""Training runs that other people published."""

from cputrain.experiment import presets
from cputrain.run import suite


class Preset(suite.Suite):
    """Published training runs, each as it was configured; there is no baseline among them."""

    values = tuple(presets.PRESETS)
    name = "preset"
    late = True

    @classmethod
    def base(cls):
        return super().base().but(samples=2)

    def vary(self, base, value):
        return presets.PRESETS[value].experiment
