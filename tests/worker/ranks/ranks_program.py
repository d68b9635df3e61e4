"""What each rank of test_parallel_engine.py runs: engines on made batches; rank 0 writes JSON."""

import contextlib
import dataclasses
import json
import sys
from pathlib import Path

import torch

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines.torch_ import parallel
from cputrain.experiment import Experiment
from cputrain.model import initial
from cputrain.worker import serving
from cputrain.worker.ranks import agreement
from cputrain.worker.ranks.group import Group


class Plain(torch.nn.Module):
    """In DDP's place: it calls the module and averages nothing."""

    def __init__(self, module, **_):
        super().__init__()
        self.module = module

    def forward(self, *tensors):
        return self.module(*tensors)

    def no_sync(self):
        return contextlib.nullcontext()


@dataclasses.dataclass
class Given:
    """In a feed's place, for the checks."""

    first: Batch

    def batch(self, _):
        return self.first


def build(experiment):
    return parallel.ParallelEngine(experiment, initial.initial_weights(experiment))


def verdicts(experiment, group, engine, batch):
    """Whether each check holds, on this rank."""
    checks = agreement.averaging(experiment, group, engine, Given(batch))
    return {check.name: check.ok for check in (*checks, *agreement.same_weights(group, engine))}


def trained(experiment, group, steps):
    """Losses of each step (of the whole batch), looked at in between, and the checks."""
    engine = build(experiment)
    losses = []
    for number, batches in enumerate(steps):
        losses.append(group.mean(engine.train_step(*batches)))
        if number == 2 and group.rank == 0:  # a look of one rank alone does not change training
            engine.loss(batches[0]), engine.gradients(batches[0]), engine.evidence(batches[0])
    return {
        "losses": losses,
        "steps_done": engine.steps_done,
        "checks": verdicts(experiment, group, engine, steps[0][0]),
        "rows_loss": engine.loss(steps[0][0]),
    }


def lies(experiment, group, steps):
    """Each check's verdict where it has to be no."""
    batch, by_lie = steps[0][0], {}
    engine = build(experiment)
    alike = dataclasses.replace(batch, inputs=batch.inputs[:1].repeat(len(batch.inputs), 0))
    alike = dataclasses.replace(alike, targets=batch.targets[:1].repeat(len(batch.targets), 0))
    by_lie["same rows"] = verdicts(experiment, group, engine, alike)
    if group.rank == group.size - 1:
        weights = engine.weights()
        weights["ln_f.bias"].view("int32")[-1] ^= 1  # the last bit of one number
        engine.load_weights(weights)
    by_lie["one bit"] = verdicts(experiment, group, engine, batch)
    honest, parallel.DistributedDataParallel = parallel.DistributedDataParallel, Plain
    engine = build(experiment)
    by_lie["before"] = {c.name: c.ok for c in agreement.same_weights(group, engine)}
    for batches in steps[:2]:
        engine.train_step(*batches)
    by_lie["not averaged"] = verdicts(experiment, group, engine, batch)
    parallel.DistributedDataParallel = honest
    return by_lie


def main():
    """Run all; 0, for `serving.leave`: as a rank does, which takes no thread of gloo's down."""
    folder = Path(sys.argv[1])
    engines.load("torch")
    group, report = Group(), {}
    for name, given in json.loads((folder / "experiments.json").read_text()).items():
        experiment = Experiment.from_json(given)
        arrays = torch.load(folder / f"{name}.pt", weights_only=False)
        steps = [[Batch(*pair) for pair in pairs] for pairs in arrays]
        report[name] = trained(experiment, group, steps)
        if name == "lies":
            report["told"] = lies(experiment, group, steps)
    report["members"] = [check.ok for check in agreement.members(experiment, group)]
    report["asked for more"] = [
        check.ok for check in agreement.members(experiment.but(batch_size=8, processes=8), group)
    ]
    every = group.gather(report)
    if every:
        (folder / "report.json").write_text(json.dumps(every))
    group.wait_for_all()
    return 0


if __name__ == "__main__":
    serving.leave(main)
