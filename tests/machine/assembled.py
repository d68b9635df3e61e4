"""Machine code as an assembler makes it, to hold code against that is written by its bytes."""

import shutil
import subprocess

import pytest


def assembled(source, machine, folder):
    """The object file of a source in AT&T's syntax; skips the test where nothing can make it."""
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    (folder / "code.s").write_text(source)
    command = ["clang", f"--target={machine}-linux-gnu", "-c", "code.s", "-o", "code.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"clang cannot assemble for {machine}")
    return (folder / "code.o").read_bytes()
