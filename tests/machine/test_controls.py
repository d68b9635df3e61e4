"""Each control on made machines: what is there, what is not and why, writing and its order."""

import os
import tempfile
from pathlib import Path

import pytest
from made_cpufreq import BOOST, CPUFREQ, NO_TURBO, THP, desktop, laptop, policy, server, virtual

from cputrain.machine.controls.control import ControlError, HugePageMode
from cputrain.machine.controls.cpufreq import (
    EnergyPreference,
    Governor,
    Turbo,
    policies,
    ruled_cpus,
)
from cputrain.machine.controls.frequency import Frequency
from cputrain.machine.controls.journal import CONTROLS

MACHINES = {"server": server, "laptop": laptop, "desktop": desktop, "virtual": virtual}
GRID = ("min", *(f"{n / 10:g}" for n in range(4, 64, 4)), "max")


@pytest.fixture
def made(tmp_path, request):
    return MACHINES[request.param](tmp_path)


def machine(*names):
    return pytest.mark.parametrize("made", names, indirect=True)


@machine("server")
def test_a_policy_is_one_for_all_its_cpus_and_those_of_a_mask_are_chosen(made):
    assert policies(made, (9, 1, 15)) == [f"{CPUFREQ}/policy1", f"{CPUFREQ}/policy7"]
    assert ruled_cpus(made, (9, 15)) == {1, 9, 7, 15}
    assert len(policies(made, None)) == 8
    Governor(made, (9,)).write("performance")
    assert made.writes == [(policy(1, "scaling_governor"), "performance")]


@machine("server")
def test_a_policy_whose_cpus_are_all_offline_is_left_alone(made):
    made.path(policy(3, "affected_cpus")).write_text("\n")
    assert policies(made, (3, 11)) == [] and len(policies(made, None)) == 7
    assert Governor(made, (3, 4)).why_not("performance") == "no cpufreq policy for CPU 3"


@pytest.mark.parametrize(
    ("made", "there"),
    [
        ("server", ["min", "1.2", "2", "max"]),  # 2.8 is the step that stands for turbo
        ("laptop", ["min", *(f"{n / 10:g}" for n in range(4, 36, 4)), "max"]),
        ("desktop", ["min", *(f"{n / 10:g}" for n in range(8, 56, 4)), "max"]),
        ("virtual", []),
    ],
    indirect=["made"],
)
def test_the_grid_has_what_the_machine_can_be_set_to(made, there):
    every = Frequency(made)
    assert [value for value in GRID if every.why_not(value) is None] == there
    for value in there:
        every.write(value)
        assert every.is_set(value)


@machine("laptop")
def test_cpus_differ_and_each_has_its_own_ends(made):
    assert Frequency(made, (0, 1)).why_not("4.4") is None
    assert "0.4 to 3.5 GHz" in Frequency(made, (1, 2)).why_not("4.4")
    Frequency(made, (1, 2)).write("max")
    assert made.number(policy(1, "scaling_min_freq")) == 4700000
    assert made.number(policy(2, "scaling_min_freq")) == 3500000
    assert made.number(policy(0, "scaling_min_freq")) == 400000


def test_reasons_are_one_true_line(tmp_path):
    acpi, intel = server(tmp_path / "s"), laptop(tmp_path / "l")
    nothing = virtual(tmp_path / "v")
    reasons = {
        "has 1.2, 2, 2.8 GHz": Frequency(acpi).why_not("1.6"),
        "1.2 to 2.8 GHz": Frequency(acpi).why_not("3.2"),
        "highest step, and turbo": Frequency(acpi).why_not("2.8"),
        "intel_pstate has performance, powersave": Governor(intel).why_not("ondemand"),
        "in a virtual machine the host decides": Governor(nothing).why_not("performance"),
        "the host decides about the clock": Turbo(nothing).why_not("on"),
        "acpi-cpufreq takes none": EnergyPreference(acpi).why_not("power"),
        "intel_pstate has default": EnergyPreference(intel).why_not("slow"),
        "no transparent huge pages": HugePageMode(nothing).why_not("always"),
    }
    for named, said in reasons.items():
        assert named in said and "\n" not in said and str(tmp_path) not in said
    nothing.path("/proc/cpuinfo").write_text("flags\t: sse2\n")
    assert "the kernel has no driver" in Governor(nothing).why_not("performance")
    assert "neither cpufreq's boost nor" in Turbo(nothing).why_not("on")


def test_without_turbo_the_reach_is_the_nominal_clock(tmp_path):
    intel = laptop(tmp_path / "l")
    Turbo(intel).write("off")
    assert intel.read(NO_TURBO) == "1" and Turbo(intel).state() == "off"
    fast = Frequency(intel, (0, 1))
    assert "without turbo: 0.4 to 2.4 GHz" in fast.why_not("2.8")
    fast.write("max")
    assert fast.ghz("max") == (2.4, 2.4) and fast.is_set("max")
    acpi = server(tmp_path / "s")
    assert Frequency(acpi, turbo="off").why_not("2.8") is None
    assert Frequency(acpi, (0,)).nominal_ghz() == 2.8
    assert Frequency(desktop(tmp_path / "d"), (0,)).nominal_ghz() == 3.8


def test_turbo_is_not_asked_of_a_cpu_that_has_none(tmp_path):
    intel = laptop(tmp_path)
    assert Turbo(intel).why_not("on") is None  # no /proc/cpuinfo tells
    told = intel.path("/proc/cpuinfo")
    told.parent.mkdir(parents=True)
    told.write_text("flags\t: sse2 ida avx\n")
    assert Turbo(intel).why_not("on") is None
    told.write_text("flags\t: sse2 avx\n")
    assert "its firmware has turned it off" in Turbo(intel).why_not("on")
    assert Turbo(intel).why_not("off") is None
    assert Turbo(server(tmp_path / "acpi")).why_not("on") is None  # its boost is the kernel's own


def test_limits_are_raised_from_above_and_lowered_from_below(tmp_path):
    kernel = laptop(tmp_path)
    frequency = Frequency(kernel, (0,))
    for value in ("4.4", "0.8", "0.8", "4", "min", "max"):
        kernel.writes.clear()
        before = kernel.number(policy(0, "scaling_min_freq"))
        frequency.write(value)
        first = kernel.writes[0]
        raised = frequency.ghz(value)[0] * 1e6 >= before
        assert first[0].endswith("scaling_max_freq" if raised else "scaling_min_freq")
        assert frequency.is_set(value) and len(kernel.writes) == 2


@pytest.mark.parametrize(
    ("control", "value", "file"),
    [
        (Governor, "performance", policy(2, "scaling_governor")),
        (EnergyPreference, "power", policy(2, "energy_performance_preference")),
        (Frequency, "2.4", policy(2, "scaling_max_freq")),
        (Turbo, "off", NO_TURBO),
    ],
)
def test_a_write_that_was_not_taken_is_found_by_reading(tmp_path, control, value, file):
    kernel = laptop(tmp_path)
    kernel.deaf.add(file)
    with pytest.raises(ControlError) as caught:
        control(kernel).write(value)
    assert file in str(caught.value) and "\n" not in str(caught.value)
    assert not control(kernel).is_set(value)


def test_a_preference_cannot_be_had_under_a_governor_that_fixes_it(tmp_path):
    kernel = laptop(tmp_path, "performance", "performance")
    assert "fixes the energy preference" in EnergyPreference(kernel).why_not("power")
    assert EnergyPreference(kernel, governor="powersave").why_not("power") is None
    assert EnergyPreference(kernel).why_not("performance") is None
    with pytest.raises(ControlError, match="does not take 'power': Device or resource busy"):
        EnergyPreference(kernel).write("power")


@machine("desktop")
def test_boost_is_one_switch_and_each_policy_s_goes_along(made):
    Turbo(made).write("off")
    assert made.writes == [(BOOST, "0")]
    assert Turbo(made).read() == {BOOST: "0"} | {policy(n, "boost"): "0" for n in range(4)}
    made.path(BOOST).unlink()
    assert Turbo(made).state() == "off"
    assert Turbo(made).texts("on") == {policy(n, "boost"): "1" for n in range(4)}


def test_the_huge_page_mode_is_the_word_in_brackets(tmp_path):
    kernel = server(tmp_path)
    mode = HugePageMode(kernel)
    assert mode.read() == {THP: "madvise"} and not mode.is_set("always")
    mode.write("always")
    assert mode.is_set("always") and kernel.read(THP) == "[always] madvise never"


def test_what_nobody_may_write_is_said(tmp_path):
    kernel = server(tmp_path)
    file = policy(0, "scaling_governor")
    assert Governor(kernel).why_not_written() is None
    kernel.path(file).chmod(0o444)
    assert Governor(kernel).why_not_written() == f"{file} cannot be written on this machine"
    with pytest.raises(ControlError, match="Permission denied"):
        Governor(kernel).write("performance")


@pytest.mark.skipif(os.geteuid() != 0, reason="somebody else is needed: only root can be one")
def test_what_only_root_may_write_is_said():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        kernel = server(Path(folder))
        pid = os.fork()
        if pid == 0:
            os.setuid(65534)
            said = Governor(kernel).why_not_written() or ""
            os._exit(0 if said.endswith("may not be written by this user: run as root") else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@machine(*MACHINES)
def test_a_file_is_known_to_the_control_that_reads_it_and_to_no_other(made):
    for kind in CONTROLS.values():
        for name in kind(made).read():
            assert [other for other in CONTROLS.values() if other.has_file(name)] == [kind]
            assert not any(other.has_file(f"{name}x") for other in CONTROLS.values())
