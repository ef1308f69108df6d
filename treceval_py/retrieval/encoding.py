"""Texts to vectors on one device: FlagEmbedding's FlagModel, with its traps looked for before hours are spent.

FlagModel computes the vectors, so they are those that its users know. What is done here around it: what it draws on
the terminal is kept quiet and its progress told; what it hides (errors of the model, tokenizers that know no word,
weights that are missing and filled in at random) is found when it is loaded.
"""

from __future__ import annotations

import contextlib
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.data.ids import quoted
from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import check_precision
from treceval_py.retrieval.hub import INSTALL
from treceval_py.retrieval.models import Model, Settings, Side

if TYPE_CHECKING:
    from treceval_py.retrieval.vectors import FloatArray32

__all__ = ["Encoder", "versions"]

SIDES: tuple[Side, ...] = ("passages", "queries")

PROBES = (
    "The river rises in the mountains and flows slowly down to the sea.",
    "Interest rates were lowered twice by the central bank last year.",
)
"""Two texts with nothing in common."""

SCRIPTS = "river 2026 Москва 河流在哪里 ποταμός"
"""Words of several scripts, of which every tokenizer knows something."""

SAME = 0.9999
"""The cosine above which unrelated texts count as having the same vector."""

WORD = "river "
"""What the longest text is made of."""


class Encoder:
    """A model on a device, ready to encode.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    device : str
        From `devices.devices_for`.
    batch_size : int
        How many texts are encoded at once.

    Attributes
    ----------
    notes : tuple of str
        What people should know of the model, a sentence or two each.
    dimensions : int
        The length of the vectors, E.

    Raises
    ------
    RunnerError
        A package is missing, or the model cannot be loaded, or does not do what it should.
    """

    def __init__(self, model: Model, settings: Settings, *, device: str, batch_size: int) -> None:
        check_precision(settings.precision, device)
        if batch_size < 1:
            raise RunnerError(f"a batch of {batch_size} texts cannot be encoded", "Give --batch-size 1 or more.")
        self.notes: tuple[str, ...] = ()
        self.dimensions = settings.dimensions or model.hidden_size
        self._model = model
        self._settings = settings
        self._device = device
        self._batch_size = batch_size
        self._smallest = batch_size
        with _quiet():
            self._flag = _load(model, settings, device, batch_size)
            self._check_tokenizer()
            for side in SIDES:
                self._check_length(side)
        self._check_vectors()

    @property
    def by(self) -> dict[str, object]:
        """Who makes the vectors, as plain JSON: what may change their last digits."""
        import torch  # type: ignore[import-not-found,unused-ignore]

        kind = self._device.partition(":")[0]
        name = torch.cuda.get_device_name(self._device) if kind == "cuda" else platform.machine()
        return {
            "device": f"{kind} ({name})",
            "threads": torch.get_num_threads() if kind == "cpu" else None,
            "batch_size": self._smallest,
            "host": platform.node(),
            "versions": versions(),
        }

    def encode(
        self,
        texts: list[str],
        *,
        side: Side,
        advance: Callable[[int], None] | None = None,
        ids: Sequence[str] | None = None,
    ) -> FloatArray32:
        """Encode texts.

        Parameters
        ----------
        texts : list of str, length n
            The texts. The same list gives the same bytes; in another list a text's last digits may differ.
        side : {"passages", "queries"}
            What they are, which decides on the instruction and the length.
        advance : callable, optional
            Is told how many texts were done, batch by batch.
        ids : sequence of str, length n, optional
            Their ids, for messages.

        Returns
        -------
        (n, E) float32 array
            C-contiguous, without NaN and infinity.

        Raises
        ------
        RunnerError
            They are no list of text, memory runs out, or a vector is not finite.
        """
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise RunnerError("what is to be encoded is no list of text", "Give a list of str.")
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        loop = _Loop(advance)
        once = _Once(self._flag.model, loop)
        try:
            with _quiet(), _in_place_of_bars(loop), _replaced(self._flag, {"model": once}), self._precision():
                found = self._flag.encode(
                    texts,
                    batch_size=self._batch_size,
                    max_length=self._settings.max_length(side),
                    instruction=self._settings.instruction(side) or None,
                    instruction_format="{}{}",
                )
        except Exception as error:  # what FlagModel ends in says little: the cause is looked for
            raise self._cause(error, texts, side, ids) from error
        self._note_size(loop.size)
        vectors: FloatArray32 = np.ascontiguousarray(found, dtype=np.float32)
        self._check_finite(vectors, texts, ids)
        return vectors

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        """Compute in bf16 on a CPU, where FlagModel would load fp32 whatever it is told."""
        if self._device != "cpu" or self._settings.precision != "bf16":
            return contextlib.nullcontext()
        import torch

        context: contextlib.AbstractContextManager[object] = torch.autocast("cpu", dtype=torch.bfloat16)
        return context

    def _forward(self, texts: list[str], side: Side) -> FloatArray32:
        """Run the model without FlagModel's loop, whose search for a batch size hides every error."""
        import torch

        inputs = self._flag.tokenizer(
            [self._settings.instruction(side) + text for text in texts],
            truncation=True,
            max_length=self._settings.max_length(side),
            padding=True,
            return_tensors="pt",
        ).to(self._device)
        with torch.no_grad(), self._precision():
            hidden = self._flag.model(**inputs, return_dict=True).last_hidden_state
            pooled: FloatArray32 = self._flag.pooling(hidden, inputs["attention_mask"]).float().cpu().numpy()
        return pooled

    def _check_tokenizer(self) -> None:
        """Refuse a tokenizer that knows no word, or more tokens than the model."""
        tokenizer, name = self._flag.tokenizer, self._model.name
        tokens = tokenizer(f"{SCRIPTS} {PROBES[0]}", add_special_tokens=False)["input_ids"]
        if set(tokens) <= {tokenizer.unk_token_id}:
            what = "the tokenizer knows no word: every text would have the same vector"
            raise RunnerError(what, "Copy tokenizer.json or vocab.txt of the model again.", file=name)
        known = int(self._flag.model.get_input_embeddings().weight.shape[0])
        if len(tokenizer) > known:
            what = f"the tokenizer has {len(tokenizer)} tokens, and the model knows {known}"
            raise RunnerError(what, "Give the tokenizer that belongs to the model.", file=name)

    def _check_length(self, side: Side) -> None:
        """Refuse an instruction that leaves no room for texts, and a model that cannot take the longest text."""
        longest, instruction = self._settings.max_length(side), self._settings.instruction(side)
        alone = len(self._flag.tokenizer(instruction)["input_ids"])
        option = "--query-max-length" if side == "queries" else "--passage-max-length"
        if instruction and alone >= longest:
            what = f"the instruction alone has {alone} tokens, and {option} is {longest}: no text would be left"
            raise RunnerError(what, "Give more, or a shorter instruction.", file=self._model.name)
        try:
            pooled = self._forward([WORD * longest, PROBES[0]], side)
        except Exception as error:  # a model can fail in any way
            what = f"the model fails on a text of {longest} tokens on {self._device}: {_first_line(error)}"
            raise RunnerError(what, f"A smaller {option} may help.", file=self._model.name) from error
        if pooled.shape != (2, self._model.hidden_size):
            what = f"the vectors have {pooled.shape[-1]} dimensions, and config.json says {self._model.hidden_size}"
            raise RunnerError(what, "Copy the model again.", file=self._model.name)

    def _check_vectors(self) -> None:
        """Refuse vectors that are not finite, and note when unrelated texts have the same."""
        for side in SIDES:
            one, other = self.encode(list(PROBES), side=side).astype(np.float64)
            length = float(np.linalg.norm(one) * np.linalg.norm(other))
            if length == 0 or one @ other > SAME * length:
                note = f"Unrelated {side} have nearly the same vector, so their ranking will be noise: "
                self.notes += (f"{note}the model is untrained, or --pooling {self._settings.pooling} is wrong for it.",)

    def _check_finite(self, vectors: FloatArray32, texts: list[str], ids: Sequence[str] | None) -> None:
        # The sum is not finite when a number is not, and takes no memory; a sum may overflow without.
        if np.isfinite(vectors.sum(dtype=np.float64)) or np.isfinite(vectors).all():
            return
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        what = f"the vector of {_name(row, texts, ids)} is not finite"
        todo = "Give --precision fp32." if self._settings.precision != "fp32" else "The weights are damaged, perhaps."
        raise RunnerError(what, todo, file=self._model.name)

    def _note_size(self, size: int) -> None:
        if size < self._smallest:
            self._smallest = size
            self.notes += (f"Memory on {self._device} is enough for {size} texts at once, not {self._batch_size}.",)

    def _cause(self, error: Exception, texts: list[str], side: Side, ids: Sequence[str] | None) -> RunnerError:
        """Find out what FlagModel's error is about."""
        invalid = next((row for row, text in enumerate(texts) if not _is_unicode(text)), None)
        if invalid is not None:
            return RunnerError(f"{_name(invalid, texts, ids)} is no valid Unicode text", "Write it in UTF-8.")
        try:
            with _quiet():
                self._forward([max(texts, key=len)], side)
        except Exception as alone:  # noqa: BLE001 - a model can fail in any way
            what = f"the model fails on {self._device}, even on one text: {_first_line(alone)}"
            return RunnerError(what, "If it is memory, free some, or give a smaller length.", file=self._model.name)
        what = f"{self._batch_size} texts at once cannot be encoded on {self._device}: {_first_line(error)}"
        return RunnerError(what, "Give a smaller --batch-size.", file=self._model.name)


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide the vectors, by the names of the packages."""
    found = {}
    for package in ("FlagEmbedding", "numpy", "tokenizers", "torch", "transformers"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


class _Loop:
    """Stands in for FlagModel's progress bars: tells how far it is, and hears how large a batch is."""

    def __init__(self, advance: Callable[[int], None] | None) -> None:
        self.size = 0
        self._advance = advance

    def trange(self, start: int, stop: int, step: int, **_: object) -> range:
        """Count without a bar: this is the loop of the tokenizer."""
        return range(start, stop, step)

    def tqdm(self, starts: range, **_: object) -> Iterator[int]:
        """Count, and tell when a batch is done: this is the loop of the model."""
        self.size = starts.step
        for start in starts:
            yield start
            if self._advance is not None:
                self._advance(min(starts.step, starts.stop - start))


class _Once:
    """Stands in for the model, to spare it the first batch.

    FlagModel runs the longest batch to see whether it fits in memory, throws the result away, and then begins its loop
    with that same batch. For large batches that is some hundredths of all the work of a chunk.
    """

    def __init__(self, model: Any, loop: _Loop) -> None:
        self._original = model
        self._loop = loop
        self._kept: Any = None

    def __call__(self, **inputs: Any) -> Any:
        """Compute, or return what was computed before the loop began."""
        if not self._loop.size:
            # Let go before, or what does not fit would be tried beside what did.
            self._kept = None
            self._kept = self._original(**inputs)
            return self._kept
        kept, self._kept = self._kept, None
        return self._original(**inputs) if kept is None else kept

    def __getattr__(self, name: str) -> Any:
        """Return what the model has."""
        return getattr(self._original, name)


class _Recorder:
    """Stands in for transformers' AutoModel, to hear how the weights differ from what the configuration says."""

    def __init__(self, original: Any) -> None:
        self.missing: list[str] = []
        self.left: list[str] = []
        self.misshapen: list[str] = []
        self._original = original

    def from_pretrained(self, *given: object, **named: object) -> Any:
        """Load a model as AutoModel does."""
        # Transformers' own error about shapes refers to a report that is not printed here.
        named = {**named, "ignore_mismatched_sizes": True}
        model, info = self._original.from_pretrained(*given, **named, output_loading_info=True)
        # The pooler, which many leave out, comes after the hidden states and is not used.
        self.missing = sorted(name for name in info["missing_keys"] if not name.startswith("pooler."))
        # What is left over is most often the head of the training; a layer is not.
        self.left = sorted(name for name in info["unexpected_keys"] if re.search(r"\blayers?\.\d+\.", name))
        self.misshapen = sorted(name for name, *_ in info["mismatched_keys"])
        return model


def _load(model: Model, settings: Settings, device: str, batch_size: int) -> Any:
    """Make FlagModel load a model, and move it to the device."""
    base = _base()
    recorder = _Recorder(base.AutoModel)
    half = device != "cpu"
    try:
        with _replaced(base, {"AutoModel": recorder}):
            flag = base.BaseEmbedder(
                model.folder,
                normalize_embeddings=settings.normalise,
                use_fp16=half and settings.precision == "fp16",
                use_bf16=half and settings.precision == "bf16",
                devices=device,
                pooling_method=settings.pooling,
                batch_size=batch_size,
                truncate_dim=settings.dimensions,
            )
        flag.model.to(device)
    except Exception as error:  # damaged files, unknown architectures: each has its own exception
        what = f"the model cannot be loaded: {_first_line(error)}"
        raise RunnerError(what, "Copy it again, or use another.", file=model.name) from error
    if recorder.misshapen:
        what = f"the weights have other shapes than config.json says, such as {recorder.misshapen[0]}"
        raise RunnerError(what, "Copy the model again.", file=model.name)
    if recorder.missing:
        what = f"the weights lack {len(recorder.missing)} of the model's tensors, such as {recorder.missing[0]}"
        raise RunnerError(what, "They would be made up at random: copy the model again.", file=model.name)
    if recorder.left:
        what = f"the weights have layers that config.json does not say, such as {recorder.left[0]}"
        raise RunnerError(what, "They would be left out: copy the model again.", file=model.name)
    flag.model.eval()
    return flag


def _base() -> Any:
    """Import the module of FlagEmbedding that FlagModel is in."""
    try:
        from FlagEmbedding.inference.embedder.encoder_only import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
            base,
        )
    except ModuleNotFoundError as error:
        package = (error.name or "FlagEmbedding").partition(".")[0]
        raise RunnerError(f"encoding needs the package {package}, which is not installed", INSTALL) from None
    except ImportError as error:
        what = f"the package FlagEmbedding cannot be imported: {_first_line(error)}"
        todo = "Versions do not fit together: pip install -U FlagEmbedding transformers."
        raise RunnerError(what, todo) from error
    return base


@contextmanager
def _in_place_of_bars(loop: _Loop) -> Iterator[None]:
    with _replaced(_base(), {"tqdm": loop.tqdm, "trange": loop.trange}):
        yield


@contextmanager
def _replaced(module: Any, names: dict[str, Any]) -> Iterator[None]:
    """Give names of a module other values for a while."""
    before = {name: getattr(module, name) for name in names}
    try:
        for name, value in names.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from logging and drawing for a while."""
    _base()  # which says so when a package is missing
    import transformers  # type: ignore[import-untyped,import-not-found,unused-ignore]

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(row: int, texts: list[str], ids: Sequence[str] | None) -> str:
    """Name a text for a message: its id, or its place and how it begins."""
    if ids is not None:
        return f"text {ids[row]!r}"
    return f"text {row + 1} ({quoted(texts[row].encode(errors='backslashreplace'))})"


def _first_line(error: BaseException) -> str:
    """Return the first line of an error that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0][:300].rstrip(".") if lines else "") or type(error).__name__
