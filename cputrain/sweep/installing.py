"""Install packages by pip, and compile to bytecode those that it has done with meanwhile.

pip itself compiles a package after unpacking it, on the one CPU that it uses.

Usage: python installing.py WORDS..., those of `pip install`. Standard library only: this runs
before anything is installed.
"""

from __future__ import annotations

import compileall
import csv
import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

if __name__ == "__main__":  # the project, of which nothing is installed yet
    sys.path.insert(0, str(Path(__file__).parents[2]))

from cputrain.machine.parent import die_with_parent, dies_with_parent

TESTS = re.compile(r"(.*/)?(tests?|testing)/")
"""In a folder of packages: a quarter of all their code, imported by few."""
DONE = "*.dist-info/INSTALLER"
"""What pip writes once all files of a package lie there, which its RECORD beside it names."""
WAIT_S = 0.1
CHUNK = 16
"""Files that a process takes at once."""


def install(words: list[str], packages: Path) -> int:
    """Install by pip; its exit status.

    Args:
        words: of `pip install`.
        packages: the folder that it installs into.
    """
    os.register_at_fork(after_in_child=dies_with_parent())  # a pool's processes, too
    old = set(packages.glob(DONE))
    command = [sys.executable, "-m", "pip", "install", "--no-compile", *words]
    pip = subprocess.Popen(command, preexec_fn=dies_with_parent())
    for path in while_running(pip, packages, old):
        compile_file(path)
    if pip.returncode == 0:
        compile_all(packages)
    return pip.returncode


def while_running(pip: subprocess.Popen[bytes], packages: Path, seen: set[Path]) -> Iterator[Path]:
    """The files of each package that pip has done with, until it ends.

    Args:
        pip: the process.
        packages: the folder that it installs into.
        seen: what `DONE` matches in it of packages that were there before.
    """
    while pip.poll() is None:
        new = set(packages.glob(DONE)) - seen
        if not new:
            time.sleep(WAIT_S)
        for done in sorted(new):
            seen.add(done)
            for path in python_files(packages, done.with_name("RECORD")):
                if pip.poll() is not None:
                    return
                yield path


def python_files(packages: Path, record: Path) -> list[Path]:
    """The source files that a package's RECORD names, but for tests.

    None where that is not there (any more): what is left is compiled once pip has ended.
    """
    try:
        with record.open(newline="") as file:
            names = [row[0] for row in csv.reader(file) if row]
    except FileNotFoundError:
        return []
    return [packages / name for name in names if name.endswith(".py") and not TESTS.match(name)]


def compile_all(packages: Path) -> None:
    """Compile what is not yet, but for tests, on all CPUs."""
    paths = [path for path in packages.rglob("*.py") if not is_test(path, packages)]
    with ProcessPoolExecutor() as pool:
        for _ in pool.map(compile_file, paths, chunksize=CHUNK):
            pass


def is_test(path: Path, packages: Path) -> bool:
    """Whether a source file is in a folder of tests; the packages themselves may lie in one."""
    return TESTS.match(str(path.relative_to(packages))) is not None


def compile_file(path: Path) -> None:
    """Compile a file, unless that is done. What does not compile is for other Pythons."""
    compileall.compile_file(path, quiet=2)


if __name__ == "__main__":
    die_with_parent()
    sys.exit(install(sys.argv[1:], Path(sysconfig.get_path("purelib"))))
