"""JAX's cache of compiled programs on disk, in the folder that the launcher makes.

Only where a first step is timed: a steady cell's first step is then compiling and nothing else.
Otherwise JAX keeps only what took a second to compile, which would leave out small models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain.knobs.knob import Knob, Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

EVERYTHING = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


class JaxCache(Knob):
    """JAX's cache of compiled programs; `executed.jax_` shows what came from it."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        if experiment.runtime.jit_state == "steady":
            return {"JAX_ENABLE_COMPILATION_CACHE": "false"}
        return dict(EVERYTHING)
