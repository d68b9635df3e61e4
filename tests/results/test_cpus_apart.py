"""Pairs by how far the CPUs lay apart: two distances of made-up sweeps, and none."""

import re

import msgspec
import pytest
from made_project import beside, change_sample, steps, worker
from settled import settled

from cputrain.analysis import cpus_apart, effects
from cputrain.record.sample import Noise
from cputrain.report.export import export
from cputrain.results import rows

pytestmark = pytest.mark.tools

USUAL = settled()


def apart_by(record, ns, after=None, cpus=(0, 1)):
    """The worker, all of its blocks and its reference's with these round trips."""
    noise = {"round_trip_before_ns": ns, "round_trip_after_ns": after or ns}
    noise["round_trip_cpus"] = list(cpus)
    for number in range(len(record.samples)):
        change_sample(record, number, noise=noise)
    others = [
        msgspec.structs.replace(
            pair, reference=msgspec.structs.replace(pair.reference, noise=Noise(**noise))
        )
        for pair in record.pairs
    ]
    return record.but(pairs=others)


def passes(project, step_s, reference_s, ns, **others):
    record = worker(USUAL.but(seq_len=512), steps(step_s, project.rng))
    return apart_by(beside(record, reference_s, project.rng), ns, **others)


def sweep(project, *workers):
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    project.record("SeqLen", 512, list(workers))
    project.result("SeqLen", 512, [0.08])
    project.save()
    export(project.root)
    cells, _ = rows.read(project.root, "here")
    return list(zip(cells, effects.analyse(cells, {}).rows, strict=True))


def test_two_distances_with_what_a_step_and_an_effect_are_at_either(project):
    """Far apart the reference takes 1.3 times as long, and the cell, one thread, no longer."""
    near = [passes(project, 0.080, 0.040, 57.0 + n) for n in range(2)]
    cells = sweep(project, *near, passes(project, 0.080, 0.052, 345.0))
    apart = cpus_apart.apart(cells)
    assert (apart.near_ns, apart.far_ns) == (57.5, 345)
    assert apart.far_share == pytest.approx(1 / 3)
    assert apart.slower == {"torch": pytest.approx(1.3, rel=0.03)}
    by_name = {cell.name: cell for cell, _ in cells}
    assert apart.share(by_name["SeqLen/512"].workers) == pytest.approx(1 / 3)
    assert apart.share(by_name["SeqLen/256"].workers) == 0
    (cell,) = apart.cells
    assert cell.name == "SeqLen/512"
    assert (cell.near, cell.far) == pytest.approx((2.0, 80 / 52), rel=0.03)
    text = (project.root / "result/here/report.html").read_text()
    assert re.search(r"cache line took 57\S* ns .* and 345 ns in 33 % of the pairs", text)
    assert "The CPUs were not always as far apart" in text
    assert "Effects by how far the CPUs lay apart" in text and "or one was moved" in text


def test_cpus_that_stay_where_they_are_have_one_distance(project):
    cells = sweep(project, *(passes(project, 0.080, 0.040, ns) for ns in (57.0, 70.0, 84.0)))
    assert cpus_apart.apart(cells) is None
    assert "not always as far apart" not in (project.root / "result/here/report.html").read_text()


def test_cpus_of_another_mask_lie_elsewhere_and_were_not_moved(project):
    usual = [passes(project, 0.080, 0.040, ns) for ns in (57.0, 60.0)]
    cells = sweep(project, *usual, passes(project, 0.080, 0.040, 345.0, cpus=(0, 63)))
    assert cpus_apart.apart(cells) is None


def test_a_pair_during_which_a_cpu_moved_is_dropped(project):
    moved = passes(project, 0.080, 0.040, 57.0, after=345.0)
    cells = sweep(project, passes(project, 0.080, 0.040, 57.0), moved)
    row = next(row for cell, row in cells if cell.name == "SeqLen/512")
    assert (row["pairs"], row["dropped_pairs"]) == (3, 3)
    assert cpus_apart.apart(cells) is None


def test_records_without_round_trips_tell_none(project):
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    project.cell("SeqLen", 512, 0.081, USUAL.but(seq_len=512))
    project.save()
    cells, _ = rows.read(project.root, "here")
    assert cpus_apart.apart(list(zip(cells, effects.analyse(cells, {}).rows, strict=True))) is None
