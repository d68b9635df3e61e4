"""The claims about settings: precision, threads, activation, allocator."""

from __future__ import annotations

import math

from cputrain.analysis.claims.claim import Claim, Demonstration
from cputrain.analysis.claims.combined import AllOf, AnyOf, WhichOf
from cputrain.analysis.claims.made import BASE, FEW, LARGER, LONG, MLM, SAME, pair
from cputrain.analysis.claims.quantities import AlteredTime, Speedup, Time
from cputrain.analysis.claims.rules import Within

MIXED = pair("baseline", BASE, "mixed precision", precision="mixed")
MIXED_LARGER = pair("larger", LARGER, "mixed precision", LONG, precision="mixed")
ONE_THREAD = pair("baseline", BASE, "1 intra-op thread", intra_op_threads=1)
FOUR_THREADS = pair("baseline", BASE, "4 intra-op threads", intra_op_threads=4)
INTER_OP = pair("1 inter-op thread", BASE.but(inter_op_threads=1), "2 inter-op threads",
                inter_op_threads=2)  # fmt: skip
RELU = pair("baseline", BASE, "relu", activation="relu")
RELU_SWIGLU = pair("swiglu", BASE.but(activation="swiglu"), "relu", activation="relu")
KEPT = pair("mlm-80m", MLM, "no activation checkpointing", FEW, activation_checkpointing=False)
PINNED = pair("baseline", BASE, "pinned threads", pinning="close")
LARGE_BLOCKS = BASE.but(vocab_size=32_000)
JEMALLOC = pair("vocabulary 32000", LARGE_BLOCKS, "jemalloc", LONG, allocator="jemalloc")
TCMALLOC = pair("vocabulary 32000", LARGE_BLOCKS, "tcmalloc", LONG, allocator="tcmalloc")

HIGH = Demonstration(
    name="matmul_precision_high",
    says='torch.set_float32_matmul_precision("high"), which no experiment of ours sets',
    experiment=LARGER,
    reference=LARGER,
    blocks=8,
    is_fault=False,
)

CLAIMS = (
    Claim(
        "C4",
        "mixed precision on a CPU",
        '"minimal" (one source), 2-3x (another)',
        (MIXED_LARGER, MIXED),
        WhichOf(
            (
                ("minimal", Within(Speedup(MIXED_LARGER), 1 / 1.15, 1.15)),
                ("2-3x", Within(Speedup(MIXED_LARGER), 1.8, 3.3)),
            )
        ),
        notes=("6 layers of 512, sequence 512: the small baseline has more beside its products",),
    ),
    Claim(
        "C7",
        "as many intra-op threads as physical cores, and 1 inter-op thread, are best",
        "best",
        (ONE_THREAD, FOUR_THREADS, INTER_OP),
        AllOf(
            tuple(
                Within(Time(other), low=1 / SAME) for other in (ONE_THREAD, FOUR_THREADS, INTER_OP)
            )
        ),
    ),
    Claim(
        "C8",
        "ReLU is faster than GELU and SwiGLU",
        "faster",
        (RELU, RELU_SWIGLU),
        AllOf((Within(Time(RELU), high=1 / SAME), Within(Time(RELU_SWIGLU), high=1 / SAME))),
        notes=("SwiGLU with two thirds of the hidden width, so with as many weights",),
    ),
    Claim(
        "C9",
        "activation checkpointing pays little on a CPU",
        "little",
        (KEPT,),
        Within(Time(KEPT), high=SAME),
        notes=(
            "it pays nothing in time where the step without it is no slower; what it saves in "
            "memory is estimated",
        ),
    ),
    Claim(
        "C15",
        'set_float32_matmul_precision("high") helps with AVX-512',
        "helps",
        (),
        Within(
            AlteredTime(HIGH.name, 'time with "high" over the default, larger shape'),
            high=1 / SAME,
        ),
        demonstration=HIGH,
    ),
    Claim(
        "C24",
        "thread pinning and a jemalloc or tcmalloc allocator help",
        "helps",
        (PINNED, JEMALLOC, TCMALLOC),
        AllOf(
            (
                Within(Time(PINNED), -math.inf, 1 / SAME),
                AnyOf(
                    (
                        Within(Time(TCMALLOC), high=1 / SAME),
                        Within(Time(JEMALLOC), high=1 / SAME),
                    )
                ),
            )
        ),
    ),
)
