"""What a worker imports before the engine would be missing in the engine's import time."""

import subprocess
import sys

from cputrain import paths

CODE = """
import sys
import cputrain.worker
print(*sorted({"numpy", "torch", "jax", "psutil"} & set(sys.modules)))
"""


def test_no_library_is_imported_before_the_engine():
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(paths.PROJECT)},
    )
    assert done.stdout.split() == []
