"""The environment variables of this program: each name, and what it means.

Nothing else knows the names. What the processes of one session share is written and read as one
by `run.session`; lower rooms ask for the few that concern them by `given`. Standard library only.
"""

from __future__ import annotations

import os

PREFIX = "CPUTRAIN_"
"""How they begin."""

ROOT = "CPUTRAIN_ROOT"
"""Folder of data, results and models; the clone itself where it is not given."""
BENCHMARKS = "CPUTRAIN_BENCHMARKS"
"""Folder of that name with other suites, for trials."""

SESSION = "CPUTRAIN_SESSION"
"""What the records of one call of bench.py share; absent where asv is called by hand."""
RUN = "CPUTRAIN_RUN"
"""The asv call of a session that a worker belongs to."""
PASS = "CPUTRAIN_PASS"
"""Number of the pass of a session, from 1."""
PAIRS = "CPUTRAIN_PAIRS"
"""Pairs of blocks of a cell in this pass, by engine, as JSON; empty where the suites say them."""
MACHINE = "CPUTRAIN_MACHINE"
"""asv's name of this machine."""
MODE = "CPUTRAIN_MODE"
"""full or quick."""
OFFLINE = "CPUTRAIN_OFFLINE"
"""1: never touch the network."""
MODEL_CAP = "CPUTRAIN_MODEL_CAP"
"""Bytes; larger trained models are not kept."""
EVENTS = "CPUTRAIN_EVENTS"
"""File to which each cell adds a line when it ends, for who follows the session."""

EARLY_BUILD = "CPUTRAIN_EARLY_BUILD"
"""The child process that builds asv's environment already, of a first start of bench.py."""
STACK = "CPUTRAIN_STACK"
"""Which environment of `run.stacks` a process is in; set by asv.ipex.conf.json."""
RELEASE = "CPUTRAIN_RELEASE"
"""Which requirements an environment beside the main one was built from; set by asv."""
ALLOW_MACHINE_CHANGES = "CPUTRAIN_ALLOW_MACHINE_CHANGES"
"""1: cells may change settings of the whole machine, and put them back."""
LIBRARIES = "CPUTRAIN_LIBRARIES"
"""Given paths of optional libraries, as "name=/path:name=/path"."""

CONDUCTOR = "CPUTRAIN_CONDUCTOR"
"""The socket of the process that owns the workers; absent where asv is called by hand."""

MACHINE_ROOT = "CPUTRAIN_MACHINE_ROOT"
"""A made tree in the place of / for settings of the machine, for trials."""
LOCK = "CPUTRAIN_LOCK"
"""The file that keeps sweeps apart, for trials that measure nothing."""
MEASURE_S = "CPUTRAIN_MEASURE_S"
"""Seconds for measuring the machine's rates, for trials that need no good figures; 0: none."""

WORKER = "CPUTRAIN_WORKER"
"""A worker's mark, by which all processes that it started are found."""
RANK_CPUS = "CPUTRAIN_RANK_CPUS"
"""The masks of the ranks of one host, as "0,1;2,3"."""
MATMUL_LIBRARY = "CPUTRAIN_MATMUL_LIBRARY"
"""The library that multiplies matrices for engines that load it by hand."""


def value(name: str) -> str | None:
    """What a variable says; None where it is absent or empty."""
    return os.environ.get(name) or None
