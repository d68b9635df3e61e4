"""What a worker says as a signal ends it, by the signal that it was."""

import signal
import subprocess
import sys

import pytest

DIES = """
import os, sys, threading
from cputrain.worker import serving

serving.begin(2)
for _ in range(4):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
os.kill(os.getpid(), int(sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL, signal.SIGABRT])
def test_the_stack_is_that_of_the_thread_that_failed(number):
    """Stacks of threads that run on can fault as they are read."""
    words = [sys.executable, "-c", DIES, str(int(number))]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    assert done.returncode == -number
    assert "Fatal Python error" in done.stderr and "most recent call first" in done.stderr
    assert "Thread 0x" not in done.stderr and "threading.py" not in done.stderr
