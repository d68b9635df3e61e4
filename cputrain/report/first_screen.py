"""The first screen on a terminal: the answers as lines of plain text."""

from __future__ import annotations

from cputrain.report.statements import Answers, StatedChange


def lines(known: Answers) -> list[str]:
    """The sentences, with the changes that pay most after the first."""
    text = [known.baseline.text] if known.baseline else []
    if known.changes:
        text.append("What pays most here, at unchanged work (time over the baseline's):")
        text += [f"  {line}" for line in _columns(known.changes)]
    return [*text, *(statement.text for statement in known.others)]


def _columns(changes: tuple[StatedChange, ...]) -> list[str]:
    table = [
        (
            change.what,
            change.effect + (", confirmed" if change.is_confirmed else ""),
            "; ".join(change.paste),
        )
        for change in changes
    ]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [f"{what:<{wide[0]}}  {effect:<{wide[1]}}  {how}" for what, effect, how in table]
