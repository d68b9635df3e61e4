"""A model of one's own: a preset, a file of fields, fields by name; the rest from the baseline.

Standard library only.
"""

from __future__ import annotations

import difflib
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from cputrain.experiment import PART_OF, PARTS, Experiment, ExperimentError
from cputrain.experiment.fields import NotOneOf, refuse
from cputrain.experiment.presets import PRESETS

OF_A_SUITE = ("jit_state", "preload", "fine_tuning")
OF_THE_MACHINE = ("frequency_ghz", "governor", "energy_preference", "turbo")
"""What needs a saved model, a worker of its own or a change of the whole machine."""
NONE = "none"


def _fields() -> dict[str, Any]:
    types_of: dict[str, Any] = {}
    for name, part in PART_OF.items():
        if part != "budget" and name not in (*OF_A_SUITE, *OF_THE_MACHINE):
            types_of[name] = typing.get_type_hints(PARTS[part])[name]
    return types_of


FIELDS: dict[str, Any] = _fields()
"""The fields that describe a run, by name, each with its type; in the order of the parts."""


def described(
    preset: str | None = None, file: Path | None = None, flags: Mapping[str, Any] | None = None
) -> Experiment:
    """The experiment of a description; later sources win: preset, file, flags.

    Args:
        preset: name of a published run.
        file: TOML, of fields by name, also under the name of their part.
        flags: fields by name.

    Raises:
        ExperimentError: no such preset, a file that cannot be read or is no TOML, a field that
            does not exist or is not one of a run, a value or a combination that cannot be.
    """
    return of_fields(preset, {**({} if file is None else of_file(file)), **(flags or {})})


def of_fields(preset: str | None, fields: Mapping[str, Any]) -> Experiment:
    """The experiment of a preset and fields by name. Raises ExperimentError as `described`."""
    if preset is None:
        return Experiment().but(**fields)
    usual = _of_preset(preset)
    whole = usual.but(micro_batches=None, **fields)
    # Of a preset's steps some micro-batches are run; the fields' may be fewer, or share a step.
    some = usual.budget.micro_batches
    if some is None or some >= whole.training.grad_accum or whole.system.processes is not None:
        return whole
    return whole.but(micro_batches=some)


def _of_preset(name: str) -> Experiment:
    if name not in PRESETS:
        raise ExperimentError(f"no preset {name!r}; {meant(name, PRESETS)}")
    return PRESETS[name].experiment


def of_file(path: Path) -> dict[str, Any]:
    """The fields in a file of TOML. Raises ExperimentError as `described`."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExperimentError(f"{path}: no TOML: {error}") from error
    fields = {name: value for name, value in content.items() if not isinstance(value, dict)}
    for name, value in content.items():
        if not isinstance(value, dict):
            continue
        wrong = [field for field in value if PART_OF.get(field) != name]
        if name not in PARTS or wrong:
            if name not in PARTS:
                raise ExperimentError(f"{path}: [{name}]: no such part; {meant(name, PARTS)}")
            its = PART_OF.get(wrong[0])
            hint = meant(wrong[0], FIELDS) if its is None else f"it is of [{its}]"
            raise ExperimentError(f"{path}: {name}.{wrong[0]}: no such field; {hint}")
        if twice := [field for field in value if field in fields]:
            both = f"{twice[0]} is given twice: alone and in [{name}]"
            raise ExperimentError(f"{path}: {both}; leave one of them out")
        fields |= value
    for name, value in fields.items():
        if name not in FIELDS:
            refuse(name, value, f"no such field; {meant(name, FIELDS)}")
        if value == NONE and type(None) in _kinds(FIELDS[name]):
            fields[name] = None
    return fields


def meant(name: str, known: Iterable[str]) -> str:
    """Which of those that are known was perhaps meant; all of them where none is near."""
    listed = list(known)
    near = difflib.get_close_matches(name, listed, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(listed)}"


def value_of(name: str, text: str) -> Any:
    """The value of a field from the text of a flag; "none" is None where that may be.

    Raises:
        ExperimentError: the text is no such number.
    """
    kinds = _kinds(FIELDS[name])
    if text == NONE and type(None) in kinds:
        return None
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                if str not in kinds:
                    _refuse_text(name, text, kind)
    return text


def values(name: str) -> str:
    """What a flag of a field takes, in short: "gpt|llama|...", "N" or "X", "none" where it may be.

    The names are those that the experiment's own rule would list.
    """
    kinds = _kinds(FIELDS[name])
    taken = ["N"] if int in kinds else ["X"] if float in kinds else []
    if str in kinds:
        try:
            Experiment().but(**{name: "?"})
            taken.append("NAME")
        except NotOneOf as error:
            taken += error.allowed
        except ExperimentError:
            taken.append("NAME")
    return "|".join([*taken, *([NONE] if type(None) in kinds else [])])


def is_flag(name: str) -> bool:
    """Whether a field is true or false."""
    return FIELDS[name] is bool


def _kinds(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def _refuse_text(name: str, text: str, kind: type) -> NoReturn:
    needed = "a whole number" if kind is int else "a number"
    refuse(name, text, f"{needed} is needed")
