"""What the tables are told of the suites."""

from cputrain.experiment import Experiment
from cputrain.sweep import exporting, plan


def test_each_suite_has_the_identity_of_its_own_baseline():
    suites = plan.discover()
    found = exporting.baselines(suites)
    assert found.keys() == {planned.name for planned in suites}
    assert [name for name, identity in found.items() if identity is None] == ["Preset"]
    usual = Experiment()
    assert found["SeqLen"] == found["Baseline"] == (usual.identity,)
    by_name = {planned.name: planned for planned in suites}
    for name in ("LossChunk", "AttentionVariant", "KvHeads", "KernelFusion"):
        (identity,) = found[name]
        assert identity != usual.identity
        as_run = {cell.experiment.identity for cell in by_name[name].cells}
        assert identity in as_run  # with the steps that the cell really takes
