"""Names for array types. Shape letters: Q queries, H hits, M measures, D documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray: TypeAlias = npt.NDArray[np.float64]
    IntArray: TypeAlias = npt.NDArray[np.int64]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
    ByteArray: TypeAlias = npt.NDArray[np.uint8]
    AnyArray: TypeAlias = npt.NDArray[Any]
else:  # each start of the program would pay for numpy.typing
    FloatArray = IntArray = BoolArray = ByteArray = AnyArray = np.ndarray

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO"
"""What can be read: a path, ``"-"`` for standard input, or an open binary file."""
