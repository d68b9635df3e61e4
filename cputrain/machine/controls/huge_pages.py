"""The mode of huge pages, the simplest control."""

from __future__ import annotations

import re

from cputrain.machine.controls.control import Control

ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"


class HugePageMode(Control):
    """transparent_hugepage/enabled."""

    name = "huge_pages"
    label = "huge page mode"
    explanation = "Whether the kernel backs memory with huge pages: always, where asked, or never."
    per_cpu = False
    pattern = ENABLED

    def names(self) -> list[str]:
        return [ENABLED]

    def now(self, name: str) -> str | None:
        """The word in brackets, as the kernel marks the one that is set."""
        text = super().now(name)
        marked = re.search(r"\[(\w+)\]", text or "")
        return marked[1] if marked else text

    def why_not(self, value: str) -> str | None:
        if self.now(ENABLED) is None:
            return "this kernel has no transparent huge pages"
        return None
