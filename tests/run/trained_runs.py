"""Real runs in folders of their own, as `bench.py train` has them."""

import csv
import os
import subprocess
import sys

from cputrain import paths
from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import DECODER, Failed
from cputrain.run.trained_worker import TrainRequest

PLAN = TrainingPlan(steps=24, clip=1.0, validate_every=6, validation_batches=2, save_every=4)


class Run:
    """One run in a folder of its own."""

    def __init__(self, root, name, experiment, **plan):
        self.folder = root / "output" / "here" / "train" / name
        self.experiment, self.plan = experiment, PLAN
        self.plan = self.but(**plan)

    def but(self, **plan):
        fields = {name: getattr(self.plan, name) for name in self.plan.__struct_fields__}
        return TrainingPlan(**fields | plan)

    def start(self, **plan):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cputrain.run.trained_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(paths.PROJECT)},
        )
        request = TrainRequest(
            experiment=self.experiment.to_json(), plan=self.but(**plan), folder=str(self.folder)
        )
        process.stdin.write(files.encode(request))
        process.stdin.close()
        return process

    def train(self, **plan):
        """To the end; all answers."""
        with self.start(**plan) as process:
            return [DECODER.decode(line) for line in process.stdout]

    def until(self, kind, step, process):
        for line in process.stdout:
            answer = DECODER.decode(line)
            assert not isinstance(answer, Failed), answer
            if isinstance(answer, kind) and answer.step >= step:
                return answer
        raise AssertionError("it ended before")

    @property
    def rows(self):
        return list(csv.DictReader((self.folder / "progress.csv").read_text().splitlines()))

    @property
    def curve(self):
        return [(row["step"], row["loss"], row["validation_loss"]) for row in self.rows]
