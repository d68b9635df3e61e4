"""What asv installs of this project: `install_command` of asv.conf.json runs this file.

HEAD's code is the working tree's, with what is not committed in it; another commit's is the one
that asv has checked out. Both are installed in place, so that a process finds its commit.

Usage: python installed_code.py PROJECT BUILD_FOLDER COMMIT. Standard library only.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":  # the project, of which nothing is installed yet
    sys.path.insert(0, str(Path(__file__).parents[2]))

from cputrain.machine.parent import die_with_parent, dies_with_parent


def head(project: str) -> str | None:
    """The working tree's commit; None where git does not say."""
    command = ["git", "-C", project, "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def folder(project: str, build: str, commit: str) -> str:
    """Where the code of a commit is: the working tree is HEAD's."""
    return build if head(project) not in (None, commit) else project


def main() -> int:
    """Install the code; pip's exit status."""
    die_with_parent()
    project, build, commit = sys.argv[1:]
    words = ["install", "--no-deps", "--no-build-isolation", "-e", folder(project, build, commit)]
    pip = [sys.executable, "-m", "pip", *words]
    return subprocess.run(pip, preexec_fn=dies_with_parent()).returncode


if __name__ == "__main__":
    sys.exit(main())
