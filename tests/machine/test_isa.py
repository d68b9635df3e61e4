"""The ladder of instruction sets on made CPUs, and what is refused above it."""

import pytest

from cputrain.machine import isa
from cputrain.machine.reading import Unknown

SSE = "fpu sse sse2 pni ssse3 sse4_1 sse4_2 popcnt"
AVX2 = f"{SSE} avx avx2 fma f16c bmi1 bmi2"
AVX512 = f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl"


def cpu(tree, line):
    tree.put({"/proc/cpuinfo": f"processor\t: 0\n{line}\n\nprocessor\t: 1\n{line}"})
    return tree.root


@pytest.mark.parametrize(
    ("line", "rungs"),
    [
        ("flags\t: fpu sse sse2", ["sse2"]),
        (f"flags\t: {SSE}", ["sse2", "sse4_2"]),
        (f"flags\t: {AVX2}", ["sse2", "sse4_2", "avx2"]),
        # avx512f alone, of the first Xeon Phi, is not what programs mean by AVX-512.
        (f"flags\t: {AVX2} avx512f avx512cd", ["sse2", "sse4_2", "avx2"]),
        (
            f"flags\t: {AVX512} avx512_vnni amx_tile amx_int8 amx_bf16",
            ["sse2", "sse4_2", "avx2", "avx512", "avx512_vnni", "amx"],
        ),
        ("Features\t: fp asimd asimddp i8mm bf16 sve", ["neon", "dot_product", "bf16", "sve"]),
        ("isa\t: rv64imafdcv", None),
    ],
)
def test_the_ladder(tree, line, rungs):
    root = cpu(tree, line)
    assert isa.is_x86(root) == line.startswith("flags")
    if rungs is None:
        with pytest.raises(Unknown):
            isa.ladder(root)
    else:
        assert list(isa.ladder(root)) == rungs


@pytest.mark.parametrize(
    ("line", "rung", "reason"),
    [
        (f"flags\t: {AVX512}", "avx2", None),
        (f"flags\t: {AVX2}", "avx2", None),
        (f"flags\t: {SSE}", "avx2", "this CPU has no avx2 and no fma and no f16c and no bmi2"),
        (f"flags\t: {SSE} avx2 f16c bmi2", "avx2", "this CPU has no fma"),
        (f"flags\t: {AVX2}", "avx512", "this CPU has no avx512f and"),
        ("Features\t: fp asimd", "avx2", "avx2 is a level of x86 CPUs, and this is none"),
        ("isa\t: rv64imafdcv", "avx2", "avx2 is a level of x86 CPUs, and this is none"),
        ("model name\t: a CPU", "avx2", "whether this CPU has avx2 is unknown: /proc/cpuinfo"),
    ],
)
def test_a_rung_above_the_cpu_has_a_reason(tree, line, rung, reason):
    why_not = isa.why_not(rung, cpu(tree, line))
    assert why_not == reason if reason is None else why_not.startswith(reason)


def test_a_machine_without_cpuinfo_is_unknown(tree):
    with pytest.raises(Unknown):
        isa.ladder(tree.root)
    assert "unknown" in isa.why_not("avx2", tree.root)


def test_here_the_ladder_agrees_with_torch():
    torch = pytest.importorskip("torch")
    capabilities = torch.cpu.get_capabilities()
    if not isa.is_x86():
        pytest.skip("not an x86 CPU")
    assert ("avx2" in isa.ladder()) == capabilities["avx2"]
    assert ("avx512" in isa.ladder()) == capabilities["avx512_f"]
