"""The native engine's library: its C sources, compiled as the experiment asks, in a cache.

It is named by the sources, the command, the compiler's version and, compiled for this processor,
the processor. Built in a folder aside and renamed, by one process at a time. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cputrain import atomic, engines, paths
from cputrain.engines import EngineError
from cputrain.engines.native_ import words
from cputrain.experiment import Experiment
from cputrain.machine import compilers, cpu, library_search, reading

SOURCES = Path(engines.__file__).with_name("native_") / "src"
NAME = "libcputrain_native"
RECORD = "build.json"
MAKING = "making-"
"""A folder that is being filled."""


def folder() -> Path:
    """Where the libraries are kept."""
    return paths.STATE / "native"


def library(experiment: Experiment, sources: Path | None = None) -> Path:
    """The library for `experiment`, built where there is none yet.

    Beside it lies what was executed and said, `RECORD`.

    Raises:
        EngineError: the compiler is not here, or refuses; the line has its first error.
    """
    sources = sources or SOURCES
    path = place(experiment, sources)
    if path.exists():
        return path
    try:
        with _alone():
            if not path.exists():  # somebody else was faster
                _make(experiment, sources, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineError(f"the native engine cannot be built in {folder()}: {reason}") from error
    return path


def place(experiment: Experiment, sources: Path | None = None) -> Path:
    """Where the library is or would be. Raises EngineError as `library`, but for refusals."""
    sources, cc = sources or SOURCES, experiment.runtime.cc
    if not compilers.is_here(cc):
        raise EngineError(f"{cc} is not installed: {compilers.INSTALL[cc]}")
    files = sorted([*sources.glob("*.c"), *sources.glob("*.h")])
    if not any(file.suffix == ".c" for file in files):
        raise EngineError(f"no C sources in {sources}")
    content = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    command = words.of_key(experiment)
    parts = [content, command, compilers.version(cc)]
    if "-march=native" in command:
        parts.append(_processor())
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return folder() / key / f"{NAME}.so"


def _processor() -> list[str]:
    """What -march=native depends on: folders may be shared with another machine."""
    features = []
    for names in (("model name", "CPU part"), ("flags", "Features")):
        try:
            features.append(cpu.info(reading.ROOT, *names))
        except reading.Unknown as unknown:
            features.append(str(unknown))
    return features


@contextmanager
def _alone() -> Iterator[None]:
    """One process builds at a time; the kernel frees the lock of one that died."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(experiment: Experiment, sources: Path, path: Path) -> None:
    for left in folder().glob(f"{MAKING}*"):  # by a process that was killed
        shutil.rmtree(left)
    aside = Path(tempfile.mkdtemp(prefix=MAKING, dir=folder()))
    aside.chmod(0o755)
    try:
        record = _built(experiment, sorted(sources.glob("*.c")), aside, path.name)
        atomic.write_json(aside / RECORD, record)
        for file in aside.iterdir():
            if file.name not in (path.name, RECORD):
                file.unlink()
        aside.rename(path.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # there is none where all went well


def _built(
    experiment: Experiment, sources: Sequence[Path], aside: Path, name: str
) -> dict[str, Any]:
    """Compile and link in the folder `aside`; what was executed, said, and how long it took."""
    cc, start = experiment.runtime.cc, time.monotonic()
    try:
        if cc == "clang":
            compilers.link_to_intel(aside)
    except library_search.Missing as missing:
        raise EngineError(str(missing)) from missing
    objects = [f"{source.stem}.o" for source in sources]
    commands = [
        [cc, *words.compiling(experiment), "-c", str(source.absolute()), "-o", target]
        for source, target in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outputs = list(pool.map(lambda command: _run(command, aside), commands))
    link = [cc, *words.linking(experiment), *objects, *words.LIBRARIES, "-o", name]
    outputs.append(_run(link, aside))
    return {
        "compiler": compilers.version(cc),
        "commands": [*commands, link],
        "output": [text for text in outputs if text],
        "seconds": round(time.monotonic() - start, 3),
    }


def _run(command: Sequence[str], aside: Path) -> str:
    """What a compiler said. Raises EngineError where it refuses."""
    ok, output = compilers.run(command, aside)
    if not ok:
        error = compilers.first_error(output)
        raise EngineError(f"{command[0]} cannot build the native engine: {error}")
    return output
