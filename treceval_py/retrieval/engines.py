"""Engines that run models, FlagEmbedding and sentence-transformers: which of them runs a model, and what they share.

An engine is a module with an ``Encoder``, a ``Sparse`` and a ``Ranker``, each a `Loaded` model, which is a worker of a
pool. Its `prepare` makes tokens in another thread, ahead of the model, and its `work` runs the model over them.
"""

from __future__ import annotations

import logging
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import choose_precision, default_batch_size, import_torch
from treceval_py.retrieval.hub import INSTALL, check_packages, first_line, import_flag_embedding
from treceval_py.retrieval.models import PRECISIONS, Model, Settings, Side, model_here, settings_for
from treceval_py.retrieval.pool import Advance, Maker
from treceval_py.runs.record import version_of

ENGINES = ("flagembedding", "sentence-transformers")
"""The engines; their modules are called so too."""

CLASSES = {"dense": "Encoder", "sparse": "Sparse", "reranker": "Ranker"}
"""The engines' classes, by kinds of models."""

PACKAGES = ("numpy", "tokenizers", "torch", "transformers")
"""Packages that decide the last digits, beside the engine."""

SIDES: tuple[Side, ...] = ("passages", "queries")

PROBES = ("The river rises in the mountains.", "Interest rates were lowered twice last year.")
"""Two unrelated texts."""

SCRIPTS = "river 2026 Москва 河流在哪里 ποταμός"
"""Words of several scripts; every tokenizer knows some of them."""

SAME = 0.9999
"""The cosine above which unrelated texts count as having the same vector."""

WORD = "river "
"""The unit of the longest text."""

MEMORY = "If it is memory, free some, or give a smaller --max-length."

BARS: dict[str, Callable[..., Any]] = {"tqdm": lambda items, **_: items, "trange": lambda *ends, **_: range(*ends)}
"""What FlagEmbedding counts batches with, by its names there, without the bar that it draws."""


class Reranker(NamedTuple):
    """How to rerank.

    Attributes
    ----------
    model : Model
        From `find_model`, with ``wanted="reranker"``.
    devices : sequence of str
        Where to score, such as ``("cuda:0", "cuda:1")``.
    depth : int
        How many documents of each query are reranked, best first. Those below are kept below them, in their order.
    precision : str
        ``fp32``, ``bf16`` or ``fp16``, from ``devices.choose_precision``.
    max_length : int, optional
        Tokens of a pair that count; by default 512, or as many as the model can take.
    batch_size : int, optional
        Pairs scored at once; by default a number that suits each device.
    ray : str, optional
        The address of a Ray cluster to score on.
    engine : str, optional
        ``flagembedding`` or ``sentence-transformers``; by default what suits the model, see ``engines.check_engine``.
    """

    model: Model
    devices: Sequence[str] = ("cpu",)
    depth: int = 100
    precision: str = "fp32"
    max_length: int | None = None
    batch_size: int | None = None
    ray: str | None = None
    engine: str | None = None

    @property
    def settings(self) -> Settings:
        """Return the precision and the length.

        Raises
        ------
        RunnerError
            The length is out of range.
        """
        return settings_for(self.model, precision=self.precision, max_length=self.max_length)

    def check(self) -> None:
        """Refuse models and settings that no pair can be scored with.

        Raises
        ------
        RunnerError
            A package is missing, the model is no reranker, the engine cannot run it, or the depth, the batch size or
            the length is out of range.
        """
        check_packages("pyarrow", "torch", "transformers", *(["ray"] if self.ray is not None else []))
        if self.depth < 1:
            raise RunnerError(f"{self.depth} documents per query are to be reranked", "Ask for 1 or more.")
        if self.model.kind != "reranker":
            raise RunnerError(
                "the model was not found as a reranker", 'Give find_model wanted="reranker".', file=self.model.name
            )
        reranker_maker(self)  # it looks at the engine, the batch size and the length


def check_engine(model: Model, asked: str | None = None) -> str:
    """Return the engine that runs a model: FlagEmbedding for BGE's, if it can, else sentence-transformers.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    asked : str, optional
        The engine that is asked for.

    Returns
    -------
    str
        One of `ENGINES`.

    Raises
    ------
    RunnerError
        It cannot run the model; or it is FlagEmbedding, which cannot be imported.
    """
    able = {
        "dense": (model.plain, True),
        "sparse": (model.lexical_weights, not model.lexical_weights),
        "reranker": (True, not model.architecture.endswith("ForCausalLM")),
    }
    engines = [engine for engine, runs in zip(ENGINES, able[model.kind], strict=True) if runs]
    engine = asked or engines[0 if any(title.startswith("bge-") for title in model.titles) else -1]
    if engine not in engines:
        raise RunnerError(f"--engine {engine} cannot run this model", f"Give {' or '.join(engines)}.", file=model.name)
    if engine == "flagembedding":
        import_flag_embedding()
    return engine


def encoder_maker(model: Model, settings: Settings, batch_size: int | None = None, engine: str | None = None) -> Maker:
    """Return the maker of a device's encoder.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    batch_size : int, optional
        Texts to encode at once. Default: a number that suits the device.
    engine : str, optional
        One of `ENGINES`; see `check_engine`.

    Returns
    -------
    callable
        It can be pickled. The content of its workers' tasks is texts, their ids and their side; the result, their
        vectors: an (n, E) array of float32 or float16, or a CSR matrix of float32.

    Raises
    ------
    RunnerError
        The engine cannot run the model, or the batch size is below 1.
    """
    if batch_size is not None and batch_size < 1:
        raise RunnerError(f"the batch size is {batch_size}", "Give 1 or more.")
    return partial(_make, check_engine(model, engine), model, settings, batch_size)


def reranker_maker(reranker: Reranker) -> Maker:
    """Return the maker of a device's reranker.

    Parameters
    ----------
    reranker : Reranker
        The model, its engine, precision and length, and the batch size.

    Returns
    -------
    callable
        It can be pickled. The content of its workers' tasks is pairs of a query and a passage; the result, an (n,)
        float32 array of scores, the larger the better.

    Raises
    ------
    RunnerError
        The engine cannot run the model.
    """
    return encoder_maker(reranker.model, reranker.settings, reranker.batch_size, reranker.engine)


def _make(engine: str, model: Model, *arguments: Any) -> Any:
    """Make a worker of an engine on a device, the last argument."""
    module = import_module(f"treceval_py.retrieval.{engine.replace('-', '_')}")
    return getattr(module, CLASSES[model.kind])(model, *arguments)


class Tokens:
    """A tokenizer that makes arrays of texts, and pads them as transformers does, without its lists.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        The model's own.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._left, self._names = tokenizer.padding_side == "left", tokenizer.model_input_names
        self._padding = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}

    def texts(self, texts: Sequence[str], length: int) -> list[dict[str, IntArray]]:
        """Return the tokens of each text, cut to a length."""
        if not self.tokenizer.is_fast:
            rows = self.tokenizer(list(texts), truncation=True, max_length=length)["input_ids"]
        else:
            rows = [tokens.ids for tokens in self._cut(length).encode_batch_fast(texts)]
        return [{"input_ids": np.array(row, dtype=np.int64)} for row in rows]

    def pairs(self, pairs: Sequence[tuple[str, str]], length: int) -> list[dict[str, IntArray]]:
        """Return the tokens and the types of each pair: the query cut to three quarters, the passage to what is left.

        This is how FlagReranker cuts. A text is made tokens once, though a query has many passages.
        """
        sides = []
        for texts, most in zip(map(dict.fromkeys, zip(*pairs, strict=True)), (length * 3 // 4, length), strict=True):
            tokens = self._cut(most).encode_batch_fast(list(texts), add_special_tokens=False)
            sides.append(dict(zip(texts, tokens, strict=True)))
        joined = self._cut(length, strategy="only_second")
        rows = (joined.post_process(sides[0][query], sides[1][passage]) for query, passage in pairs)
        return [{"input_ids": np.array(row.ids), "token_type_ids": np.array(row.type_ids)} for row in rows]

    def pad(self, inputs: dict[str, list[IntArray]]) -> dict[str, Any]:
        """Return tensors of texts of several lengths, each as long as the longest, as the model takes them."""
        torch = import_torch()
        lengths = np.array([len(row) for row in inputs["input_ids"]])[:, None]
        places = np.arange(lengths.max())
        there = places >= len(places) - lengths if self._left else places < lengths
        made: dict[str, Any] = {"attention_mask": there.astype(np.int64)}
        for name, padding in self._padding.items():
            made[name] = np.full(there.shape, padding, dtype=np.int64)
            made[name][there] = np.concatenate(inputs[name]) if name in inputs else 0
        return {name: torch.from_numpy(made[name]) for name in self._names if name in made}

    def _cut(self, length: int, **how: Any) -> Any:
        """Return the tokenizer, which cuts texts to a length."""
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()
        backend.enable_truncation(length, direction=self.tokenizer.truncation_side, **how)
        return backend


class Loaded:
    """A model on a device, ready to work; engines say how it is loaded and run.

    Parameters
    ----------
    model, settings, batch_size
        As of `encoder_maker`. If a batch does not fit in memory, the remaining ones are smaller.
    device : str
        From `devices.devices_for`.

    Attributes
    ----------
    notes : tuple of str
        Notes about the model, a sentence or two each.

    Raises
    ------
    RunnerError
        A package is missing, or the model cannot be loaded or fails a check.
    """

    engine: str
    autocasts = True
    """Whether bf16 on a CPU means weights in fp32, and what profits computed in bf16."""

    def __init__(self, model: Model, settings: Settings, batch_size: int | None, device: str) -> None:
        self._lock = Lock()  # a tokenizer is one thread's at a time
        self.notes: tuple[str, ...] = ()
        self._model, self._settings, self._device = model_here(model), settings, device
        self._unit = "pair" if model.kind == "reranker" else "text"
        self._batch_size = batch_size or default_batch_size(device)
        torch, precision = import_torch(), choose_precision(settings.precision, [device])
        mixed = self.autocasts and (device, precision) == ("cpu", "bf16")
        self._computing = torch.autocast("cpu", torch.bfloat16, enabled=mixed)
        self._weights = "float32" if mixed else PRECISIONS[precision]  # as torch calls it
        with self._trying("the model cannot be loaded", "Copy it again, or use another."):
            self._network, self._tokens = self._load()
            self._try()

    def _load(self) -> tuple[Any, Tokens]:
        """Load the model; return its network and its tokenizer."""
        raise NotImplementedError

    def _compute(self, rows: Any, side: Side, advance: Advance) -> Any:
        """Run the model over tokens; if they do not fit in memory, make the batch size smaller."""
        raise NotImplementedError

    @property
    def by(self) -> dict[str, object]:
        """Description of the engine, the device and versions, as plain JSON: whatever may change the last digits."""
        torch, kind = import_torch(), self._device.partition(":")[0]
        name = torch.cuda.get_device_name(self._device) if kind == "cuda" else platform.machine()
        return {
            "engine": self.engine, "device": f"{kind} ({name})",
            "threads": torch.get_num_threads() if kind == "cpu" else None,
            "batch_size": self._batch_size, "host": platform.node(),
            "versions": {name: version_of(name) for name in (self.engine, *PACKAGES)},
        }  # fmt: skip

    def prepare(self, content: Any) -> Any:
        """Make tokens.

        Parameters
        ----------
        content : (sequence of str, sequence of str, {"passages", "queries"}) or list of (str, str)
            Texts, at least one; their ids, for messages; and their kind, which decides the instruction. For a reranker,
            pairs of a query and a passage.

        Returns
        -------
        object
            What `work` takes.
        """
        length = self._settings.max_length
        with self._lock:
            if self._unit == "pair":
                return self._tokens.pairs(content, length), None, "passages"
            texts, ids, side = content
            return self._tokens.texts([self._settings.instruction(side) + text for text in texts], length), ids, side

    def work(self, prepared: Any, advance: Advance) -> Any:
        """Encode texts, or score pairs.

        Parameters
        ----------
        prepared : object
            From `prepare`. The same texts give the same bytes; among others a text's last digits may differ.
        advance : callable
            Called after each batch with its number of texts or pairs.

        Returns
        -------
        (n, E) float32 or float16 array, CSR matrix of float32, or (n,) float32 array
            Vectors, weights of words, or scores of pairs (logits, larger is better), without NaN and infinity.

        Raises
        ------
        RunnerError
            Memory runs out, the model fails, or a number is not finite.
        """
        (rows, ids, side), asked = prepared, self._batch_size
        with self._trying(f"the model fails on {self._device}, even on one {self._unit}", MEMORY), self._computing:
            result = self._compute(rows, side, advance)
        if (size := self._batch_size) < asked:
            self.notes += (f"Memory on {self._device} is enough for {size} {self._unit}s at once, not {asked}.",)
        # A sum is not finite when a number is not, and of float32 it does not overflow.
        sums = result if result.ndim == 1 else np.asarray(result.sum(axis=1, dtype=np.float64)).ravel()
        if len(bad := np.flatnonzero(~np.isfinite(sums))):
            wrong = "the score of a pair" if ids is None else f"the vector of text {ids[bad[0]]!r}"
            todo = "Give --precision fp32; if it is, copy the model again."
            raise RunnerError(f"{wrong} is not finite", todo, file=self._model.name)
        return result

    @contextmanager
    def _trying(self, failure: str, todo: str) -> Iterator[None]:
        """Suppress output of the packages, and raise any error as a failure of the model."""
        try:
            with quiet():
                yield
        except RunnerError:
            raise
        except Exception as error:  # damaged files, memory, unknown architectures: each has its own exception
            todo = INSTALL if isinstance(error, ImportError) else todo
            raise RunnerError(f"{failure}: {first_line(error)}", todo, file=self._model.name) from error

    def _check_weights(self, kind: str) -> None:
        """Refuse weights that differ from the configuration: transformers would fill in the rest at random.

        ``kind`` is the class of transformers that would read them. Nothing is read here but names and shapes.
        """
        import transformers  # type: ignore[import-untyped,import-not-found,unused-ignore]

        _, loading = getattr(transformers, kind).from_pretrained(
            self._model.folder, device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True
        )
        # The pooler, which many leave out, comes after the hidden states and is not used. What is left over is most
        # often the head of the training, or T5's decoder; a layer is not.
        layer = re.compile(r"\blayers?\.\d+\.")
        wrong = [name for name in loading["missing_keys"] if not name.startswith("pooler.")]
        wrong += [name for name, *_ in loading["mismatched_keys"]]
        wrong += [name for name in loading["unexpected_keys"] if layer.search(name) and "decoder." not in name]
        if wrong:
            mismatch = f"tensors of the weights differ from config.json: {len(wrong)}, such as {min(wrong)}"
            raise RunnerError(mismatch, "Copy the model again.", file=self._model.name)

    def _try(self) -> None:
        """Refuse what the model cannot take, infinite results and tokenizers without words; note bad signs."""
        longest, tokenizer = WORD * self._settings.max_length, self._tokens.tokenizer
        if self._unit == "pair":
            self.work(self.prepare([(longest, longest), (WORD, WORD)]), lambda _: None)
            return
        tokens = tokenizer(f"{SCRIPTS} {PROBES[0]}", add_special_tokens=False)["input_ids"]
        if set(tokens) <= {tokenizer.unk_token_id}:
            no_words = "the tokenizer knows no word: every text would have the same vector"
            raise RunnerError(no_words, "Copy tokenizer.json or vocab.txt of the model again.", file=self._model.name)
        if self._settings.pooling == "lasttoken" and tokenizer(WORD)["input_ids"][-1] not in tokenizer.all_special_ids:
            note = "The vector of a text is that of its last token, and the tokenizer puts none of its own at the end: "
            self.notes += (f"{note}if the model was trained with one, texts will rank badly.",)
        if getattr(config := self._network.config, "auto_map", None):
            note = "The model's folder has code of its own, which is not run; "
            self.notes += (f"{note}transformers' {config.model_type} is used instead.",)
        for side in SIDES:
            rows = self.prepare(((*PROBES, longest), (*PROBES, "river river …"), side))
            vectors = self.work(rows, lambda _: None)[:2]
            one, other = (vectors.toarray() if self._model.kind == "sparse" else vectors).astype(np.float64)
            length = float(np.linalg.norm(one) * np.linalg.norm(other))
            if length == 0 or one @ other > SAME * length:
                note = f"Unrelated {side} have nearly the same vector, so their ranking will be noise: "
                self.notes += (f"{note}the model is untrained, or its pooling or --max-length is wrong.",)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers, sentence-transformers and FlagEmbedding from logging and drawing for a while."""
    import transformers

    bars: Any = transformers.utils.logging
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.WARNING)
        if bars.is_progress_bar_enabled():
            stack.callback(bars.enable_progress_bar)
            bars.disable_progress_bar()
        for name, module in list(sys.modules.items()):
            for bar, plain in BARS.items() if name.startswith("FlagEmbedding.inference") else ():
                if hasattr(module, bar):
                    stack.callback(setattr, module, bar, getattr(module, bar))
                    setattr(module, bar, plain)
        yield
