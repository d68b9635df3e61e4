"""What is printed of a tuning's rounds."""

import pytest
from msgspec import structs
from settled import settled

from cputrain.record.rounds import JointEffect, LevelEffect, Round
from cputrain.record.tuning import TuningRecord
from cputrain.report import tuned_rounds

pytestmark = pytest.mark.tools

RAN = Round(levels={"pinning": ("a", "b")}, log_ratios=[-0.05, -0.05], status="ok")
LEVELS = [
    LevelEffect(label=label, ratio=(value, value - 0.01, value + 0.01), is_chosen=is_chosen)
    for label, value, is_chosen in (
        ("huge_pages=madvise", 0.985, True),
        ("wait_policy=active", 0.99, True),
        ("pinning=close", 1.002, False),
    )
]
JOINT = JointEffect(
    labels=["huge_pages=madvise", "wait_policy=active"],
    ratio=(0.976, 0.961, 0.991),
    rounds=4,
    is_chosen=True,
)


def said(rounds=(), joint=None):
    default = settled().to_json()
    of = {"session": "s", "machine": "m", "started": "2026-11-30T10:00:00Z", "seed": 1}
    record = TuningRecord(
        **of, budget_s=600.0, default=default, rounds=list(rounds), levels=LEVELS, joint=joint
    )
    return tuned_rounds.levels(record)


def test_each_change_has_its_ratio_where_there_were_rounds():
    assert said() == []
    assert said([RAN] * 7) == [
        "each change, by races and 7 rounds (90 % intervals):",
        "  huge_pages=madvise  0.985x [0.975, 0.995]  chosen",
        "  wait_policy=active  0.990x [0.980, 1.000]  chosen",
        "  pinning=close       1.002x [0.992, 1.012]",
    ]


def test_likely_changes_say_what_they_gave_together():
    together = "together, huge_pages=madvise, wait_policy=active: 0.976x [0.961, 0.991] by 4 rounds"
    how = "that did not choose them (90 % interval)"
    assert said([RAN] * 7, JOINT)[-1] == f"{together} {how}: chosen"
    looks = structs.replace(JOINT, ratio=(0.96, 0.9, 1.02))
    assert said([RAN] * 7, looks)[-1].endswith(": not surely faster; the test is to tell")
    left = structs.replace(JOINT, is_chosen=False)
    assert said([RAN] * 7, left)[-1] == f"{together} {how}: not surely faster, so left out"


def test_a_round_is_one_line():
    head = "  round 3, fresh workers that differ in 1 change: "
    assert tuned_rounds.round_(RAN, 3) == f"{head}0.951x by 2 pairs"
    failed = structs.replace(RAN, status="failed", reason="killed by signal 9")
    assert tuned_rounds.round_(failed, 3) == f"{head}failed: killed by signal 9"
    joint = structs.replace(RAN, is_joint=True)
    head = "  round 3, fresh workers with 1 change beside without: "
    assert tuned_rounds.round_(joint, 3) == f"{head}0.951x by 2 pairs"
