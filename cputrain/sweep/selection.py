"""What a sweep takes, as the command line says, and the suites and cells that this means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.sweep import plan, time_limit
from cputrain.sweep.choice import choose, only_ipex

FULL_S, QUICK_S = 18 * 60.0, 85.0
"""Seconds for the passes of a sweep, unless the command line says others."""
WHOLE_S, LEAST_OF_WHOLE_S = 19 * 60.0, 12 * 60.0
"""Seconds of such a sweep and its set-up (half a minute for venv/ is before it, as much for tables
after it), and how many are for its passes at least, however long the set-up took."""
MATCH_S = 10.0
"""Seconds for matching all cells' names: usual expressions take a hundredth of one."""


@dataclass(frozen=True)
class Choice:
    """What a sweep takes.

    Attributes:
        regexes: as asv's --bench; None is everything.
        passes: at most: fresh workers for each cell.
        budget_s: seconds for all passes: what is open then stays so.
        whole_s: seconds for them and the set-up.
        leaves_out: in the first pass, suites that are not expected to end in time.
        quick: the cells that matter to most.
        ipex: also what IPEX's environment runs.
        fresh: start over, instead of going on with a stopped sweep.
    """

    regexes: Sequence[str] | None = None
    passes: int | None = None
    budget_s: float = FULL_S
    whole_s: float = math.inf
    leaves_out: bool = False
    quick: bool = False
    ipex: bool = False
    fresh: bool = False

    def until(self, started: float, now: float) -> float:
        """When the passes are to end.

        Args:
            started: when the set-up began.
            now: when it is done.
        """
        least = min(LEAST_OF_WHOLE_S, self.budget_s)
        return max(now + least, min(now + self.budget_s, started + self.whole_s))


def take(
    choice: Choice, known: list[plan.Planned]
) -> tuple[list[plan.Planned], list[plan.Planned]]:
    """The suites and cells of a sweep, and those that only IPEX's environment would add.

    Raises:
        UsageError: nothing matches, or matching takes too long.
    """
    words = " ".join(map(repr, choice.regexes or ()))
    too_long = (
        f"--bench {words} takes more than {MATCH_S:g} s to match: write it without a "
        "repetition of repetitions"
    )
    with time_limit.within(MATCH_S, too_long):
        suites = choose(known, choice.regexes, choice.quick, choice.ipex)
        without = [] if choice.ipex else only_ipex(known, choice.regexes, choice.quick)
    return suites, without
