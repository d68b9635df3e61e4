"""What made CPUs are, and what is refused above their instruction sets."""

import pytest

from cputrain.machine import isa

SSE = "fpu sse sse2 pni ssse3 sse4_1 sse4_2 popcnt"
AVX2 = f"{SSE} avx avx2 fma f16c bmi1 bmi2"
AVX512 = f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl"


def cpu(tree, line):
    tree.put({"/proc/cpuinfo": f"processor\t: 0\n{line}\n\nprocessor\t: 1\n{line}"})
    return tree.root


@pytest.mark.parametrize("line", ["flags\t: fpu", "Features\t: fp asimd", "isa\t: rv64imafdcv"])
def test_flags_are_of_x86_cpus_alone(tree, line):
    assert isa.is_x86(cpu(tree, line)) == line.startswith("flags")


@pytest.mark.parametrize(
    ("line", "rung", "reason"),
    [
        (f"flags\t: {AVX512}", "avx2", None),
        (f"flags\t: {AVX2}", "avx2", None),
        (f"flags\t: {SSE}", "avx2", "this CPU has no avx2 and no fma and no f16c and no bmi2"),
        (f"flags\t: {SSE} avx2 f16c bmi2", "avx2", "this CPU has no fma"),
        (f"flags\t: {AVX2}", "avx512", "this CPU has no avx512f and"),
        # avx512f alone, of the first Xeon Phi, is not what programs mean by AVX-512.
        (f"flags\t: {AVX2} avx512f avx512cd", "avx512", "this CPU has no avx512bw and"),
        (f"flags\t: {AVX512}", "avx512", None),
        (f"flags\t: {SSE}", "sse4_2", None),
        ("flags\t: fpu sse sse2", "sse4_2", "this CPU has no ssse3 and"),
        ("Features\t: fp asimd", "avx2", "avx2 is a level of x86 CPUs, and this is none"),
        ("isa\t: rv64imafdcv", "avx2", "avx2 is a level of x86 CPUs, and this is none"),
        ("model name\t: a CPU", "avx2", "whether this CPU has avx2 is unknown: /proc/cpuinfo"),
    ],
)
def test_a_rung_above_the_cpu_has_a_reason(tree, line, rung, reason):
    why_not = isa.why_not(rung, cpu(tree, line))
    assert why_not == reason if reason is None else why_not.startswith(reason)


def test_a_machine_without_cpuinfo_is_unknown(tree):
    assert "unknown" in isa.why_not("avx2", tree.root)


def test_here_the_rungs_agree_with_torch():
    torch = pytest.importorskip("torch")
    capabilities = torch.cpu.get_capabilities()
    if not isa.is_x86():
        pytest.skip("not an x86 CPU")
    assert (isa.why_not("avx2") is None) == capabilities["avx2"]
    assert (isa.why_not("avx512") is None) == capabilities["avx512_f"]
