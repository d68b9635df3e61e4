"""The real program on a made cpufreq tree: what it changes is put back, also when it is killed."""

import os
import signal
import time

import pytest
from made_cpufreq import everything, like_this, policy

from cputrain.machine.controls import journal

pytestmark = pytest.mark.tools

pytest.importorskip("asv")

SUITE = '''
"""Trial suites of the machine's settings."""

from cputrain.run import suite


class Chosen(suite.Suite):
    """Governors."""

    values = ("powersave", "performance", "ondemand")

    @classmethod
    def base(cls):
        small = {"n_layer": 1, "n_embd": 64, "seq_len": 32, "steps": 3, "warm_up_steps": 2}
        numpy = super().base().but(engine="numpy", attention_backend="manual", **small)
        return numpy.but(governor="powersave")

    def vary(self, base, value):
        return base.but(governor=value)


class Fastest(Chosen):
    """Governors beside another one than the machine has."""

    values = ("performance", "powersave")

    @classmethod
    def base(cls):
        return super().base().but(governor="performance")
'''
WORDS = ("run", "--offline", "--passes", "1", "--bench", "Chosen")
CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def made(trial):
    """A made laptop with this machine's CPUs, and a suite of governors."""
    kernel = like_this(trial.folder / "made")
    (trial.suites / "clocks.py").write_text(SUITE)
    trial.env["CPUTRAIN_MACHINE_ROOT"] = str(kernel.root)
    return kernel


def governor_in_force(worker):
    (check,) = [check for check in worker["in_force"] if check["name"] == "governor"]
    return check["found"] if check["ok"] else None


def until(condition):
    end = time.monotonic() + 120  # what takes so long has hung
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_killed_twice_while_changed_and_stopped_all_is_put_back(trial, made):
    before = everything(made)
    kept = trial.folder / ".asv" / journal.path().name
    governors = [made.path(policy(cpu, "scaling_governor")) for cpu in CPUS]
    for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
        process = trial.start(*WORDS, "--allow-machine-changes")
        until(lambda: all(g.read_text() == "performance\n" for g in governors))
        assert kept.exists()
        process.send_signal(number)
        until(lambda: everything(made) == before and not kept.exists())
        out, _ = process.communicate(timeout=120)
        assert "Traceback" not in out
        if number == signal.SIGTERM:
            assert "the machine's settings were put back" in out
        until(lambda: trial.processes() == [])


def test_what_will_change_is_said_and_that_it_was_put_back(trial, made):
    before = everything(made)
    process = trial.start(*WORDS, "--allow-machine-changes")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    number = f"governor of {len(CPUS)} CPU"
    assert f"will change this machine's {number}" in out
    assert f"put back, as read again: {number}" in out
    assert everything(made) == before
    (worker,) = trial.record("Chosen/performance")["workers"]
    (change,) = worker["machine_changes"]
    everywhere = policy("*", "scaling_governor")
    assert change["written"] == {everywhere: "performance"}
    assert change["before"] == {everywhere: "powersave"} and change["put_back"] is True
    assert governor_in_force(worker) == "performance"
    (worker,) = trial.record("Chosen/powersave")["workers"]
    assert worker["machine_changes"] == []  # as it was already
    (worker,) = trial.record("Chosen/ondemand")["workers"]
    assert worker["reason"] == "no governor ondemand here: intel_pstate has performance, powersave"


def test_without_leave_nothing_is_changed(trial, made):
    before = everything(made)
    process = trial.start(*WORDS[:-1], "Chosen.*performance")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and "will change" not in out
    (worker,) = trial.record("Chosen/performance")["workers"]
    assert worker["status"] == "skipped"
    assert "allow it with --allow-machine-changes" in worker["reason"]
    assert everything(made) == before


def test_a_reference_has_the_settings_of_its_own(trial, made):
    before = everything(made)
    process = trial.start(*WORDS[:-1], "Fastest", "--allow-machine-changes")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    (worker,) = trial.record("Fastest/powersave")["workers"]
    assert worker["status"] == "ok" and worker["machine_changes"] == []  # as it was already
    assert governor_in_force(worker) == "powersave" and len(worker["pairs"]) > 1
    (worker,) = trial.record("Fastest/performance")["workers"]
    (change,) = worker["machine_changes"]
    assert worker["status"] == "ok" and change["put_back"] is True
    (reference,) = trial.record("Fastest/performance", "references.json")["workers"]
    assert governor_in_force(reference) == "performance"
    assert everything(made) == before


def test_where_the_reference_cannot_run_its_cells_are_skipped(trial, made):
    process = trial.start(*WORDS[:-1], "Fastest")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    for cell in ("performance", "powersave"):
        (worker,) = trial.record(f"Fastest/{cell}")["workers"]
        assert worker["status"] == "skipped"
        assert "allow it with --allow-machine-changes" in worker["reason"]
    assert worker["reason"].startswith("its baseline cannot run here: ")
