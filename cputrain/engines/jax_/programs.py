"""What JAX compiled in this process, and what of it came from its cache on disk.

Importing this starts the count, so it has to be imported before anything is compiled.
"""

from __future__ import annotations

from collections import Counter

import jax.monitoring

from cputrain.engines.jax_.schema import Program

COMPILED = "/jax/core/compile/backend_compile_duration"
OUTCOMES = {
    "/jax/compilation_cache/cache_hits": "hits",
    "/jax/compilation_cache/cache_misses": "misses",
}
"""Each comes before the COMPILED of its program; neither where no cache is used."""
_by_program: dict[str, Counter[str]] = {}
_last: list[str] = []


def counted(name: str) -> Program:
    """The function `name`, jitted; all counts are 0 where it was never compiled."""
    counts = _by_program.get(f"jit({name})", Counter())
    return Program(
        name=name, compiled=counts["compiled"], hits=counts["hits"], misses=counts["misses"]
    )


def _event(event: str, **_: str | int) -> None:
    if event in OUTCOMES:
        _last.append(OUTCOMES[event])


def _duration(event: str, seconds: float, **about: str | int) -> None:
    if event == COMPILED:
        counts = _by_program.setdefault(str(about.get("fun_name")), Counter())
        counts["compiled"] += 1
        counts.update(_last)
        _last.clear()


jax.monitoring.register_event_listener(_event)
jax.monitoring.register_event_duration_secs_listener(_duration)
