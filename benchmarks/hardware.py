"""What the processor and the memory are, and how they are run."""

from cputrain.run import suite


class CoreCount(suite.Suite):
    """CPUs in the affinity mask, one thread for each physical core among them."""

    values = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, "all")
    engines = {"native": (1, 2, 4, 8, 16, 32, 64, "all")}
    version = "3"
    quick = (1,)

    def vary(self, base, value):
        return base.but(cores=None if value == "all" else value)


class Frequency(suite.Suite):
    """Clock of the CPUs in GHz, lowest and highest set alike."""

    values = ("min", *(n / 10 for n in range(4, 64, 4)), "max")
    name = "frequency_ghz"

    @classmethod
    def base(cls):
        return super().base().but(frequency_ghz="max")

    def vary(self, base, value):
        return base.but(frequency_ghz=value)


class Governor(suite.Suite):
    """Who chooses the clock: cpufreq's governor, some with an energy preference."""

    values = (
        *("performance", "powersave", "schedutil", "ondemand", "conservative"),
        *("powersave+balance_performance", "powersave+balance_power", "powersave+power"),
    )
    name = "governor"

    @classmethod
    def base(cls):
        return super().base().but(governor="performance")

    def vary(self, base, value):
        governor, _, preference = value.partition("+")
        return base.but(governor=governor, energy_preference=preference or "as_found")


class Turbo(suite.Suite):
    """Clocks above the nominal one while heat and power allow."""

    values = ("on", "off")

    @classmethod
    def base(cls):
        return super().base().but(turbo="on")

    def vary(self, base, value):
        return base.but(turbo=value)


class InstructionSet(suite.Suite):
    """The most of the CPU's vector instructions that an engine's libraries and code may use."""

    values = ("native", "avx2", "baseline")
    engines = {"jax": values, "native": values}
    version = "3"
    quick = ("avx2",)

    def vary(self, base, value):
        return base.but(instruction_set=value)


class NumaPolicy(suite.Suite):
    """The memory nodes that pages go to: where they are used, in turns, or with the CPUs on one."""

    values = ("local", "interleave", "one_node")

    @classmethod
    def base(cls):
        return super().base().but(numa_policy="local")

    def vary(self, base, value):
        return base.but(numa_policy=value)


class HugePages(suite.Suite):
    """Transparent huge pages: never, where the allocator asks for them, or always."""

    values = ("never", "madvise", "always")

    @classmethod
    def base(cls):
        return super().base().but(huge_pages="never")

    def vary(self, base, value):
        return base.but(huge_pages=value)
