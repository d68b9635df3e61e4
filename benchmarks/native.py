"""How our own C is compiled, and how it shares out its loops."""

from cputrain.experiment.runtime import CC_LEVELS
from cputrain.run import suite


class _Native(suite.Suite):
    @classmethod
    def base(cls):
        return super().base().but(engine="native")


class Compiler(_Native):
    """Compiler, level, target and link-time optimization of our own C engine; 2 layers.

    clang's OpenMP is LLVM's, so it runs on libiomp5, and one of gcc's too to compare it with.
    """

    values = (
        *(f"gcc {level} native" for level in CC_LEVELS),
        *("clang O3 native", "clang Ofast native"),
        *("gcc Ofast generic", "gcc Ofast native lto", "gcc Ofast native libiomp5"),
    )
    name = "compiler"

    @classmethod
    def base(cls):
        return super().base().but(n_layer=2)

    def vary(self, base, value):
        cc, level, target, *more = value.split()
        runtime = "libiomp5" if cc == "clang" or "libiomp5" in more else "libgomp"
        lto = "lto" in more
        return base.but(cc=cc, cc_level=level, cc_target=target, lto=lto, omp_runtime=runtime)


class OmpSchedule(_Native):
    """How OpenMP shares out the loops of our own C engine among its threads."""

    values = ("static", "dynamic", "guided")

    def vary(self, base, value):
        return base.but(omp_schedule=value)
