"""Coefficients of a sum of terms, from measured ratios: relative errors, none of them negative.

Of an observation i with terms x_i, terms b_i of its reference (or none, where it is absolute) and
a measured ratio r_i:

    residual_i = (ln(x_i c) - ln(b_i c) - ln r_i) / sd_i

The sum of their soft-L1 losses (so that a cell that something else held up pulls little) is least,
with each c_k = least_k + exp(t_k): no coefficient is negative, or faster than the measured peak.
What the cells do not tell stays near what is expected: (t_k - ln(prior_k - least_k)) / SPREAD is a
residual too, the ridge. Of some terms a multiple of another one's coefficient is expected:
(t_k - t_j - ln multiple) / SPREAD.

A part of the step that was timed by itself is an observation too: its terms are those of the part,
its reference's are those of the whole step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

SPREAD = 1.0
"""Natural logarithms that a coefficient may lie off what is expected, as one standard deviation."""
FLOOR = 0.05
"""Standard deviation of a logarithm that no sum of terms explains, beside what pairs tell."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Observations as arrays.

    Attributes:
        terms: [observations, terms].
        reference: the same of what each was measured beside; None where all are absolute.
        logs: logarithms of what was measured.
        sds: their standard deviations.
        shares: of the same steps, what a part of each takes of it; of those where it was not
            timed the logarithm is NaN. None where of none.
    """

    terms: Array
    reference: Array | None
    logs: Array
    sds: Array
    shares: Rows | None = None

    def only(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """Some of them, with their shares; `kept` is a mask."""
        reference = None if self.reference is None else self.reference[kept]
        shares = None if self.shares is None else self.shares.only(kept)
        return Rows(self.terms[kept], reference, self.logs[kept], self.sds[kept], shares)

    def timed(self) -> list[Rows]:
        """What coefficients are fitted to: these, and those shares that are known."""
        if self.shares is None:
            return [self]
        return [self, self.shares.only(np.isfinite(self.shares.logs))]

    def errors(self, coefficients: Array) -> Array:
        """Logarithm of predicted over measured, of each."""
        return self.predicted(coefficients) - self.logs

    def predicted(self, coefficients: Array) -> Array:
        """Logarithms of what is predicted."""
        logs: Array = np.log(self.terms @ coefficients)
        if self.reference is not None:
            logs = logs - np.log(self.reference @ coefficients)
        return logs

    def relative(self, coefficients: Array) -> Array:
        """Slopes of what is predicted, [observations, terms]: by a coefficient of each term."""
        slopes: Array = self.terms / (self.terms @ coefficients)[:, None]
        if self.reference is not None:
            slopes = slopes - self.reference / (self.reference @ coefficients)[:, None]
        return slopes


@dataclass(frozen=True)
class Anchor:
    """What fixes the scale, which ratios leave open: the reference's terms and its seconds."""

    terms: Array
    seconds: float
    sd: float = 0.02


@dataclass(frozen=True)
class Expected:
    """What is expected of coefficients before anything is measured.

    Attributes:
        prior: of each term, above `least`, or the multiple of another one's coefficient.
        least: that each cannot be below; 0 of those that are multiples, and of what they are of.
        over: by a term's place, the place of the one that its prior is a multiple of.
    """

    prior: Sequence[float]
    least: Sequence[float]
    over: Mapping[int, int] = field(default_factory=dict)

    @property
    def middle(self) -> Array:
        """Logarithms that `ridge` of the terms' logarithms is to be near."""
        logs: Array = np.log(np.asarray(self.prior) - np.asarray(self.least))
        return logs

    @property
    def ridge(self) -> Array:
        """[terms, terms]: a row takes a term's logarithm, less that of what it is a multiple of."""
        made = np.eye(len(self.prior))
        for term, other in self.over.items():
            made[term, other] -= 1
        return made

    @property
    def start(self) -> Array:
        """Logarithms of coefficients that are as expected, each less its least."""
        return np.asarray(np.linalg.solve(self.ridge, self.middle), dtype=np.float64)


def fit(rows: Rows, expected: Expected, anchor: Anchor | None) -> Array:
    """The coefficients.

    Args:
        rows: at least one.
        expected: of the same terms.
        anchor: None where observations are absolute.
    """
    low = np.asarray(expected.least)
    middle, ridge = expected.middle, expected.ridge
    fitted_to = [(each, 1 / np.hypot(each.sds, FLOOR)) for each in rows.timed()]

    def residuals(t: Array) -> Array:
        c = low + np.exp(t)
        parts = [weights * each.errors(c) for each, weights in fitted_to]
        parts.append((ridge @ t - middle) / SPREAD)
        if anchor is not None:
            parts.append((np.log(anchor.terms @ c) - np.log([anchor.seconds])) / anchor.sd)
        return np.concatenate(parts)

    def slopes(t: Array) -> Array:
        c, by_t = low + np.exp(t), np.exp(t)
        parts = [weights[:, None] * each.relative(c) * by_t for each, weights in fitted_to]
        parts.append(ridge / SPREAD)
        if anchor is not None:
            parts.append((anchor.terms / (anchor.terms @ c) * by_t / anchor.sd)[None, :])
        return np.concatenate(parts)

    fitted: Array = least_squares(residuals, expected.start, jac=slopes, loss="soft_l1").x
    return low + np.exp(fitted)
