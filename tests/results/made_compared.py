"""Made machines that are put beside each other."""

import itertools

from settled import settled

FACTS = {"cores": "2", "l2": "512K x 2", "kernel": "6.1", "isa": "avx avx2"}


def measured(project, name, speed, manual=1.6, facts=None, every=2, **others):
    """A machine with such a speed, on which another attention takes so many times as long."""
    project.suite("Baseline", "copy", ("A", "B", "C", "D"))
    project.suite("AttentionBackend", "attention", ("sdpa", "manual"), baseline="sdpa")
    project.suite("CoreCount", "cores", (1, 2, "all"))
    project.suite("SeqLen", "seq_len", (128, 256))
    base, usual, minutes = 0.04 * speed, settled(), itertools.count(0, every)

    def cell(suite, value, times=1.0, experiment=usual):
        """Each `every` minutes after the one before."""
        started = f"2026-11-21T11:{next(minutes):02}:00+00:00"
        where = {"machine": name, "reference": base, "started": started, **others}
        project.cell(suite, value, base * times, experiment, **where)

    for copy in "ABCD":
        cell("Baseline", copy)
    cell("AttentionBackend", "sdpa")
    cell("AttentionBackend", "manual", manual, usual.but(attention_backend="manual"))
    cell("CoreCount", "all")
    for cores in (1, 2):
        cell("CoreCount", cores, 2 / cores, usual.but(cores=cores))
    cell("SeqLen", 256)
    cell("SeqLen", 128, 0.5, usual.but(seq_len=128))
    project.save(machine=FACTS | (facts or {}))
