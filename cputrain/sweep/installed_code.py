"""What asv installs of this project: `install_command` of asv.conf.json runs this file.

HEAD's code is the working tree's, with what is not committed in it; another commit's is the one
that asv has checked out. Both are installed in place, so that a process finds its commit. The
measured stack, which pip has installed before, is compiled to bytecode here, on all CPUs.

Usage: python installed_code.py PROJECT BUILD_FOLDER COMMIT. Standard library only.
"""

from __future__ import annotations

import compileall
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

TESTS = r"/(.*/)?(tests?|testing)/"
"""In a folder of packages: a quarter of all their code, imported by few."""


def head(project: str) -> str | None:
    """The working tree's commit; None where git does not say."""
    command = ["git", "-C", project, "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def folder(project: str, build: str, commit: str) -> str:
    """Where the code of a commit is: the working tree is HEAD's."""
    return build if head(project) not in (None, commit) else project


def compile_packages(packages: Path, stamp: Path) -> None:
    """Compile them, unless none was installed since `stamp` was touched.

    pip compiles on one CPU: half a minute of the seventy seconds that the stack takes on two. What
    does not compile is for other Pythons; pip passes over it too.
    """
    if stamp.exists() and packages.stat().st_mtime_ns <= stamp.stat().st_mtime_ns:
        return
    tests = re.compile(re.escape(str(packages)) + TESTS)  # the project may lie in a folder `tests`
    compileall.compile_dir(packages, quiet=2, workers=0, rx=tests)


def main() -> int:
    """Compile the packages, install the code; pip's exit status."""
    project, build, commit = sys.argv[1:]
    packages, stamp = Path(sysconfig.get_path("purelib")), Path(sys.prefix) / "cputrain-compiled"
    compile_packages(packages, stamp)
    words = ["install", "--no-deps", "--no-build-isolation", "-e", folder(project, build, commit)]
    status = subprocess.run([sys.executable, "-m", "pip", *words]).returncode
    stamp.touch()  # after pip, which has changed the folder of packages for this project alone
    return status


if __name__ == "__main__":
    sys.exit(main())
