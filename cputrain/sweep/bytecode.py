"""Compile packages to bytecode on all CPUs: pip does it on one, half a minute of seventy seconds.

Usage: python bytecode.py FOLDER. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import compileall
import os
import re
import sys
from pathlib import Path

if __name__ == "__main__":  # the project, of which nothing is installed yet
    sys.path.insert(0, str(Path(__file__).parents[2]))

from cputrain.machine.parent import die_with_parent, dies_with_parent

TESTS = r"/(.*/)?(tests?|testing)/"
"""In a folder of packages: a quarter of all their code, imported by few."""


def compile_packages(packages: Path) -> None:
    """Compile all but tests; what does not compile is for other Pythons, and pip passes over it.

    A pool's processes wait for ever where their parent was killed: from here on all that this
    process forks ends with it.
    """
    os.register_at_fork(after_in_child=dies_with_parent())
    tests = re.compile(re.escape(str(packages)) + TESTS)  # the project may lie in a folder `tests`
    compileall.compile_dir(packages, quiet=2, workers=0, rx=tests)


if __name__ == "__main__":
    die_with_parent()
    compile_packages(Path(sys.argv[1]))
