"""Pairs by where the CPUs lay: made-up sweeps at several places, and at one."""

import math
import re

import msgspec
import pytest
from made_places import USUAL, others_near, passes, row_of, sweep
from made_project import at, beside, steps, worker

from cputrain.analysis import cpus_apart, effects, identical, moments, open_cells, places
from cputrain.analysis.counted import counted
from cputrain.results import rows

pytestmark = pytest.mark.tools


def test_what_a_step_and_an_effect_are_at_each_place(project):
    """Far apart the reference takes 1.3 times as long, on one core 1.5; one thread no longer."""
    near = [passes(project, 0.080, 0.040, 57.0 + n) for n in range(2)]
    far = passes(project, 0.080, 0.052, 345.0)
    cells = sweep(project, *near, far, passes(project, 0.080, 0.060, 67.0, at_once=1.75))
    apart = cpus_apart.apart(cells)
    assert apart.places.trip_ns == {"near": 57.5, "far": 345, "one core": 67}
    assert apart.places.usual == "near" and apart.shown == ("one core", "near", "far")
    assert apart.places.share("far") == apart.places.share("one core") == pytest.approx(1 / 4)
    assert apart.slower["far"] == {"torch": pytest.approx(1.3, rel=0.03)}
    assert apart.slower["one core"] == {"torch": pytest.approx(1.5, rel=0.03)}
    (cell,) = apart.cells
    assert cell.name == "SeqLen/512"
    at_each = {"near": 2.0, "far": 80 / 52, "one core": 80 / 60}
    assert cell.effects == pytest.approx(at_each, rel=0.03)
    text = (project.root / "result/here/report.html").read_text()
    assert "25 % were taken while they were one core (a cache line took 67.0 ns" in text
    assert re.search(r"1\.[23]\d*x \(torch\) as long while they were far apart\.", text)
    assert "Effects by where the CPUs lay" in text and "or one was moved" in text


def test_a_cell_is_judged_by_its_pairs_at_the_usual_place(project):
    near = [passes(project, 0.080, 0.040, 57.0 + n) for n in range(2)]
    cells = sweep(project, near[0], passes(project, 0.080, 0.052, 345.0), near[1])
    row = row_of(cells)
    assert row["effect"] == pytest.approx(2.0, rel=0.02) and row["place"] == "near"
    assert (row["pairs"], row["elsewhere_pairs"], row["dropped_pairs"]) == (6, 3, 0)
    assert row["passes"] == 2 and row["reason"] is None


MOVED = {"ns": 57.0, "after": 345.0, "expected_s": 0.6}


def test_long_blocks_that_hold_several_places_count_where_no_others_do(project):
    others_near(project)
    row = row_of(sweep(project, passes(project, 0.080, 0.052, **MOVED)))
    assert row["effect"] == pytest.approx(80 / 52, rel=0.03) and row["place"] == "moved"
    assert (row["pairs"], row["elsewhere_pairs"], row["dropped_pairs"]) == (3, 0, 0)
    assert (row["verdict"], row["further_passes"]) == ("not told", 1)
    assert row["reason"] == (
        "measured while its CPUs were moved within its blocks, unlike most cells of this machine: "
        f"it may be off by {row['places_differ']:.3g}x"
    )
    two = [passes(project, 0.080, 0.052, **MOVED) for _ in range(2)]
    row = row_of(sweep(project, *two))
    assert (row["place"], row["verdict"], row["reason"]) == ("moved", "slower", None)


def test_long_blocks_at_the_usual_place_are_judged_by_these_alone(project):
    near = passes(project, 0.080, 0.040, 57.0, expected_s=0.6)
    row = row_of(sweep(project, near, passes(project, 0.080, 0.052, **MOVED)))
    assert row["effect"] == pytest.approx(2.0, rel=0.02) and row["place"] == "near"
    assert (row["pairs"], row["elsewhere_pairs"], row["dropped_pairs"]) == (3, 3, 0)


def test_a_short_block_within_which_a_cpu_was_moved_is_dropped(project):
    row = row_of(sweep(project, passes(project, 0.080, 0.052, **(MOVED | {"expected_s": 0.4}))))
    assert (row["effect"], row["dropped_pairs"]) == (None, 3)


def test_a_a_pairs_that_hold_several_places_tell_nothing_of_workers(project):
    """They are off by the places, not by the workers."""
    off = at(beside(worker(USUAL, steps(0.05, project.rng)), 0.04, project.rng), **MOVED)
    assert counted([off]).passes == () and counted([off]).elsewhere == 3


def test_moved_ones_are_far_apart_for_half_of_the_time():
    assert places.far(["near", "far", "moved", None]) == pytest.approx(1.5 / 3)
    assert places.far([None]) is None


def test_the_usual_place_is_that_of_most_cells_and_not_of_most_pairs(project):
    """A later pass of one cell, of many pairs, does not make all others cells of elsewhere."""
    several = [(n, passes(project, 0.080, 0.040, 57.0)) for n in range(3)]
    near = [record.but(identity=str(n)) for n, record in several]
    far = [passes(project, 0.080, 0.052, 345.0).but(identity="0") for _ in range(9)]
    known = places.learn([*near, *far])
    assert known.pairs == {"near": 9, "far": 27} and known.usual == "near"


def test_what_was_measured_elsewhere_alone_is_not_told_and_gets_a_pass(project):
    """Its effect is shown, and that it is of another place; the usual one is Heads' here."""
    others_near(project)
    cells = sweep(project, passes(project, 0.080, 0.060, 67.0, at_once=1.75))
    row = row_of(cells)
    assert row["effect"] == pytest.approx(80 / 60, rel=0.03) and row["place"] == "one core"
    assert row["places_differ"] == pytest.approx(1.1 * 1.5, rel=0.02)
    assert (row["verdict"], row["further_passes"]) == ("not told", 1)
    assert (
        row["reason"]
        == "measured while its CPUs were one core, unlike most cells of this machine: "
        f"it may be off by {row['places_differ']:.3g}x"
    )
    found, _ = rows.read(project.root, "here")
    known = effects.analyse(found, {})
    session = next(cell for cell in found if cell.name == "SeqLen/512").workers[-1].session
    assert ("SeqLen", "512") in open_cells.untold(known, session)


def test_without_noise_no_pass_tells_of_what_was_measured_elsewhere(project):
    others_near(project)
    numpy = USUAL.but(engine="numpy", attention_backend="manual")
    alone = beside(worker(numpy, steps(0.08, project.rng)), 0.06, project.rng)
    row = row_of(sweep(project, at(alone, 67.0, at_once=1.75)))
    found, _ = rows.read(project.root, "here")
    assert open_cells.untold(effects.analyse(found, {}), alone.session) == []
    assert (row["verdict"], row["further_passes"]) == ("not told", None)
    assert row["reason"].startswith("no interval: no A/A pair of this engine; measured while")


def test_what_no_place_would_make_of_it_is_told_from_elsewhere(project):
    others_near(project)
    row = row_of(sweep(project, *(passes(project, 0.20, 0.052, 345.0) for _ in range(2))))
    assert (row["place"], row["verdict"]) == ("far", "slower")
    assert "measured while its CPUs were far apart" in row["reason"]
    found, _ = rows.read(project.root, "here")
    session = next(cell for cell in found if cell.name == "SeqLen/512").workers[-1].session
    assert open_cells.untold(effects.analyse(found, {}), session) == []


def test_passes_at_two_places_do_not_widen_what_workers_are_thought_to_differ_by(project):
    """The same passes with and without readings: 20 % between places is no worker's doing."""

    def noise_of(ns):
        made = [
            beside(worker(USUAL.but(seq_len=512), steps(0.045, project.rng)), other, project.rng)
            for other in (0.04, 0.05, 0.04, 0.05, 0.04)
        ]
        cells = sweep(project, *(at(r, n) if n else r for r, n in zip(made, ns, strict=True)))
        (known,) = effects.analyse([cell for cell, _ in cells], {}).noises.learned.values()
        return known.noise.worker

    told = noise_of((57.0, 345.0, 57.0, 345.0, 57.0))
    assert noise_of((None,) * 5) > 3 * told


def test_moments_of_the_default_experiment_at_either_place(project):
    """A worker beside which the CPUs were moved leaves a moment of each."""
    project.suite("Threads", "threads", (1, 2), baseline=2)
    project.cell("Threads", 2, 0.04)
    record = beside(worker(USUAL.but(threads=1), steps(0.08, project.rng)), 0.04, project.rng)
    near, far = at(record, 57.0), at(beside(record, 0.05, project.rng), 345.0)
    both = near.but(
        samples=[*near.samples[:1], *far.samples[1:]], pairs=[*near.pairs[:1], *far.pairs[1:]]
    )
    project.record("Threads", 1, [both])
    project.result("Threads", 1, [0.08])
    cells = sweep(project, passes(project, 0.08, 0.04, 57.0))
    at_ = places.learn(identical.distinct(cell for cell, _ in cells))
    known = [moment for moment in moments.at_places(cells, at_) if moment.place is not None]
    assert {moment.place: moment.step_s for moment in known} == {
        "near": pytest.approx(0.04, rel=0.03),
        "far": pytest.approx(0.05, rel=0.03),
    }


def test_every_cell_beside_the_default_experiment_leaves_a_moment_of_each_session(project):
    """A size does too; one beside something else never does."""
    old = passes(project, 0.080, 0.060, 57.0).but(session="20261120T110000-1")
    other = passes(project, 0.080, 0.030, 57.0).but(session="20261119T110000-1")
    unlike = msgspec.structs.replace(other.counts, n_params=other.counts.n_params + 1)
    now = passes(project, 0.080, 0.040, 345.0)
    workers = [w.but(reference_counts=w.counts) for w in (old, now)]
    workers.insert(0, other.but(reference_counts=unlike))
    cells = sweep(project, *workers)
    at_ = places.learn(identical.distinct(cell for cell, _ in cells))
    assert set(moments.moments(cells)) == {now.session}
    placed = moments.placed(cells, at_)
    assert set(placed) == {old.session, now.session}
    assert [its.step_s for its in placed[old.session]] == [pytest.approx(0.060, rel=0.03)]
    assert min(its.step_s for its in placed[now.session]) == pytest.approx(0.040, rel=0.03)


@pytest.mark.parametrize(
    ("trips_ns", "from_ns", "pairs"),
    [
        ([84.0] * 20 + [330.0] * 8, 330, {"near": 20, "far": 8}),
        ([70.0, 84.0, 95.0] * 9 + [310.0, 335.0] * 4 + [2000.0], 310, {"near": 27, "far": 9}),
        ([70.0, 84.0, 95.0, 105.0], math.inf, {"near": 4}),
        ([84.0] * 20 + [900.0], 900, {"near": 20, "far": 1}),
        ([84.0], math.inf, {"near": 1}),
        ([], math.inf, {}),
    ],
)
def test_the_far_ones_begin_where_most_of_the_difference_lies(trips_ns, from_ns, pairs):
    known = places.of_pairs([places.Seen(ns, False) for ns in trips_ns])
    assert known.from_ns == from_ns and known.pairs == pairs


def test_where_no_place_is_known_all_pairs_count(project):
    record = passes(project, 0.080, 0.040, 57.0)
    cells = sweep(project, record, passes(project, 0.080, 0.052, 345.0, cpus=(0, 63)))
    assert (row_of(cells)["pairs"], row_of(cells)["elsewhere_pairs"]) == (6, 0)


def test_a_cell_of_which_no_place_is_known_is_told_as_ever(project):
    """As one of a version before readings, beside cells that have them: 20 % are told."""
    others_near(project)
    longer = worker(USUAL.but(seq_len=512), steps(0.048, project.rng))
    row = row_of(sweep(project, *(beside(longer, 0.04, project.rng) for _ in range(3))))
    assert (row["place"], row["verdict"], row["reason"]) == (None, "slower", None)


def test_cpus_that_stay_have_one_place(project):
    cells = sweep(project, *(passes(project, 0.080, 0.040, ns) for ns in (57.0, 70.0, 84.0)))
    assert cpus_apart.apart(cells) is None
    assert "The CPUs were moved" not in (project.root / "result/here/report.html").read_text()


def test_cpus_of_another_mask_lie_elsewhere_and_were_not_moved(project):
    usual = [passes(project, 0.080, 0.040, ns) for ns in (57.0, 60.0)]
    cells = sweep(project, *usual, passes(project, 0.080, 0.040, 345.0, cpus=(0, 63)))
    assert cpus_apart.apart(cells) is None


def test_a_pair_during_which_a_cpu_moved_is_dropped(project):
    moved = passes(project, 0.080, 0.040, 57.0, after=345.0)
    cells = sweep(project, passes(project, 0.080, 0.040, 57.0), moved)
    assert (row_of(cells)["pairs"], row_of(cells)["dropped_pairs"]) == (3, 3)
    assert cpus_apart.apart(cells) is None


def test_records_without_round_trips_tell_none(project):
    project.suite("SeqLen", "seq_len", (256, 512))
    project.cell("SeqLen", 256, 0.042)
    project.cell("SeqLen", 512, 0.081, USUAL.but(seq_len=512))
    project.save()
    cells, _ = rows.read(project.root, "here")
    assert cpus_apart.apart(list(zip(cells, effects.analyse(cells, {}).rows, strict=True))) is None
