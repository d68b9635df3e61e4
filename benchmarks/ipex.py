"""Intel's extension of torch 2.8, in an environment of its own: bench.py run --ipex."""

from cputrain.run import suite


class IpexKernels(suite.Suite):
    """Whether IPEX may choose oneDNN's kernels; in bf16 it takes them either way."""

    values = ("fp32", "fp32 auto", "bf16", "bf16 auto")
    name = "kernels"

    @classmethod
    def base(cls):
        return super().base().but(engine="ipex")

    def vary(self, base, value):
        precision, *auto = value.split()
        return base.but(precision=precision, auto_kernel_selection=bool(auto))
