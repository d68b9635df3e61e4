"""What a power cut leaves of a sweep, at every moment of it: whole files, and all that was done."""

import json

import pytest
from faulty_files import Faulty, lay, states

from cputrain import paths
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.run import measured
from cputrain.run.session import Session
from cputrain.sweep import safekeeping

pytestmark = pytest.mark.tools


def test_nothing_half_is_read_and_nothing_that_was_done_is_lost(
    trial, tmp_path_factory, monkeypatch
):
    faults = tmp_path_factory.mktemp("faults")
    faulty, place = Faulty(faults / "shim", trial.folder), faults / "after"
    trial.env |= faulty.writing_down()
    status, out = trial.run("--bench", "First|Second")
    assert status == 0, out
    assert any(name.endswith("run.json") for _, *names in faulty.operations() for name in names)
    monkeypatch.setattr(paths, "STATE", place / ".asv")
    seen, done = set(), set()
    for number, names in states(faulty):
        what = frozenset((name, file and file.synced) for name, file in names.items())
        if what not in seen:
            seen.add(what)
            lay(names, trial.folder, place)
            done |= whole(place, number)
    assert done == {"First", "Second"}
    assert len(seen) > 100


def whole(place, number):
    """Read all as the next run does; the suites that it takes for done."""
    for path in place.glob("output/**/run.json"):
        files.read(path, CellRecord, SCHEMA)
    checkpoints = list(place.glob(".asv/sweep-full*.json"))
    if not checkpoints:
        return set()
    kept = json.loads(checkpoints[0].read_text())
    measured.done(Session(id=kept["session"], run="next", machine="any"))
    done = set(kept["done"])
    if done:
        (results,) = (path for path in (place / "result" / "asv").iterdir() if path.is_dir())
        safekeeping.mend(results, place / ".asv" / "kept-full")
        (stored,) = (json.loads(p.read_text()) for p in results.glob("*-*.json"))
        for key in done:
            numbers = stored["results"][f"trial.{key}.time_train_steps"][0]
            assert len(numbers) == 2 and all(numbers), (number, numbers)
            for cell in (1, 2):
                (path,) = place.glob(f"output/*/{key.rpartition('.')[2]}/{cell}/run.json")
                assert files.read(path, CellRecord, SCHEMA).workers[-1].ok, number
    return done
