"""FlagEmbedding as an engine: FlagModel, FlagLLMModel and BGEM3FlagModel encode, and its rerankers score.

They run as they are. Only their tokenizer is another: texts are tokens already, made ahead, and padded as arrays. What
FlagEmbedding does not do is not added here: it makes batches smaller only before the first one, and detects no pooling.
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
    """What FlagEmbedding has in place of a tokenizer while it runs over texts that are tokens already."""

    def __init__(self, tokenizer: Any, advance: Advance, fits: tuple[int, int]) -> None:
        super().__init__(tokenizer)
        self._advance, self._trying, self.size, self.fits = advance, True, 0, fits
        # BGEM3FlagModel asks for them at every text.
        self.special_tokens_map = dict(tokenizer.special_tokens_map)
        self.convert_tokens_to_ids = tokenizer.convert_tokens_to_ids

    def __call__(self, rows: list[Any], **_: Any) -> dict[str, list[Any]]:
        return {"input_ids": rows if isinstance(rows[0], list) else [row["input_ids"] for row in rows]}

    def prepare_for_model(self, pair: list[dict[str, IntArray]], _: Any, **__: Any) -> dict[str, IntArray]:
        """Return a pair, which FlagReranker would join of a query and a passage: here they are joined already."""
        return pair[0]

    def pad(self, inputs: Any, **_: Any) -> Any:
        """Return a batch as tensors. FlagEmbedding first tries how many texts fit: that size it asks for twice."""
        from transformers import BatchEncoding  # type: ignore[import-untyped,import-not-found,unused-ignore]

        if not inputs:
            raise _NoBatchError
        if isinstance(inputs, list):  # before FlagEmbedding 1.4.2
            inputs = {name: [row[name] for row in inputs] for name in inputs[0]}
        size, longest = len(inputs["input_ids"]), len(inputs["input_ids"][0])
        if self._trying and size != self.size:
            self.size, self.inputs = size, inputs
            if size <= self.fits[0] and longest <= self.fits[1]:  # such a batch did fit
                inputs = {name: rows[:1] for name, rows in inputs.items()}
        else:
            if self._trying:
                self._trying, self.fits = False, max(self.fits, (size, longest))
            self._advance(size)
        return BatchEncoding(super().pad(inputs))


class _Flag(Loaded):
    """What its encoders and rerankers share: one of FlagEmbedding's classes, here called flag."""

    engine = "FlagEmbedding"
    _fits = (0, 0)
    """How many texts are known to fit, and their length."""

    def _made(self, name: str, checked: str, **how: Any) -> tuple[Any, Tokens]:
        """Make one of FlagEmbedding's classes, of weights that are checked as a class of transformers."""
        self._check_weights(checked)
        half = {"use_fp16": self._weights == "float16", "use_bf16": self._weights == "bfloat16"}
        self._flag: Any = getattr(import_flag_embedding(), name)(
            self._model.folder, devices=self._device, **half, **how
        )
        if half["use_bf16"]:
            self._flag.model.bfloat16()  # FlagReranker does not know it
        return self._flag.model, Tokens(self._flag.tokenizer)

    def _run(self, function: Any, rows: list[Any], advance: Advance, **how: Any) -> Any:
        """Run one of FlagEmbedding's functions over rows."""
        handing: Any = _HandOut(self._tokens.tokenizer, advance, self._fits)
        self._flag.tokenizer = handing
        try:
            result = function(rows, batch_size=self._batch_size, device=self._device, **how)
        except _NoBatchError:  # raise what FlagEmbedding did not
            return self._network(**handing.pad(handing.inputs).to(self._device))
        self._fits = handing.fits
        if handing.size < min(self._batch_size, len(rows)):
            self._batch_size = handing.size
        return result


class Encoder(_Flag):
    """FlagModel, or FlagLLMModel where texts are pooled by their last token."""

    def _load(self) -> tuple[Any, Tokens]:
        settings = self._settings
        last = settings.pooling == "lasttoken"
        name, pooling = ("FlagLLMModel", "last_token") if last else ("FlagModel", settings.pooling)
        return self._made(name, "AutoModel", normalize_embeddings=settings.normalise, pooling_method=pooling)

    def _compute(self, rows: list[dict[str, IntArray]], side: Side, advance: Advance) -> Any:  # noqa: ARG002
        # As tensors: a GPU need not wait for each batch.
        vectors = self._run(self._flag.encode_single_device, rows, advance, convert_to_numpy=False)
        return (vectors.float() if vectors.dtype == import_torch().bfloat16 else vectors).cpu().numpy()


class Sparse(_Flag):
    """BGEM3FlagModel's weights of words. On a CPU it computes in fp32, with weights in the precision."""

    autocasts = False

    def _load(self) -> tuple[Any, Tokens]:
        model, tokens = self._made("BGEM3FlagModel", "AutoModel")
        return model.model, tokens

    def _compute(self, rows: list[dict[str, IntArray]], side: Side, advance: Advance) -> Any:  # noqa: ARG002
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
        self._prompted = self._model.architecture.endswith("ForCausalLM")
        if self._prompted:
            return self._made("FlagLLMReranker", "AutoModelForCausalLM")
        return self._made("FlagReranker", "AutoModelForSequenceClassification")

    def prepare(self, content: Any) -> Any:
        """Make tokens of pairs, or leave them texts, with what FlagEmbedding writes before a query and a passage."""
        if not self._prompted:
            return super().prepare(content)
        return self._flag.get_detailed_inputs(content), None, "passages"

    def _compute(self, rows: Any, side: Side, advance: Advance) -> Any:  # noqa: ARG002
        score = partial(self._flag.compute_score_single_gpu, max_length=self._settings.max_length)
        if not self._prompted:
            return np.array(self._run(score, [([row], [row]) for row in rows], advance), dtype=np.float32)
        scores = score(rows, batch_size=self._batch_size, device=self._device)
        advance(len(rows))
        return np.array(scores, dtype=np.float32)
