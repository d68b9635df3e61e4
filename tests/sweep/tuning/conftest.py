"""Whole tunings by the production code, on simulated step times."""

from pathlib import Path

import pytest


@pytest.fixture
def allocators(tmp_path, monkeypatch):
    """Allocators that can be loaded: mimalloc takes the place of glibc, which has huge pages."""
    from cputrain.machine import library_search

    library = tmp_path / "library.so"
    library.write_bytes(Path("/proc/self/exe").read_bytes()[:20])
    monkeypatch.setenv(library_search.VARIABLE, f"mimalloc={library}")


@pytest.fixture
def tune(own_root, monkeypatch):
    """Tune an experiment on a simulated machine; the tuning and its workers.

    It has libiomp5 and mimalloc, as asv's environment will, so that the launch line can name them.
    """
    # Here, as this file is read in environments that lack what these import.
    from simulated_workers import Simulated

    from cputrain.engines import specs
    from cputrain.machine import library_search
    from cputrain.run.session import Session
    from cputrain.sweep.tuning import reduced
    from cputrain.sweep.tuning.planned import PlannedTuning
    from cputrain.sweep.tuning.verb import Tune

    library = own_root / "library.so"
    library.write_bytes(Path("/proc/self/exe").read_bytes()[:20])
    both = ":".join(f"{name}={library}" for name in ("libiomp5", "mimalloc"))
    monkeypatch.setenv(library_search.VARIABLE, both)

    def tune(experiment, slower, minutes=10.0, kept=(), seed=0, **machine):
        usual = specs.settle(experiment)
        usual_s = reduced.micro_s(usual) * usual.training.grad_accum

        def step_s(e):
            tokens = e.training.tokens_per_step / usual.training.tokens_per_step
            return usual_s * tokens * slower(e)

        workers = Simulated(step_s, seed, **machine)
        planned = PlannedTuning(experiment, 60 * minutes, (), kept, seed, "")
        tuning_ = Tune(planned, workers.now)
        tuning_.choose()
        tuning_.begin(Session.from_env())
        tuning_.tune(workers)
        assert not workers.alive
        return tuning_, workers

    return tune
