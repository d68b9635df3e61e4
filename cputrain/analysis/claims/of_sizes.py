"""The claims about sizes: of the model, the sequence, the batch; and about its data."""

from __future__ import annotations

import math

from cputrain.analysis.claims.claim import Claim
from cputrain.analysis.claims.combined import AllOf, WhichOf
from cputrain.analysis.claims.made import (
    BASE,
    FEW,
    LIGHT,
    LONG,
    MLM,
    MLM_AS_GPT,
    PATH,
    SAME,
    WIKI,
    WIKI_FAST,
    against,
    pair,
)
from cputrain.analysis.claims.quantities import Speedup, StepPart, Time
from cputrain.analysis.claims.recorded import Preparing, Seconds, WaitingChecks
from cputrain.analysis.claims.rules import Within, near

FACTOR_WITHIN = 1.25
"""A stated factor is met within this one."""

SHORT = pair("mlm-80m", MLM, "sequence 128", FEW, seq_len=128)
SHALLOW = pair("mlm-80m", MLM, "8 layers", FEW, n_layer=8)
NARROW = pair("mlm-80m", MLM, "width 512", FEW, n_embd=512, n_head=8)
WINDOWED = pair(
    "mlm-80m as gpt", MLM_AS_GPT, "local attention of 64", FEW, attention="local", window=64
)
BATCH_32 = pair(
    "wiki-24m-fast in batches of 16", WIKI_FAST.but(batch_size=16), "batch 32", FEW, batch_size=32
)
ACCUMULATED = pair(
    "batch 8", BASE.but(batch_size=8), "8 times batch 1", LONG, batch_size=1, grad_accum=8
)
PATH_32 = pair("path-2.5m", PATH, "batch 32", LONG, batch_size=32)
PATH_64 = pair("path-2.5m", PATH, "batch 64", LONG, batch_size=64)
PATH_SHORT = pair("path-2.5m at 128", PATH.but(seq_len=128), "sequence 64", LONG, seq_len=64)
EVALUATED = pair("path-2.5m", PATH, "evaluation", LIGHT, objective="forward")
FAST = against("wiki-24m", WIKI, "wiki-24m-fast", WIKI_FAST, LONG)
LOADED = {"vocab_size": 8000, "loader": "stream"}
TWO_LOADERS = pair("0 loader workers", BASE.but(**LOADED), "2 loader workers", loader_workers=2)

EVALUATION_BATCHES = math.ceil(1100 / 16)
"""A tenth of path-2.5m's 11 000 sequences, in its batches of 16: the source does not say more."""
CHEAP = 0.05
"""Share of the time of an epoch that is cheap beside it."""

CLAIMS = (
    Claim(
        "C1",
        "mlm-80m: a sequence of 128 instead of 512",
        "4x faster",
        (SHORT,),
        near(Speedup(SHORT), 4, FACTOR_WITHIN),
    ),
    Claim(
        "C2",
        "mlm-80m: 8 layers instead of 12",
        "1.5x faster",
        (SHALLOW,),
        near(Speedup(SHALLOW), 1.5, FACTOR_WITHIN),
    ),
    Claim(
        "C3",
        "mlm-80m: width 512 instead of 768",
        "2x faster",
        (NARROW,),
        near(Speedup(NARROW), 2, FACTOR_WITHIN),
        notes=("8 heads instead of 12, so that each keeps its 64 channels",),
    ),
    Claim(
        "C5",
        "a larger batch (16 to 32) is worth its while",
        '"minimal" (one source), 1.5-2x (another)',
        (BATCH_32, PATH_32),
        WhichOf(
            (
                ("minimal", Within(Speedup(BATCH_32, by_tokens=True), 1 / 1.15, 1.15)),
                ("1.5-2x", Within(Speedup(BATCH_32, by_tokens=True), 1.35, 2.2)),
            )
        ),
        notes=("by tokens/s, as a larger batch has more of them",),
    ),
    Claim(
        "C6",
        "gradient accumulation instead of one large batch",
        "~20 % faster",
        (ACCUMULATED,),
        near(Speedup(ACCUMULATED), 1.2, 1.1),
    ),
    Claim(
        "C10",
        "how many loader workers are best",
        "0 (one source), 2 (another)",
        (TWO_LOADERS,),
        WhichOf(
            (
                ("0 workers", Within(Time(TWO_LOADERS), low=SAME)),
                ("2 workers", Within(Time(TWO_LOADERS), high=1 / SAME)),
            )
        ),
    ),
    Claim(
        "C11",
        "loading data takes less than 5 % of a step",
        "< 5 %",
        (FAST,),
        Within(WaitingChecks(FAST), high=0.05),
        notes=("what the loader's threads take from the threads that train is not in it",),
    ),
    Claim(
        "C12",
        "6 layers of 512, batch 16, sequence 256 to 3 layers of 256, batch 32, sequence 128",
        "~10x tokens/s",
        (FAST,),
        near(Speedup(FAST, by_tokens=True), 10, FACTOR_WITHIN),
    ),
    Claim(
        "C13",
        "a small batch (16, not 32 to 64) is faster per batch",
        "faster",
        (PATH_32, PATH_64),
        AllOf((Within(Time(PATH_32), low=SAME), Within(Time(PATH_64), low=SAME))),
        notes=("a batch of 16 has fewer tokens, too: per token it need not be faster",),
    ),
    Claim(
        "C14",
        "path-2.5m: a sequence of 64 instead of 128",
        "faster",
        (PATH_SHORT,),
        Within(Time(PATH_SHORT), high=1 / SAME),
    ),
    Claim(
        "C16",
        "attention is the bottleneck at sequence 512 (O(n^2))",
        "bottleneck",
        (WINDOWED,),
        Within(
            StepPart(
                WINDOWED, "share of a step that scores, softmax and weighted sums take", 64 / 512
            ),
            low=0.5,
        ),
        notes=(
            "by how much shorter the step is with windows of 64, which leave an eighth of that "
            "work; causal attention, as mlm-80m's own cannot be cut to windows",
        ),
    ),
    Claim(
        "C25",
        "evaluation takes less than 1 s, and tokenization is cheap beside training",
        "cheap",
        (EVALUATED, FAST),
        AllOf(
            (
                Within(
                    Seconds(
                        EVALUATED,
                        "evaluating a tenth of path-2.5m's sequences",
                        EVALUATION_BATCHES,
                    ),
                    high=1.0,
                ),
                Within(Preparing(FAST), high=CHEAP),
            )
        ),
        notes=("cheap is below 5 % of the time of one epoch",),
    ),
)
