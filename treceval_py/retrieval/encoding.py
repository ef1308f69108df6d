"""Encode texts as vectors on one device, and check models for known traps before hours are spent.

sentence-transformers loads a model with all of its layers. It is fed the batches of FlagEmbedding's FlagModel (texts
sorted by decreasing number of tokens), and vectors are then those of FlagModel bit for bit, where that can run the
model.
"""

from __future__ import annotations

import logging
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from treceval_py._types import IntArray
from treceval_py.corpora.texts import Chunk
from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import check_precision, default_batch_size, import_torch
from treceval_py.retrieval.hub import INSTALL, first_line
from treceval_py.retrieval.models import PRECISIONS, Model, Settings, Side, model_here
from treceval_py.retrieval.pool import Advance
from treceval_py.runs.record import version_of

Writers: TypeAlias = Mapping[str, Callable[..., Any]] | None

PACKAGES = ("numpy", "sentence-transformers", "tokenizers", "torch", "transformers")
"""Packages that decide the last digits."""

SIDES: tuple[Side, ...] = ("passages", "queries")

PROBES = ("The river rises in the mountains.", "Interest rates were lowered twice last year.")
"""Two unrelated texts."""

SCRIPTS = "river 2026 Москва 河流在哪里 ποταμός"
"""Words of several scripts; every tokenizer knows some of them."""

SAME = 0.9999
"""The cosine above which unrelated texts count as having the same vector."""

WORD = "river "
"""The unit of the longest text."""


class Loaded:
    """A model on a device, whose batches are those of FlagEmbedding: texts by falling number of tokens.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    device : str
        From `devices.devices_for`.
    precision : str
        As in `models.PRECISIONS`.
    batch_size : int or None
        Texts to encode at once. Default: a number that suits the device. If these do not fit in memory, the remaining
        batches are smaller.

    Attributes
    ----------
    notes : tuple of str
        Notes about the model, a sentence or two each.
    """

    unit = "texts"

    def __init__(self, model: Model, device: str, precision: str, batch_size: int | None) -> None:
        check_precision(precision, device)
        self.notes: tuple[str, ...] = ()
        self._model = model_here(model)
        self._device = device
        self._batch_size = self._smallest = batch_size or default_batch_size(device)

    @property
    def by(self) -> dict[str, object]:
        """Description of the device and versions, as plain JSON: whatever may change the last digits."""
        torch, kind = import_torch(), self._device.partition(":")[0]
        name = torch.cuda.get_device_name(self._device) if kind == "cuda" else platform.machine()
        return {
            "device": f"{kind} ({name})", "threads": torch.get_num_threads() if kind == "cpu" else None,
            "batch_size": self._smallest, "host": platform.node(),
            "versions": {name: version_of(name) for name in PACKAGES},
        }  # fmt: skip

    @contextmanager
    def _trying(self, failure: str, todo: str) -> Iterator[None]:
        """Suppress output of the packages, and raise any error as a failure of the model."""
        try:
            with quiet():
                yield
        except Exception as error:  # damaged files, memory, unknown architectures: each has its own exception
            todo = INSTALL if isinstance(error, ImportError) else todo
            raise RunnerError(f"{failure}: {first_line(error)}", todo, file=self._model.name) from error

    def _check_weights(self, network: Any) -> None:
        """Refuse weights that differ from the configuration: transformers would fill in the rest at random.

        What was made of the model, with ``ignore_mismatched_sizes``, says how its weights are read.
        """
        with quiet():  # on this device nothing is read but the names and shapes
            _, loading = type(network).from_pretrained(
                self._model.folder, device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True
            )
        # The pooler, which many leave out, comes after the hidden states and is not used.
        missing = sorted(name for name in loading["missing_keys"] if not name.startswith("pooler."))
        # What is left over is most often the head of the training, or T5's decoder; a layer is not.
        layer = re.compile(r"\blayers?\.\d+\.")
        left = sorted(name for name in loading["unexpected_keys"] if layer.search(name) and "decoder." not in name)
        misshapen = sorted(name for name, *_ in loading["mismatched_keys"])
        for names, fault, todo in (
            (misshapen, "have other shapes than config.json says", "Copy the model again."),
            (missing, f"lack {len(missing)} of the model's tensors", "They would be random: copy the model again."),
            (left, "have layers that config.json does not say", "They would be left out: copy the model again."),
        ):
            if names:
                raise RunnerError(f"the weights {fault}, such as {names[0]}", todo, file=self._model.name)

    def _run(
        self, tokens: dict[str, list[list[int]]], forward: Callable[..., Any], advance: Advance
    ) -> tuple[list[Any], IntArray]:
        """Return the result of `forward` for the tokens of each batch, and the texts in the order of the batches."""
        # FlagModel's own expression: which of several texts of the same length come first decides on the batches too.
        order = np.argsort([-len(ids) for ids in tokens["input_ids"]])
        batches, start, size = list[Any](), 0, self._batch_size
        while start < len(order):
            rows = order[start : start + size].tolist()
            try:
                batches.append(forward({name: [values[row] for row in rows] for name, values in tokens.items()}))
            except Exception:  # it runs out of memory in many ways
                size = min(size, len(rows)) * 3 // 4
                if not size:
                    raise
                continue
            start += len(rows)
            advance(len(rows))
        if size < self._smallest:
            self._smallest = size
            memory = f"Memory on {self._device} is enough for {size} {self.unit} at once, not {self._batch_size}."
            self.notes += (memory,)
        return batches, order


class Encoder(Loaded):
    """A model of one vector for each text on a device, ready to encode.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    device : str
        From `devices.devices_for`.
    batch_size : int, optional
        Texts to encode at once. Default: a number that suits the device.
    writers : mapping
        For sides whose vectors the encoder writes itself: a function of a chunk, its vectors and their maker. Its
        result is the result of `work`, instead of the vectors.

    Attributes
    ----------
    notes : tuple of str
        Notes about the model, a sentence or two each.
    dimensions : int
        The length of the vectors, E.

    Raises
    ------
    RunnerError
        A package is missing, or the model cannot be loaded or fails a check.
    """

    def __init__(
        self, model: Model, settings: Settings, device: str, batch_size: int | None = None, writers: Writers = None
    ) -> None:
        super().__init__(model, device, settings.precision, batch_size)
        self._writers = writers or {}
        self.dimensions = settings.dimensions or model.dimensions
        self._settings = settings
        with quiet():
            self._layers = self._load()
            self._tokenizer = self._layers.tokenizer
            self._check_tokenizer()
            for side in SIDES:
                self._check_length(side)
        self._check_vectors()

    def encode(
        self, texts: list[str], *, side: Side, advance: Advance = lambda _: None, ids: Sequence[str] | None = None
    ) -> Any:
        """Encode texts.

        Parameters
        ----------
        texts : list of str, length n, at least 1
            The texts. The same list gives the same bytes; in another list a text's last digits may differ.
        side : {"passages", "queries"}
            The kind of texts, which decides the instruction and the length.
        advance : callable, optional
            Called after each batch with the number of texts encoded.
        ids : sequence of str, length n, optional
            Their ids, for messages.

        Returns
        -------
        (n, E) float32 array
            C-contiguous, without NaN and infinity.

        Raises
        ------
        RunnerError
            Memory runs out, the model fails, or a vector is not finite.
        """
        memory = "If it is memory, free some, or give a smaller length."
        with self._trying(f"the model fails on {self._device}, even on one text", memory):
            vectors = self._vectors(texts, side, advance)
        # A sum is not finite when a number is not, and of float32 it does not overflow.
        sums = np.asarray(vectors.sum(axis=1, dtype=np.float64)).ravel()
        bad = np.flatnonzero(~np.isfinite(sums))
        if len(bad):
            not_finite = f"the vector of text {bad[0] + 1 if ids is None else repr(ids[bad[0]])} is not finite"
            half = self._settings.precision != "fp32"
            todo = "Give --precision fp32 or bf16." if half else "The weights are damaged, perhaps."
            raise RunnerError(not_finite, todo, file=self._model.name)
        return vectors

    def prepare(self, content: tuple[Chunk, Side]) -> tuple[Chunk, Side]:
        """Return a chunk as it is: see `pool.Worker`."""
        return content

    def work(self, content: tuple[Chunk, Side], advance: Advance) -> Any:
        """Encode a chunk: see `pool.Worker`."""
        chunk, side = content
        vectors = self.encode(chunk.texts, side=side, advance=advance, ids=chunk.ids)
        return self._writers[side](chunk, vectors, by=self.by) if side in self._writers else vectors

    def _load(self) -> Any:
        """Return the model's layers on the device."""
        torch, precision = import_torch(), self._settings.precision
        dtype = getattr(torch, "float32" if precision == "bf16" and self._device == "cpu" else PRECISIONS[precision])
        with self._trying("the model cannot be loaded", "Copy it again, or use another."):
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]

            # Other shapes are refused below: the error itself names none.
            layers = self._modules({"dtype": dtype, "ignore_mismatched_sizes": True})
            made = SentenceTransformer(modules=layers, device=self._device)
        if precision == "fp16-weights":
            made.float()
        self._check_weights(made.transformers_model)
        return made.eval()

    def _modules(self, how: dict[str, Any]) -> list[Any]:
        """Return the layers without a final normalisation, which is done here after vectors are cut."""
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer import modules  # type: ignore[import-not-found,unused-ignore]

        model = self._model
        if "Pooling" in model.layers:
            layers = list(SentenceTransformer(model.folder, device="cpu", local_files_only=True, model_kwargs=how))
        else:
            layers = [modules.Transformer(model.folder, model_kwargs=how)]
            layers.append(modules.Pooling(layers[0].get_embedding_dimension(), self._settings.pooling))
        return layers[:-1] if isinstance(layers[-1], modules.Normalize) else layers

    def _vectors(self, texts: list[str], side: Side, advance: Advance = lambda _: None) -> Any:
        """Run the model over texts."""
        return self._together(*self._run(self._tokens(texts, side), partial(self._forward, side=side), advance))

    def _together(self, batches: list[Any], order: IntArray) -> Any:
        """Return the results of the batches, in the order of the texts."""
        vectors = np.empty((len(order), batches[0].shape[1]), dtype=np.float32)
        vectors[order] = import_torch().cat(batches).float().cpu().numpy()  # not before: a GPU need not wait for it
        return vectors

    def _tokens(self, texts: list[str], side: Side) -> dict[str, list[list[int]]]:
        """Return the tokens of texts with their instruction and suffix."""
        tokenize, longest = self._tokenizer, self._settings.max_length(side)
        texts = [self._settings.instruction(side) + text for text in texts]
        suffix = self._settings.query_suffix if side == "queries" else ""
        if suffix:  # cut before it is added, as FlagEmbedding's FlagICLModel does
            room = longest - len(tokenize(suffix)["input_ids"])
            cut = tokenize(texts, truncation=True, max_length=room, add_special_tokens=False)["input_ids"]
            texts = [text + suffix for text in tokenize.batch_decode(cut)]
        return dict(tokenize(texts, truncation=not suffix, max_length=None if suffix else longest))

    def _forward(self, tokens: dict[str, list[list[int]]], side: Side) -> Any:
        """Return the vectors of a batch, where they were computed."""
        torch = import_torch()
        settings = self._settings
        inputs = dict(self._tokenizer.pad(tokens, padding=True, return_tensors="pt").to(self._device))
        if settings.instruction(side):  # which some models leave out of the mean
            alone = self._tokenizer(settings.instruction(side))["input_ids"]
            inputs["prompt_length"] = len(alone) - (alone[-1] in self._tokenizer.all_special_ids)
        # On a CPU the weights stay in fp32, and what profits is computed in bf16.
        autocast = torch.autocast("cpu", torch.bfloat16, enabled=self._device == "cpu" and settings.precision == "bf16")
        with torch.inference_mode(), autocast:
            vectors = self._layers(inputs)["sentence_embedding"][:, : settings.dimensions]
            return torch.nn.functional.normalize(vectors, dim=-1) if settings.normalise else vectors

    def _check_tokenizer(self) -> None:
        """Refuse a tokenizer without known words or with more tokens than the model; note one without an end token."""
        tokenizer, name = self._tokenizer, self._model.name
        tokens = tokenizer(f"{SCRIPTS} {PROBES[0]}", add_special_tokens=False)["input_ids"]
        if set(tokens) <= {tokenizer.unk_token_id}:
            no_words = "the tokenizer knows no word: every text would have the same vector"
            raise RunnerError(no_words, "Copy tokenizer.json or vocab.txt of the model again.", file=name)
        known = int(self._layers.transformers_model.get_input_embeddings().weight.shape[0])
        if len(tokenizer) > known:
            mismatch = f"the tokenizer has {len(tokenizer)} tokens, and the model knows {known}"
            raise RunnerError(mismatch, "Give the tokenizer that belongs to the model.", file=name)
        if self._settings.pooling == "lasttoken" and tokenizer(WORD)["input_ids"][-1] not in tokenizer.all_special_ids:
            note = "The vector of a text is that of its last token, and the tokenizer puts none of its own at the end: "
            self.notes += (f"{note}if the model was trained with one, texts will rank badly.",)
        if self._model.own_code:
            note = "The model's folder has code of its own, which is not run; "
            self.notes += (f"{note}transformers' {self._model.own_code} is used instead.",)

    def _check_length(self, side: Side) -> None:
        """Refuse an instruction that leaves no room for texts, and a model that cannot take the longest text."""
        longest, instruction = self._settings.max_length(side), self._settings.instruction(side)
        alone = len(self._tokenizer(instruction + self._settings.query_suffix)["input_ids"])
        option = "query-max-length" if side == "queries" else "passage-max-length"
        if instruction and alone >= longest:
            no_room = f"the instruction alone has {alone} tokens, and {option} is {longest}: no text would be left"
            raise RunnerError(no_room, "Give more, or a shorter instruction.", file=self._model.name)
        failure = f"the model fails on a text of {longest} tokens on {self._device}"
        with self._trying(failure, f"A smaller {option} may help."):
            vectors = self._vectors([WORD * longest, PROBES[0]], side)
        if vectors.shape[1] != self.dimensions:
            mismatch = f"the vectors have {vectors.shape[1]} dimensions, and the model's files say {self.dimensions}"
            raise RunnerError(mismatch, "Copy the model again.", file=self._model.name)

    def _check_vectors(self) -> None:
        """Refuse vectors that are not finite, and note when unrelated texts have the same."""
        for side in SIDES:
            one, other = self.encode(list(PROBES), side=side).astype(np.float64)
            length = float(np.linalg.norm(one) * np.linalg.norm(other))
            if length == 0 or one @ other > SAME * length:
                note = f"Unrelated {side} have nearly the same vector, so their ranking will be noise: "
                self.notes += (f"{note}the model is untrained, or pooling={self._settings.pooling} is wrong for it.",)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers and sentence-transformers from logging and drawing for a while."""
    import transformers  # type: ignore[import-untyped,import-not-found,unused-ignore]

    bars: Any = transformers.utils.logging
    with ExitStack() as stack:
        for name in ("transformers", "sentence_transformers"):
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        if bars.is_progress_bar_enabled():
            stack.callback(bars.enable_progress_bar)
            bars.disable_progress_bar()
        yield
