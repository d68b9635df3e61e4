"""What an engine says of itself without being imported: `engines/NAME_/spec.py` has its `SPEC`.

An engine is added by adding a folder. Standard library and msgspec only: no framework, no NumPy.
"""

from __future__ import annotations

import abc
import functools
import importlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse
from cputrain.experiment.rules import KERNELS
from cputrain.knobs.inforce import Check, busy_pool, busy_threads
from cputrain.knobs.knob import Knob
from cputrain.machine import reading
from cputrain.model import on_paper
from cputrain.model.on_paper import OnPaper
from cputrain.record.evidence import Evidence

Allowed = Mapping[str, tuple[object, ...]]
E = TypeVar("E", bound=Evidence)

FIRST = "torch"
"""Stands before all others, in lists and as what others are compared with."""
NAMES: tuple[str, ...] = tuple(
    sorted(
        (path.parent.name.removesuffix("_") for path in Path(__file__).parent.glob("*_/spec.py")),
        key=lambda name: (name != FIRST, name),
    )
)
"""Every engine: the folders beside this file that have a spec."""

OF_SOME = (
    *("cc", "cc_level", "cc_target", "lto", "omp_schedule", "auto_kernel_selection"),
    *("processes", "intra_op_threads", "inter_op_threads"),
    *("pinning", "wait_policy", "omp_runtime"),
)
"""Settings that only some engines have, by `Spec.has`; those without keep the default."""

BY_HAND: Allowed = {
    "architecture": ("gpt",),
    "dropout": (0.0,),
    "objective": ("causal",),
    "precision": ("fp32",),
    "optimizer": ("adamw",),
    "activation_checkpointing": (False,),
    "fine_tuning": ("scratch", "full"),
    "attention_backend": ("manual",),
    "compile": ("eager",),
    "loss_chunk": (None,),
}
"""What engines take whose backward pass is written by hand."""


class Spec(OnPaper, abc.ABC, Generic[E]):
    """An engine on paper. Subclasses say what it has; see also `model.on_paper`.

    Attributes:
        name: the engine's; its folder is `engines/NAME_`.
        defaults: its plain way, by field: what None means in an experiment.
        only: what a field may be, where that is not everything.
        has: the settings of `OF_SOME` that it has.
        variants: changes of its plain way that are worth a try beside it, by what they are called.
        is_raced: whether `tune` may choose it: it is made to train fast, and in the environment
            that the others are in.
        is_calibrated: whether the suite `Design` has cells of it, which tell what its steps cost.
        stack: the environment that it runs in (`run.stacks`).
        packages: of requirements.txt, those that it computes with.
        start_s: seconds until the first step, compilers aside.
        compile_s: seconds more, by runtime.compile.
        knobs: the settings of a worker's process that concern it, in the order they are asked.
        dispatching: threads beside those that compute, which hand out work.
        forks: whether its workers may be forked from a process that has imported it: it has a
            single thread then, and its import takes long enough for that to pay.
        runs_alone: whether a micro-batch run alone takes what it takes among the others of a step.
        evidence_type: what its `Engine.evidence` returns, and its workers' records keep.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, object]] = {
        "compile": "eager",
        "attention_backend": "sdpa",
        "optimizer_kernel": "fused",
    }
    only: ClassVar[Allowed] = {}
    has: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    is_raced: ClassVar[bool] = True
    is_calibrated: ClassVar[bool] = False
    stack: ClassVar[str] = "main"
    packages: ClassVar[tuple[str, ...]] = ()
    start_s: ClassVar[float]
    compile_s: ClassVar[Mapping[str, float]] = {}
    knobs: ClassVar[tuple[Knob, ...]]
    dispatching: ClassVar[int] = 0
    forks: ClassVar[bool] = False
    runs_alone: ClassVar[bool] = True
    evidence_type: type[E]

    def check(self, experiment: Experiment) -> None:
        """Raise ExperimentError for the first rule of this engine that `experiment` breaks."""
        settings, usual = experiment.flat(), Experiment().flat()
        engine = f"engine = {self.name!r}"
        for name, allowed in self.only.items():
            if settings[name] not in allowed:
                refuse(name, settings[name], f"{engine} has {joined(allowed)} only")
        for name in OF_SOME:
            if name not in self.has and settings[name] != usual[name]:
                others = tuple(other for other in NAMES if name in of(other).has)
                refuse(name, settings[name], f"{engine} has no such setting: {joined(others)} has")

    def why_not(self, experiment: Experiment, root: Path = reading.ROOT) -> str | None:
        """Why this machine cannot run `experiment`, where its environment can be here."""

    def missing(self, experiment: Experiment) -> Path | None:
        """What has to be built for `experiment` before it can run, and is not there yet.

        Raises:
            EngineError: it cannot be built here.
        """

    def build(self, experiment: Experiment) -> None:
        """Build what is `missing`. Raises EngineError."""

    @abc.abstractmethod
    def threads(self, expected: int, readings: dict[str, Any]) -> list[Check]:
        """The thread counts that its libraries report, of its `readings`."""

    @abc.abstractmethod
    def checks(self, experiment: Experiment, evidence: E) -> list[Check]:
        """What it really executed, by its own evidence, held against what was asked."""

    def busy(
        self,
        expected: int,
        before: dict[int, int],
        after: dict[int, int],
        wall_s: float,
        *,
        exactly: bool,
    ) -> Check:
        """The threads that computed during a sample of `wall_s` seconds.

        See `busy_threads` and, where there is a pool, `busy_pool`.
        """
        pool = self.pool()
        if pool is None:
            return busy_threads(expected, before, after, exactly=exactly)
        return busy_pool(expected, before, after, pool, wall_s, exactly=exactly)

    def pool(self) -> Collection[int] | None:
        """Threads of this process that work in turns with the one that starts them; by id."""
        return None


def joined(values: tuple[object, ...]) -> str:
    """Values as a rule names them."""
    return " or ".join(map(str, values))


@functools.cache
def of(name: str) -> Spec[Any]:
    """The engine's spec.

    Raises:
        ExperimentError: there is no such engine.
    """
    if name not in NAMES:
        refuse("engine", name, f"one of {', '.join(NAMES)} is needed")
    spec: Spec[Any] = importlib.import_module(f"cputrain.engines.{name}_.spec").SPEC
    on_paper.register(name, spec)
    return spec


def settle(experiment: Experiment) -> Experiment:
    """`experiment` with every None that means the engine's plain way filled in, and checked.

    Whole steps are timed where the time of some micro-batches would not tell it (`runs_alone`). A
    settled experiment comes back as it is.

    Raises:
        ExperimentError: no such engine, or a value that it, or the rules, cannot take.
    """
    spec, fields = of(experiment.runtime.engine), experiment.flat()
    plain = {name: value for name, value in spec.defaults.items() if fields[name] is None}
    if "optimizer_kernel" in plain and (kernels := KERNELS.get(str(fields["optimizer"]))):
        plain["optimizer_kernel"] = kernels[0]
    if fields["micro_batches"] is not None and not spec.runs_alone:
        plain["micro_batches"] = None
    settled = experiment.but(**plain) if plain else experiment
    spec.check(settled)
    return settled
