"""Flags of the verb `tune`. Standard library only."""

from __future__ import annotations

from cputrain.commands import flags, model_flags

USAGE = "bench.py tune [--preset NAME] [--model FILE.toml] [--FIELD VALUE ...] [...]"
BUDGET = 10.0
"""Minutes where nothing else is said."""
DESCRIPTION = """\
Find the fastest settings that do the same work on this machine: engine, matrix product library,
attention, compilation, loss chunk, optimizer kernel, micro-batches, checkpointing, threads,
pinning, kinds of cores, allocator, huge pages, loader, wait policy, OpenMP library. Candidates race
beside the best so far; what wins is put to the test against the settings as described, on fresh
processes, and only what the test confirms is recommended.
"""


def add(verbs: flags.Verbs) -> None:
    """Let a parser take the verb."""
    what = "the fastest settings for a model of your own, confirmed"
    tune = flags.verb(verbs, "tune", what, DESCRIPTION, USAGE)
    flags.minutes(tune, "--budget", BUDGET, "for races and test together")
    flags.several(
        tune,
        "--allow",
        "precision=mixed,bf16",
        "let it also choose these precisions, which round otherwise",
    )
    flags.several(tune, "--keep", "FIELD,...", "leave these fields as they are, such as engine")
    flags.drawn_seed(tune, "--order", "seed of the order of blocks")
    model_flags.add(tune)
    flags.offline(tune)
