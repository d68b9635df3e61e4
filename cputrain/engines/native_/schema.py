"""What the native engine shows of a step. Standard library and msgspec."""

from __future__ import annotations

from cputrain.record.evidence import Evidence
from cputrain.record.part import Count


class NativeEvidence(Evidence, frozen=True, kw_only=True):
    """One forward and backward pass.

    Attributes:
        products_by_library: "own" for the engine's own code; libraries without one are left out.
        library_calls: calls of the library that multiplies; several for a product that the
            threads share out.
    """

    products_by_library: dict[str, Count]
    library_calls: Count
