"""What a sweep builds before its first suite, so that no cell waits for it.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cputrain.engines import EngineError, specs
from cputrain.experiment import Experiment


def libraries(experiments: Iterable[Experiment], say: Callable[[str], None]) -> None:
    """Build what the engines of `experiments` need built and is not there.

    What cannot be built is told of; the cells that need it then fail with that reason.

    Args:
        experiments: what is going to run.
        say: prints a line.
    """
    missing: dict[str, dict[str, Experiment]] = {}
    for experiment in experiments:
        name = experiment.runtime.engine
        try:
            path = specs.of(name).missing(experiment)
        except EngineError as error:
            say(str(error))
            continue
        if path is not None:
            missing.setdefault(name, {})[str(path)] = experiment
    for name, of_engine in missing.items():
        count = len(of_engine)
        say(f"building the {name} engine: {count} {'library' if count == 1 else 'libraries'}")
        for experiment in of_engine.values():
            try:
                specs.of(name).build(experiment)
            except EngineError as error:
                say(f"{error}; cells that need it will fail")
