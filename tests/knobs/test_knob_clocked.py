"""Settings of the whole machine: refused, skipped with the reason, and checked by reading."""

import pytest
from made_cpufreq import NO_TURBO, everything, laptop, like_this, policy, virtual
from msgspec import structs
from settled import settled

from cputrain.experiment import ExperimentError
from cputrain.knobs import clocked
from cputrain.machine import clock
from cputrain.machine.controls.control import Files
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.reading import Unknown
from cputrain.run import placement

KNOB = clocked.Clocked()


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A made laptop with this machine's CPUs, on which changes are not allowed."""
    kernel = like_this(tmp_path / "made")
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", str(kernel.root))
    monkeypatch.delenv("CPUTRAIN_ALLOW_MACHINE_CHANGES", raising=False)
    return kernel


def failed(changes):
    experiment = settled(**changes)
    checks = KNOB.checks(experiment, placement.place(experiment), {})
    assert checks
    return [check.name for check in checks if not check.ok]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"governor": "turbo"}, "governor = 'turbo': one of as_found, performance"),
        ({"energy_preference": "slow"}, "energy_preference = 'slow': one of"),
        ({"turbo": True}, "turbo = True: one of as_found, on, off"),
        ({"frequency_ghz": "fast"}, "frequency_ghz = 'fast': one of min, max"),
        ({"frequency_ghz": 0}, "frequency_ghz = 0: a number from 0.1"),
    ],
)
def test_what_no_machine_has_is_refused(changes, named):
    with pytest.raises(ExperimentError) as caught:
        settled(**changes)
    assert named in str(caught.value)


def test_reasons_come_in_the_order_in_which_they_can_be_mended(made, monkeypatch):
    experiment = settled(governor="performance", frequency_ghz=1.6)
    assert "has performance, powersave" in KNOB.why_not(settled(governor="ondemand"))
    assert "not among the clocks" in KNOB.why_not(experiment.but(frequency_ghz=9.6))
    file = made.path(policy(min(placement.place(experiment).cpus), "scaling_max_freq"))
    file.chmod(0o444)
    assert "scaling_max_freq cannot be written" in KNOB.why_not(experiment)
    file.chmod(0o644)
    assert KNOB.why_not(experiment) == (
        "changes this machine's governor and clock limits: allow it with --allow-machine-changes"
    )
    assert placement.why_not(experiment) == KNOB.why_not(experiment)
    monkeypatch.setenv("CPUTRAIN_ALLOW_MACHINE_CHANGES", "1")
    assert KNOB.why_not(experiment) is None


def test_what_is_so_already_needs_no_leave(made):
    assert KNOB.why_not(settled(governor="powersave", turbo="on")) is None
    assert KNOB.why_not(settled()) is None
    assert KNOB.checks(settled(), placement.place(settled()), {}) == []


def test_a_machine_without_cpufreq_says_so(tmp_path, monkeypatch):
    kernel = virtual(tmp_path / "made")
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", str(kernel.root))
    monkeypatch.setenv("CPUTRAIN_ALLOW_MACHINE_CHANGES", "1")
    for changes in ({"governor": "performance"}, {"frequency_ghz": "max"}, {"turbo": "off"}):
        assert "in a virtual machine the host decides" in KNOB.why_not(settled(**changes))
    assert "no transparent huge pages" in KNOB.why_not(settled(huge_pages="always"))


def test_the_worker_is_told_of_a_made_tree_only_where_it_reads_it(made):
    experiment = settled(turbo="off")
    placed = placement.place(experiment)
    assert KNOB.environment(experiment, placed) == {"CPUTRAIN_MACHINE_ROOT": str(made.root)}
    assert KNOB.environment(settled(), placed) == {}


@pytest.mark.parametrize(
    ("changes", "file", "value", "named"),
    [
        ({"governor": "powersave"}, "scaling_governor", "performance", ["governor"]),
        (
            {"energy_preference": "balance_power"},
            *("energy_performance_preference", "power", ["energy preference"]),
        ),
        ({"turbo": "on"}, NO_TURBO, "1", ["turbo"]),
        ({"frequency_ghz": "max"}, "scaling_min_freq", 4600000, ["scaling_min_freq, 4.7 GHz"]),
        ({"frequency_ghz": 1.6}, "scaling_max_freq", 1700000, ["scaling_max_freq, 1.6 GHz"]),
    ],
)
def test_a_setting_that_is_not_in_force_is_caught_on_a_single_cpu(
    made, changes, file, value, named
):
    cpus = placement.place(settled()).cpus
    if "frequency_ghz" in changes:
        ghz = changes["frequency_ghz"]
        Frequency(made, cpus).write(ghz if isinstance(ghz, str) else f"{ghz:g}")
    assert failed(changes) == []
    made.path(file if "/" in file else policy(cpus[-1], file)).write_text(f"{value}\n")
    assert failed(changes) == named


def test_checks_of_one_mask_do_not_ask_about_other_cpus(tmp_path, monkeypatch):
    kernel = laptop(tmp_path / "made")
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", str(kernel.root))
    experiment = settled(governor="powersave")
    placed = structs.replace(placement.place(experiment), cpus=(0, 1))
    kernel.path(policy(2, "scaling_governor")).write_text("performance\n")
    assert all(check.ok for check in KNOB.checks(experiment, placed, {}))


@pytest.fixture
def real_ghz(monkeypatch):
    """The clock that was observed now; it stays, as another moment's may be another."""
    try:
        ghz = clock.observed_ghz(0.05)
    except Unknown as unknown:
        pytest.skip(str(unknown))
    monkeypatch.setattr(clock, "observed_ghz", lambda: ghz)
    return ghz


def held(root, ghz, nominal, turbo=1):
    """Whether the clock that this machine really has passes for `ghz`."""
    folder = policy(0, "")[:-1]
    kernel = laptop(root, fast=(0,), slow=())
    kernel.path(f"{folder}/base_frequency").write_text(f"{round(nominal * 1e6)}\n")
    kernel.path(NO_TURBO).write_text(f"{1 - turbo}\n")
    value = ghz if isinstance(ghz, str) else f"{ghz:.6f}"
    (check,) = clocked.observed(Frequency(Files(root), (0,)), value)
    assert "an estimate" in check.name
    return check.ok


def test_a_clock_up_to_the_nominal_one_has_to_be_observed(tmp_path, real_ghz):
    assert held(tmp_path / "same", real_ghz, 10 * real_ghz)
    assert not held(tmp_path / "lower", real_ghz / 2, 10 * real_ghz)
    assert not held(tmp_path / "higher", real_ghz * 2, 10 * real_ghz)
    assert not held(tmp_path / "without turbo", real_ghz * 2, real_ghz, turbo=0)


def test_a_turbo_clock_is_a_limit_above_the_nominal_one(tmp_path, real_ghz):
    assert held(tmp_path / "between", real_ghz * 1.5, real_ghz * 0.7)
    assert not held(tmp_path / "above", real_ghz * 0.8, real_ghz * 0.6)
    assert not held(tmp_path / "below", real_ghz * 2.5, real_ghz * 1.5)


def test_the_highest_clock_is_not_below_the_nominal_one(tmp_path, real_ghz):
    assert held(tmp_path / "turbo", "max", real_ghz * 0.7)
    assert not held(tmp_path / "below", "max", real_ghz * 1.2)


def test_a_clock_that_cannot_be_observed_is_not_in_force(tmp_path, monkeypatch):
    monkeypatch.setattr(clock.platform, "machine", lambda: "riscv64")
    laptop(tmp_path, fast=(0,), slow=())
    (check,) = clocked.observed(Frequency(Files(tmp_path), (0,)), "1.6")
    assert not check.ok and "cannot be shown" in check.actual and "riscv64" in check.actual


def test_reading_changes_nothing(made):
    before = everything(made)
    KNOB.why_not(settled(governor="performance", frequency_ghz="max", turbo="off"))
    failed({"governor": "performance", "frequency_ghz": "max", "turbo": "off"})
    assert everything(made) == before
