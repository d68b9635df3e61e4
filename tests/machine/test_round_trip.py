"""Round trips between two CPUs of this machine, and every reason why there is none."""

import os
import platform
import threading
import time

import pytest
from assembled import assembled

from cputrain.machine import round_trip
from cputrain.machine.reading import Unknown

CPUS = sorted(os.sched_getaffinity(0))
two = pytest.mark.skipif(
    platform.machine() not in round_trip.CODE or len(CPUS) < 2,
    reason="two CPUs, and code for this architecture, are needed",
)
SOURCES = {
    "x86_64": """
look: mov (%rdi), %eax
    cmp %edx, %eax
    je mine
    dec %rcx
    jnz look
    jmp end
mine: inc %edx
    mov %edx, (%rdi)
    inc %edx
    dec %rsi
    jnz look
end: mov %rsi, %rax
    ret
""",
    "aarch64": """
look: ldar w4, [x0]
    cmp w4, w2
    b.eq mine
    subs x3, x3, #1
    b.ne look
    b end
mine: add w2, w2, #1
    stlr w2, [x0]
    add w2, w2, #1
    subs x1, x1, #1
    b.ne look
end: mov x0, x1
    ret
""",
}


def quiet_round_trip():
    """One, of a moment at which nothing else had the CPUs: other tests may run beside this one."""
    end = time.monotonic() + 60
    while True:
        try:
            return round_trip.between(CPUS[0], CPUS[-1])
        except Unknown as unknown:
            if "something else had CPU" not in str(unknown) or time.monotonic() > end:
                raise
        time.sleep(0.1)


@two
def test_a_plausible_round_trip_that_leaves_the_caller_as_it_was():
    before = threading.active_count()
    ns = quiet_round_trip()
    assert 5 < ns < 100_000
    assert threading.active_count() == before and sorted(os.sched_getaffinity(0)) == CPUS


@two
def test_two_threads_on_one_cpu_hand_nothing_over_while_they_look(monkeypatch):
    """Each has to wait for the other's turn on the CPU: never the time of a line."""
    monkeypatch.setattr(round_trip, "POLLS", 100_000)
    with pytest.raises(Unknown, match="something else had CPU"):
        round_trip.between(CPUS[0], CPUS[0])


@two
def test_a_cpu_that_is_not_ours():
    start = time.monotonic()
    with pytest.raises(Unknown, match="CPU 1023: Invalid argument"):
        round_trip.between(CPUS[0], 1023)
    assert time.monotonic() - start < 30  # the other thread gave up


def test_an_unknown_architecture(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(Unknown, match="riscv64"):
        round_trip.between(0, 1)


@pytest.mark.parametrize("machine", SOURCES)
def test_the_code_is_what_an_assembler_makes_of_it(machine, tmp_path):
    assert round_trip.CODE[machine] in assembled(SOURCES[machine], machine, tmp_path)
