"""Whether two CPUs are one core: of this machine, and every reason why that is not told."""

import os
import platform
import statistics
import threading
from pathlib import Path

import pytest
from assembled import assembled

from cputrain.machine import one_core
from cputrain.machine.reading import Unknown
from cputrain.record.noise import SHARED

CPUS = sorted(os.sched_getaffinity(0))
two = pytest.mark.skipif(
    platform.machine() != "x86_64" or len(CPUS) < 2, reason="two CPUs of x86-64 are needed"
)
SOURCE = """
push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    test %r9, %r9
    jnz wait
    mov %edx, (%rdi)
wait: cvtsi2sd %r8, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    sqrtsd %xmm0, %xmm0
    movq %xmm0, %rax
    and $0, %eax
    add %rsi, %rax
    cmp %edx, (%rax)
    je there
    dec %r8
    jnz wait
    xor %eax, %eax
    jmp end
there: mov %edx, %esi
again: mov %rcx, %r14
    rdtsc
    shl $32, %rdx
    or %rdx, %rax
    mov %rax, %r15
more:
.rept 2
    add %r8, %rax
    add %r8, %rbx
    add %r8, %rbp
    add %r8, %r10
    add %r8, %r11
    add %r8, %r12
    add %r8, %r13
.endr
    dec %r14
    jnz more
    rdtsc
    shl $32, %rdx
    or %rdx, %rax
    sub %r15, %rax
    test %r9, %r9
    jz done
    mov %rax, (%r9)
    add $8, %r9
    cmp %esi, (%rdi)
    je done
    mov %esi, (%rdi)
    jmp again
done: mov $1, %eax
end: pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
"""


def at_once(cpu, other):
    """The ratio, as soon as no test beside it has a CPU for longer than the threads look."""
    for _ in range(50):
        try:
            return one_core.at_once(cpu, other)
        except Unknown as unknown:
            why = unknown
    raise why


@two
def test_a_plausible_ratio_that_leaves_the_caller_as_it_was():
    before = threading.active_count()
    ratios = [at_once(CPUS[0], CPUS[-1]) for _ in range(9)]  # tests beside it spoil one or two
    assert 0.5 < statistics.median(ratios) < 2.5
    assert threading.active_count() == before and sorted(os.sched_getaffinity(0)) == CPUS


def threads_of_one_core():
    """Two CPUs that the kernel says are one core, where this machine has such."""
    for cpu in CPUS:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        words = siblings.read_text().replace("-", ",").split(",") if siblings.exists() else []
        alike = [int(word) for word in words if int(word) in CPUS]
        if len(alike) > 1:
            return alike[:2]
    return None


@two
def test_threads_of_one_core_share_it():
    if (pair := threads_of_one_core()) is None:
        pytest.skip("no two CPUs here are said to be one core")
    assert at_once(*pair) > SHARED


@two
def test_two_threads_on_one_cpu_add_nothing_while_they_wait(monkeypatch):
    monkeypatch.setattr(one_core, "POLLS", 1000)
    with pytest.raises(Unknown, match="something else had CPU"):
        one_core.at_once(CPUS[0], CPUS[0])


@two
def test_a_cpu_that_is_not_ours(monkeypatch):
    monkeypatch.setattr(one_core, "POLLS", 1000)
    with pytest.raises(Unknown, match="CPU 1023: Invalid argument"):
        one_core.at_once(CPUS[0], 1023)


def test_an_unknown_architecture(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(Unknown, match="riscv64"):
        one_core.at_once(0, 1)


def test_the_code_is_what_an_assembler_makes_of_it(tmp_path):
    assert one_core.CODE in assembled(SOURCE, "x86_64", tmp_path)
