"""Matrix products of the NumPy engine: np.matmul, or a library of one's own choice.

With runtime.matmul_backend other than "default" every product of the engine goes through the
one library: of the linear layers, the head and attention, forward and backward. So it shares
the CPUs with no other library's threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from cputrain.engines import EngineError
from cputrain.engines.blas import KINDS, Library
from cputrain.experiment import Experiment
from cputrain.knobs.matmul import VARIABLE

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    Multiply = Callable[..., ndarray]


class Products:
    """np.matmul of float32 arrays, by a library. Nothing is copied.

    Args:
        library: multiplies.
    """

    def __init__(self, library: Library) -> None:
        self.library = library

    def __call__(self, a: ndarray, b: ndarray, out: ndarray | None = None) -> ndarray:
        """a [..., m, k] @ b [..., k, n], into `out` [..., m, n] if there is one; as np.matmul.

        The last two axes of a and b have to lie in rows or, transposed, in columns, of
        neighbouring elements; those of `out` in rows.

        Raises:
            EngineError: an array that the library could not take as it is.
        """
        (m, k), (other, n) = a.shape[-2:], b.shape[-2:]
        leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*leading, m, n)
        if out is None:
            out = np.empty(shape, np.float32)
        if k != other or out.shape != shape:
            raise EngineError(f"product of {a.shape} and {b.shape} into {out.shape}")
        if not out.size or not k:
            raise EngineError(f"product of {a.shape} and {b.shape}: an empty matrix")
        if np.may_share_memory(a, out) or np.may_share_memory(b, out):
            raise EngineError("a product cannot be written over its factors")
        kinds = [_layout(array) for array in (a, b, out)]
        if kinds[2][0] or not out.flags.writeable:
            raise EngineError(f"a product cannot be written to strides of {out.strides}")
        starts = [array.__array_interface__["data"][0] for array in (a, b, out)]
        jumps = [_jumps(array, len(leading)) for array in (a, b, out)]
        for at in np.ndindex(leading):
            places = [
                start + sum(i * jump for i, jump in zip(at, each, strict=True))
                for start, each in zip(starts, jumps, strict=True)
            ]
            self.library.sgemm(
                (m, n, k),
                (places[0], *kinds[0]),
                (places[1], *kinds[1]),
                (places[2], kinds[2][1]),
            )
        return out


def _layout(array: ndarray) -> tuple[bool, int]:
    """Whether the last two axes lie transposed, and the elements between their rows in memory.

    An axis of one element may have any stride.
    """
    (rows, columns), strides = array.shape[-2:], array.strides[-2:]
    if array.dtype != np.float32:
        raise EngineError(f"a product of {array.dtype}: only float32 goes through a library")
    between, inside = (stride // array.itemsize for stride in strides)
    if not any(stride % array.itemsize for stride in array.strides):
        if (inside == 1 or columns == 1) and (between >= columns or rows == 1):
            return False, between if rows > 1 else columns
        if (between == 1 or rows == 1) and (inside >= rows or columns == 1):
            return True, inside if columns > 1 else rows
    raise EngineError(
        f"an array of shape {array.shape} and strides {array.strides} lies neither in rows nor "
        "in columns: a library would need a copy of it"
    )


def _jumps(array: ndarray, axes: int) -> tuple[int, ...]:
    """Bytes from one matrix to the next along each leading axis; 0 where it is repeated."""
    own = tuple(
        0 if size == 1 else stride
        for size, stride in zip(array.shape[:-2], array.strides[:-2], strict=True)
    )
    return (0,) * (axes - len(own)) + own


def of(experiment: Experiment, dtype: DTypeLike) -> Multiply:
    """What multiplies: np.matmul, or `Products` where runtime.matmul_backend names a library.

    Raises:
        EngineError: the library's path was not given, or it cannot be used.
    """
    backend = experiment.runtime.matmul_backend
    if backend == "default":
        return np.matmul
    if np.dtype(dtype) != np.float32:
        raise EngineError(f"matmul_backend = {backend!r}: fp32 only, not {np.dtype(dtype)}")
    if VARIABLE not in os.environ:
        raise EngineError(f"matmul_backend = {backend!r}: {VARIABLE} does not say where it is")
    return Products(KINDS[backend](os.environ[VARIABLE]))


def described(multiply: Multiply, pools: list[dict[str, Any]]) -> dict[str, Any]:
    """The library that multiplies: its name, version, path, threads and how they are made.

    Args:
        multiply: of `of`.
        pools: of threadpoolctl.threadpool_info.
    """
    if not isinstance(multiply, Products):
        built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        matching = [pool for pool in pools if pool["user_api"] == "blas"]
        blas = {"name": built.get("name"), "version": built.get("version")}
        path = matching[0]["filepath"] if len(matching) == 1 else None
        return blas | {"path": path, **_threads(matching)}
    library = multiply.library
    # oneDNN has no threads of its own: OpenMP's are the ones that it works with.
    kind = "openmp" if library.name == "onednn" else "blas"
    matching = [pool for pool in pools if pool["user_api"] == kind]
    if kind == "blas":
        matching = [pool for pool in matching if os.path.realpath(pool["filepath"]) == library.path]
    about = {"name": library.name, "version": library.version(), "path": library.path}
    return about | _threads(matching)


def _threads(pools: list[dict[str, Any]]) -> dict[str, Any]:
    """The thread count of some pools, and what makes the threads; None where they differ."""
    counts = {pool["num_threads"] for pool in pools}
    layers = {pool.get("threading_layer", pool["internal_api"]) for pool in pools}
    return {
        "threads": counts.pop() if len(counts) == 1 else None,
        "threading": layers.pop() if len(layers) == 1 else None,
    }
