"""What a sweep builds before its first suite, so that no cell waits for it.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cputrain.engines import EngineError
from cputrain.engines.native_ import library_build
from cputrain.experiment import Experiment


def libraries(experiments: Iterable[Experiment], say: Callable[[str], None]) -> None:
    """Build the native engine's libraries that `experiments` need and that are not there.

    One that cannot be built is told of; the cells that need it then fail with that reason.

    Args:
        experiments: what is going to run, of whatever engine.
        say: prints a line.
    """
    missing: dict[str, Experiment] = {}
    for experiment in experiments:
        if experiment.runtime.engine == "native":
            try:
                path = library_build.place(experiment)
            except EngineError as error:
                say(str(error))
                continue
            if not path.exists():
                missing[str(path)] = experiment
    if not missing:
        return
    count = len(missing)
    say(f"building the native engine: {count} {'library' if count == 1 else 'libraries'}")
    for experiment in missing.values():
        try:
            library_build.library(experiment)
        except EngineError as error:
            say(f"{error}; cells that need it will fail")
