"""Encode texts as weights of the words of a vocabulary: SPLADE and similar models, and bge-m3's lexical weights."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.encoding import PROBES, SIDES, Encoder, Writers
from treceval_py.retrieval.models import Model, Settings, Side
from treceval_py.retrieval.pool import Maker

if TYPE_CHECKING:
    from treceval_py._types import IntArray

DENSE = 0.1
"""Share of the vocabulary above which a text has too many weights; SPLADE uses about a hundredth."""


class SparseEncoder(Encoder):
    """A model of weights of words on a device, ready to encode; see `encoding.Encoder`.

    Vectors are SciPy's CSR matrices (n, V) of float32 without negative numbers, V the size of the vocabulary.
    """

    def _modules(self, how: dict[str, Any]) -> list[Any]:
        """Return the layers of a model saved by sentence-transformers, or of one that has none of its files."""
        from sentence_transformers import SparseEncoder as Layers  # type: ignore[import-not-found,unused-ignore]
        from sentence_transformers.base.modules import Transformer  # type: ignore[import-not-found,unused-ignore]

        self._most: int | None = None
        if self._model.lexical_weights:
            transformer = Transformer(self._model.folder, model_kwargs=how)
            return [transformer, _lexical_weights(self._model.folder, transformer, how["dtype"])]
        made = Layers(self._model.folder, device="cpu", local_files_only=True, model_kwargs=how)
        self._most = made.max_active_dims
        return list(made)

    def _forward(self, tokens: dict[str, list[list[int]]], side: Side) -> Any:
        """Return the weights of a batch, as SciPy has them."""
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]
        from sentence_transformers.util import select_max_active_dims

        weights = super()._forward(tokens, side)
        if self._most is not None:
            weights = select_max_active_dims(weights, self._most)
        sparse = weights.float().to_sparse().cpu()
        return csr_matrix((sparse.values().numpy(), sparse.indices().numpy()), shape=sparse.shape)

    def _together(self, batches: list[Any], order: IntArray) -> Any:
        from scipy.sparse import vstack

        return vstack(batches, format="csr")[np.argsort(order)]

    def _check_vectors(self) -> None:
        """Note when texts have no weights, or far too many."""
        for side in SIDES:
            weights = self.encode(list(PROBES), side=side)
            share = weights.nnz / (weights.shape[0] * weights.shape[1])
            if not 0 < share < DENSE:
                note = f"Probe texts, encoded as {side}, have weights for {share:.0%} of the vocabulary: "
                self.notes += (f"{note}the model was not trained to weigh words, or is damaged.",)


def _lexical_weights(folder: str, transformer: Any, dtype: Any) -> Any:
    """Return bge-m3's layer: a linear one gives each token a weight, and a word has the largest of its tokens."""
    torch = import_torch()
    tokenizer = transformer.tokenizer
    unused = [tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id]

    class LexicalWeights(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(transformer.get_embedding_dimension(), 1, dtype=dtype)
            path = os.path.join(folder, "sparse_linear.pt")
            self.linear.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))

        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            weights = torch.relu(self.linear(features["token_embeddings"])).squeeze(-1)
            every = weights.new_zeros(len(weights), transformer.config.vocab_size)
            every.scatter_reduce_(-1, features["input_ids"], weights, "amax")
            every[:, [token for token in unused if token is not None]] = 0
            return {**features, "sentence_embedding": every}

    return LexicalWeights()


def encoder_maker(model: Model, settings: Settings, batch_size: int | None = None, writers: Writers = None) -> Maker:
    """Return the maker of a device's encoder, for the model's kind.

    Parameters
    ----------
    model, settings, batch_size, writers
        As of `encoding.Encoder`.

    Returns
    -------
    callable
        It can be pickled. The content of its workers' tasks is a chunk of texts and its side.
    """
    kind = SparseEncoder if settings.kind == "sparse" else Encoder
    return partial(kind, model, settings, batch_size=batch_size, writers=writers)
