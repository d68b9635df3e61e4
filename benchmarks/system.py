"""What the system and its libraries are told."""

from cputrain.run import suite


class OmpThreads(suite.Suite):
    """OpenMP threads on all allowed CPUs; more threads than CPUs take turns."""

    values = (1, 2, 4, 8, 128, "all")
    engines = {"native": (1, "all")}
    version = "3"

    def vary(self, base, value):
        if value == "all":
            return base
        return base.but(threads=value)


class OmpWaitPolicy(suite.Suite):
    """What OpenMP's threads do between pieces of work: spin or sleep."""

    values = ("default", "active", "passive", "spin_0")
    version = "4"

    def vary(self, base, value):
        return base.but(wait_policy=value)


class OmpRuntime(suite.Suite):
    """The OpenMP library: GNU's, which torch ships, or Intel's."""

    values = ("libgomp", "libiomp5")

    def vary(self, base, value):
        return base.but(omp_runtime=value)


class ThreadPinning(suite.Suite):
    """How OpenMP's threads are bound: not, on cores close together or spread, or CPU by CPU.

    With a thread on every core, as here, close and spread are the same; without SMT, explicit too.
    """

    values = ("none", "close", "spread", "explicit")
    version = "4"

    def vary(self, base, value):
        return base.but(pinning=value)


class CpuAffinity(suite.Suite):
    """Which CPUs: one on each core, both of half the cores, one socket or kind of core, or some."""

    values = (
        *("one_per_core", "siblings", "one_socket", "scattered"),
        *("performance_cores", "efficiency_cores"),
    )

    @classmethod
    def base(cls):
        return super().base().but(affinity="one_per_core")

    def vary(self, base, value):
        return base.but(affinity=value)


class DataParallel(suite.Suite):
    """Processes that train together by torchrun and DDP over gloo: batch, CPUs, threads shared."""

    values = (1, 2, 4, 8)

    @classmethod
    def base(cls):
        return super().base().but(batch_size=8, processes=1)

    def vary(self, base, value):
        return base.but(processes=value)


class IntraOpThreads(suite.Suite):
    """torch.set_num_threads, beside OMP_NUM_THREADS for all cores."""

    values = (1, "all")

    def vary(self, base, value):
        return base.but(intra_op_threads=None if value == "all" else value)


class InterOpThreads(suite.Suite):
    """torch.set_num_interop_threads: a plain training step uses none of them."""

    values = (1, "all")

    def vary(self, base, value):
        return base.but(inter_op_threads=None if value == "all" else value)


class MatmulBackend(suite.Suite):
    """What multiplies matrices in fp32: torch's linear layers, all of NumPy's and of our C."""

    values = (
        *("torch", "torch-mkl", "torch-onednn", "numpy-openblas", "numpy-mkl", "numpy-onednn"),
        *("native-own", "native-openblas", "native-mkl"),
    )
    version = "3"

    def vary(self, base, value):
        engine, _, library = value.partition("-")
        return base.but(engine=engine, matmul_backend=library.replace("own", "") or "default")


class InductorCompiler(suite.Suite):
    """The compiler of inductor's C++; the matrix products are MKL's all the same.

    clang's code needs LLVM's OpenMP, so it runs on libiomp5, and g++'s too to compare it with.
    """

    values = ("g++ O3", "g++ O3 libiomp5", "clang++ O3 libiomp5")
    name = "cxx"
    version = "3"

    @classmethod
    def base(cls):
        return super().base().but(compile="inductor", n_layer=2)

    def vary(self, base, value):
        cxx, level, *runtime = value.split()
        own = (cxx, level) == ("g++", "O3")  # inductor's choice where nobody chooses
        compiler = {} if own else {"cxx": cxx, "cxx_level": level}
        return base.but(omp_runtime=(*runtime, "libgomp")[0], **compiler)


class Allocator(suite.Suite):
    """The library that hands out memory; glibc also with thresholds that keep large blocks."""

    values = ("glibc", "glibc_thresholds", "jemalloc", "tcmalloc", "mimalloc")
    version = "4"
    quick = ("glibc_thresholds", "jemalloc", "mimalloc")

    def vary(self, base, value):
        return base.but(allocator=value)


class AllocatorLargeBlocks(Allocator):
    """The library that hands out memory, with a vocabulary of 32 000: logits of 33 MB a block."""

    quick = ()
    version = "2"

    @classmethod
    def base(cls):
        return super().base().but(vocab_size=32_000)
