"""XLA's flags: whether it fuses operations, and the most that it may use of the instructions.

An unknown flag ends the process; an unknown name of a pass is taken and does nothing. Tried with
jax 0.10.2: of XLA's passes "fusion" is the one that fuses, and "fusion-wrapper", which puts single
operations into loops, has to stay: without it nothing executes a scatter. YNNPACK, the library
that most products go to, fuses sums with what is summed unless it is given products alone
(individual_dot).

YNNPACK heeds no cap of instructions: its product of two 512 x 512 matrices took as long under
SSE4_2 as without a cap. Given nothing, all products go to Eigen with oneDNN's kernels, which took
1.1 ms like YNNPACK's, 2.5 ms under ONEDNN_MAX_CPU_ISA=AVX2 and 5.5 ms under SSE41.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from cputrain.knobs.inforce import Check
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import jitted, vectors
from cputrain.machine.reading import Unknown

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

NO_FUSION = (
    "--xla_disable_hlo_passes=fusion",
    "--xla_cpu_experimental_ynn_fusion_type=individual_dot",
)
CAPS = {"avx2": "AVX2", "baseline": "SSE4_2"}
"""--xla_cpu_max_isa by system.instruction_set."""
ABOVE = {"avx2": ("avx512",), "baseline": ("avx512", "avx")}
"""What no code may have under a cap, by the names of `jitted.kinds`."""


class Xla(Knob):
    """XLA's flags."""

    def why_not(self, experiment: Experiment) -> str | None:
        """A cap is shown to be in force by the code that XLA wrote, which objdump reads."""
        if _cap(experiment) is None or shutil.which(vectors.PROGRAM) is not None:
            return None
        return f"{vectors.PROGRAM} is not installed: apt install binutils"

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        words = flags(experiment)
        return {"XLA_FLAGS": " ".join(words)} if words else {}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """Under a cap the code in this process's memory; fusion shows in the engine's evidence."""
        if _cap(experiment) is None:
            return []
        try:
            by_writer = jitted.vectors()
        except Unknown as unknown:
            return [Check("code of XLA and oneDNN", "readable", str(unknown), False)]
        return capped(experiment.system.instruction_set, by_writer)


def flags(experiment: Experiment) -> list[str]:
    """What XLA is told; nothing where everything is as XLA has it."""
    words = [] if experiment.runtime.fusion else list(NO_FUSION)
    if (cap := _cap(experiment)) is not None:
        words = [word for word in words if "ynn" not in word]
        words += [f"--xla_cpu_max_isa={cap}", "--xla_cpu_experimental_ynn_fusion_type="]
    return words


def capped(level: str, by_writer: dict[str, dict[str, int]]) -> list[Check]:
    """Whether no code has instructions above the cap `level`.

    XLA wrote some vectors in any case; oneDNN nothing where no product is worth its kernels.

    Args:
        by_writer: as `jitted.vectors` counts them.
    """
    checks = []
    for writer, name in (("xla", "XLA"), ("onednn", "oneDNN")):
        counts = by_writer.get(writer, {})
        above = sum(counts.get(kind, 0) for kind in ABOVE[level])
        ok = not above and (bool(counts) or writer != "xla")
        share = f"{above} of {sum(counts.values())}"
        checks.append(Check(f"instructions above {level} in the code of {name}", 0, share, ok))
    return checks


def _cap(experiment: Experiment) -> str | None:
    return CAPS.get(experiment.system.instruction_set)
