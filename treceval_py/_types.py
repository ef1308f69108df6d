"""Type aliases for arrays and for input data. Shape letters: Q queries, H hits, M measures, D documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray: TypeAlias = npt.NDArray[np.float64]
    FloatArray32: TypeAlias = npt.NDArray[np.float32]
    IntArray: TypeAlias = npt.NDArray[np.int64]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
    ByteArray: TypeAlias = npt.NDArray[np.uint8]
    AnyArray: TypeAlias = npt.NDArray[Any]

    class Array(Protocol):
        """An array of any library."""

        @property
        def shape(self) -> Any: ...

        @property
        def dtype(self) -> Any: ...
else:  # importing numpy.typing would slow down every start
    FloatArray = FloatArray32 = IntArray = BoolArray = ByteArray = AnyArray = Array = np.ndarray

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO"
"""A readable source: a path, ``"-"`` for standard input, or an open binary file."""


class Frame(Protocol):
    """A data frame of pandas, polars, pyarrow or DuckDB."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


Data: TypeAlias = "Mapping[Any, Any] | Frame | Array | Iterable[Any]"
"""Judgments or a run in memory: a dictionary, frame, arrays or rows. `data.objects` documents the accepted forms."""
