"""Run one of Python's modules so that it ends with its caller.

`install_command` of asv.conf.json runs pip by this file: asv starts it as any other program, which
would go on writing into the environment after asv was killed.

Usage: python tied.py MODULE WORDS... Standard library only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":  # the project, of which nothing is installed yet
    sys.path.insert(0, str(Path(__file__).parents[2]))

from cputrain.machine.parent import die_with_parent


def main() -> None:
    """Become the module's process: a tie to a parent outlives exec."""
    die_with_parent()
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])


if __name__ == "__main__":
    main()
