"""FlagEmbedding as an engine: FlagModel, FlagLLMModel and BGEM3FlagModel encode, and its rerankers score.

They run as they are. Only their tokenizer is another: it hands out the tokens that were made ahead, by the numbers of
texts, and pads them as arrays. What FlagEmbedding does not do is not added here: it makes batches smaller only before
the first one, and detects no pooling.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treceval_py._types import IntArray
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.engines import Loaded, Tokens
from treceval_py.retrieval.hub import import_flag_embedding
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pool import Advance


class _NoBatchError(Exception):
    """FlagEmbedding made its batches smaller until nothing was left."""


class _HandOut(Tokens):
    """What FlagEmbedding has in place of a tokenizer: texts are numbers of rows that are tokens already."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        # BGEM3FlagModel asks for them at every text.
        self.special_tokens_map = dict(tokenizer.special_tokens_map)
        self.convert_tokens_to_ids = tokenizer.convert_tokens_to_ids
        self._fits = (0, 0)

    def begin(self, rows: list[Any], advance: Advance) -> range:
        """Take rows, and return their numbers."""
        self._rows, self._advance, self._trying, self.size = rows, advance, True, 0
        return range(len(rows))

    def __call__(self, numbers: list[int], **_: Any) -> dict[str, list[Any]]:
        return {"input_ids": [self._rows[number] for number in numbers]}

    def prepare_for_model(self, pair: list[dict[str, IntArray]], _: Any, **__: Any) -> dict[str, IntArray]:
        """Return a pair, which FlagReranker would join of a query and a passage: here they are joined already."""
        return pair[0]

    def pad(self, inputs: dict[str, list[IntArray]], **_: Any) -> dict[str, Any]:
        """Return a batch as tensors. FlagEmbedding first tries how many texts fit: that size it asks for twice."""
        from transformers import BatchEncoding  # type: ignore[import-untyped,import-not-found,unused-ignore]

        if not inputs:
            raise _NoBatchError
        size, longest = len(inputs["input_ids"]), len(inputs["input_ids"][0])
        if self._trying and size != self.size:
            self.size, self.inputs = size, inputs
            if size <= self._fits[0] and longest <= self._fits[1]:  # such a batch did fit
                inputs = {name: rows[:1] for name, rows in inputs.items()}
        else:
            if self._trying:
                self._trying, self._fits = False, max(self._fits, (size, longest))
            self._advance(size)
        return BatchEncoding(super().pad(inputs))


class _Flag(Loaded):
    """What its encoders and rerankers share: one of FlagEmbedding's classes, here called flag."""

    engine = "FlagEmbedding"

    def _made(self, name: str, checked: str, **how: Any) -> tuple[Any, Tokens]:
        """Make one of FlagEmbedding's classes, of weights that are checked as a class of transformers."""
        self._check_weights(checked)
        half = {"use_fp16": self._weights == "float16", "use_bf16": self._weights == "bfloat16"}
        self._flag: Any = getattr(import_flag_embedding(), name)(
            self._model.folder, devices=self._device, **half, **how
        )
        if half["use_bf16"]:
            self._flag.model.bfloat16()  # FlagReranker does not know it
        self._handing = _HandOut(self._flag.tokenizer)
        if name != "FlagLLMReranker":
            self._flag.tokenizer = self._handing
        return self._flag.model, self._handing

    def _run(self, function: Any, rows: list[Any], advance: Advance, **how: Any) -> Any:
        """Run one of FlagEmbedding's functions over rows."""
        numbers: Any = self._handing.begin(rows, advance)
        if self._unit == "pair":
            numbers = [(number, number) for number in numbers]
        try:
            result = function(numbers, batch_size=self._batch_size, device=self._device, **how)
        except _NoBatchError:  # raise what FlagEmbedding did not
            inputs: Any = self._handing.pad(self._handing.inputs)
            return self._network(**inputs.to(self._device))
        if self._handing.size < min(self._batch_size, len(rows)):
            self._fitted(self._handing.size)
        return result


class Encoder(_Flag):
    """FlagModel, or FlagLLMModel where texts are pooled by their last token."""

    def _load(self) -> tuple[Any, Tokens]:
        settings, name = self._settings, "FlagModel"
        if (pooling := settings.pooling) == "lasttoken":
            name, pooling = "FlagLLMModel", "last_token"
        return self._made(name, "AutoModel", normalize_embeddings=settings.normalise, pooling_method=pooling)

    def _compute(self, rows: list[IntArray], side: Side, advance: Advance) -> Any:  # noqa: ARG002
        # As tensors: a GPU need not wait for each batch.
        vectors = self._run(self._flag.encode_single_device, rows, advance, convert_to_numpy=False)
        return (vectors.float() if vectors.dtype == import_torch().bfloat16 else vectors).cpu().numpy()


class Sparse(_Flag):
    """BGEM3FlagModel's weights of words. On a CPU it computes in fp32, with weights in the precision."""

    autocasts = False

    def _load(self) -> tuple[Any, Tokens]:
        model, tokens = self._made("BGEM3FlagModel", "AutoModel")
        return model.model, tokens

    def _compute(self, rows: list[IntArray], side: Side, advance: Advance) -> Any:  # noqa: ARG002
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]

        made = self._run(self._flag.encode_single_device, rows, advance, return_dense=False, return_sparse=True)
        weights = made["lexical_weights"]
        ends = np.cumsum([0, *map(len, weights)])
        words = np.fromiter((int(word) for row in weights for word in row), np.int32, ends[-1])
        values = np.fromiter((value for row in weights for value in row.values()), np.float32, ends[-1])
        matrix = csr_matrix((values, words, ends), shape=(len(rows), self._model.dimensions))
        matrix.sort_indices()
        return matrix


class Ranker(_Flag):
    """FlagReranker; or FlagLLMReranker, which makes its own tokens."""

    def _load(self) -> tuple[Any, Tokens]:
        if self._model.architecture.endswith("ForCausalLM"):
            return self._made("FlagLLMReranker", "AutoModelForCausalLM")
        return self._made("FlagReranker", "AutoModelForSequenceClassification")

    def prepare(self, content: Any) -> Any:
        """Make tokens of pairs, or leave them texts, with what FlagEmbedding writes before a query and a passage."""
        if self._flag.tokenizer is self._handing:
            return super().prepare(content)
        return self._flag.get_detailed_inputs(content), None, "passages"

    def _compute(self, rows: Any, side: Side, advance: Advance) -> Any:  # noqa: ARG002
        score = partial(self._flag.compute_score_single_gpu, max_length=self._settings.max_length)
        if self._flag.tokenizer is self._handing:
            scores = self._run(score, [[row] for row in rows], advance)
        else:
            scores = score(rows, batch_size=self._batch_size, device=self._device)
            advance(len(rows))
        return np.array(scores, dtype=np.float32)
