"""The clock that a CPU really runs at, estimated by timing a chain of dependent instructions.

What the kernel and /proc/cpuinfo say may be a nominal figure that never moves (it is in most
virtual machines). Each instruction of a chain needs the result of the one before it, so the
chain takes its length times the instruction's latency, in cycles, on every CPU, however wide.

The latencies hold for x86-64 since Intel's Nehalem and AMD's Zen and for 64-bit Arm (Fog,
"Instruction tables", agner.org/optimize; uops.info; Arm's software optimization guides).
Additions of constants would not do: Intel folds chains of those since Alder Lake. Additions of
registers are not folded, and two chains of different instructions have to agree.

Tried on a busy Zen 5 virtual machine, 75 readings in 25 processes: products agreed with a third
chain (crc32, 3 cycles) to 0.6 % but once (1.5 %), while additions read 2 to 3 % low in two of the
processes. One has to start in every cycle, so anything that costs a cycle shows. Chains can only
read low, so the faster one counts, and they need to agree to 5 %: a latency that is not what it
is known for would be off by a quarter at least (4 cycles for 3, or half of 1).

Standard library only; no compiler is needed.
"""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from cputrain.machine.code import mapped
from cputrain.machine.reading import Unknown

UNROLLED = 512
"""Chained instructions in one turn of the loop; its end is computed beside them."""
BURST_CYCLES = 1 << 18
"""Length of one reading: 50 to 250 µs, so that an interruption spoils one of many."""
SECONDS = 0.006
"""Time for all readings."""
FEWEST = 15
"""Readings of each chain at least, however slow or busy the CPU."""
TRIES = 3
"""Times that the chains may disagree: on a busy machine one may have been interrupted always."""
AGREEMENT = 0.05
"""Relative difference between the two chains up to which they are believed."""


@dataclass(frozen=True)
class Chain:
    """Machine code of a function of the number of turns.

    Attributes:
        name: the instruction.
        latency: of the instruction, cycles.
        code: what comes before, the instruction 512 times, the loop's end and the return.
    """

    name: str
    latency: int
    code: bytes


def _x86_64(name: str, latency: int, link: str) -> Chain:
    before = bytes.fromhex("48 89 f8  be 01 00 00 00")  # mov rax, rdi; mov esi, 1
    body = bytes.fromhex(link) * UNROLLED + bytes.fromhex("48 ff cf")  # dec rdi
    back = (-len(body) - 6).to_bytes(4, "little", signed=True)
    return Chain(name, latency, before + body + b"\x0f\x85" + back + b"\xc3")  # jnz; ret


def _aarch64(name: str, latency: int, link: int) -> Chain:
    before = (0xAA0003E1, 0xD2800022)  # mov x1, x0; mov x2, #1
    body = (*[link] * UNROLLED, 0xF1000400)  # subs x0, x0, #1
    back = 0x54000001 | (-len(body) & 0x7FFFF) << 5  # b.ne
    words = (*before, *body, back, 0xD65F03C0)  # ret
    return Chain(name, latency, b"".join(word.to_bytes(4, "little") for word in words))


CHAINS = {
    # imul of 32 bits: that of 64 took longer before Zen.
    "x86_64": (
        _x86_64("imul eax, esi", 3, "0f af c6"),
        _x86_64("add rax, rsi", 1, "48 01 f0"),
    ),
    # A product's latency differs among Arm's cores; that of logic does not.
    "aarch64": (
        _aarch64("add x1, x1, x2", 1, 0x8B020021),
        _aarch64("eor x1, x1, x2", 1, 0xCA020021),
    ),
}
"""The two chains by architecture."""


def observed_ghz(warm_s: float = 0.0) -> float:
    """An estimate of the clock of the CPU that the calling thread is on, GHz. Below 10 ms.

    The fastest of many short readings counts. It cannot tell a slow clock from a CPU that
    others keep taking away all the time.

    Args:
        warm_s: seconds to compute before, for a clock that follows the load.

    Raises:
        Unknown: no chain is known for this architecture, no code can be mapped, or the two
            chains disagree, so that one of them does not have the latency it is known for.
    """
    chains = CHAINS.get(platform.machine())
    if chains is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unknown(f"no chain of instructions of known latency for {platform.machine()}")
    return agreed_ghz(chains, warm_s)


def reading() -> dict[str, Any]:
    """For a record: "clock_ghz", or None and "clock_ghz_reason"."""
    try:
        return {"clock_ghz": round(observed_ghz(), 4)}
    except Unknown as unknown:
        return {"clock_ghz": None, "clock_ghz_reason": str(unknown)}


def agreed_ghz(chains: tuple[Chain, ...], warm_s: float = 0.0) -> float:
    """The clock by the fastest of these chains. Raises Unknown where they disagree."""
    with ExitStack() as stack:
        # Called with the interpreter's lock held: other threads would wait for it in between.
        call = ctypes.PYFUNCTYPE(None, ctypes.c_uint64)
        calls = [call(stack.enter_context(mapped(chain.code))) for chain in chains]
        end = time.perf_counter() + warm_s
        while time.perf_counter() < end:
            _seconds(calls[0], BURST_CYCLES)
        rates = [0.0] * len(chains)
        for _ in range(TRIES):
            rates = list(map(max, rates, _fastest(chains, calls)))
            if max(rates) / min(rates) - 1 <= AGREEMENT:
                return max(rates)
    estimates = " and ".join(f"{r:.2f} GHz by {c.name}" for r, c in zip(rates, chains, strict=True))
    raise Unknown(
        f"chains of instructions disagree: {estimates}; one has another latency than known"
    )


def _fastest(chains: tuple[Chain, ...], calls: Sequence[Callable[[int], Any]]) -> list[float]:
    """GHz by each chain, its fastest reading less what an empty call takes; taken in turns."""
    turns = [BURST_CYCLES // (UNROLLED * chain.latency) for chain in chains]
    empty = min(_seconds(calls[0], 1) for _ in range(20))
    best = [float("inf")] * len(chains)
    end, readings = time.perf_counter() + SECONDS, 0
    while readings < FEWEST or time.perf_counter() < end:
        for i, call in enumerate(calls):
            best[i] = min(best[i], _seconds(call, turns[i]))
        readings += 1
    return [
        n * UNROLLED * chain.latency / (seconds - empty) / 1e9
        for n, chain, seconds in zip(turns, chains, best, strict=True)
    ]


def _seconds(call: Callable[[int], Any], turns: int) -> float:
    start = time.perf_counter_ns()
    call(turns)
    return (time.perf_counter_ns() - start) / 1e9
