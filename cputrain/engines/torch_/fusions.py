"""What inductor's scheduler puts together, counted as it compiles."""

from __future__ import annotations

from typing import Any

from torch._inductor import custom_graph_pass

# Releases before 2.13 have no class for it, and take anything that can be called.
Base: Any = getattr(custom_graph_pass, "CustomSchedulerPass", object)


class Fusions(Base):  # type: ignore[misc]
    """Counts what inductor's scheduler puts together; changes nothing.

    Attributes:
        operations: loops and calls before.
        units: what they were put together into.
    """

    def __init__(self) -> None:
        self.operations = self.units = 0

    def __call__(self, nodes: list[Any]) -> list[Any]:
        """Called by inductor after fusion, for each graph that it does not find in its cache."""
        self.operations += sum(len(node.get_nodes()) for node in nodes)
        self.units += len(nodes)
        return nodes

    def uuid(self) -> str:
        """The code is the same with this and without: it may come from the cache."""
        return "cputrain: counts alone"
