"""A folder of results of many machines, to try an export on; and what an export of it takes.

`python -m tests.live.many_machines FOLDER 1000 300` makes 1 000 machines of 300 cells, with a
packed file each: the cells of this clone's suites, and once more the first where they are fewer.
Every record is `measured.json`, one that was measured, with other names and times; every fifth
cell is skipped, as on a real machine. `FOLDER --export` then exports it from nothing, once more,
and after a change of one machine, and prints time and memory of each.
"""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from cputrain.analysis import identical
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.results import packed
from cputrain.sweep import plan

TEMPLATE = Path(__file__).with_name("measured.json")
SKIPPED = 5
"""One of so many cells is."""
BLOCK_NOISE, WORKER_NOISE = 0.05, 0.01
CPUS = ("AMD EPYC 9555", "Intel(R) Xeon(R) Platinum 8370C", "AWS Graviton4", "AMD Ryzen 9 9950X")
EXPORT = """
import resource, sys, time
from pathlib import Path
from cputrain.report.export import export
if __name__ == "__main__":
    start = time.monotonic()
    summary = export(Path(sys.argv[1]))
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own, others = map(resource.getrusage, whose)
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in (own, others))
    print(f"{len(summary.made)} of {len(summary.machines)} machines, {summary.cells} cells, "
          f"{len(summary.problems)} problems: {time.monotonic() - start:.1f} s, CPU {cpu:.1f} s, "
          f"resident {own.ru_maxrss >> 10} MB, largest other process {others.ru_maxrss >> 10} MB")
"""


def templates(cells: int) -> list[dict[str, Any]]:
    """So many records of this clone's suites, as JSON; the times are those of the template."""
    measured = files.read(TEMPLATE, CellRecord, SCHEMA)
    made: list[dict[str, Any]] = []
    while len(made) < cells:
        again = "Again" * bool(made)
        for suite in plan.survey()[0]:
            for cell in suite.cells[: cells - len(made)]:
                key = CellKey(
                    suite.name + again, cell.values, tuple(suite.suite.param_names), suite.area,
                    suite.description, cell.baseline, len(made),
                )  # fmt: skip
                its = {
                    "experiment": cell.experiment.to_json(),
                    "identity": cell.experiment.identity,
                }
                worker = msgspec.to_builtins(measured.workers[0]) | its
                if len(made) % SKIPPED == SKIPPED - 1 and cell.baseline != key.name:
                    kept = ("id", "session", "run", "started", "mode", "machine", *its)
                    worker = {name: worker[name] for name in kept}
                    worker |= {"status": "skipped", "reason": "4 CPUs asked, only 2 allowed"}
                made.append(
                    {"schema": SCHEMA, "key": msgspec.to_builtins(key), "workers": [worker]}
                )
    return made


def write_machine(root: Path, name: str, seed: int, records: list[dict[str, Any]]) -> None:
    """Write a machine: its packed file, asv's facts about it, its peaks."""
    chance = random.Random(seed)
    speed = math.exp(chance.gauss(0, 0.5))
    made = {}
    for record in records:
        (worker,) = record["workers"]
        worker |= {"machine": name, "id": f"{chance.randrange(16**12):012x}"}
        if "samples" in worker:
            # A value is as fast on all machines, but for some per cent.
            effect = random.Random(str(record["key"]["values"])).gauss(0, 0.3)
            key = msgspec.convert(record["key"], CellKey)
            same = key.is_baseline or key.suite == identical.SUITE
            _times(worker, chance, speed, 1.0 if same else math.exp(effect + chance.gauss(0, 0.05)))
        folder = CellKey(record["key"]["suite"], tuple(record["key"]["values"])).name
        place = f"{record['key']['suite']}/{folder}/run.json"
        made[place] = msgspec.json.encode(record)
    packed.write(root / "output" / name / packed.FILE, made)
    peaks = {kind: {"1": 4e11 / speed, "2": 8e11 / speed} for kind in ("fp32", "bf16")}
    own = {f"{kind}_matmul_flops": rates for kind, rates in peaks.items()}
    _json(root / "result" / name / "machine.json", {"date": "2026-11-22T18:51:22+00:00", **own})
    facts = {"machine": name, "cpu": CPUS[seed % len(CPUS)], "cores": "2", "num_cpu": "2"}
    facts |= {"arch": "x86_64", "os": "Linux 6.1", "ram": "25276514304", "version": 1}
    _json(root / "result" / "asv" / name / "machine.json", facts)


def _times(worker: dict[str, Any], chance: random.Random, speed: float, effect: float) -> None:
    """Other times for a worker's blocks and its reference's, beside each other."""
    apart = chance.gauss(0, WORKER_NOISE)
    for sample, pair in zip(worker["samples"], worker["pairs"], strict=True):
        for block, over in ((sample, effect * math.exp(apart)), (pair["reference"], 1.0)):
            here = 0.045 * speed * over * math.exp(chance.gauss(0, BLOCK_NOISE))
            block["step_s"] = [here * math.exp(chance.gauss(0, 0.02)) for _ in block["step_s"]]
    worker["training_s"] = sum(sum(sample["step_s"]) for sample in worker["samples"])


def _json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _several(root: Path, numbers: range, cells: int) -> None:
    records = templates(cells)
    for number in numbers:
        write_machine(root, f"machine-{number:04}", number, records)


def make(root: Path, machines: int, cells: int) -> None:
    """Write them all, in as many processes as there are CPUs."""
    processes = os.cpu_count() or 1
    with ProcessPoolExecutor(processes) as pool:
        parts = [range(first, machines, processes) for first in range(processes)]
        list(pool.map(_several, [root] * processes, parts, [cells] * processes))


def export(root: Path, what: str) -> None:
    """Export it in a process of its own, and say what that took, from its start to its end."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    program = root / "export_it.py"  # processes that it starts import it again
    program.write_text(EXPORT)
    command = [sys.executable, str(program), str(root)]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{what}: {time.monotonic() - start:.1f} s with its start, CPU {cpu:.1f} s; {said.stdout}"
    )


def main() -> None:
    """Make, or export."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("machines", type=int, nargs="?", default=1000)
    parser.add_argument("cells", type=int, nargs="?", default=300)
    parser.add_argument("--export", action="store_true")
    args = parser.parse_args()
    root = args.root.resolve()
    if not args.export:
        make(root, args.machines, args.cells)
        return
    export(root, "from nothing")
    export(root, "once more")
    name = min(path.name for path in (root / "output").iterdir())
    cells = len(packed.read(root / "output" / name / packed.FILE).records)
    write_machine(root, name, 10**6, templates(cells))
    export(root, "after a change of one machine")


if __name__ == "__main__":
    main()
