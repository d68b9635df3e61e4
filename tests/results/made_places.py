"""Made-up sweeps whose pairs were taken while the CPUs lay here or there."""

from made_project import at, beside, steps, worker
from settled import settled

from cputrain.analysis import effects
from cputrain.report.export import export
from cputrain.results import rows

USUAL = settled()


def passes(project, step_s, reference_s, ns, **others):
    record = worker(USUAL.but(seq_len=512), steps(step_s, project.rng))
    return at(beside(record, reference_s, project.rng), ns, **others)


def sweep(project, *workers):
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    project.record("SeqLen", 512, list(workers))
    project.result("SeqLen", 512, [0.08])
    project.save()
    export(project.root)
    cells, _ = rows.read(project.root, "here")
    return list(zip(cells, effects.analyse(cells, {}).rows, strict=True))


def row_of(cells):
    return next(row for cell, row in cells if cell.name == "SeqLen/512")


def others_near(project):
    """Cells that make near the usual place of this machine, and tell its noise."""
    project.suite("Heads", "n_head", (2, 4))
    alike = [beside(worker(USUAL, steps(0.04, project.rng)), 0.04, project.rng) for _ in range(3)]
    project.record("Heads", 4, [at(record, 57.0) for record in alike])
    project.result("Heads", 4, [0.04])
