"""A parser whose refusals are one line: what was wrong, what was perhaps meant, where help is.

Standard library only.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Collection, Iterable
from typing import NoReturn

from cputrain.wording import one_line

NEAR = 0.6
"""How alike a word has to be to be taken for another one, as difflib counts."""


class Parser(argparse.ArgumentParser):
    """Refuses in one line, without its usage, and with status 2."""

    def error(self, message: str) -> NoReturn:
        """End with what was wrong and with how to be told what there is."""
        refusal = one_line(message.removeprefix("argument "))
        end = "" if refusal.endswith("?") else ";"
        self.exit(2, f"{self.prog}: {refusal}{end} python3 {self.prog} --help has more\n")

    def options(self) -> list[str]:
        """Its long flags."""
        return [o for action in self._actions for o in action.option_strings if o[:2] == "--"]


def meant(word: str, known: Iterable[str]) -> str:
    """ "; did you mean --n-layer?"; nothing where no word that is known is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=NEAR)
    return f"; did you mean {near[0]}?" if near else ""


def unknown_verb(word: str, verbs: Collection[str]) -> str:
    """What is said of a first word that is no verb: a suite's name begins with a capital letter."""
    if word[:1].isupper() and word.lower() not in verbs:
        return f"no verb {word!r}; a suite is measured by run --bench {word}"
    return f"no verb {word!r}" + (meant(word, verbs) or f"; there are {', '.join(verbs)}")


def unknown_words(words: list[str], parser: Parser, others: dict[str, Parser]) -> str:
    """What is said of words that a verb does not take.

    Args:
        words: as they were given.
        parser: the verb's parser.
        others: of the other verbs, by their names.
    """
    first = next((word for word in words if word.startswith("-")), words[0])
    flag = first.partition("=")[0]
    refusal = f"there is no {flag} here"
    if hint := meant(flag, parser.options()):
        return refusal + hint
    takers = [name for name, parser in others.items() if flag in parser.options()]
    return f"{refusal}; it is for {', '.join(takers)}" if takers else refusal
