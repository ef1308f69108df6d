"""sentence-transformers as an engine: models with all of their layers, SPLADE and the like, and cross-encoders.

Texts share a batch with those of like length, as in FlagEmbedding. Vectors are then those of FlagModel bit for bit,
where that can run the model; and if a batch does not fit in memory, it is made smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treceval_py._types import IntArray
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.engines import SIDES, Loaded, Tokens
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pool import Advance


class _Batches(Loaded):
    """What its encoders and rerankers share: one of sentence-transformers' classes, without its own batches."""

    engine = "sentence-transformers"
    made_as: str
    """The class."""
    checked_as: str
    """The class of transformers that its weights are for."""

    def _load(self) -> tuple[Any, Tokens]:
        import sentence_transformers  # type: ignore[import-not-found,unused-ignore]

        self._check_weights(self.checked_as)
        self._made = getattr(sentence_transformers, self.made_as)(
            self._model.folder, device=self._device, local_files_only=True, model_kwargs={"dtype": self._weights}
        ).eval()
        if self._device == "cpu":
            self._made.float()  # fp16 rounds weights there, as in FlagModel
        return self._made.transformers_model, Tokens(self._made.tokenizer)

    def _forward(self, side: Side, inputs: dict[str, Any]) -> Any:
        """Return the results of a batch, where they are computed."""
        raise NotImplementedError

    def _compute(self, rows: list[dict[str, IntArray]], side: Side, advance: Advance) -> Any:
        from scipy.sparse import vstack  # type: ignore[import-untyped,unused-ignore]

        torch = import_torch()
        # FlagModel's own expression: which of several texts of the same length come first decides on the batches too.
        order = np.argsort([-len(row["input_ids"]) for row in rows])
        results, start = list[Any](), 0
        while start < len(order):
            batch = [rows[row] for row in order[start : start + self._batch_size]]
            inputs = self._tokens.pad({name: [row[name] for row in batch] for name in batch[0]})
            try:
                with torch.inference_mode():
                    results.append(self._forward(side, {name: inputs[name].to(self._device) for name in inputs}))
            except Exception:  # it runs out of memory in many ways
                if len(batch) == 1:
                    raise
                self._batch_size = len(batch) * 3 // 4
                continue
            start += len(batch)
            advance(len(batch))
        if not torch.is_tensor(results[0]):
            return vstack(results, format="csr")[np.argsort(order)]
        joined = torch.cat(results)[np.argsort(order)]  # not before: a GPU need not wait for each batch
        return (joined if self._weights == "float16" else joined.float()).cpu().numpy()


class Encoder(_Batches):
    """A SentenceTransformer."""

    made_as, checked_as = "SentenceTransformer", "AutoModel"

    def _load(self) -> tuple[Any, Tokens]:
        from sentence_transformers.sentence_transformer import modules  # type: ignore[import-not-found,unused-ignore]

        network, tokens = super()._load()
        if self._settings.pooling and "Pooling" not in self._model.layers:  # then the settings say how
            del self._made[1:]
            self._made.append(modules.Pooling(self._made[0].get_embedding_dimension(), self._settings.pooling))
        if self._settings.normalise and "Normalize" not in self._model.layers:
            self._made.append(modules.Normalize())
        self._prompts = dict[Side, dict[str, int]]()
        for side in SIDES:  # some models leave the instruction out of the mean
            if instruction := self._settings.instruction(side):
                alone = tokens.tokenizer(instruction)["input_ids"]
                self._prompts[side] = {"prompt_length": len(alone) - (alone[-1] in tokens.tokenizer.all_special_ids)}
        return network, tokens

    def _forward(self, side: Side, inputs: dict[str, Any]) -> Any:
        return self._made({**inputs, **self._prompts.get(side, {})})["sentence_embedding"]


class Sparse(Encoder):
    """A SparseEncoder: SPLADE and similar models."""

    made_as, checked_as = "SparseEncoder", "AutoModelForMaskedLM"

    def _forward(self, side: Side, inputs: dict[str, Any]) -> Any:
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]
        from sentence_transformers.util import select_max_active_dims  # type: ignore[import-not-found,unused-ignore]

        vectors = super()._forward(side, inputs)
        if self._made.max_active_dims is not None:
            vectors = select_max_active_dims(vectors, self._made.max_active_dims)
        sparse = vectors.float().to_sparse().cpu()
        return csr_matrix((sparse.values().numpy(), sparse.indices().numpy()), shape=sparse.shape)


class Ranker(_Batches):
    """A CrossEncoder with one label. Its logits are taken: sentence-transformers makes ties of high scores."""

    made_as, checked_as = "CrossEncoder", "AutoModelForSequenceClassification"

    def _forward(self, side: Side, inputs: dict[str, Any]) -> Any:  # noqa: ARG002
        return self._network(**inputs).logits.view(-1).float()
