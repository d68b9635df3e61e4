"""The `export-model` verb: a run's model in the layouts of other programs."""

from __future__ import annotations

import argparse
import signal
import subprocess
from pathlib import Path

from cputrain import paths
from cputrain.commands import sessions
from cputrain.errors import RunError, UsageError
from cputrain.record.trained import FILE
from cputrain.sweep import asvenv
from cputrain.sweep.training import source
from cputrain.sweep.training.source import MODEL
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Export, and say where to.

    Raises:
        UsageError: no such run, none that is done, a model that no layout can hold, or no folder
            for it.
        RunError: the process that writes it failed.
    """
    session = sessions.here()
    trained = source.named(args.name, session.machine)
    model = trained.model
    out = (args.out or model.parent / "hf").absolute()
    _check_folder(out, model)
    python = asvenv.Asv("full", session.machine).python()
    if not python.exists():
        raise UsageError(f"{python}: not there yet; python3 bench.py train makes it")
    done = subprocess.run(
        [str(python), "-P", "-m", "cputrain.worker.training.exporting", str(model), str(out)],
        cwd=paths.PROJECT,
        env={"PYTHONPATH": str(paths.PROJECT)},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise _failure(done.returncode, done.stderr, out)
    files = f"{MODEL} and config.json"
    if trained.tokenizer is not None:
        files = f"{MODEL}, config.json and the tokenizer"
    print(f"{one_line(out)}: {files}, as transformers' from_pretrained takes them")
    return 0


def _failure(status: int, stderr: str, out: Path) -> UsageError | RunError:
    """Why nothing whole was written: by the exit status of the process, or minus its signal."""
    why = stderr.strip().split("\n")[-1]
    if status == 2 and why:
        return UsageError(why)
    if status < 0:
        why = f"killed by {signal.Signals(-status).name}"
    return RunError(f"{out}: the export failed: {why or 'no output'}; the same command tries again")


def _check_folder(out: Path, model: Path) -> None:
    """Raise UsageError where there is a file, or where a run's own model would be written over."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: a file lies there, a folder is needed")
    is_models = out.resolve() in (model.parent.resolve(), model.resolve().parent)
    if is_models or (out / FILE).exists():
        raise UsageError(f"--out {out}: a run's own {MODEL} lies there; name another folder")
