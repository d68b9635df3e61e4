"""The note beside a row: why it has no number, how far one may be trusted, what else it shows."""

from __future__ import annotations

from collections.abc import Callable

from cputrain import wording
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.report import words
from cputrain.results.columns import Row

LONGEST_REASON = 200
SLOW_START = 10
"""First steps that take this many steps' time are said: they compile."""
ANOTHER_SHARE = 1.1
"""hfu is said from this many times mfu on: below it is what attention's kernel multiplies again."""


def _waiting(row: Row) -> str:
    return f"waits for data {words.percent(row['wait_share'])} of the time"


def _parameters(row: Row) -> str:
    return f"{words.number(row['n_params'] / 1e6)} M parameters"


def _clock(row: Row) -> str:
    return f"clock about {words.number(row['clock_ghz'], 2)} GHz"


def _switches(row: Row) -> str:
    switches = words.amount(row["voluntary_switches_per_step"], "voluntary switch", "es")
    return f"{switches} per step"


def _huge(row: Row) -> str:
    held = row["anon_huge_bytes"]
    return f"{words.size(held) if held else 'nothing'} in huge pages"


def _other_engine(row: Row) -> str:
    is_usual = row["engine"] == Experiment().runtime.engine
    return "" if is_usual else f"the engine is another too: compare with {row['engine']}'s others"


def _own_release(row: Row) -> str:
    usual = Experiment().runtime.engine
    if specs.of(row["engine"]).stack == specs.of(usual).stack or row[usual] is None:
        return ""
    return f"it and what ran beside it have {usual} {row[usual]}"


SHOWN: dict[str, tuple[str, Callable[[Row], str]]] = {
    "rows": (
        "epoch_s",
        lambda row: f"an epoch takes {words.duration(row['epoch_s'])}{_tokenizing(row)}",
    ),
    "loader_workers": ("wait_share", _waiting),
    "loader_queue": ("wait_share", _waiting),
    "packing": (
        "counted_share",
        lambda row: f"{words.percent(row['counted_share'])} of the tokens count",
    ),
    "optimizer": (
        "optimizer_state_bytes",
        lambda row: (
            words.amount(row["optimizer_state_bytes"] / row["n_params"], "byte")
            + " of state per parameter"
        ),
    ),
    "model_size": ("n_params", _parameters),
    "architecture": ("n_params", _parameters),
    "allocator": (
        "minor_faults_per_step",
        lambda row: f"{words.amount(row['minor_faults_per_step'], 'page fault')} per step",
    ),
    "wait_policy": ("voluntary_switches_per_step", _switches),
    **dict.fromkeys(("frequency_ghz", "governor", "turbo"), ("clock_ghz", _clock)),
    "huge_pages": ("anon_huge_bytes", _huge),
    "matmul_backend": ("engine", _other_engine),
    "engine": ("engine", _own_release),
}
"""By what is varied: the column that it needs, and what a row says of it, or nothing."""


def _tokenizing(row: Row) -> str:
    made = row["prepared_s"]
    return "" if made is None else f", tokenizing took {words.seconds(made)}"


def note(row: Row, varied: str = "") -> str:
    """What else is to be said of a row, as Markdown; see `plain`."""
    return wording.markdown(plain(row, varied))


def plain(row: Row, varied: str = "") -> str:
    """What else is to be said of a row.

    Args:
        row: of the tables.
        varied: the suite's parameter; some have a column beside the time that they are about.
    """
    notes = []
    reason = row["reason"] or ""
    if len(reason) > LONGEST_REASON:
        reason = reason[: LONGEST_REASON - 3] + "..."
    if row["status"] != "ok":
        notes.append(f"{row['status']}: {reason}")
    else:
        notes += [reason] if reason else []
    column, tell = SHOWN.get(varied, ("", None))
    if tell is not None and row[column] is not None:
        notes.append(tell(row))
    notes += [row[name] for name in ("simulated", "composed") if row[name]]
    if row["first_step_s"] and row["step_s"] and row["first_step_s"] > SLOW_START * row["step_s"]:
        notes.append(f"first step {words.seconds(row['first_step_s'])}, not in the step time")
    if row["hfu"] and row["hfu"] > ANOTHER_SHARE * row["mfu"]:
        notes.append(f"hfu {words.percent(row['hfu'])}")
    if row["steady"] is False:
        notes.append("its step time was still changing when it was measured")
    if row["same_as"]:
        notes.append(f"same as {row['same_as']}")
    if row["disturbed_samples"] and row["dropped_pairs"] is None:
        samples = wording.counted(row["samples"], "sample")
        notes.append(f"{row['disturbed_samples']} of {samples} disturbed")
    if row["mode"] == "quick":
        notes.append("quick")
    return "; ".join(filter(None, notes))
