#!/usr/bin/env python3
"""Measure CPU training on this machine: `python3 bench.py`, or `python3 bench.py --help`.

Makes venv/ with the tools (asv, tables, plots) on the first start, then hands over to
cputrain.commands.cli there. Needs Python 3.11 or newer, git, and pip's index on the first start.
"""

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, "venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "cputrain-installed")
OTHER_PACKAGES = ("PYTHONPATH", "PYTHONHOME")
"""Variables by which pip takes what lies elsewhere for installed, as long as they are set."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 10.0


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


class Commands:
    """The commands of the set-up that are running."""

    running = ()
    tie = None  # makes what ties one to us: `dies_with_parent`, once that is imported

    @classmethod
    def start(cls, words, lock, output):
        """Start one in the project's folder. It holds the lock, and ends, with us."""
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group of its own, so that all of it can be ended
            pass_fds=(lock.fileno(),),
            preexec_fn=cls.tie(),
        )
        cls.running = (*cls.running, process)
        return process

    @classmethod
    def run(cls, words, lock):
        """Run one to its end; its status, and what it said."""
        process = cls.start(words, lock, subprocess.PIPE)
        said = process.communicate()[0]
        cls.running = tuple(each for each in cls.running if each is not process)
        return process.returncode, said.decode(errors="replace")

    @classmethod
    def end(cls):
        """Kill them and what they started, and wait until all have ended."""
        deadline = time.time() + PATIENCE_S
        for process in cls.running:
            try:
                while time.time() < deadline:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.poll()
                    time.sleep(0.01)
            except ProcessLookupError:  # none is left
                continue


def stopped(number, _):
    """End the set-up that a signal breaks off, in one line."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    Commands.end()
    print("bench.py: stopped", file=sys.stderr)
    sys.stderr.flush()
    os._exit(128 + number)


def wait_for(lock):
    """Take the lock; a second start waits for the first one's set-up."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("bench.py: waiting for the set-up that another start is at", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def set_up(lock, args):
    """Make venv/ and install the tools and cputrain there, unless that is done.

    Where the verb needs asv's environment, asv begins with it once it is installed itself; what
    is returned is the number of the process that does, or nothing.
    """
    if installed() == wanted():
        return ""
    if os.path.islink(VENV) and os.path.exists(PYTHON) and not os.path.exists(STAMP):
        stop("venv/ is a symbolic link to an environment that is not ours: remove the link")
    print("bench.py: setting up venv/ with the tools, about half a minute", flush=True)
    status, said = Commands.run([sys.executable, "-m", "venv", "--clear", VENV], lock)
    if status:
        if "ensurepip" in said:
            stop(
                "this Python cannot make virtual environments; on Debian: apt install python3-venv"
            )
        stop("cannot make venv/: " + said.strip().split("\n")[-1])
    early = ""
    if args.builds:
        install(builder(), lock)
        words = [PYTHON, "-m", "cputrain.sweep.early_build"]
        words += ["--offline"] if getattr(args, "offline", False) else []
        early = str(Commands.start(words, lock, subprocess.DEVNULL).pid)
    install(["--editable", ROOT + "[tools]"], lock)
    with open(STAMP, "w") as file:
        file.write(wanted())
    return early


def builder():
    """The packages that asv builds its environment with."""
    import tomllib  # which Pythons have that are new enough

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        return tomllib.load(file)["project"]["optional-dependencies"]["builder"]


def install(packages, lock):
    """Install packages into venv/, by words of pip's."""
    installing = os.path.join(ROOT, "cputrain", "sweep", "installing.py")
    words = [PYTHON, installing, "--quiet", "--disable-pip-version-check"]
    status, said = Commands.run([*words, *packages], lock)
    if status:
        lines = [line for line in said.split("\n") if "ERROR" in line]
        why = lines[-1] if lines else "pip failed"
        stop("cannot install the tools; is the network there? pip said: " + why)


def main():
    """Check, set up once, hand over."""
    if sys.version_info < (3, 11):
        stop("Python 3.11 or newer is needed, this is %d.%d" % sys.version_info[:2], 2)
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup's
            signal.signal(number, stopped)
    for name in OTHER_PACKAGES:
        os.environ.pop(name, None)
    sys.path.insert(0, ROOT)
    from cputrain import environ
    from cputrain.commands import cli
    from cputrain.machine.parent import dies_with_parent

    Commands.tie = dies_with_parent
    args = cli.parse(sys.argv[1:])  # bad usage and --help end here, before anything is installed
    check_git()
    state = os.path.join(ROOT, ".asv")
    try:
        os.makedirs(state, exist_ok=True)
        lock = open(os.path.join(state, "set-up.lock"), "w")
        wait_for(lock)
        early = set_up(lock, args)
        lock.close()
    except OSError as error:
        stop("cannot write in %s: %s" % (ROOT, error.strerror), 2)
    if early:
        os.environ[environ.EARLY_BUILD] = early
    # Until its own handlers are there, signals wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    os.execv(PYTHON, [PYTHON, "-m", "cputrain.commands.cli", *sys.argv[1:]])


if __name__ == "__main__":
    main()
