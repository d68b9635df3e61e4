import os
import socket
import subprocess
import sys

import pytest

from cputrain.errors import UsageError
from cputrain.machine import lock

ADDRESS = f"\0cputrain-test-{os.getpid()}"


def test_the_second_sweep_says_who_is_running():
    held = lock.hold(ADDRESS)
    with pytest.raises(UsageError, match=f"process {os.getpid()} in "):
        lock.hold(ADDRESS)
    held.close()
    lock.hold(ADDRESS).close()


def test_a_killed_sweep_leaves_the_machine_free():
    code = (
        f"from cputrain.machine import lock; held = lock.hold({ADDRESS!r});"
        "print(1, flush=True); input()"
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


def test_asking_never_waits_however_many_have_asked():
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with other:
        other.bind(ADDRESS + "-full")
        other.listen(0)
        for _ in range(3):
            with pytest.raises(UsageError, match="another sweep is running"):
                lock.hold(ADDRESS + "-full")
