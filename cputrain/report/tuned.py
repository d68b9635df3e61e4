"""A tuning in plain lines, and the settings that it recommends as a file."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence

from cputrain.analysis.tuning import halving
from cputrain.analysis.tuning.gain import Gain
from cputrain.engines import specs
from cputrain.experiment import PART_OF, Experiment
from cputrain.experiment.described import FIELDS, NONE
from cputrain.record.tuning import FreshPass, Race, Raced, TuningRecord
from cputrain.report import words
from cputrain.wording import counted

ALL_DISTURBED = (
    "others had the CPUs during every pair; python3 bench.py doctor says what disturbs, a longer "
    "--budget gives it more of them"
)


def opening(budget_s: float, raced: Experiment, default: Experiment) -> str:
    """What will be done, and with how much of a step.

    Args:
        raced: the default as it races.
        default: as it is.
    """
    time = words.duration(budget_s)
    text = f"tuning for {time} at most: races, rounds of what they leave open, then a test"
    micro, whole = raced.training.batch_size, default.training.batch_size
    if micro != whole:
        text += (
            f"; races in micro-batches of {micro} sequences instead of {whole}, the test in {whole}"
        )
    if raced.budget.micro_batches is not None:
        text += (
            f"; one of {raced.training.grad_accum} micro-batches is run, the others are reckoned"
        )
        whole_steps = [name for name in specs.NAMES if not specs.of(name).runs_alone]
        text += f" ({', '.join(whole_steps)}: whole steps)"
    return text


def race(ran: Race) -> list[str]:
    """A race that has ended, a line a candidate."""
    noise = _noise(ran)
    head = ran.knob
    if ran.step_s:
        head += f", beside {words.seconds(statistics.median(ran.step_s))} a step"
    if any((ran.unseen_s, *(raced.unseen_s for raced in ran.candidates))):
        head += f" and {_unseen(ran.unseen_s)} for memory that whole micro-batches take anew"
    if ran.all_count:
        head += "; others had the CPUs during most blocks, or moved them: all count"
    rules = {_rule(raced) for raced in ran.candidates}
    if len(rules) == 1 and None not in rules:
        return [f"{head}: cannot be here: {rules.pop()}"]
    wide = max((len(raced.label) for raced in ran.candidates), default=0)
    lines = [f"  {raced.label:<{wide}}  {_came_of(raced, noise)}" for raced in ran.candidates]
    return [head, *lines]


def _unseen(seconds: float) -> str:
    return words.seconds(seconds) if seconds else "nothing"


def _rule(raced: Raced) -> str | None:
    """Why it cannot be, without its own field and value; None where it ran."""
    if raced.outcome != "refused" or raced.reason is None:
        return None
    _, _, rule = raced.reason.rpartition(f"{raced.label.partition('=')[0]} = ")
    return rule.partition(": ")[2] or raced.reason


def _came_of(raced: Raced, noise: float) -> str:
    if not raced.log_ratios or raced.outcome == "failed":
        text = {"known": "slower: "}.get(raced.outcome, "") + (raced.reason or "")
        is_moved = raced.outcome == "dropped" and raced.step_s
        return f"{text}: ended; by the race's end none of its blocks counts" if is_moved else text
    text = f"{_ratio(raced, noise)}  {counted(len(raced.log_ratios), 'block')}"
    if raced.outcome == "adopted":
        return f"{text}, faster: the races go on with it"
    return text if raced.outcome == "raced" else f"{text}, {raced.reason}: ended"


def _ratio(raced: Raced, noise: float, inverse: bool = False) -> str:
    """Its ratio with the 90 % interval of its race."""
    known = halving.standing(raced.log_ratios, noise)
    ends = [math.exp(-v if inverse else v) for v in (known.value, known.low, known.high)]
    return words.ratio(ends[0], min(ends[1:]), max(ends[1:]))


def testing(labels: Sequence[str], likeliest: Sequence[str]) -> str:
    """What is put to the test, and what of it no race has told to be faster.

    Args:
        labels: of the changes that are tested.
        likeliest: changes that no race told to be faster; some may be left out of the test.
    """
    changes = f"{', '.join(labels)}: fresh workers beside fresh workers of the default"
    likely = [label for label in likeliest if label in labels]
    if likely == labels:
        return f"no change was surely faster in its race; test of the likeliest, {changes}"
    doubted = f" (not surely faster in their races: {', '.join(likely)})" if likely else ""
    return f"test of {changes}{doubted}"


def fresh_pass(taken: FreshPass, number: int) -> str:
    """A pass of the test that has ended."""
    if taken.status != "ok":
        return f"  pass {number}: {taken.status}: {taken.reason}"
    kept = [each for each in taken.pairs if not each.disturbed]
    text = f"  pass {number}: {counted(len(taken.pairs), 'pair')}"
    if len(kept) < len(taken.pairs):
        text += f", {len(taken.pairs) - len(kept)} of them disturbed"
    if kept:
        text += f", {words.ratio(statistics.median(b.step_s[0] / b.step_s[1] for b in kept))}"
    return text


def outcome(record: TuningRecord, gain: Gain | None) -> list[str]:
    """What came of it: the gain, what each change gave, what was not tried."""
    lines = [_verdict(record, gain)]
    if gain is not None and gain.is_confirmed:
        lines += _each(record)
    if record.not_tried:
        names = ", ".join(record.not_tried)
        lines.append(f"not tried for lack of time: {names}; a longer --budget has time for more")
    lines.append(f"took {words.duration(record.took_s)} of {words.duration(record.budget_s)}")
    return lines


def _verdict(record: TuningRecord, gain: Gain | None) -> str:
    if record.tuned is None:
        return f"{_why_no_test(record)}: nothing is recommended"
    if gain is None:
        bad = [each.reason for each in record.passes if each.status != "ok"]
        why = bad[-1] if bad else ALL_DISTURBED
        return f"not confirmed, so nothing is recommended: {why}"
    effect = gain.effect
    passes, pairs = counted(effect.passes, "pass", "passes"), counted(effect.pairs, "pair")
    if gain.dropped:  # others had the CPUs, or these lay elsewhere than for most
        pairs = f"{effect.pairs} of {effect.pairs + gain.dropped} pairs count"
    ratio = f"{words.ratio(effect.value, effect.low, effect.high)} of the default's time for a step"
    how = f"(99 % interval; {passes} of fresh workers, {pairs})"
    if gain.is_confirmed:
        return f"confirmed: {ratio} {how}: {_faster(gain)}"
    word = {"same": "the same within 3 %", "slower": "slower"}.get(gain.verdict.word, "not told")
    why = "; ".join(filter(None, (word, effect.reason)))
    return f"not confirmed, so nothing is recommended: {ratio} {how}: {why}"


def _why_no_test(record: TuningRecord) -> str:
    every = [raced for ran in record.races for raced in ran.candidates]
    has_raced = any(raced.log_ratios for raced in every)
    if not has_raced and (record.not_tried or any(r.outcome == "not tried" for r in every)):
        return (
            f"no change was tried: {words.duration(record.budget_s)} are too short for a race and "
            "a test; a longer --budget gives them time"
        )
    if record.left_out:
        left_out = ", ".join(record.left_out)
        return f"what was faster in its race was not needed beside the others ({left_out})"
    return "no change was surely faster in its race, or looked so"


def _faster(gain: Gain) -> str:
    """The gain, the other way round: in speed."""
    effect = gain.effect
    ends = [None if end is None else 1 / end for end in (effect.high, effect.low)]
    low, high = ends
    return f"{words.ratio(1 / effect.value, low, high)} as fast"


def _each(record: TuningRecord) -> list[str]:
    """What each change gave: by a race without it, where there was one, and by its own."""
    by_race: dict[str, str] = {}
    for ran in {ran.knob: ran for ran in record.races if ran.adopted is not None}.values():
        assert ran.adopted is not None
        by_race[ran.adopted.label] = f"{_ratio(ran.adopted, _noise(ran))} in its race"
    for ran in record.races:
        for raced in ran.candidates:
            if raced.label in record.likeliest and raced.log_ratios:
                by_race.setdefault(raced.label, f"{_ratio(raced, _noise(ran))} in its race")
    if len(by_race) == 1:
        return [f"the one change: {label}" for label in by_race]
    without = {}
    for raced in [] if record.without is None else record.without.candidates:
        if record.without is not None and raced.log_ratios:
            ratio = _ratio(raced, _noise(record.without), inverse=True)
            without[raced.label] = f"{ratio} beside the same settings without it"
    for level in record.levels if record.rounds else []:
        if level.label in by_race:
            by_race[level.label] = f"{words.ratio(*level.ratio)} by races and rounds"
    lines = ["what each change gave (90 % intervals, for choosing):"]
    for label, text in by_race.items():
        if label not in record.left_out:
            texts = [without[label], text] if label in without else [text]
            lines.append(f"  {label}: {'; '.join(texts)}")
    again = "left out again, as it was not surely slower without"
    return [*lines, *(f"  {again}: {label}" for label in record.left_out)]


def _noise(ran: Race) -> float:
    return halving.noise([raced.log_ratios for raced in ran.candidates])


def settings(best: Experiment, record: TuningRecord, gain: Gain) -> str:
    """TOML for `--model` alone, and for `--settings` over the model that was tuned.

    It has the fields that differ from the baseline's, from which `--model` begins, or from those
    that were tuned, which stay where `--settings` does not name them.
    """
    mine = best.flat()
    beneath = (Experiment().flat(), Experiment.from_json(record.default).flat())
    low, high = gain.effect.low, gain.effect.high
    lines = [
        f"# tuned {record.started} on {record.machine}: a step takes "
        f"{words.ratio(gain.effect.value, low, high)} of the untuned time",
        "# for --model alone, or for --settings over the model that was tuned",
    ]
    by_part: dict[str, list[str]] = {}
    for name in FIELDS:
        if any(mine[name] != fields[name] for fields in beneath):
            by_part.setdefault(PART_OF[name], []).append(f"{name} = {_toml(mine[name])}")
    for part, fields in by_part.items():
        lines += ["", f"[{part}]", *fields]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """A value as TOML has it; of words, numbers and yes or no it is JSON."""
    return json.dumps(NONE if value is None else value)
