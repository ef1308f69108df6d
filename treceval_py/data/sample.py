"""How judged documents were drawn from the pool, beside their judgments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """How each document of judgments was drawn: from strata, or with a probability of its own.

    Attributes
    ----------
    strata : (D,) array of str or None
        The stratum of each document. Of those in a stratum, some were judged; the others have a negative judgment.
    probabilities : (D,) float array or None
        The probability with which each document was judged; NaN if it is not known (``NA``).
    methods : (D,) int array or None
        How the documents with probabilities were selected: 1 and 4 at random, 0 by an algorithm, 2 by both.
    """

    strata: AnyArray | None = None
    probabilities: FloatArray | None = None
    methods: IntArray | None = None

    @property
    def by(self) -> str:
        """What decides how a document was drawn: ``strata`` or ``probabilities``."""
        return "probabilities" if self.strata is None else "strata"

    @property
    def words(self) -> list[str]:
        """How each document was drawn, as files have it: its stratum, or its method and probability."""
        if self.strata is not None:
            return list(map(str, self.strata.tolist()))
        methods, known = np.asarray(self.methods).tolist(), np.asarray(self.probabilities).tolist()
        return [f"{method} {'NA' if math.isnan(p) else p}" for method, p in zip(methods, known, strict=True)]

    @classmethod
    def joined(cls, parts: Sequence[Sample]) -> Sample:
        """Return the samples of consecutive rows as one."""
        columns = zip(*map(astuple, parts), strict=True)
        return cls(*(None if column[0] is None else np.concatenate(column) for column in columns))

    def __getitem__(self, rows: IntArray | slice) -> Sample:
        """Return the sample of some rows."""
        return Sample(*(None if column is None else column[rows] for column in astuple(self)))
