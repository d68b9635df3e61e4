"""Environments of other requirements than the project's, beside the main one, by asv's builder."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import subprocess
from pathlib import Path

from cputrain import environ, paths
from cputrain.atomic import write_json, write_text
from cputrain.errors import RunError, UsageError
from cputrain.machine.parent import dies_with_parent
from cputrain.sweep import asvenv
from cputrain.sweep.progress import Progress
from cputrain.sweep.releases import requirements

SIZE_GB = 3.5
"""Of one, with pip's downloads while it is built."""
CUDA_GB = 11.0
"""The same where pip finds only CUDA builds of another torch."""
READ_BACK = (
    "import importlib.metadata as m, json, cputrain; print(json.dumps({"
    "'code': cputrain.__file__, 'installed': {d.name: d.version for d in m.distributions()}}))"
)
"""What an environment says is installed in it, and where it has this project's code from."""


CAUSES = "The conflict is caused by:"
"""What pip says before the requirements that do not go together."""


def folder() -> Path:
    """What the environments are built from, and what asv writes meanwhile."""
    return paths.STATE / "releases"


class Release(asvenv.Asv):
    """asv with an environment of its own.

    Args:
        machine: asv's name of this machine.
        text: the requirements file that it is built from.

    Attributes:
        has_other_torch: whether its torch is another one than the main environment's.
    """

    def __init__(self, machine: str, text: str) -> None:
        super().__init__("full", machine)
        lines = "\n".join(requirements.essence(text))
        self.name = hashlib.sha256(lines.encode()).hexdigest()[:12]
        file = folder() / f"requirements-{self.name}.txt"
        main = requirements.pins((paths.PROJECT / "requirements.txt").read_text())
        self.has_other_torch = requirements.pins(text).get("torch") != main.get("torch")
        settings = json.loads((paths.PROJECT / "asv.conf.json").read_text())
        settings |= {
            "repo": str(paths.PROJECT),
            "env_dir": str(paths.PROJECT / settings["env_dir"]),
            "benchmark_dir": str(paths.BENCHMARKS),
            "results_dir": str(folder() / "asv"),
            "html_dir": str(folder() / "html"),
        }
        settings["matrix"] |= {"env": {environ.RELEASE: [self.name]}}
        installing = f"{asvenv.word(paths.PROJECT)}/cputrain/sweep/installing.py"
        install = [f"python {installing} -r {asvenv.word(file)}"]
        install += [
            command.replace("{conf_dir}", asvenv.word(paths.PROJECT))
            for command in settings["install_command"]
            if "-r requirements.txt" not in command
        ]
        settings["install_command"] = install
        write_text(file, text)
        self.config = folder() / f"asv-{self.name}.conf.json"
        write_json(self.config, settings)

    @property
    def place(self) -> Path:
        """The environment's folder."""
        return self.python().parent.parent

    def make(self, label: str, offline: bool, progress: Progress) -> None:
        """Have asv build it, where it does not stand.

        Raises:
            RunError: the disk is too full, or asv could not; one line says what to do.
        """
        if (self.place / "asv-env-info.json").exists() and self.stands():
            return
        env = asvenv.pip_environment(offline)
        is_large = self.has_other_torch and not env
        needed_gb, free_gb = CUDA_GB if is_large else SIZE_GB, _free_gb()
        if free_gb < needed_gb:
            raise RunError(
                f"{label}: an environment needs {needed_gb:g} GB while it is built, and "
                f"{free_gb:.1f} are free in {paths.PROJECT}"
            )
        size = "2.5 GB, or 8 with a CUDA build of torch" if is_large else "2.5 GB"
        progress.say(f"{label}: asv builds an environment beside the main one: 1-3 minutes, {size}")
        name = f"build release {self.name}"
        words = ["--bench", "just-discover"]
        if self.start(name, words, env).wait() != 0:
            shutil.rmtree(self.place, ignore_errors=True)  # gigabytes that are of no use
            raise RunError(self._why(label, self.logs / f"{name}.log", offline))

    def _why(self, label: str, log: Path, offline: bool) -> str:
        """One line: why pip installed nothing, and what to do."""
        return why_not_built(label, log.read_text(errors="replace"), log, offline)


def _free_gb() -> float:
    return shutil.disk_usage(paths.PROJECT).free / 1e9


def why_not_built(label: str, output: str, log: Path, offline: bool) -> str:
    """One line: why asv built no environment, and what to do.

    Args:
        output: asv's output, pip's in it.
        log: where that lies.
        offline: whether pip was told to stay off the network.
    """
    lines = [line.strip() for line in output.splitlines()]
    network = any("connection" in line.lower() and "WARNING: Retrying" in line for line in lines)
    for line in lines:
        if "Could not find a version that satisfies" in line:
            requirement = line.split("requirement ", 1)[-1].split(" (from")[0]
            if offline:
                return f"{label}: pip may not use the network; run once without --offline ({log})"
            if network:
                return f"{label}: pip's index cannot be reached; again once it is there ({log})"
            versions = line.partition("from versions: ")[2].rstrip(")").split(", ")
            newest = ", ".join(versions[-4:])
            has = f"; among others there are {newest}" if newest not in ("", "none") else ""
            return f"{label}: pip finds no {requirement} for this Python and CPU{has}"
        if "conflicting dependencies" in line:
            causes = itertools.takewhile(
                bool, lines[lines.index(CAUSES) + 1 :] if CAUSES in lines else []
            )
            why = "; ".join(causes) or line.removeprefix("ERROR: ")
            return f"{label}: these versions do not go together: {why}"
    telling = [line for line in lines if "rror" in line] or [line for line in lines if line]
    return f"{label}: asv could not build an environment: {(telling or ['no output'])[-1]} ({log})"


def read_back(python: Path, project: Path) -> dict[str, str]:
    """What is installed in an environment, by `plain` name; its code must be the project's.

    Args:
        python: its interpreter.
        project: folder of the code that runs in it.

    Raises:
        RunError: it cannot be asked, or has other code.
    """
    done = subprocess.run(
        [str(python), "-P", "-c", READ_BACK],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(project), "PATH": "/usr/bin:/bin"},
        preexec_fn=dies_with_parent(),
    )
    if done.returncode:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise RunError(f"{python}: cannot say what is installed there: {last}; delete its folder")
    answer = json.loads(done.stdout)
    if not Path(answer["code"]).is_relative_to(project):
        raise RunError(f"{python} runs {answer['code']} and not the code in {project}")
    return {requirements.plain(name): version for name, version in answer["installed"].items()}


def require(label: str, wanted: dict[str, str], installed: dict[str, str], folder: Path) -> None:
    """Raise UsageError where an environment has other versions than the wanted ones."""
    for name, version in wanted.items():
        if not requirements.is_version(installed.get(name), version):
            has = installed.get(name) or "none"
            raise UsageError(
                f"{label}: {name} is {has} in {folder}, and {version} was asked; delete that "
                "folder, and it is built again"
            )
