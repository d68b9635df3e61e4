"""Real processes on a plain made tree: whoever changed it is killed, and it is put back."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_cpufreq import everything, laptop, policy

from cputrain import paths
from cputrain.commands import cli
from cputrain.machine.controls import journal

HANG_S = 60.0
"""What takes so long has hung."""

CHANGING = """
import sys, time
from pathlib import Path
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.control import Files
from cputrain.machine.controls.changes import controls
from cputrain.experiment.system import System
files = Files(Path(sys.argv[1]))
system = System(governor="performance", frequency_ghz=1.2, turbo="off")
changes = Changes(files, controls(system, files, (0, 1, 2, 3)))
changes.apply()
print(changes._guard.process.pid, flush=True)
time.sleep(600)
"""

KILLED_AS_SAVED = """
import os, signal
from cputrain.machine.controls.journal import Journal
save = Journal.save
def killed(self):
    save(self)
    os.kill(os.getpid(), signal.SIGKILL)
Journal.save = killed
"""


class Run:
    """A process that changes the tree, its watchdog, and what was there before."""

    def __init__(self, kernel, before, state):
        self.kernel, self.before = kernel, before
        env = {**os.environ, "CPUTRAIN_ROOT": str(state), "PYTHONPATH": str(paths.PROJECT)}
        env["CPUTRAIN_ALLOW_MACHINE_CHANGES"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHANGING, str(kernel.root)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env,
            start_new_session=True,
        )
        said = self.process.stdout.readline()
        assert said.strip().isdecimal(), said + self.process.stdout.read()
        self.watchdog = int(said)
        self.journal = state / ".asv" / journal.path().name
        assert self.is_changed() and self.journal.exists()

    def is_changed(self):
        return everything(self.kernel) != self.before

    def wait(self, condition):
        end = time.monotonic() + HANG_S
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.005)

    def put_back(self):
        self.wait(lambda: not self.is_changed() and not self.journal.exists())
        self.wait(lambda: journal.started(self.watchdog) is None)


@pytest.fixture
def changed(tmp_path):
    runs = []

    def run():
        kernel = runs[0].kernel if runs else laptop(tmp_path / "made")
        before = runs[0].before if runs else everything(kernel)
        runs.append(Run(kernel, before, tmp_path))
        return runs[-1]

    yield run
    for changed_run in runs:
        changed_run.process.kill()
        changed_run.process.communicate()


def test_killed_as_the_journal_is_written_none_is_left(tmp_path):
    kernel = laptop(tmp_path / "made")
    before, kept = everything(kernel), tmp_path / ".asv" / journal.path().name
    env = {**os.environ, "CPUTRAIN_ROOT": str(tmp_path), "PYTHONPATH": str(paths.PROJECT)}
    env["CPUTRAIN_ALLOW_MACHINE_CHANGES"] = "1"
    command = [sys.executable, "-c", KILLED_AS_SAVED + CHANGING, str(kernel.root)]
    assert subprocess.run(command, env=env).returncode == -signal.SIGKILL
    end = time.monotonic() + HANG_S
    while kept.exists():
        assert time.monotonic() < end, f"{kept} is left"
        time.sleep(0.005)
    assert everything(kernel) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_while_changed_all_is_put_back_twice(changed, number):
    for _ in range(2):
        run = changed()
        run.process.send_signal(number)
        run.put_back()


def test_a_key_in_the_terminal_ends_the_parent_and_not_the_watchdog(changed):
    run = changed()
    os.killpg(run.process.pid, signal.SIGINT)
    run.put_back()


def test_the_watchdog_puts_back_when_it_is_asked_to_end_and_watches_on(changed):
    run = changed()
    os.kill(run.watchdog, signal.SIGTERM)
    run.wait(lambda: not run.is_changed())
    assert journal.started(run.watchdog) is not None and run.journal.exists()
    governor = run.kernel.path(policy(0, "scaling_governor"))
    governor.write_text("performance\n")  # its parent was still writing
    run.process.kill()
    run.put_back()


def test_the_watchdog_writes_where_it_was_told_and_not_where_the_journal_says(changed, tmp_path):
    run, other = changed(), laptop(tmp_path / "other", "performance")
    before = everything(other)
    kept = json.loads(run.journal.read_text())
    run.journal.write_text(json.dumps({**kept, "root": str(other.root)}))
    run.process.kill()
    run.put_back()
    assert everything(other) == before


def test_nobody_who_waits_for_the_parent_waits_for_the_watchdog(changed):
    run = changed()
    os.kill(run.watchdog, signal.SIGSTOP)
    run.process.kill()
    run.process.communicate(timeout=HANG_S)
    assert run.is_changed()
    os.kill(run.watchdog, signal.SIGCONT)
    run.put_back()


def test_it_carries_nothing_of_its_parent_s_environment(changed):
    run = changed()
    words = Path(f"/proc/{run.watchdog}/environ").read_text().split("\0")
    names = {word.partition("=")[0] for word in words if word}
    assert names <= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE"}
    assert os.getsid(run.watchdog) == run.watchdog


def test_with_the_watchdog_killed_too_the_journal_is_left_and_restore_does_it(
    changed, tmp_path, monkeypatch, capsys
):
    run = changed()
    os.kill(run.watchdog, signal.SIGKILL)
    run.process.kill()
    run.process.wait()
    run.wait(lambda: journal.started(run.watchdog) is None)
    assert run.is_changed() and run.journal.exists()
    monkeypatch.setattr(paths, "STATE", tmp_path / ".asv")
    monkeypatch.setenv("CPUTRAIN_MACHINE_ROOT", str(run.kernel.root))
    assert cli.main(["restore"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert f"put back: {policy(0, 'scaling_governor')} = powersave" in said
    assert not run.is_changed() and not run.journal.exists()
    run = changed()  # and the next run has nothing in its way
    run.process.kill()
    run.put_back()


def test_what_was_left_is_put_back_by_the_next_run(changed):
    first = changed()
    os.kill(first.watchdog, signal.SIGKILL)
    first.process.kill()
    first.process.wait()
    second = changed()
    second.process.kill()
    second.put_back()
