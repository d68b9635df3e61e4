"""Which machines a comparison is of, by the table beside its page."""

from __future__ import annotations

import functools
from pathlib import Path


def machines(folder: Path, stem: str) -> tuple[str, ...]:
    """The machines of a comparison, the first one first; none where its table cannot be read.

    Args:
        folder: of comparisons.
        stem: name of its files, without their endings.
    """
    path = folder / f"{stem}.parquet"
    try:
        return _machines(path, path.stat().st_mtime_ns)
    except OSError:
        return ()


@functools.lru_cache(maxsize=1000)
def _machines(path: Path, _changed_ns: int) -> tuple[str, ...]:
    """Of a table as it was when it last changed: an export asks for each machine of a project."""
    # Only here: `predict` looks for comparisons, and there are none most often.
    import polars as pl

    try:
        table = pl.read_parquet(path, columns=["machine", "beside"], glob=False)
    except pl.exceptions.PolarsError:
        return ()
    return tuple(dict.fromkeys([*table["machine"], *table["beside"]]))
