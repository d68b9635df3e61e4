"""The observed clock: real chains on this CPU, and every reason not to believe them."""

import platform
import re
import shutil
import subprocess
import sys

import pytest

from cputrain.machine import clock
from cputrain.machine.reading import Unknown

known = pytest.mark.skipif(
    platform.machine() not in clock.CHAINS, reason="no chain is known for this architecture"
)

SOURCES = {
    "x86_64": (
        "x86_64-linux-gnu",
        ("imul %esi, %eax", "add %rsi, %rax"),
        "mov %rdi, %rax\nmov $1, %esi\n1:\n.rept 512\n{link}\n.endr\ndec %rdi\njnz 1b\nret\n",
    ),
    "aarch64": (
        "aarch64-linux-gnu",
        ("add x1, x1, x2", "eor x1, x1, x2"),
        "mov x1, x0\nmov x2, #1\n1:\n.rept 512\n{link}\n.endr\nsubs x0, x0, #1\nb.ne 1b\nret\n",
    ),
}


@known
def test_a_plausible_clock():
    readings = [clock.observed_ghz(warm_s=0.02) for _ in range(5)]
    assert min(readings) > 0.3 and max(readings) < 8.0


@known
def test_chains_of_several_lengths_give_one_clock(monkeypatch):
    chains = clock.CHAINS[platform.machine()]
    whole = clock.agreed_ghz(chains, 0.02)
    monkeypatch.setattr(clock, "BURST_CYCLES", 4 * clock.BURST_CYCLES)
    assert clock.agreed_ghz(chains) == pytest.approx(whole, rel=0.25)


@known
@pytest.mark.parametrize("latency", [2, 4])
def test_a_latency_that_is_not_what_it_is_known_for_is_told(latency):
    first, second = clock.CHAINS[platform.machine()]
    other = clock.Chain(second.name, latency, second.code)
    with pytest.raises(Unknown, match=r"disagree: .* another latency"):
        clock.agreed_ghz((first, other))


def test_an_unknown_architecture(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    reading = clock.reading()
    assert reading["clock_ghz"] is None and "riscv64" in reading["clock_ghz_reason"]


@known
def test_a_reading_for_the_record():
    reading = clock.reading()
    assert reading.keys() in ({"clock_ghz"}, {"clock_ghz", "clock_ghz_reason"})
    assert 0.3 < reading["clock_ghz"] < 8.0


@known
def test_a_system_that_refuses_new_code():
    program = """
import ctypes, sys
from cputrain.machine import clock
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, refuse to gain PROT_EXEC; Linux 6.3
    sys.exit(3)
print(clock.reading())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip("this kernel cannot refuse it")
    assert "code of its own: Permission denied" in done.stdout, done.stderr


@pytest.mark.parametrize("machine", SOURCES)
def test_the_code_is_what_an_assembler_makes_of_it(machine, tmp_path):
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    target, links, source = SOURCES[machine]
    for chain, link in zip(clock.CHAINS[machine], links, strict=True):
        (tmp_path / "chain.s").write_text(source.format(link=link))
        command = ["clang", f"--target={target}", "-c", "chain.s", "-o", "chain.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"clang cannot assemble for {target}")
        assert chain.code in (tmp_path / "chain.o").read_bytes()
        assert re.sub(r"\W+", " ", chain.name).split()[0] == link.split()[0]
