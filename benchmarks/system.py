"""What the process is given to run on."""

from cputrain import suite


class CoreCount(suite.Suite):
    """CPUs in the affinity mask, one thread for each physical core among them."""

    values = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, "all")

    def vary(self, base, value):
        return base.but(cores=None if value == "all" else value)


class OmpThreads(suite.Suite):
    """OpenMP threads on all allowed CPUs; more threads than CPUs take turns."""

    values = (1, 2, 4, 8, 16, 32, 64, 128, "all")

    def vary(self, base, value):
        return base.but(threads=None if value == "all" else value)
