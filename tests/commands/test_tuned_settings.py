"""`--settings` over the model that was tuned gives what was tuned, and so does `--model` alone."""

import random
from pathlib import Path

import pytest

from cputrain.analysis.tuning.gain import gain
from cputrain.commands import cli, finetune, train
from cputrain.engines import specs
from cputrain.experiment import ExperimentError
from cputrain.experiment.described import FIELDS, described
from cputrain.experiment.presets import PRESETS
from cputrain.record.rounds import Blocks
from cputrain.record.tuning import FreshPass, TuningRecord
from cputrain.report import tuned
from cputrain.sweep.training.source import Source
from cputrain.sweep.tuning import knobs
from cputrain.sweep.tuning.planned import PlannedTuning

pytestmark = pytest.mark.tools

MODELS = (
    "batch_size = 8\nactivation_checkpointing = true\nloss_chunk = 128\nvocab_size = 8000",
    "batch_size = 2\ngrad_accum = 6\nmatmul_backend = 'onednn'\nallocator = 'glibc_thresholds'",
    "pinning = 'close'\nwait_policy = 'active'\nomp_runtime = 'libiomp5'\nthreads = 1",
    "compile = 'inductor'\ncxx_level = 'O2'\nfusion = false\nprecision = 'mixed'",
    "optimizer = 'lion'\nattention_backend = 'manual'\nhuge_pages = 'madvise'\ntied = false",
    "engine = 'native'\nmatmul_backend = 'openblas'\nbatch_size = 4",
    "engine = 'jax'\nbatch_size = 4\nactivation_checkpointing = true",
)
NAMES = [name for name in PRESETS if name != "forward-tiny"]
SEEDS = range(8)


@pytest.fixture
def written(tmp_path):
    """Writes what a tuning recommends: a path."""
    pairs = [Blocks(step_s=(0.5 + n / 1e3, 1.0), first="cell") for n in range(8)]
    known = gain([FreshPass(pairs=pairs, status="ok") for _ in range(3)], ())

    def write(best, default):
        record = TuningRecord(
            session="s",
            machine="here",
            started="2026-11-23T02:00:00+00:00",
            seed=1,
            budget_s=600.0,
            default=default.to_json(),
        )
        path = tmp_path / "tuned.toml"
        path.write_text(tuned.settings(best, record, known))
        return path

    return write


@pytest.fixture(params=[*NAMES, *MODELS])
def model(request, tmp_path):
    """The words of a model, and what is tuned of it."""
    if request.param in PRESETS:
        words, experiment = ("--preset", request.param), described(request.param)
    else:
        path = tmp_path / "mine.toml"
        path.write_text(request.param)
        words, experiment = ("--model", str(path)), described(file=path)
    return words, PlannedTuning(experiment, 600, (), (), 0, "").default


def best_of(default, seed):
    """The default with a value of some knobs."""
    chance, best = random.Random(seed), default
    for knob in chance.sample(knobs.table(knobs.PROFITS), 6):
        values = list(knob.values(best).values())
        try:
            best = specs.settle(best.but(**chance.choice(values))) if values else best
        except ExperimentError:
            continue
    return best


def fields(experiment):
    flat = experiment.flat()
    return {name: flat[name] for name in FIELDS}


def trained(*words):
    return train.experiment_of(cli.parse(["train", "--steps", "9", *words]), None)


def test_train_has_what_was_tuned(model, written):
    words, default = model
    changed = 0
    for seed in SEEDS:
        best = best_of(default, seed)
        path, wanted = written(best, default), fields(best.but(**train.MEMORY))
        assert fields(trained(*words, "--settings", str(path))) == wanted
        assert fields(trained("--model", str(path))) == wanted
        assert fields(trained("--model", str(path), "--settings", str(path))) == wanted
        assert fields(specs.settle(described(file=path))) == fields(best)
        changed += best != default
    assert changed > len(SEEDS) / 2


@pytest.mark.parametrize("method", ["full", "lora", "head"])
def test_finetune_has_what_was_tuned(model, written, method):
    words, default = model
    source, tried = Source("night", Path("model.safetensors"), trained(*words), None), 0
    for seed in SEEDS:
        best = best_of(default, seed)
        path, changes = written(best, default), {"fine_tuning": method}
        if method == "head":
            changes["tied"] = False
        args = ["finetune", "--from", "night", "--method", method, "--steps", "9"]
        args = cli.parse([*args, "--settings", str(path)])
        try:
            wanted = specs.settle(best.but(**train.MEMORY, **changes))
        except ExperimentError:
            continue  # none that this method, or its engine, can train
        tried += 1
        assert fields(finetune._experiment(args, source)) == fields(wanted)
    assert tried or method != "full" or default.model.architecture == "bert"
