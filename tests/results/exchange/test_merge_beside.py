"""What comes in beside the records: peaks are joined, and asv's copy gets what it lacks."""

import json

import pytest
from made_packs import packed
from roots import take_root

from cputrain.machine import lock
from cputrain.record import files
from cputrain.results.exchange import merged

pytestmark = [pytest.mark.tools, pytest.mark.usefixtures("no_registry")]


def merge(root, source):
    (came,) = merged.merge(root, [source])
    return came


@pytest.mark.parametrize("is_newer", [False, True])
def test_peaks_are_the_best_of_both(sent, clone, monkeypatch, is_newer):
    sweep, folder = sent
    take_root(monkeypatch, clone)
    peaks = sweep.root / "result/here/machine.json"
    first = {"date": "2", "torch": "2.13", "fp32_matmul_flops": {"1": 1e11, "2": 4e11}}
    other = {"date": "3" if is_newer else "1", "torch": "2.13", "clock_ghz": 3.0}
    other |= {"fp32_matmul_flops": {"1": 2e11, "2": 3e11}, "bf16_matmul_flops": {"8": 5e11}}
    files.write(peaks, first)
    merge(clone, packed(sweep, folder))
    files.write(peaks, other)
    held = lock.hold()  # a sweep in progress keeps no peaks out
    came = merge(clone, packed(sweep, folder))
    held.close()
    joined = json.loads((clone / "result/here/machine.json").read_text())
    assert (came.refused, came.others) == ([], 1) and joined["clock_ghz"] == 3.0
    assert joined["fp32_matmul_flops"] == {"1": 2e11, "2": 4e11}
    assert joined["bf16_matmul_flops"] == {"8": 5e11}
    assert joined["date"] == ("3" if is_newer else "2")
    again = merge(clone, packed(sweep, folder))
    assert (again.refused, again.others) == ([], 0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("2.13", "2.14"), "peaks are known here of torch 2.14 and not "),
        (lambda text: text[:-9], "what lies here under this name cannot be read"),
    ],
)
def test_peaks_of_another_torch_and_damaged_ones_stay(sent, clone, change, why):
    sweep, folder = sent
    peaks = sweep.root / "result/here/machine.json"
    files.write(peaks, {"date": "1", "torch": "2.13", "fp32_matmul_flops": {"1": 1e11}})
    merge(clone, packed(sweep, folder))
    here = clone / "result/here/machine.json"
    here.write_text(before := change(here.read_text()))
    came = merge(clone, packed(sweep, folder))
    assert came.refused[0].startswith(f"result/here/machine.json: {why}")
    assert len(came.refused) == 1 and here.read_text() == before


def test_asvs_copy_gets_the_benchmarks_and_cells_that_it_lacks(sent, clone, monkeypatch):
    sweep, folder = sent
    take_root(monkeypatch, clone)
    (result,) = (sweep.root / "result/asv/here").glob("c*.json")
    theirs = json.loads(result.read_text())
    (lengths,) = (row for name, row in theirs["results"].items() if ".SeqLen." in name)
    whole = json.dumps(theirs | {"results": theirs["results"] | {"suites.Other.time_it": [[0.5]]}})
    lengths[0] = [lengths[0][0], *[None] * (len(lengths[0]) - 1)]
    result.write_text(json.dumps(theirs))
    merge(clone, packed(sweep, folder))
    result.write_text(whole)
    came = merge(clone, packed(sweep, folder))
    here = json.loads((clone / "result/asv/here" / result.name).read_text())
    assert came.refused == [] and here["results"] == json.loads(whole)["results"]
