"""What a merge has done, in lines for people."""

from __future__ import annotations

from cputrain.results.exchange.merged import Came
from cputrain.wording import counted

MOST_NAMED = 10
"""Refusals of one machine that are named; of more it is said how many."""


def lines(came: Came) -> list[str]:
    """What came in of one machine, and what was not taken."""
    texts = []
    if came.machine is not None:
        parts = [f"{counted(came.added, 'record')} added"]
        parts += [f"{came.extended} with more workers"] if came.extended else []
        parts += [f"{came.equal} here already"] if came.equal else []
        parts += [counted(came.others, "other file")] if came.others else []
        texts.append(f"{came.source}: {came.machine}: {', '.join(parts)}")
        if came.machine != came.given:
            texts.append(f"{came.source}: it calls itself {came.given}, but {came.why}")
    outcome = "refused" if came.machine is None else "not taken"
    texts += [f"{came.source}: {outcome}: {reason}" for reason in came.refused[:MOST_NAMED]]
    if len(came.refused) > MOST_NAMED:
        texts.append(f"{came.source}: {outcome}: {len(came.refused) - MOST_NAMED} more")
    return texts
