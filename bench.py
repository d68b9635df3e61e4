#!/usr/bin/env python3
"""Measure CPU training on this machine: `python3 bench.py`, or `python3 bench.py --help`.

Makes venv/ with the tools (asv, tables, plots) on the first start, then hands over to
cputrain.commands.cli there. Needs Python 3.11 or newer, git, and pip's index on the first start.
"""

import fcntl
import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, "venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "cputrain-installed")


def stop(message, status=1):
    """Print one line and exit."""
    print("bench.py: " + message, file=sys.stderr)
    raise SystemExit(status)


def check_git():
    """asv needs a repository with a commit."""
    try:
        head = subprocess.run(
            ["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", "HEAD"], capture_output=True
        )
        top = subprocess.run(["git", "-C", ROOT, "rev-parse", "--git-dir"], capture_output=True)
    except FileNotFoundError:
        stop("git is needed and not installed; on Debian: apt install git")
    if top.returncode:
        if b"dubious ownership" in top.stderr:
            stop("git refuses this folder; do: git config --global --add safe.directory " + ROOT)
        stop(
            "this folder is not a git repository; do: git init && git add -A && git commit -m start"
        )
    if head.returncode:
        stop("this repository has no commit yet; do: git add -A && git commit -m start")


def wanted():
    """What venv/ must have been made from to be used as it is."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        text = file.read() + VENV.encode() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()


def installed():
    """What venv/ was made from, or nothing."""
    if not os.path.exists(PYTHON):
        return ""
    try:
        with open(STAMP) as file:
            return file.read()
    except OSError:
        return ""


def set_up():
    """Make venv/ and install the tools and cputrain there, unless that is done."""
    if installed() == wanted():
        return
    print("bench.py: setting up venv/ with the tools, about half a minute", flush=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", VENV],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if made.returncode:
        if b"ensurepip" in made.stdout:
            stop(
                "this Python cannot make virtual environments; on Debian: apt install python3-venv"
            )
        stop("cannot make venv/: " + made.stdout.decode().strip().split("\n")[-1])
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--editable", ROOT + "[tools]"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        lines = [line for line in done.stdout.decode().split("\n") if "ERROR" in line]
        why = lines[-1] if lines else "pip failed"
        stop("cannot install the tools; is the network there? pip said: " + why)
    with open(STAMP, "w") as file:
        file.write(wanted())


def main():
    """Check, set up once, hand over."""
    if sys.version_info < (3, 11):
        stop("Python 3.11 or newer is needed, this is %d.%d" % sys.version_info[:2], 2)
    sys.path.insert(0, ROOT)
    from cputrain.commands import cli

    cli.parse(sys.argv[1:])  # bad usage and --help end here, before anything is installed
    check_git()
    state = os.path.join(ROOT, ".asv")
    try:
        os.makedirs(state, exist_ok=True)
        lock = open(os.path.join(state, "set-up.lock"), "w")
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second start waits for the first one's set-up
        set_up()
        lock.close()
    except OSError as error:
        stop("cannot write in %s: %s" % (ROOT, error.strerror), 2)
    os.execv(PYTHON, [PYTHON, "-m", "cputrain.commands.cli", *sys.argv[1:]])


if __name__ == "__main__":
    main()
