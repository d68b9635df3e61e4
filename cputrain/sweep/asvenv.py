"""asv as a child process: its environment with the measured stack, and one suite's run."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from cputrain import environ, paths
from cputrain.atomic import write_json
from cputrain.errors import RunError, UsageError
from cputrain.machine.parent import dies_with_parent
from cputrain.paths import PROJECT
from cputrain.run import stacks

GOES_ON = "the same command goes on from there"
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"


def config(mode: str, stack: str = stacks.MAIN) -> Path:
    """asv's configuration file: the project's own, or for quick sweeps a copy with other results.

    Raises:
        UsageError: it cannot be read.
    """
    path = PROJECT / stacks.CONFIGURATION[stack]
    try:
        settings = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}; restore it with git checkout {path.name}") from None
    if mode == "full" and paths.ROOT == PROJECT:
        return path
    settings["repo"] = str(PROJECT)
    settings["env_dir"] = str(PROJECT / settings["env_dir"])
    settings["benchmark_dir"] = str(paths.BENCHMARKS)
    settings["install_command"] = [
        command.replace("{conf_dir}", word(PROJECT)) for command in settings["install_command"]
    ]
    settings["html_dir"] = str(paths.STATE / f"html-{mode}")
    settings["results_dir"] = str(paths.asv_results(mode))
    copy = paths.STATE / f"{path.name.removesuffix('.conf.json')}-{mode}.conf.json"
    write_json(copy, settings)
    return copy


def word(path: Path) -> str:
    """A path in a command of asv's, which splits it as a shell does, and then formats its words."""
    return shlex.quote(str(path).replace("{", "{{").replace("}", "}}"))


class Asv:
    """asv with one configuration.

    Args:
        mode: full or quick.
        machine: asv's name of this machine.
        stack: which environment, of `stacks`.

    Attributes:
        results: asv's folder of this machine's results.
        copies: where `safekeeping` has copies of them.
    """

    def __init__(self, mode: str, machine: str, stack: str = stacks.MAIN) -> None:
        self.mode, self.machine, self.stack = mode, machine, stack
        self.config = config(mode, stack)
        self.results = paths.asv_results(mode) / machine
        self.copies = paths.STATE / f"kept-{mode}"
        self.logs = paths.STATE / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, words: list[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start `asv run WORDS`, its output in the log `name`; SIGKILL ends all of it."""
        command = [sys.executable, "-m", "asv", "--config", str(self.config), "run"]
        command += ["--machine", self.machine, "--no-pull", *words]
        with (self.logs / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
                preexec_fn=dies_with_parent(),
            )

    def log_tail(self, name: str) -> str:
        """The last telling line of a log, and where the log is."""
        path = self.logs / f"{name}.log"
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
        telling = [line for line in lines if "rror" in line] or [line for line in lines if line]
        return f"{telling[-1] if telling else 'no output'} (all of it in {path})"

    def why_stopped(self, name: str, status: int) -> str:
        """One line: why asv itself did not come to its end in the call of a log.

        Args:
            name: of the log.
            status: asv's, or minus the signal that killed it.
        """
        if status >= 0:
            return f"asv stopped in {name}: {self.log_tail(name)}"
        killed = f"asv was killed by {signal.Signals(-status).name} in {name}"
        return f"{killed}; {GOES_ON}"

    def python(self) -> Path:
        """The interpreter of asv's environment."""
        from asv import environment
        from asv.config import Config

        conf = Config.load(str(self.config))
        here = Path.cwd()
        try:
            os.chdir(PROJECT)
            (env,) = environment.get_environments(conf, None)
            return PROJECT / str(env._path) / "bin" / "python"
        finally:
            os.chdir(here)

    def stands(self) -> bool:
        """Whether the environment has been built, for some commit."""
        return self._installed() is not None

    def is_built(self, commit: str) -> bool:
        """Whether the environment stands and holds what `commit` asks for."""
        info = self.python().parent.parent / "asv-env-info.json"
        return info.exists() and self._installed() == commit

    def _installed(self) -> str | None:
        """The commit that is installed; none where a build was killed, or goes on."""
        status = self.python().parent.parent / "asv-install-status.json"
        try:
            commit = json.loads(status.read_text()).get("commit_hash")
        except (FileNotFoundError, ValueError):
            return None
        return None if commit is None else str(commit)

    def build(self, offline: bool) -> None:
        """Have asv build its environment from the requirements, and nothing else.

        Raises:
            RunError: pip or virtualenv failed.
        """
        name = "build" if self.stack == stacks.MAIN else f"build on {self.stack}"
        process = self.start(name, ["--bench", "just-discover"], pip_environment(offline))
        if (status := process.wait()) < 0:
            raise RunError(self.why_stopped(name, status))
        if status:
            remedy = "without --offline once" if offline else "again once the network is there"
            requirements = stacks.REQUIREMENTS[self.stack]
            tail = self.log_tail(name)
            raise RunError(
                f"asv could not build its environment from {requirements}; run {remedy}. "
                f"It said: {tail}"
            )


def wait_for_early_build() -> None:
    """Until the build has ended that bench.py's first start has begun with, if any."""
    if child := os.environ.pop(environ.EARLY_BUILD, ""):
        with contextlib.suppress(ChildProcessError):  # it is an earlier start's
            os.waitpid(int(child), 0)


def pip_environment(offline: bool) -> dict[str, str]:
    """Where pip finds torch: PyTorch's own CPU index too where it answers within 2 s."""
    if offline:
        return {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        with urllib.request.urlopen(f"{CPU_WHEELS}/torch/", timeout=2):
            pass
    except OSError:
        return {}  # pip's own index has torch too, a larger build where that is PyPI
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    )
    # The variable replaces what pip's files say, so it has to repeat it.
    known = [CPU_WHEELS]
    for line in shown.stdout.splitlines():
        key, _, value = line.partition("=")
        if key.endswith(".extra-index-url"):
            known += value.strip("'\"").replace("\\n", " ").split()
    return {"PIP_EXTRA_INDEX_URL": " ".join(dict.fromkeys(known))}


def in_environment(python: Path, words: list[str], what: str, only: tuple[str, ...] = ()) -> str:
    """Run a module of ours on the measured stack; what it printed.

    Args:
        python: the stack's interpreter.
        words: the module and its arguments.
        what: what this is for, in the message if it fails.
        only: the caller's variables that it sees; all of them where left out.

    Raises:
        UsageError: it said that its input is bad (exit status 2).
        RunError: it failed in another way.
    """
    env = {name: value for name, value in os.environ.items() if not only or name in only}
    env |= {"PYTHONPATH": str(PROJECT), environ.ROOT: str(paths.ROOT)}
    done = subprocess.run(
        [str(python), "-P", "-m", *words],
        capture_output=True,
        text=True,
        env=env,
        preexec_fn=dies_with_parent(),
    )
    if done.returncode:
        last = (done.stderr.strip() or "no output").split("\n")[-1]
        kind = UsageError if done.returncode == 2 else RunError
        raise kind(f"{what}: {last}")
    return done.stdout.strip()
