"""What the native engine's arrays take and which blocks of attention it skips; `native_/src`.

The library tells these constants too, and the engine refuses to start where they differ.
Standard library only.
"""

from __future__ import annotations

from cputrain.experiment import Experiment

QUERIES = 64
"""Rows of attention's blocks of queries (attention.h)."""
KEYS = 256
"""Keys in a block of attention's backward pass (attention.h)."""
PANEL = 32
"""Columns of a packed factor with AVX-512; fewer without (kernel.h)."""
PACKED = 1 << 20
"""Numbers of a factor that are packed at a time, about (matmul.h)."""
PAGE = 1024
"""Numbers of a page: those that nobody touches take no memory, unless pages are huge."""


def pairs(length: int) -> int:
    """(query, key) pairs of one head: each block of queries meets the keys up to its end."""
    return sum(queries * end for queries, end in blocks(length))


def activation_numbers(experiment: Experiment) -> int:
    """Numbers in the one allocation that memory.c makes, as far as they are touched.

    A huge page is longer than the rest of a row behind the mask: where the experiment asks for them
    all of attention's weights count. With huge_pages = "default" that is the machine's to say, and
    they count by small pages: too few on a machine that gives huge pages unasked.
    """
    model, training = experiment.model, experiment.training
    rows, width, hidden = training.batch_size * training.seq_len, model.n_embd, model.hidden
    inner = model.n_head * model.d_head
    heads, length = training.batch_size * model.n_head, training.seq_len
    page = length if experiment.system.huge_pages in ("madvise", "always") else PAGE
    weights = sum(queries * min(length, _up(end, page)) for queries, end in blocks(length))
    # Norms' results and what they leave; q, k, v and output; slopes and what is activated.
    block = rows * (4 * width + 4 * inner + 2 * hidden) + heads * weights
    head = max(_up(length, PANEL) * model.d_head, _up(model.d_head, PANEL) * length)
    used = rows * (5 * width + model.vocab_size + hidden + 4 * inner) + 4 * heads * head
    return model.n_layer * block + used + _packed(experiment)


def _packed(experiment: Experiment) -> int:
    """The largest factor [n, k] of a linear layer's products, or the part packed at a time."""
    model, training = experiment.model, experiment.training
    inner, rows = model.n_head * model.d_head, training.batch_size * training.seq_len
    most = 0
    for out in (3 * inner, inner, model.hidden, model.vocab_size):
        width = model.n_embd
        for n, k in ((out, width), (width, out), (width, rows), (out, rows)):
            panels = max(1, min(_up(n, PANEL), PACKED // k // PANEL * PANEL) // PANEL)
            most = max(most, panels * PANEL * k)
    return most


def blocks(length: int) -> list[tuple[int, int]]:
    """Of each block of a sequence: its queries, and the keys up to its end."""
    starts = range(0, length, QUERIES)
    return [(min(QUERIES, length - start), min(start + QUERIES, length)) for start in starts]


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
