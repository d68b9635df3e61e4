import os
import subprocess
import sys

import pytest

from cputrain import lock
from cputrain.errors import UsageError

ADDRESS = f"\0cputrain-test-{os.getpid()}"


def test_the_second_sweep_says_who_is_running():
    held = lock.hold(ADDRESS)
    with pytest.raises(UsageError, match=f"process {os.getpid()} in "):
        lock.hold(ADDRESS)
    held.close()
    lock.hold(ADDRESS).close()


def test_a_killed_sweep_leaves_the_machine_free():
    code = (
        f"from cputrain import lock; held = lock.hold({ADDRESS!r}); print(1, flush=True); input()"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    first.stdout.readline()
    with pytest.raises(UsageError, match=f"process {first.pid} in "):
        lock.hold(ADDRESS)
    first.kill()
    first.wait()
    lock.hold(ADDRESS).close()
