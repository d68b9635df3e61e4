"""Made-up runs of `train`, as they lie in a project folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_project import worker
from msgspec import structs
from settled import settled

from cputrain.record import files
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Ended
from cputrain.record.trained import FILE, FOLDER, PROGRESS, Stretch, TrainRecord

HEAD = "step,loss,validation_loss,learning_rate,step_s,tokens_per_s,mfu,at"
PHASES = {"start_s": 0.5, "import_s": 2.0, "data_s": 1.5, "build_s": 1.0, "check_s": 0.2}
PHASES |= {"steps_s": 10.0, "evaluation_s": 0.5, "saving_s": 1.0}


def record(name: str, experiment: Any = None, **others: Any) -> TrainRecord:
    """A run of 100 steps that is done."""
    its = worker(experiment or settled(n_layer=2), [[0.1]])
    stretch = Stretch(started="2026-11-22T10:00:00+00:00", done=0, last=100, wall_s=20.0)
    ended = Ended(step=100, is_done=True, training_s=10.0, loss=3.0, validation_loss=3.1)
    given = {
        "name": name,
        "plan": TrainingPlan(steps=100),
        "worker": its,
        "stretches": [structs.replace(stretch, ended="done", phases=PHASES)],
        "ended": ended,
    }
    return TrainRecord(**{**given, **others})


def keep(root: Path, its: TrainRecord, machine: str = "here", losses: Any = None) -> Path:
    """Write it, and a table of steps of 0.1 s with a validation loss every tenth; its folder."""
    folder = root / "output" / machine / FOLDER / its.name
    files.write(folder / FILE, structs.replace(its, worker=its.worker.but(machine=machine)))
    lines = [HEAD]
    for step in range(1, 101):
        at = dict(losses or {10: 5.0, 50: 3.0, 100: 3.1})
        lines.append(f"{step},4.0,{at.get(step, '')},0.001,0.1,2560.0,,2026-11-22T10:00:00+00:00")
    (folder / PROGRESS).write_text("\n".join(lines) + "\n")
    return folder
