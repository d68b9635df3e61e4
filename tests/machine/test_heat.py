"""Thermal throttling, by the kernel's counters on made trees."""

import pytest

from cputrain.machine import heat, reading

CPU = "/sys/devices/system/cpu"


def test_events_of_the_mask_and_of_no_other_cpu(tree):
    for cpu in range(3):
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        tree.put({f"{folder}/core_throttle_count": 10**cpu})
        tree.put({f"{folder}/package_throttle_count": 1000})
    assert heat.throttle_events((0, 1), tree.root) == 1 + 10 + 2 * 1000
    tree.put({f"{CPU}/cpu2/thermal_throttle/core_throttle_count": 777})
    assert heat.throttle_events((0, 1), tree.root) == 2011


def test_none_is_a_reason_and_never_0(bare):
    with pytest.raises(reading.Unknown, match="no thermal_throttle counters"):
        heat.throttle_events((0,), bare.root)
