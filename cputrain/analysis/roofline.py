"""At which limit a part of a step is: products, memory, or dispatch.

The roofline (Williams, Waterman & Patterson 2009, CACM 52-4): work of F operations and B bytes
takes F / peak or B / bandwidth seconds at least, whichever is longer. A third limit is how fast
work is handed out: calls x the time of the smallest call.
"""

from __future__ import annotations

from dataclasses import dataclass

EXPLAINS = 0.5
"""Share of a part's time from which a limit is what it is at."""


@dataclass(frozen=True)
class Limits:
    """Least seconds of a part by each limit; None where that is not known.

    Attributes:
        seconds: that it took.
        peak_s: its operations at the measured peak of matrix products.
        bandwidth_s: its compulsory bytes at the measured memory bandwidth.
        dispatch_s: its calls at the time of the smallest call.
        fits_cache: whether its bytes fit into the machine's last caches, or may.
    """

    seconds: float
    peak_s: float | None
    bandwidth_s: float | None
    dispatch_s: float | None
    fits_cache: bool = True

    @property
    def limit(self) -> str:
        """ "products", "memory", "dispatch", or "none" where none explains half of the time.

        "cache" where the bytes came faster than memory gave them when that was measured, would fit
        into a cache, whose bandwidth is not measured, and nothing else explains half. Empty for a
        part without time.
        """
        return self._limit_and_share()[0]

    @property
    def share(self) -> float | None:
        """Share of the time that the limit explains, the largest where it is none."""
        return self._limit_and_share()[1]

    def _limit_and_share(self) -> tuple[str, float | None]:
        known = {"products": self.peak_s, "memory": self.bandwidth_s, "dispatch": self.dispatch_s}
        if not self.seconds:
            return "", None
        shares = {name: least / self.seconds for name, least in known.items() if least}
        beyond = self.fits_cache and shares.get("memory", 0.0) > 1.0
        in_cache = shares.pop("memory") if beyond else None
        if not shares:
            return ("none", None) if in_cache is None else ("cache", in_cache)
        name, share = max(shares.items(), key=lambda item: item[1])
        if share >= EXPLAINS:
            return name, share
        return ("none", share) if in_cache is None else ("cache", in_cache)
