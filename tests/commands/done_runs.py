"""Runs of `train` as they lie in output/: some are done, with models of zeros, some have begun."""

import hashlib
import json
import math

from settled import settled

from cputrain.data import tokenizer_file
from cputrain.model.shapes import weight_shapes
from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Ended
from cputrain.record.trained import Checkpoint, TrainRecord
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep.training import source
from cputrain.worker.training import checkpoints

SMALL = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16)
PLAN = TrainingPlan(steps=100)
"""Of a run that has begun."""


def written(path, experiment):
    """A model's file as safetensors has it, of zeros."""
    head, end = {"__metadata__": {"experiment": json.dumps(experiment.to_json())}}, 0
    for name, shape in weight_shapes(experiment).items():
        size = 4 * math.prod(shape)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    data = json.dumps(head).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(data).to_bytes(8, "little") + data + bytes(end))


def done_run(root, name="mine", experiment=SMALL, machine="here", **plan):
    """The folder of such a run of 9 steps."""
    folder = root / "output" / machine / "train" / name
    written(folder / source.MODEL, experiment)
    text = tokenizer_file.of_bytes()
    (folder / tokenizer_file.FILE).write_text(text, encoding="utf-8")
    ended = Ended(step=9, is_done=True, training_s=1.0, tokenizer=tokenizer_file.digest(text))
    record = TrainRecord(
        name=name,
        plan=TrainingPlan(steps=9, **plan),
        worker=recording.opened(Session.from_env(), experiment),
        ended=ended,
    )
    files.write(folder / "train.json", record)
    return folder


def begun_run(root, name="mine", experiment=SMALL, plan=PLAN, machine="here"):
    """The folder of a run with checkpoints of steps 10 and 20."""
    folder = root / "output" / machine / "train" / name
    worker = recording.opened(Session.from_env(), experiment)
    files.write(folder / "train.json", TrainRecord(name=name, plan=plan, worker=worker))
    for step in (10, 20):
        data = b"tensors" * step
        file = folder / "checkpoints" / f"step-{step}.safetensors"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        checkpoint = Checkpoint(
            step=step,
            next_batch=step,
            file=file.name,
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            experiment=experiment.to_json(),
            identity=experiment.identity,
            plan=plan,
            data="x",
            waited=step // 10,
        )
        files.write(file.with_suffix(".json"), checkpoint)
        files.write(file.with_name("latest.json"), checkpoints.Pointer(step=step))
    return folder
