"""Rules of rules: all of them, any of them, which of several sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cputrain.analysis.claims.evidence import ClaimEvidence
from cputrain.analysis.claims.rules import HOLDS, NOT, UNTOLD, Decision, Quantity, Rule


@dataclass(frozen=True)
class AllOf:
    """Every rule holds; one that does not is enough for the claim not to."""

    rules: tuple[Rule, ...]

    def decide(self, evidence: ClaimEvidence) -> Decision:
        """By the rules' decisions: the first that does not hold, else the first untold one."""
        made = [rule.decide(evidence) for rule in self.rules]
        for word in (NOT, UNTOLD):
            if some := [decision for decision in made if decision.word == word]:
                return replace(some[0], pairs=_pairs(some))
        return made[0]

    def words(self) -> str:
        """Joined by "and"."""
        return "; and ".join(rule.words() for rule in self.rules)

    def quantities(self) -> tuple[Quantity, ...]:
        """Those of all rules."""
        return _quantities(self.rules)


@dataclass(frozen=True)
class AnyOf:
    """One rule that holds is enough."""

    rules: tuple[Rule, ...]

    def decide(self, evidence: ClaimEvidence) -> Decision:
        """By the rules' decisions: the first that holds, else the first untold one."""
        made = [rule.decide(evidence) for rule in self.rules]
        for word in (HOLDS, UNTOLD):
            if some := [decision for decision in made if decision.word == word]:
                return replace(some[0], pairs=_pairs(some))
        return made[0]

    def words(self) -> str:
        """Joined by "or"."""
        return "; or ".join(rule.words() for rule in self.rules)

    def quantities(self) -> tuple[Quantity, ...]:
        """Those of all rules."""
        return _quantities(self.rules)


@dataclass(frozen=True)
class WhichOf:
    """Sources contradict each other: which of them holds.

    Attributes:
        sources: what each says, and its rule; no two can hold together.
    """

    sources: tuple[tuple[str, Rule], ...]

    def decide(self, evidence: ClaimEvidence) -> Decision:
        """Holds where one of them does, and names it; not where none does."""
        decisions = [(sentence, rule.decide(evidence)) for sentence, rule in self.sources]
        for sentence, decision in decisions:
            if decision.word == HOLDS:
                return replace(decision, reason=f'"{sentence}" holds')
        if untold := [decision for _, decision in decisions if decision.word == UNTOLD]:
            known = [d for d in untold if d.further_passes is not None]
            least = min(known, key=lambda d: d.further_passes or 0) if known else untold[0]
            return replace(least, pairs=_pairs(untold))
        return replace(decisions[0][1], reason="neither source is right here")

    def words(self) -> str:
        """Each source with its rule."""
        return "; ".join(f'"{sentence}": {rule.words()}' for sentence, rule in self.sources)

    def quantities(self) -> tuple[Quantity, ...]:
        """Those of all rules."""
        return _quantities([rule for _, rule in self.sources])


def _pairs(decisions: list[Decision]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for decision in decisions for name in decision.pairs))


def _quantities(rules: Sequence[Rule]) -> tuple[Quantity, ...]:
    every = [quantity for rule in rules for quantity in rule.quantities()]
    return tuple(dict.fromkeys(every))
