"""What asv installs of this project: `install_command` of asv.conf.json runs this file.

HEAD's code is the working tree's, with what is not committed in it; another commit's is the one
that asv has checked out. Both are installed in place, so that a process finds its commit. The
measured stack, which pip has installed before, is compiled to bytecode here.

Usage: python installed_code.py PROJECT BUILD_FOLDER COMMIT. Standard library only.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

if __name__ == "__main__":  # the project, of which nothing is installed yet
    sys.path.insert(0, str(Path(__file__).parents[2]))

from cputrain.machine.parent import die_with_parent, dies_with_parent
from cputrain.sweep.bytecode import compile_packages


def head(project: str) -> str | None:
    """The working tree's commit; None where git does not say."""
    command = ["git", "-C", project, "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def folder(project: str, build: str, commit: str) -> str:
    """Where the code of a commit is: the working tree is HEAD's."""
    return build if head(project) not in (None, commit) else project


def compile_new(packages: Path, stamp: Path) -> None:
    """Compile the packages, unless none was installed since `stamp` was touched."""
    if stamp.exists() and packages.stat().st_mtime_ns <= stamp.stat().st_mtime_ns:
        return
    compile_packages(packages)


def main() -> int:
    """Compile the packages, install the code; pip's exit status."""
    die_with_parent()
    project, build, commit = sys.argv[1:]
    packages, stamp = Path(sysconfig.get_path("purelib")), Path(sys.prefix) / "cputrain-compiled"
    compile_new(packages, stamp)
    words = ["install", "--no-deps", "--no-build-isolation", "-e", folder(project, build, commit)]
    pip = [sys.executable, "-m", "pip", *words]
    status = subprocess.run(pip, preexec_fn=dies_with_parent()).returncode
    stamp.touch()  # after pip, which has changed the folder of packages for this project alone
    return status


if __name__ == "__main__":
    sys.exit(main())
