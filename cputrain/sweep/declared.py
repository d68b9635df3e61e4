"""Which cells the suites of this clone have now, for what is said of this machine's records."""

from __future__ import annotations

import contextlib

from cputrain import paths
from cputrain.machine import registry
from cputrain.machine.reading import MachineError
from cputrain.sweep import plan


def by_machine() -> dict[str, dict[str, frozenset[str]]]:
    """By this machine's name and by suite, the names of all cells.

    Nothing where this machine's name is another one's in the registry or the results: what
    measures says so, and no records are this machine's.
    """
    try:
        return {registry.name_here(result=paths.RESULT).name: by_suite()}
    except MachineError:
        return {}


def by_suite() -> dict[str, frozenset[str]]:
    """By the name of each suite under benchmarks/, the names of its cells: nothing is planned.

    A suite that cannot be is left out, as if it were not there.
    """
    names: dict[str, frozenset[str]] = {}
    for module in plan.modules()[0].values():
        for kind in plan.suites_of(module):
            with contextlib.suppress(Exception):  # whatever the person who wrote it did
                names[kind.__name__] = frozenset(map(paths.cell_name, kind.cells()))
    return names
