"""What JAX shows of its compiled step, as checks read it and records keep it.

Standard library and msgspec. It is made in `jax_.evidence.look`.
"""

from __future__ import annotations

from msgspec import field

from cputrain.record.evidence import Evidence
from cputrain.record.part import Count, Part


class Program(Part, frozen=True, kw_only=True):
    """A jitted function.

    Attributes:
        name: of the function: "step"; in records of before 29 November 2026 "accumulate" where
            micro-batches were timed one by one.
        compiled: how often it was compiled; a hit counts too.
        hits, misses: of JAX's cache of compiled code; both 0 where no cache is used.
    """

    name: str
    compiled: Count
    hits: Count
    misses: Count


class Followed(Part, frozen=True, kw_only=True):
    """Numbers of the weights, and those of them that an update moved by its formula.

    Attributes:
        looked: numbers that were looked at.
        moments: whose second moment is that of the first one's gradient; None where there is one.
        weights: that are where the formula puts them.
    """

    looked: Count
    moments: Count | None
    weights: Count


class JaxEvidence(Evidence, frozen=True, kw_only=True):
    """One run of the compiled step, read from the program that XLA made of it.

    Attributes:
        ops: instructions that run, by their HLO names; in a loop's body, once. Records do not
            keep it.
        products_by_library: matrix products (`hlo_products.Product.library`); in JSON "products".
        loops: instructions of which XLA writes the code.
        loops_of_several: those of them that do more than one operation.
        calls_of_several: the same of what libraries execute.
        products_by_numbers: matrix products by the types of the numbers that are multiplied
            (`hlo_products.Product.numbers`); in JSON "numbers".
        fused_attention: instructions that come from jax.nn.dot_product_attention; some products
            lose their paths, so they do not tell how many calls there are.
        computed_again: products that jax.checkpoint computes again.
        random: operations of JAX's generator of random numbers.
        donated: numbers that are written over the step's inputs.
        not_donated: shapes of results that take new memory, without single numbers.
        program: the compiled function.
        target: the vector instructions that XLA's compiler was allowed; empty where it does not
            say.
        operations: of all matrix products of the step, its loops' as often as they run. None, as
            in what follows, in records of before, and where the program's text does not say.
        side_by_side: how many matrices its products multiply at once, each number above 1 once.
        by_hand: instructions that come from `jax_.attention.manual`.
        functions: of activations (`hlo_work.functions`).
        drawn: random numbers that the step draws for dropout.
        followed: what a step on copies did to the weights; None where none was run, before the
            proof, with dropout and with SGD.
    """

    products_by_library: dict[str, Count] = field(name="products")
    loops: Count
    loops_of_several: Count
    calls_of_several: Count
    products_by_numbers: dict[str, Count] = field(name="numbers")
    fused_attention: Count
    computed_again: Count
    random: Count
    donated: Count
    not_donated: list[str]
    program: Program
    target: list[str]
    operations: Count | None = None
    side_by_side: list[Count] | None = None
    by_hand: Count | None = None
    functions: list[str] | None = None
    drawn: Count | None = None
    followed: Followed | None = None
