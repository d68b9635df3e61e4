"""Changing a made machine for one cell and putting it back, whatever the order asks."""

import json
import subprocess

import pytest
from made_cpufreq import THP, desktop, everything, laptop, policy, server

from cputrain.experiment.system import System
from cputrain.machine.controls import journal
from cputrain.machine.controls.changes import Changes, controls
from cputrain.machine.controls.control import ControlError

SETTINGS = {
    "governor": (server, {"governor": "performance"}),
    "clock": (server, {"frequency_ghz": 1.2}),
    "all": (server, {"governor": "ondemand", "frequency_ghz": 2.8, "turbo": "off"}),
    "huge pages": (server, {"huge_pages": "always"}),
    "preference": (laptop, {"governor": "powersave", "energy_preference": "power"}),
    "performance": (laptop, {"governor": "performance", "frequency_ghz": "max"}),
    "below the nominal clock": (laptop, {"turbo": "off", "frequency_ghz": 1.6}),
    "boost": (desktop, {"turbo": "off"}),
    "boost and clock": (desktop, {"turbo": "off", "frequency_ghz": "max", "governor": "powersave"}),
}


@pytest.fixture
def allowed(own_root, monkeypatch):
    monkeypatch.setenv("CPUTRAIN_ALLOW_MACHINE_CHANGES", "1")


def changes(kernel, cpus=(0, 1, 2, 3), **settings):
    return Changes(kernel, controls(System(**settings), kernel, cpus))


@pytest.mark.parametrize("name", SETTINGS)
def test_all_is_set_and_put_back_to_the_letter(tmp_path, allowed, name):
    make, settings = SETTINGS[name]
    kernel = make(tmp_path / "made")
    before = everything(kernel)
    changed = changes(kernel, **settings)
    changed.apply()
    assert everything(kernel) != before and changed.lost() is None
    assert all(control.is_set(value) for control, value in changed.wanted)
    assert journal.path().exists()
    assert changed.put_back() == []
    assert everything(kernel) == before
    assert not journal.path().exists()
    assert [change["put_back"] for change in changed.record] == [True] * len(changed.record)


def test_a_preference_that_the_governor_hid_is_put_back_too(tmp_path, allowed):
    kernel = laptop(tmp_path / "made", "performance", "performance")
    kernel.preferred = {policy(n, "")[:-1]: "balance_power" for n in range(4)}
    changed = changes(kernel, governor="powersave", energy_preference="power")
    changed.apply()
    assert kernel.read(policy(3, "energy_performance_preference")) == "power"
    assert changed.put_back() == []
    assert kernel.read(policy(3, "scaling_governor")) == "performance"
    kernel.write(policy(3, "scaling_governor"), "powersave")
    assert kernel.read(policy(3, "energy_performance_preference")) == "balance_power"


def test_what_is_so_already_needs_no_change_and_no_leave(tmp_path, own_root, monkeypatch):
    monkeypatch.delenv("CPUTRAIN_ALLOW_MACHINE_CHANGES", raising=False)
    kernel = laptop(tmp_path / "made")
    changed = changes(kernel, governor="powersave", turbo="on")
    changed.apply()
    assert kernel.writes == [] and changed.record == [] and not journal.path().exists()
    assert changed.put_back() == []
    with pytest.raises(ControlError, match="not allowed"):
        changes(kernel, governor="performance").apply()
    assert kernel.writes == [] and not journal.path().exists()


@pytest.mark.parametrize("file", ["scaling_governor", "scaling_max_freq"])
def test_a_setting_that_the_kernel_did_not_take_leaves_nothing_changed(tmp_path, allowed, file):
    kernel = laptop(tmp_path / "made")
    before = everything(kernel)
    kernel.deaf.add(policy(2, file))
    changed = changes(kernel, turbo="off", governor="performance", frequency_ghz=1.2)
    with pytest.raises(ControlError, match=f"policy2/{file}"):
        changed.apply()
    assert everything(kernel) == before and not journal.path().exists()


def test_somebody_else_s_change_is_noticed(tmp_path, allowed):
    kernel = laptop(tmp_path / "made")
    changed = changes(kernel, governor="performance")
    changed.apply()
    kernel.write(policy(1, "scaling_governor"), "powersave")
    assert changed.lost() == "governor performance was changed by somebody else meanwhile"
    assert changed.put_back() == []


def test_what_cannot_be_put_back_is_said_and_the_journal_stays(tmp_path, allowed):
    kernel = server(tmp_path / "made")
    changed = changes(kernel, huge_pages="always")
    changed.apply()
    kernel.deaf.add(THP)
    kernel.path(THP).unlink()
    kernel.path(THP).mkdir()  # the watchdog cannot write it either
    (said,) = changed.put_back()
    assert said == f"{THP} is None, and was madvise"
    assert changed.put_back() == [said] and changed.record[0]["put_back"] is False
    assert journal.path().exists()


def test_the_record_says_what_was_written_and_what_was_there(tmp_path, allowed):
    kernel = laptop(tmp_path / "made")
    kernel.write(policy(1, "energy_performance_preference"), "power")
    changed = changes(kernel, frequency_ghz=1.6, governor="performance")
    changed.apply()
    changed.put_back()
    governor, clock = json.loads(json.dumps(changed.record))
    assert governor["what"] == "governor" and governor["asked"] == "performance"
    everywhere = policy("*", "scaling_governor")
    assert governor["before"] == {everywhere: "powersave"}
    assert governor["written"] == {everywhere: "performance"}
    assert clock["before"][policy(0, "scaling_max_freq")] == "4700000"
    assert clock["written"][policy("*", "scaling_max_freq")] == "1600000"


def test_a_live_owner_s_changes_are_not_touched(tmp_path, allowed):
    kernel = server(tmp_path / "made")
    with subprocess.Popen(["sleep", "60"]) as other:
        owner = (other.pid, journal.started(other.pid))
        kept = journal.Journal(journal.path(), "x", str(kernel.root), owner, journal.boot(), {})
        kept.save()
        changed = changes(kernel, governor="performance")
        with pytest.raises(ControlError, match=f"process {other.pid} is running with") as caught:
            changed.apply()
        assert "\n" not in str(caught.value)
        other.kill()
    assert kernel.writes == [] and changed.put_back() == []
    changed.apply()  # its owner is dead now, and nothing of it is left
    assert changed.put_back() == [] and not journal.path().exists()


def test_two_at_once_do_not_change_one_machine(tmp_path, allowed):
    kernel = server(tmp_path / "made")
    first, second = changes(kernel, governor="performance"), changes(kernel, governor="ondemand")
    first.apply()
    with pytest.raises(ControlError, match="another process is changing"):
        second.apply()
    assert second.put_back() == [] and first.lost() is None
    assert first.put_back() == []


def test_the_huge_page_mode_is_changed_only_where_it_is_another(tmp_path, allowed):
    kernel = server(tmp_path / "made")
    kernel.write(THP, "always")
    kernel.writes.clear()
    changes(kernel, huge_pages="always").apply()
    assert kernel.writes == []
