"""Joules from RAPL's counters on made trees."""

import os

import pytest

from cputrain.machine import energy

RAPL = "/sys/class/powercap"


@pytest.fixture
def counted(tree):
    """Two packages with their parts, and the platform that holds all of it again."""
    energy._packages.cache_clear()
    zones = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:1": "package-1"}
    for zone, name in (zones | {"intel-rapl:2": "psys"}).items():
        tree.put({f"{RAPL}/{zone}/name": name, f"{RAPL}/{zone}/energy_uj": 1_000_000})
        tree.put({f"{RAPL}/{zone}/max_energy_range_uj": 262_143_328_850})
    return tree


def test_packages_are_added_up_and_nothing_else(counted):
    before = energy.read(counted.root)
    for zone in ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:2"):
        counted.put({f"{RAPL}/{zone}/energy_uj": 3_500_000})
    counted.put({f"{RAPL}/intel-rapl:1/energy_uj": 1_250_000})
    after = energy.read(counted.root)
    assert energy.between(before, after, counted.root) == {"energy_j": 2.75}


def test_a_counter_that_began_anew(counted):
    before = energy.read(counted.root)
    counted.put({f"{RAPL}/intel-rapl:0/energy_uj": 200_000})
    readings = energy.between(before, energy.read(counted.root), counted.root)
    assert readings["energy_j"] == pytest.approx(262143.32885 - 0.8)


def test_no_counter_is_null_and_never_0(bare):
    energy._packages.cache_clear()
    before = energy.read(bare.root)
    readings = energy.between(before, energy.read(bare.root), bare.root)
    assert readings["energy_j"] is None and "no energy counter" in readings["energy_j_reason"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_counter_for_root_alone(counted):
    (counted.root / f"{RAPL}/intel-rapl:1/energy_uj".lstrip("/")).chmod(0)
    readings = energy.between(energy.read(counted.root), {}, counted.root)
    assert readings["energy_j"] is None and "Permission denied" in readings["energy_j_reason"]


def test_a_counter_that_cannot_be_read(counted):
    (counted.root / f"{RAPL}/intel-rapl:1/energy_uj".lstrip("/")).unlink()
    readings = energy.between(energy.read(counted.root), {}, counted.root)
    assert readings["energy_j"] is None and "intel-rapl:1/energy_uj" in readings["energy_j_reason"]
