"""Control groups of a test's own, of either version; skipped where none can be made."""

import contextlib
import os
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def group(controller, limits):
    """A new control group.

    Args:
        controller: `memory` or `cpu`.
        limits: by version of control groups, 1 and 2: file and content of its limit.

    Yields:
        the file that takes a process into it.
    """
    version = 1 if (GROUPS / controller).is_dir() else 2
    made = (GROUPS / controller if version == 1 else GROUPS) / f"cputrain-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        for name, content in limits[version].items():
            (made / name).write_text(content)
        yield made / "cgroup.procs"
    except FileNotFoundError as error:
        pytest.skip(f"no control group limits that here: {error}")
    finally:
        made.rmdir()
