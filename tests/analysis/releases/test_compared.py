"""What pairs of two sides say: ratios, verdicts, causes, and when there is no ratio."""

import math

import pytest
from made_comparison import record, taken, usual
from msgspec import structs

from cputrain.analysis.cell_effect import ELSEWHERE
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import learn
from cputrain.analysis.releases import mean
from cputrain.analysis.releases.compared import compare
from cputrain.record import files
from cputrain.record.noise import Noise
from cputrain.record.releases import SCHEMA, ReleasesRecord, TakenPair
from cputrain.report import releases

pytestmark = pytest.mark.tools


def failed(number):
    """A pass of the cell in which the other side's worker died."""
    own = {"number": number, "status": "failed", "reason": "two: killed by SIGILL"}
    return TakenPair(key=taken(1.0).key, sides=(0, 1), **own)


def only(pairs):
    (cell,) = compare(record(pairs)).cells
    return cell


def test_a_slower_release_is_told_with_an_interval_that_holds_the_truth():
    cell = only(usual(1.2))
    assert cell.verdict.word == "slower" and cell.effect.passes == 3
    assert cell.effect.low < 1.2 < cell.effect.high < 1.3
    assert not cell.is_open and cell.step_s[1] > cell.step_s[0]


@pytest.mark.parametrize(("ratio", "word"), [(1.0, "same"), (0.8, "faster"), (1.4, "slower")])
def test_each_verdict_comes_about(ratio, word):
    assert only(usual(ratio)).verdict.word == word


def test_without_an_identical_pair_there_is_a_ratio_and_no_interval():
    made = compare(record([taken(1.2), taken(1.2, number=2)]))
    (cell,) = made.cells
    assert cell.effect.low is None and cell.verdict.word == "not told" and cell.is_open
    assert made.noises == {"torch": None} and made.means[1][mean.ALL].low is None


def test_where_the_step_takes_longer_stands_beside_the_effect():
    passes = dict(only(usual(1.2)).passes_of_step)
    assert passes["backward"] == pytest.approx(1 + 0.2 / 0.6, rel=0.05)
    assert passes["forward"] == pytest.approx(1.0) == passes["optimizer"]


def test_what_was_in_force_is_told_where_all_workers_of_a_side_agree():
    own = {
        "versions": {"python": "3.11.7", "torch": "2.14.0+cpu", "numpy": "2.4.6"},
        "readings": {
            "blas": {"name": "mkl", "path": "/env/b/libmkl-9.so"},
            "noise": 0.501,
            "info": "ATen:\n  MKL-DNN v3.12.0 (Git 80af)\n  threads : 2\n",
        },
        "evidence": {"kernels": {"sdpa": 0}},
    }
    pairs = usual(1.2, own=own)
    told = {each.what: (each.before, each.after) for each in only(pairs).differences}
    assert told["version of torch"] == ("2.13.0+cpu", "2.14.0+cpu")
    assert told["kernels sdpa"] == ("not there", "0")
    assert told["info MKL-DNN"] == ("not there", "v3.12.0 (Git 80af)")
    assert told["info threads"] == ("not there", "2")
    assert told["blas path"] == ("not there", "libmkl-9.so")  # folders always differ
    pairs[-1] = taken(1.2, number=3)  # one of its workers says what the reference's say
    assert "version of torch" not in {each.what for each in only(pairs).differences}


def test_losses_that_do_not_agree_leave_no_ratio():
    cell = only(usual(1.2, losses=1.3))
    assert cell.effect is None and "losses do not agree" in cell.why
    near = only(usual(1.2, losses=1.0 + 1e-5))
    assert near.effect is not None and "common steps" in near.losses


def test_other_work_is_no_ratio_and_another_way_of_the_same_work_is_one():
    cell = only(usual(1.2, changes={"seq_len": 128}))
    assert cell.effect is None and "seq_len is 256 and 128" in cell.why
    other = only(usual(1.2, changes={"attention_backend": "manual"}))
    assert other.effect is not None
    assert "asked runtime attention_backend" in {each.what for each in other.differences}


def test_a_side_that_fails_in_each_pass_is_no_number_and_the_reason_stands_there():
    for passes in ((1,), (1, 2)):
        cell = only([*usual()[:2], *map(failed, passes)])
        assert cell.effect is None and cell.why == "failed: two: killed by SIGILL"
        assert not cell.is_open


def test_a_pass_that_failed_is_said_and_the_others_stay_a_number():
    proven = usual(1.2)
    told, cell = only(proven), only([*proven[:-1], failed(3), taken(1.2, number=4)])
    assert cell.verdict.word == told.verdict.word == "slower" and cell.effect.passes == 3
    said = "1 of 4 passes gave no number: failed: two: killed by SIGILL"
    assert cell.doubts == (said,) and said in releases.causes(cell) and told.doubts == ()
    other = only([*usual(1.2, losses=1.3), failed(4)])
    assert other.effect is None
    assert "losses do not agree" in other.why and other.why.endswith(f"; {said}")


def test_an_open_row_is_taken_again_until_two_passes_in_a_row_have_failed():
    first = [*usual()[:2], taken(1.02, number=1)]
    assert only(first).is_open
    assert only([*first, failed(2)]).is_open
    assert not only([*first, failed(2), failed(3)]).is_open


def test_the_mean_of_one_cell_has_its_interval():
    """Of passes that disagree it reaches further to one side of the median over pairs."""
    passes = [Pass((0.0, 0.001, -0.001, 0.5, 0.002)), Pass((0.3, 0.301, 0.299, 0.3))]
    alike = [Pass((s * 0.01, s * 0.02, 0.0, -s * 0.01)) for s in (-1, 1)] * 4
    skew = effect(passes, learn(alike))
    assert skew.value / skew.low > 1.1 * skew.high / skew.value
    made = mean.geometric([skew], 0.0)
    assert (made.low, made.value, made.high) == pytest.approx((skew.low, skew.value, skew.high))


def test_the_mean_is_geometric_and_narrower_than_its_parts():
    pairs = [*usual(1.2), *(taken(0.9, cell="jax", number=n) for n in (1, 2, 3))]
    made = compare(record(pairs))
    every = made.means[1][mean.ALL]
    assert every.cells == 2 and list(made.means[1]) == [mean.ALL]
    values = [cell.effect.value for cell in made.cells]
    assert every.value == pytest.approx(math.sqrt(values[0] * values[1]))
    assert every.low < math.sqrt(1.2 * 0.9) < every.high
    widths = [cell.effect.half_width for cell in made.cells]
    assert math.log(every.high / every.low) / 2 < max(widths)


def test_packages_that_differ_are_listed_by_side():
    assert compare(record(usual())).versions == {"one": ("1", "2")}


def test_a_record_is_read_as_it_was_written(tmp_path):
    known = record(usual())
    files.write(tmp_path / "x.json", known)
    assert files.read(tmp_path / "x.json", ReleasesRecord, SCHEMA) == known
    wrong = (
        (tmp_path / "x.json")
        .read_text()
        .replace('"sides": [\n    0,\n    1', '"sides": [\n    0,\n    7')
    )
    (tmp_path / "x.json").write_text(wrong)
    with pytest.raises(files.RecordError, match="there is no side 7"):
        files.read(tmp_path / "x.json", ReleasesRecord, SCHEMA)


def test_a_cell_whose_pairs_were_all_disturbed_has_no_ratio_and_stays_open():
    pair = taken(1.2)
    spoilt = [structs.replace(sample, disturbed=True) for sample in pair.worker.samples]
    disturbed = structs.replace(pair, worker=pair.worker.but(samples=spoilt))
    cell = only([*usual()[:2], disturbed])
    assert cell.effect is None and cell.is_open and "others had the CPUs" in cell.why
    assert cell.dropped == len(pair.worker.pairs)


def at(pair, trip_ns):
    """The pair of workers, all of its blocks with this round trip."""
    noise = Noise(round_trip_after_ns=trip_ns, round_trip_cpus=[0, 1])
    samples = [structs.replace(sample, noise=noise) for sample in pair.worker.samples]
    pairs = [
        structs.replace(its, reference=structs.replace(its.reference, noise=noise))
        for its in pair.worker.pairs
    ]
    return structs.replace(pair, worker=pair.worker.but(samples=samples, pairs=pairs))


def test_a_ratio_is_of_the_place_where_most_pairs_were_taken():
    """A release that passes less from CPU to CPU is slower by less while they are far apart."""
    near = [at(pair, 84.0) for pair in usual(1.2)]
    cell = only([*near, at(taken(1.05, number=4), 340.0)])
    assert cell.effect.value == pytest.approx(1.2, rel=0.01)
    assert (cell.effect.passes, cell.dropped) == (3, 0)


def test_one_pass_of_an_unsteady_worker_tells_only_what_is_beyond_three():
    identical = [taken(1.0, number=n, sides=(0, 0)) for n in (1, 2)]
    steady = only([*identical, taken(1.4, number=1)])
    assert steady.verdict.word == "slower"
    cell = only([*identical, taken(1.4, number=1, own={"steady": False})])
    assert cell.verdict.word == "not told" and cell.is_open
    assert "was not steady" in cell.doubts[0] and cell.doubts[0] in releases.causes(cell)
    assert steady.doubts == ()
    assert only([*identical, taken(5.0, own={"steady": False})]).verdict.word == "slower"


def test_a_ratio_of_an_unusual_place_alone_is_not_told_and_stays_open():
    """The usual place is that of most experiments."""
    others = [at(taken(1.0, cell=name, number=n, changes={"n_layer": layers}), 84.0)
              for name, layers in (("a", 2), ("b", 3)) for n in (1, 2)]  # fmt: skip
    far = [at(taken(1.2, number=n), 340.0) for n in (1, 2, 3)]
    made = compare(record([*(at(pair, 84.0) for pair in usual()[:2]), *others, *far]))
    (cell,) = (cell for cell in made.cells if cell.key.name == "torch")
    assert cell.verdict.word == "not told" and cell.is_open
    assert cell.doubts == (ELSEWHERE.format("far apart", 1.6),)


def test_what_a_a_pairs_are_off_by_on_average_is_in_the_mean_of_many_cells():
    """A bias of all workers that start second, say: cells do not average it out."""
    biased = [taken(0.9, number=n, sides=(0, 0)) for n in (1, 2)]
    cells = [taken(0.96, cell=str(c), number=n) for c in range(8) for n in (1, 2, 3)]
    known = compare(record([*biased, *cells])).means[1][mean.ALL]
    assert known.value == pytest.approx(0.96, rel=0.01)
    assert known.low < 1 < known.high
    unbiased = [taken(1.0, number=n, sides=(0, 0)) for n in (1, 2)]
    assert compare(record([*unbiased, *cells])).means[1][mean.ALL].high < 1


def test_a_doubted_row_widens_the_mean_and_does_not_decide_it():
    """Nor do several: what makes them doubtful may be the same in all."""
    steady = [*usual(1.0), taken(1.45, cell="jax")]
    assert compare(record(steady)).means[1][mean.ALL].low > 1.1
    doubted = [taken(1.45, cell=f"jax{n}", own={"steady": False}) for n in range(12)]
    for pairs, share in (([*usual(1.0), doubted[0]], 1 / 2), ([*usual()[:2], *doubted], 1.0)):
        made = compare(record(pairs))
        known = made.means[1][mean.ALL]
        assert known.value == pytest.approx(1.45**share, rel=0.01)
        assert known.low < known.value / 3**share < 1 and known.high > known.value * 3**share


def test_a_single_pass_goes_into_the_mean_with_what_the_worst_identical_one_was_off_by():
    worst, *others = (taken(1.2 if n == 1 else 1.0, number=n, sides=(0, 0)) for n in range(1, 9))
    cells = [taken(1.0, cell=str(c), number=n) for c in range(4) for n in (1, 2, 3)]
    made = compare(record([worst, *others, *cells, taken(1.15)]))
    (cell,) = (cell for cell in made.cells if cell.key.name == "torch")
    off_by = math.exp(made.noises["torch"].worst)
    assert cell.effect.low > 1 and cell.effect.value < off_by and cell.verdict.word == "not told"
    assert cell.in_mean.low == pytest.approx(cell.effect.value / off_by)
    beside = [math.log(each.effect.value / each.effect.low) for each in made.cells if each != cell]
    below = math.hypot(*beside, math.log(off_by)) / len(made.cells)
    known = made.means[1][mean.ALL]
    assert math.log(known.value / known.low) >= below
