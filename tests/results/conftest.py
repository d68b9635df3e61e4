"""Made-up projects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the measured stack, on which none of these tests runs, lacks what they need
    from made_claims import Made
    from made_project import Project

LENGTHS = "Tokens in one training sequence."


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project folder."""
    from made_project import Project

    return Project(tmp_path)


@pytest.fixture
def noise(project: Project) -> Project:
    """A/A cells, without which nothing has an interval."""
    project.suite("Baseline", "copy", ("A", "B", "C", "D"))
    for copy in "ABCD":
        project.cell("Baseline", copy, 0.042)
    return project


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A machine that has measured the noise of claims."""
    from made_claims import Made

    from cputrain.analysis.claims.made import IDENTICAL

    machine = Made(tmp_path)
    machine.cell(IDENTICAL[0], 1.0)
    return machine


@pytest.fixture
def sweep(project: Project) -> Project:
    """A whole sweep: A/A, five lengths of which one died, cores of which some are not there."""
    from made_project import failure
    from settled import settled

    usual = settled()
    project.suite("Baseline", "copy", ("A", "B", "C", "D", "E", "F"))
    project.suite("SeqLen", "seq_len", (128, 256, 512, 1024, 2048), description=LENGTHS)
    project.suite("CoreCount", "cores", (1, 2, 4, 8, "all"))
    project.suite("AttentionBackend", "attention", ("sdpa", "manual"), baseline="sdpa")
    project.suite("Depth", "n_layer", (2, 4))
    for copy in "ABCDEF":
        project.cell("Baseline", copy, 0.042)
    for seq_len, step_s in ((128, 0.024), (256, 0.042), (512, 0.081), (1024, 0.190)):
        project.cell("SeqLen", seq_len, step_s, usual.but(seq_len=seq_len))
    heavy = usual.but(seq_len=2048)
    project.record("SeqLen", 2048, [failure(heavy, "out of memory", "killed by the kernel")])
    project.result("SeqLen", 2048, None)
    project.cell("CoreCount", 1, 0.071, usual.but(cores=1))
    project.cell("CoreCount", 2, 0.0421, usual.but(cores=2))
    for cores in (4, 8):
        reason = f"{cores} CPUs asked, only 2 allowed"
        workers = [failure(usual.but(cores=cores), "skipped", reason)]
        project.record("CoreCount", cores, workers)
        project.result("CoreCount", cores, math.nan)
    project.cell("CoreCount", "all", 0.042)
    project.cell("AttentionBackend", "sdpa", 0.042)
    project.cell("AttentionBackend", "manual", 0.0643, usual.but(attention_backend="manual"))
    project.save()
    return project


@pytest.fixture
def two(project: Project) -> Project:
    """Two machines, of which the second takes half as long, but for one attention."""
    from made_compared import measured

    measured(project, "old", 1.0, manual=0.7)
    measured(project, "new", 0.5, manual=1.5, facts={"isa": "avx avx512f", "kernel": "6.8"})
    return project
