"""What asv's pages say of a suite: its name and its description in the place of asv's method's.

asv reads them off the method, which all suites inherit. So each suite has a copy of its own.
"""

from __future__ import annotations

import inspect
from types import FunctionType

UNIT = "Seconds of one training step, by the worker's clock."


def give(suite: type, method: str) -> None:
    """Give `suite` its own `method`, with the words that asv shows of it.

    asv shows `pretty_name` in its grid, lists and trees, and `pretty_source` beside the pointer. It
    puts the class in front of the latter if the method has a dotted name.
    """
    shared = getattr(suite, method)
    own = FunctionType(
        shared.__code__,
        shared.__globals__,
        shared.__name__,
        shared.__defaults__,
        shared.__closure__,
    )
    own.__dict__ |= {
        "pretty_name": suite.__name__,
        "pretty_source": f"{inspect.getdoc(suite) or suite.__name__}\n{UNIT}",
    }
    own.__doc__, own.__module__, own.__qualname__ = shared.__doc__, shared.__module__, method
    setattr(suite, method, own)
