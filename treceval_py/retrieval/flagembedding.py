"""FlagEmbedding as an engine: FlagModel, FlagLLMModel and BGEM3FlagModel encode, and its rerankers score.

They run as they are. Only their tokenizer is another: it hands out the tokens that were made ahead, by the numbers of
texts, and pads them as arrays. What FlagEmbedding does not do is not added here: it makes batches smaller only before
the first one, and detects no pooling.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.engines import CUTOFF, Loaded, PairRanker, TextEncoder, Tokens
from treceval_py.retrieval.hub import check_packages, first_line
from treceval_py.retrieval.models import PRECISIONS, Side
from treceval_py.retrieval.pool import Advance
from treceval_py.runs.record import version_of

POOLING = {"cls": "cls", "mean": "mean", "lasttoken": "last_token"}
"""FlagEmbedding's names of poolings."""

LAYERED = {"LayerWise": "LayerWiseFlagLLMReranker", "CostWise": "LightWeightFlagLLMReranker"}
"""FlagEmbedding's classes of rerankers that compute with some of the layers, by how their architectures begin."""


def import_flag_embedding() -> Any:
    """Import FlagEmbedding.

    Raises
    ------
    RunnerError
        It is not installed, or cannot be imported beside the version of transformers that is.
    """
    other = "give --engine sentence-transformers"
    try:
        check_packages("FlagEmbedding")
        import FlagEmbedding  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except RunnerError as error:
        raise RunnerError(error.what, f"{error.todo}; or {other}.") from None
    except Exception as error:  # noqa: BLE001 - it imports most of transformers, which changes
        versions = f"FlagEmbedding {version_of('FlagEmbedding')} beside transformers {version_of('transformers')}"
        todo = f"{other.capitalize()}, or install versions that fit: see docs/install.md."
        raise RunnerError(f"{versions} cannot be imported: {first_line(error)}", todo) from None
    return FlagEmbedding


class _NoBatchError(Exception):
    """FlagEmbedding made its batches smaller until nothing was left."""


class _HandOut:
    """What FlagEmbedding has in place of a tokenizer: texts are numbers of rows that are tokens already."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, tokenizer = tokens, tokens.tokenizer
        # BGEM3FlagModel asks for them at every text.
        self.special_tokens_map = dict(tokenizer.special_tokens_map)
        ids = {name: tokenizer.convert_tokens_to_ids(name) for name in tokenizer.all_special_tokens}
        self.convert_tokens_to_ids = ids.__getitem__

    def begin(self, rows: list[Any], advance: Advance) -> range:
        """Take rows, and return their numbers."""
        self._rows, self._advance, self._left, self.sizes = rows, advance, len(rows), list[int]()
        return range(len(rows))

    def __call__(self, numbers: list[int], **_: Any) -> dict[str, list[Any]]:
        return {"input_ids": [self._rows[number] for number in numbers]}

    def pad(self, inputs: dict[str, list[IntArray]], **_: Any) -> Any:
        """Return a batch as tensors; the first one is asked for more than once, to try how many texts fit."""
        from transformers import BatchEncoding  # type: ignore[import-untyped,import-not-found,unused-ignore]

        if not inputs:
            raise _NoBatchError
        self.inputs, size = inputs, len(inputs["input_ids"])
        self.sizes.append(size)
        self._advance(min(size, self._left))
        self._left -= min(size, self._left)
        return BatchEncoding(self._tokens.pad(inputs))


class _HandOutPairs(_HandOut):
    """The same for FlagReranker, which joins the tokens of a query and of a passage: here they are joined already."""

    def __call__(self, numbers: list[int], **_: Any) -> dict[str, list[Any]]:
        return {"input_ids": [[number] for number in numbers]}

    def prepare_for_model(self, first: list[int], second: list[int], **_: Any) -> Any:  # noqa: ARG002
        """Return the row of a pair."""
        return self._rows[first[0]]


class _Flag(Loaded):
    """What its encoders and rerankers share: one of FlagEmbedding's classes, here called flag."""

    engine = "FlagEmbedding"
    _flag: Any
    _handing: _HandOut

    def _made(self, name: str, **how: Any) -> Any:
        """Make one of FlagEmbedding's classes, and return it."""
        half = {"use_fp16": self._weights == "float16", "use_bf16": self._weights == "bfloat16"}
        self._flag = getattr(import_flag_embedding(), name)(self._model.folder, devices=self._device, **half, **how)
        return self._flag

    def _run(self, function: Any, rows: list[Any], advance: Advance, **how: Any) -> Any:
        """Run one of FlagEmbedding's functions over rows."""
        numbers = self._handing.begin(rows, advance)
        texts = numbers if self.unit == "texts" else [(number, number) for number in numbers]
        try:
            with self._computing():
                result = function(texts, batch_size=self._batch_size, device=self._device, **how)
        except _NoBatchError:  # raise what FlagEmbedding did not
            return self._network(**self._handing.pad(self._handing.inputs).to(self._device))
        # The size that fits is the first that is asked for twice.
        size = next(size for size, again in pairwise(self._handing.sizes) if size == again)
        if size < min(self._batch_size, len(rows)):
            self._fitted(size)
        return result


class Encoder(_Flag, TextEncoder):
    """FlagModel, or FlagLLMModel and FlagICLModel where texts are pooled by their last token."""

    def _load(self) -> Any:
        self._check_weights("AutoModel")
        settings, last = self._settings, "FlagICLModel" if self._settings.query_suffix else "FlagLLMModel"
        name = last if settings.pooling == "lasttoken" else "FlagModel"
        pooling = POOLING[settings.pooling]
        flag = self._made(name, normalize_embeddings=settings.normalise, pooling_method=pooling)
        self._network, tokenizer = flag.model, flag.tokenizer
        flag.tokenizer = self._handing = _HandOut(Tokens(tokenizer))
        return tokenizer

    def _vectors(self, rows: list[IntArray], side: Side, advance: Advance) -> Any:  # noqa: ARG002
        # As tensors: a GPU need not wait for each batch.
        vectors = self._run(self._flag.encode_single_device, rows, advance, convert_to_numpy=False)
        return (vectors.float() if vectors.dtype == import_torch().bfloat16 else vectors).cpu().numpy()


class Sparse(_Flag, TextEncoder):
    """BGEM3FlagModel's weights of words."""

    def _load(self) -> Any:
        if "colbert_linear.pt" not in self._model.files:
            random = "the model has no colbert_linear.pt, without which FlagEmbedding weighs words at random"
            raise RunnerError(random, "Copy the model again.", file=self._model.name)
        self._check_weights("AutoModel")
        flag = self._made("BGEM3FlagModel")
        self._network, tokenizer = flag.model.model, flag.tokenizer
        flag.tokenizer = self._handing = _HandOut(Tokens(tokenizer))
        return tokenizer

    @property
    def _weights(self) -> str:
        return PRECISIONS[self._precision]  # as BGEM3FlagModel has them: on a CPU it computes in fp32 with them

    def _computing(self) -> Any:
        return import_torch().no_grad()

    def _vectors(self, rows: list[IntArray], side: Side, advance: Advance) -> Any:  # noqa: ARG002
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]

        made = self._run(self._flag.encode_single_device, rows, advance, return_dense=False, return_sparse=True)
        weights = made["lexical_weights"]
        ends = np.cumsum([0, *map(len, weights)])
        words = np.fromiter((int(word) for row in weights for word in row), np.int32, ends[-1])
        values = np.fromiter((value for row in weights for value in row.values()), np.float32, ends[-1])
        matrix = csr_matrix((values, words, ends), shape=(len(rows), self._model.dimensions))
        matrix.sort_indices()
        return matrix


class Ranker(_Flag, PairRanker):
    """FlagReranker; or FlagEmbedding's rerankers on language models, which make their own tokens."""

    def _load(self) -> Any:
        architecture = self._model.architecture
        if architecture.endswith("ForSequenceClassification"):
            self._check_weights("AutoModelForSequenceClassification")
            flag = self._made("FlagReranker")
            # It knows fp16 alone, and that on GPUs only.
            self._network, tokenizer = (
                flag.model.bfloat16() if self._weights == "bfloat16" else flag.model,
                flag.tokenizer,
            )
            flag.tokenizer = self._handing = _HandOutPairs(Tokens(tokenizer))
            return tokenizer
        name = next((name for start, name in LAYERED.items() if architecture.startswith(start)), None)
        if name is None:
            self._check_weights("AutoModelForCausalLM")
            return self._made("FlagLLMReranker").tokenizer
        failure = f"FlagEmbedding's {name} does not load beside transformers {version_of('transformers')}"
        with self._trying(failure, "Use another model, such as BAAI/bge-reranker-v2-m3, or transformers 4."):
            return self._made(name, cutoff_layers=[CUTOFF]).tokenizer

    def prepare(self, pairs: Any) -> Any:
        """Make tokens of pairs, or leave them texts, with what FlagEmbedding writes before a query and a passage."""
        return self._flag.get_detailed_inputs(pairs) if self._prompted else super().prepare(pairs)

    @property
    def _prompted(self) -> bool:
        return not hasattr(self, "_handing")

    def _scores(self, prepared: Any, advance: Advance) -> AnyArray:
        how: dict[str, Any] = {"max_length": self._length}
        score = self._flag.compute_score_single_gpu
        if self._prompted:
            with self._computing():
                scores = score(prepared, batch_size=self._batch_size, device=self._device, **how)
            advance(len(prepared))
        else:
            scores = self._run(score, prepared, advance, **how)
        return np.array(scores, dtype=np.float32)
