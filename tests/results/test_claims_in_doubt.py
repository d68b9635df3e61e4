"""What a claim is not told by: one pair, one worker, another place, one round."""

import json
import math
from types import SimpleNamespace

import pytest
from made_claims import PAIRS, verdicts
from made_project import at, change_sample
from msgspec import structs

from cputrain.analysis.claims import judge, table
from cputrain.analysis.claims.made import IDENTICAL
from cputrain.analysis.claims.rules import HOLDS, UNTOLD
from cputrain.record import files
from cputrain.record.altered import SCHEMA, Altered, path
from cputrain.sweep.claims.verb import Claims

pytestmark = pytest.mark.tools


def test_one_worker_tells_nothing_that_an_identical_one_was_off_by(made):
    """A pair of the same experiment that is 30 % off, with the same claim once and twice."""
    made.cell(IDENTICAL[0], 1.3, passes=1)
    made.cell(PAIRS["path-2.5m_at_128-sequence_64"], 0.8, passes=1)
    assert verdicts(made)["C14"].verdict == UNTOLD
    made.cell(PAIRS["path-2.5m_at_128-sequence_64"], 0.6, passes=1)
    assert verdicts(made)["C14"].verdict == HOLDS


SHORTER = "path-2.5m_at_128-sequence_64"


def one_pair(worker):
    """The worker, of whose pairs all but the first were disturbed."""
    for index in range(1, len(worker.samples)):
        change_sample(worker, index, disturbed=True)
    return worker


@pytest.mark.parametrize(
    ("doubted", "doubt"),
    [
        (one_pair, "a single pair was left, which tells only what is beyond 3x"),
        (
            lambda worker: worker.but(steady=False),
            "its worker was not steady and alone tells only what is beyond 3x",
        ),
    ],
)
def test_one_pair_or_one_unsteady_worker_tells_what_suites_tell_by_it(made, doubted, doubt):
    """And of a factor that is claimed nothing, were it hit on the head."""
    for name, claim, time, word in (
        (SHORTER, "C14", 0.5, UNTOLD),
        (SHORTER, "C14", 0.1, HOLDS),
        ("mlm-80m-8_layers", "C2", 1 / 1.5, UNTOLD),
    ):
        pair = PAIRS[name]
        (worker,) = made.cell(pair, time, passes=1)
        assert verdicts(made)[claim].verdict == HOLDS
        made.record(pair, [doubted(worker)])
        told = verdicts(made)[claim]
        assert told.verdict == word and f"{name}: {doubt}" in told.notes
        assert (doubt in told.why) == (word == UNTOLD) == (told.further_passes == 1)
    made.record(pair, [doubted(worker), *made.cell(pair, time, passes=1)])
    assert verdicts(made)[claim].verdict == HOLDS, "another pass tells"


def test_pairs_at_an_unusual_place_tell_what_no_place_would_make_of_it(made):
    made.record(IDENTICAL[0], [at(worker, 57.0) for worker in made.cell(IDENTICAL[0], 1.0)])
    pair = PAIRS[SHORTER]
    for time, word in ((0.7, UNTOLD), (0.4, HOLDS)):
        workers = made.cell(pair, time)
        assert verdicts(made)["C14"].verdict == HOLDS
        made.record(pair, [at(worker, 345.0) for worker in workers])
        told = verdicts(made)["C14"]
        assert told.verdict == word
        assert any("while its CPUs were far apart" in note for note in told.notes)
        assert told.further_passes == (1 if word == UNTOLD else None)


def test_a_demonstration_of_one_round_shows_little(made):
    what = table.CLAIMS["C15"].demonstration
    made.demonstration(what, altered=0.7, plain=1.0)
    where = path(made.root / "output", "here", what.name)
    whole = files.read(where, Altered, SCHEMA)
    assert verdicts(made)["C15"].verdict == HOLDS
    hit = structs.replace(whole.altered, disturbed=[False, True, True])
    files.write(where, structs.replace(whole, altered=hit))
    told = verdicts(made)["C15"]
    assert told.verdict == UNTOLD and "a single pair was left" in told.notes[-1]
    fault = table.CLAIMS["C17"].demonstration
    made.demonstration(fault, altered=0.3, plain=1.4)
    where = path(made.root / "output", "here", fault.name)
    whole = files.read(where, Altered, SCHEMA)
    hit = structs.replace(whole.altered, disturbed=[False, True, True])
    files.write(where, structs.replace(whole, altered=hit))
    with_fault, without = verdicts(made)["C17"].demonstrations
    assert with_fault.low < 0.3 / 3 and with_fault.high > 0.3 * 3
    assert "a single pair was left" in with_fault.note and "single" not in without.note


@pytest.mark.parametrize(("disturbed", "runs"), [(2, 1), (1, 0)])
def test_a_demonstration_of_one_round_is_run_again(made, disturbed, runs):
    what = table.CLAIMS["C15"].demonstration
    made.demonstration(what, altered=0.7, plain=1.0)
    whole = files.read(path(made.root / "output", "here", what.name), Altered, SCHEMA)
    hit = structs.replace(whole.altered, disturbed=[True] * disturbed + [False] * (3 - disturbed))
    known, ran = structs.replace(whole, altered=hit), []
    verb = Claims(["C15"], 0.0, fresh=False)
    verb.claims, verb.until = [table.CLAIMS["C15"]], math.inf
    verb.session = SimpleNamespace(id=known.session)
    verb.processes = SimpleNamespace(demonstrated=lambda _: known, demonstration=ran.append)
    verb.shown = SimpleNamespace(demonstration=lambda *_: None)
    verb._demonstrate()
    assert ran == [what] * runs


def test_rounds_count_where_neither_side_was_disturbed(made):
    what = table.CLAIMS["C15"].demonstration
    made.demonstration(what, altered=0.7, plain=1.0)
    assert verdicts(made)["C15"].verdict == HOLDS
    where = path(made.root / "output", "here", what.name)
    whole = files.read(where, Altered, SCHEMA)
    for side in ("altered", "reference"):
        hit = structs.replace(getattr(whole, side), disturbed=[True] * 3)
        files.write(where, structs.replace(whole, **{side: hit}))
        told = verdicts(made)["C15"]
        assert told.verdict == UNTOLD and "others had the CPUs" in told.why


def test_a_side_with_fewer_blocks_is_no_record(made):
    what = table.CLAIMS["C15"].demonstration
    made.demonstration(what, altered=0.7, plain=1.0)
    where = path(made.root / "output", "here", what.name)
    content = json.loads(where.read_text())
    content["reference"]["disturbed"].pop()
    where.write_text(json.dumps(content))
    (problem,) = judge.judge(made.root, "here").problems
    assert problem.path == where and "one for each block" in problem.reason
