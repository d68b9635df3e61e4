"""What the NumPy engine shows of a step. Standard library and msgspec."""

from __future__ import annotations

from cputrain.record.evidence import Evidence


class NumpyEvidence(Evidence, frozen=True, kw_only=True):
    """One forward and backward pass; products are counted where a library was chosen."""
