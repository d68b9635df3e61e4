"""Published training runs as experiments, with what their sources say. Standard library only.

Configurations and figures are as others published them, on their hardware (`PublishedFigure`). What
a source leaves open is chosen here: as `Preset.chosen` says, and for all of them dropout 0,
erf-GELU, fp32, fused attention and the baseline's settings of AdamW.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cputrain.experiment import Experiment
from cputrain.experiment.published import PublishedFigure, wikitext_2, wikitext_103

HEAVY = {"steps": 1, "warm_up_steps": 2, "deadline_s": 600}
"""Budget of presets whose step takes seconds."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published run.

    Attributes:
        experiment: its configuration.
        stated: the parameter count that its source or its name gives; ours is
            `model.shapes.n_params`.
        figures: one for each machine of the source.
        chosen: what the source leaves open and had to be chosen.
    """

    experiment: Experiment
    stated: float | None = None
    figures: tuple[PublishedFigure, ...] = ()
    chosen: str = ""


def _mlm(seq_len: int) -> Experiment:
    sizes = {"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 8_000, "seq_len": seq_len}
    step: dict[str, Any] = {"batch_size": 1, "grad_accum": 4, "activation_checkpointing": True}
    step["micro_batches"] = 1 if seq_len > 256 else None  # the others take seconds more
    kind = {"architecture": "bert", "objective": "masked_node", "learning_rate": 1e-4}
    return Experiment().but(**sizes, **step, **kind, **HEAVY)


def _stream(workers: int, **fields: Any) -> Experiment:
    return Experiment().but(loader="stream", loader_workers=workers, **fields, **HEAVY)


def _forward() -> Experiment:
    sizes = {"n_layer": 2, "n_embd": 128, "n_head": 4, "vocab_size": 1_000, "seq_len": 256}
    budget = {"steps": 100, "warm_up_steps": 5}
    return Experiment().but(objective="forward", batch_size=4, **sizes, **budget)


def _paths(n_layer: int, n_embd: int) -> Experiment:
    data = {"dataset": "paths", "packing": "padded", "rows": None, "vocab_size": 45}
    step = {"seq_len": 64, "batch_size": 16, "lr_warmup_steps": 500}
    return Experiment().but(n_layer=n_layer, n_embd=n_embd, n_head=4, steps=5, **data, **step)


I5_1240P = "i5-1240P, 8 threads, 19 GB"
I5_1135G7 = "i5-1135G7, 8 threads"
MLM = (
    "tied head; learning rate 1e-4; half of a sequence are nodes, with relations made from the "
    "text, for its graph is not public"
)

PRESETS: dict[str, Preset] = {
    "mlm-80m": Preset(
        experiment=_mlm(512),
        stated=80e6,
        figures=(
            PublishedFigure(
                hardware=I5_1240P,
                step_s=(4.55, 4.55),
                rss_bytes=(6e9, 8e9),
                data_s=(10, 10),
                initialisation_s=(60, 60),
                how="20 steps in 91 s",
            ),
        ),
        chosen=MLM,
    ),
    "mlm-80m-short": Preset(
        experiment=_mlm(128),
        stated=80e6,
        figures=(
            PublishedFigure(
                hardware=I5_1240P,
                step_s=(4.55 / 4, 4.55 / 4),
                how="4x faster than mlm-80m",
                is_measured=False,
            ),
        ),
        chosen=MLM,
    ),
    "llm-25m": Preset(
        experiment=_stream(
            2,
            n_layer=4,
            n_embd=256,
            n_head=4,
            vocab_size=32_000,
            tied=False,
            seq_len=512,
            batch_size=2,
            grad_accum=8,
            micro_batches=2,
            learning_rate=8e-4,
        ),
        stated=25e6,
        figures=(
            wikitext_2("i5-8400", 12, 18, 8192),
            wikitext_2("i7-10700K, Ryzen 3700X", 8, 12, 8192),
            wikitext_2("Xeon E5-2680", 6, 10, 8192),
        ),
        chosen="a head of its own, nearer to the stated count than a tied one",
    ),
    "llm-117m": Preset(
        experiment=_stream(
            1,
            n_layer=12,
            n_embd=768,
            n_head=12,
            vocab_size=50_000,
            seq_len=1024,
            batch_size=1,
            grad_accum=16,
            micro_batches=1,
            learning_rate=2e-4,
        ),
        stated=117e6,
        figures=(
            wikitext_103("i7-10700K", 3, 5, 16384),
            wikitext_103("Ryzen 3900X", 2, 3, 16384),
            wikitext_103("Xeon 6248", 1, 2, 16384),
        ),
        chosen="tied head",
    ),
    "forward-tiny": Preset(
        experiment=_forward(),
        chosen="tied head; a step is a forward pass; its 100 timed passes are taken twice at most",
    ),
    "path-2.5m": Preset(
        experiment=_paths(3, 256),
        stated=2.5e6,
        figures=(
            PublishedFigure(
                hardware="laptop i7",
                step_s=(13 * 60 / 250, 15 * 60 / 250),
                how="13 to 15 min per epoch of 250 batches",
            ),
        ),
        chosen="tied head; learning rate 3e-4 after the warm-up; made walks of 10 to 20 nodes",
    ),
    "path-600k": Preset(experiment=_paths(4, 128), stated=600e3, chosen="as path-2.5m"),
    "wiki-24m": Preset(
        experiment=_stream(
            4,
            loader_queue=32,
            n_layer=6,
            n_embd=512,
            n_head=8,
            vocab_size=16_000,
            seq_len=256,
            batch_size=16,
        ),
        stated=24e6,
        figures=(
            PublishedFigure(
                hardware=I5_1135G7,
                step_s=(75.0, 75.0),
                tokens_per_s=(54, 56),
                gflop_per_s=2.1,
                peak_share=0.014,
                rss_bytes=(850e6, 850e6),
            ),
        ),
        chosen="tied head; AdamW 3e-4; no buffer of 50 000 sequences before the queue",
    ),
    "wiki-24m-fast": Preset(
        experiment=_stream(
            4,
            loader_queue=32,
            n_layer=3,
            n_embd=256,
            n_head=4,
            vocab_size=16_000,
            seq_len=128,
            batch_size=32,
        ),
        figures=(
            PublishedFigure(
                hardware=I5_1135G7,
                step_s=(4096 / 500, 4096 / 500),
                tokens_per_s=(500, 500),
                how="about 500 tokens/s",
                is_measured=False,
            ),
        ),
        chosen="as wiki-24m",
    ),
}
"""By name; the values of the suite `Preset`."""
