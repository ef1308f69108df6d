"""Find a model, look at it without loading it, and settle everything that decides the vectors.

A model is a folder or a name on the Hugging Face hub. What is read here is small (configuration, the heads of the
weights) but for the hashes; torch is not needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from treceval_py.errors import RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.retrieval.hub import DECIDING, TOKENIZERS, Sketch, from_cache, from_hub, sketch, weight_files

__all__ = [
    "POOLINGS",
    "PRECISIONS",
    "UNLIMITED",
    "Model",
    "Settings",
    "Side",
    "find_model",
    "identity",
    "preview_model",
    "settings_for",
]

Side = Literal["passages", "queries"]

POOLINGS = ("cls", "mean")
"""How a text's tokens become one vector: that of the first token, or the mean of all; FlagModel has no other."""

PRECISIONS = ("fp32", "bf16", "fp16")
"""The numbers that the model computes with."""

LONGEST = 512
"""Tokens of a text that count where nothing else is asked for."""

UNLIMITED = 2**31 - 1
"""The number of positions of a model whose configuration names no limit."""

# As the model cards of BGE have them; the last character of the English one is a space.
INSTRUCTIONS = {
    "bge-en": "Represent this sentence for searching relevant passages: ",
    "bge-zh": "为这个句子生成表示以用于检索相关文章：",
    "bge-zh-noinstruct": "",
    "bge-m3": "",
}
"""What BGE models want before a query."""

# RoBERTa counts positions from the one after the padding token, so that some of the table are never used.
OFFSET_POSITIONS = frozenset(
    {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
     "xlm-roberta-xl", "xmod"}
)  # fmt: skip


class Settings(NamedTuple):
    """Everything that decides the vectors of a text, apart from the text.

    Attributes
    ----------
    model : str
        The name on the hub, or the folder, as it was given.
    revision : str or None
        The commit of a hub model.
    pooling : str
        ``cls`` or ``mean``.
    normalise : bool
        Whether vectors are divided by their lengths.
    precision : str
        ``fp32``, ``bf16`` or ``fp16``.
    dimensions : int or None
        How many of the first numbers of a vector are kept; None keeps all.
    query_instruction, passage_instruction : str
        What is written before each text; ``""`` is nothing.
    query_max_length, passage_max_length : int
        Tokens of a text that count, those of the instruction and the tokenizer's own included.
    """

    model: str
    revision: str | None
    pooling: str
    normalise: bool
    precision: str
    dimensions: int | None
    query_instruction: str
    passage_instruction: str
    query_max_length: int
    passage_max_length: int

    def instruction(self, side: Side) -> str:
        """Return what is written before each text of a side."""
        return self.query_instruction if side == "queries" else self.passage_instruction

    def max_length(self, side: Side) -> int:
        """Return how many tokens of a text of a side count."""
        return self.query_max_length if side == "queries" else self.passage_max_length


class Model(NamedTuple):
    """A model that was found and looked at; its weights are not loaded.

    Attributes
    ----------
    name : str
        As it was given.
    folder : str
        Where its files are.
    revision : str or None
        The commit of a hub model.
    files : dict of str to str
        The SHA-256 of each file that decides the vectors, by its path in the folder.
    hidden_size : int
        The length of its vectors, E.
    positions : int
        How many tokens a text can have; `UNLIMITED` where the configuration names no limit.
    pooling : str or None
        What ``1_Pooling/config.json`` says, such as ``mean``.
    family : str or None
        Which kind of BGE model it is (``bge-en``, ``bge-zh``, ``bge-zh-noinstruct``, ``bge-m3``).
    parameters : int or None
        How many numbers the weights are; None where the format of the weights does not say.
    model_type : str
        The architecture, such as ``bert``.
    bytes : int
        The size of the weights.
    """

    name: str
    folder: str
    revision: str | None
    files: dict[str, str]
    hidden_size: int
    positions: int
    pooling: str | None
    family: str | None
    parameters: int | None
    model_type: str
    bytes: int

    @property
    def is_bge(self) -> bool:
        """Whether it is a model of BGE, by its name."""
        return self.family is not None

    @property
    def sha256(self) -> str:
        """A SHA-256 of the hashes of all its files."""
        return hashlib.sha256(json.dumps(self.files, sort_keys=True).encode()).hexdigest()


def find_model(name: str | os.PathLike[str], revision: str | None = None) -> Model:
    """Find a model and look at its files.

    Parameters
    ----------
    name : str or path
        A folder, or a name on the hub such as ``BAAI/bge-base-en-v1.5``, which is downloaded unless it is in the
        hub's cache.
    revision : str, optional
        The branch, tag or commit of a hub model.

    Returns
    -------
    Model
        Where it is and what can be known of it without loading it.

    Raises
    ------
    RunnerError
        There is no such folder, or something is missing in it; the hub cannot be reached or has no such model.
    """
    name = os.fspath(name)
    if not name:
        raise RunnerError("the name of the model is empty", "Give a model's folder, or its name on the hub.")
    if os.path.isdir(name):
        if revision is not None:
            raise RunnerError("a folder has no revisions", "Leave --revision out.", file=name)
        return _look(name, name, None)
    if os.path.exists(name):
        raise RunnerError("is a file, and a model is a folder", "Give the folder that it is in.", file=name)
    if _is_path(name):
        raise RunnerError("there is no such folder", "Give a model's folder, or its name on the hub.", file=name)
    folder = from_hub(name, revision)
    return _look(name, folder, os.path.basename(folder))


def preview_model(name: str | os.PathLike[str], revision: str | None = None) -> Model:
    """Look at a model as `find_model` does, but download no weights.

    Parameters
    ----------
    name : str or path
        As of `find_model`.
    revision : str, optional
        As of `find_model`.

    Returns
    -------
    Model
        Of a hub model that is not in the hub's cache only its configuration is fetched: its ``files`` are then empty.

    Raises
    ------
    RunnerError
        As of `find_model`.
    """
    name = os.fspath(name)
    if os.path.exists(name) or _is_path(name):
        return find_model(name, revision)
    folder = from_cache(name, revision)
    if folder is not None:
        with suppress(RunnerError):  # a part of it may be there
            return _look(name, folder, os.path.basename(folder))
    return _previewed(name, sketch(name, revision))


def _previewed(name: str, found: Sketch) -> Model:
    """Return what the configuration of a hub model says of it."""
    path = os.path.join(found.folder, "config.json")
    config = _read_config(path)
    return Model(
        name=name,
        folder=found.folder,
        revision=found.revision,
        files={},
        hidden_size=_hidden_size(config, path),
        positions=_positions(config),
        pooling=_own_pooling(found.folder),
        family=_family(name, found.folder, config),
        parameters=None,
        model_type=str(config.get("model_type", "")),
        bytes=found.bytes,
    )


def settings_for(
    model: Model,
    *,
    pooling: str | None = None,
    normalise: bool = True,
    precision: str = "fp32",
    dimensions: int | None = None,
    query_instruction: str | None = None,
    passage_instruction: str | None = None,
    query_max_length: int | None = None,
    passage_max_length: int | None = None,
) -> Settings:
    """Settle what decides the vectors: what is asked for, else what is right for the model.

    Parameters
    ----------
    model : Model
        From `find_model`.
    pooling : str, optional
        By default what the model says, and ``cls`` for BGE models.
    normalise : bool
        Whether vectors are divided by their lengths.
    precision : str
        ``fp32``, ``bf16`` or ``fp16``.
    dimensions : int, optional
        How many numbers of a vector are kept, from 1 to E.
    query_instruction : str, optional
        By default BGE's own for BGE models, and none for others.
    passage_instruction : str, optional
        By default none.
    query_max_length, passage_max_length : int, optional
        From 3 to what the model can take; by default 512 or what it can take, whichever is less.

    Returns
    -------
    Settings
        With nothing left open.

    Raises
    ------
    RunnerError
        A value is unknown or out of range, contradicts the model, or is needed and was not given.
    """
    if precision not in PRECISIONS:
        what = f"precision {precision!r} is none of {', '.join(PRECISIONS)}"
        raise RunnerError(what, "Give one of them.", file=model.name)
    if dimensions is not None and not 1 <= dimensions <= model.hidden_size:
        what = f"{dimensions} dimensions cannot be kept of vectors that have {model.hidden_size}"
        raise RunnerError(what, f"Give 1 to {model.hidden_size}.", file=model.name)
    if query_instruction is None:
        query_instruction = INSTRUCTIONS[model.family] if model.family is not None else ""
    return Settings(
        model=model.name,
        revision=model.revision,
        pooling=_pooling_for(model, pooling),
        normalise=normalise,
        precision=precision,
        dimensions=dimensions,
        query_instruction=query_instruction,
        passage_instruction=passage_instruction or "",
        query_max_length=_length_for(model, query_max_length, "--query-max-length"),
        passage_max_length=_length_for(model, passage_max_length, "--passage-max-length"),
    )


def identity(model: Model, settings: Settings, side: Side) -> dict[str, Any]:
    """Return what decides the vectors of a side, as plain JSON: equal for embeddings that may stand together.

    Batch size, device and versions are not in it, though they may change the last digits.

    Parameters
    ----------
    model : Model
        The model.
    settings : Settings
        The settings.
    side : {"passages", "queries"}
        Which texts.

    Returns
    -------
    dict
        The model (name, revision, hashes of its files), pooling, normalisation, precision, dimensions, and the
        instruction and the greatest length of that side.
    """
    # A folder may be called in several ways, from several places: its last name is all that means something.
    name = model.name if model.revision is not None else os.path.basename(os.path.realpath(model.folder))
    return {
        "model": {"name": name, "revision": model.revision, "files": dict(model.files)},
        "pooling": settings.pooling,
        "normalise": settings.normalise,
        "precision": settings.precision,
        "dimensions": settings.dimensions or model.hidden_size,
        "instruction": settings.instruction(side),
        "max_length": settings.max_length(side),
    }


def _pooling_for(model: Model, asked: str | None) -> str:
    if asked is not None and asked not in POOLINGS:
        raise RunnerError(f"pooling {asked!r} is none of {', '.join(POOLINGS)}", "Give one of them.", file=model.name)
    if model.pooling is not None and model.pooling not in POOLINGS:
        what = f"the model pools by {model.pooling} (1_Pooling/config.json), and FlagModel only by cls or mean"
        raise RunnerError(what, "Use another model.", file=model.name)
    if asked is not None and model.pooling is not None and asked != model.pooling:
        what = f"the model pools by {model.pooling} (1_Pooling/config.json), and --pooling is {asked}"
        todo = "Leave --pooling out, or give a copy of the model's folder without 1_Pooling."
        raise RunnerError(what, todo, file=model.name)
    pooling = asked or model.pooling or ("cls" if model.is_bge else None)
    if pooling is None:
        what = "--pooling cls or mean must be given, as the model does not say"
        raise RunnerError(what, "Its authors' description does; the wrong one ranks badly.", file=model.name)
    return pooling


def _length_for(model: Model, asked: int | None, option: str) -> int:
    if asked is None:
        return min(LONGEST, model.positions)
    if asked > model.positions:
        what = f"{option} {asked} is more than the {model.positions} tokens that the model can take"
        raise RunnerError(what, f"Give {model.positions} or less.", file=model.name)
    if asked < 3:  # the first and the last token are the tokenizer's own
        raise RunnerError(f"{option} {asked} leaves no room for a text", "Give 3 or more.", file=model.name)
    return asked


# Folders


class _Weights(NamedTuple):
    """The files of the weights, their size, and how many numbers they hold."""

    names: list[str]
    bytes: int
    parameters: int | None


def _look(name: str, folder: str, revision: str | None) -> Model:
    _check_pieces(name, folder)
    config = _read_config(os.path.join(folder, "config.json"))
    _check_layers(folder)
    weights = _look_at_weights(folder)
    deciding = sorted({*weights.names, *(file for file in DECIDING if _is_file(folder, file))})
    return Model(
        name=name,
        folder=folder,
        revision=revision,
        files={file: digest_of_file(os.path.join(folder, file)) for file in deciding},
        hidden_size=_hidden_size(config, os.path.join(folder, "config.json")),
        positions=_positions(config),
        pooling=_own_pooling(folder),
        family=_family(name, folder, config),
        parameters=weights.parameters,
        model_type=str(config.get("model_type", "")),
        bytes=weights.bytes,
    )


def _check_pieces(name: str, folder: str) -> None:
    """Refuse a folder in which a part of a model is missing, and name the part."""
    lacking, files = [], _listed(folder)
    if not _is_file(folder, "config.json"):
        lacking.append("config.json")
    if not weight_files(files):
        lacking.append("weights (model.safetensors or pytorch_model.bin)")
    # Without these files transformers makes a tokenizer that knows no word, and says nothing.
    if not any(all(_is_file(folder, file) for file in needed) for needed in TOKENIZERS):
        lacking.append("tokenizer (tokenizer.json, vocab.txt or a sentencepiece model)")
    if lacking:
        what = f"the model has no {' and no '.join(lacking)}"
        raise RunnerError(what, "Copy what is missing into its folder.", file=name)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        what = f"the folder cannot be read: {error.strerror or error}"
        raise RunnerError(what, "Check its permissions.", file=folder) from None


def _is_file(folder: str, file: str) -> bool:
    return os.path.isfile(os.path.join(folder, file))


def _read_json(path: str) -> Any:
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read())
    except (OSError, ValueError) as error:
        raise RunnerError(f"cannot be read as JSON: {error}", "Copy the model again.", file=path) from None


def _read_config(path: str) -> dict[str, Any]:
    config = _read_json(path)
    if not isinstance(config, dict):
        raise RunnerError("is no JSON object", "Copy the model again.", file=path)
    return config


def _hidden_size(config: dict[str, Any], path: str) -> int:
    for key in ("hidden_size", "dim", "d_model", "n_embd"):
        if isinstance(config.get(key), int):
            return int(config[key])
    raise RunnerError("does not say how long the vectors are (hidden_size)", "Use an encoder model.", file=path)


def _positions(config: dict[str, Any]) -> int:
    for key in ("max_position_embeddings", "n_positions"):
        if isinstance(config.get(key), int) and config[key] > 0:
            padding = config.get("pad_token_id", 1)
            # Without a padding token, positions are counted as with the one that the architecture has by default.
            padding = padding if isinstance(padding, int) else 1
            return int(config[key]) - (padding + 1 if config.get("model_type") in OFFSET_POSITIONS else 0)
    return UNLIMITED


def _own_pooling(folder: str) -> str | None:
    """Return what the model says of its pooling, in sentence-transformers' words; joined by + if it is several."""
    if not _is_file(folder, "1_Pooling/config.json"):
        return None
    config = _read_config(os.path.join(folder, "1_Pooling", "config.json"))
    modes = config.get("pooling_mode")
    if modes is None:  # before version 5.6: a key for each
        modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if "pooling_mode_" in key and on]
    names = [modes] if isinstance(modes, str) else modes
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        path = os.path.join(folder, "1_Pooling", "config.json")
        raise RunnerError("does not say how to pool (pooling_mode)", "Copy the model again.", file=path)
    short = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    return "+".join(str(short.get(name, name)) for name in names) or None


def _check_layers(folder: str) -> None:
    """Refuse a model with layers after the pooling, which FlagModel would leave out without a word."""
    path = os.path.join(folder, "modules.json")
    modules = _read_json(path) if os.path.isfile(path) else []
    for module in modules if isinstance(modules, list) else []:
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in {"", "Transformer", "Pooling", "Normalize", "Dropout"}:
            what = f"the model has a layer {kind}, which FlagModel would leave out"
            todo = "Use another model, or give a copy of its folder without modules.json to leave it out."
            raise RunnerError(what, todo, file=path)


def _look_at_weights(folder: str) -> _Weights:
    names = weight_files(_listed(folder))
    if "-of-" not in names[0]:
        index = None
    else:
        index = re.sub(r"-\d+-of-\d+", "", names[0]) + ".index.json"
        if not _is_file(folder, index):
            raise RunnerError(f"the model has no {index}", "Copy it into the folder.", file=folder)
        listed = _read_config(os.path.join(folder, index)).get("weight_map")
        wanted = sorted(set(listed.values())) if isinstance(listed, dict) else names
        gone = [name for name in wanted if name not in names]
        if gone:
            raise RunnerError(f"the model has no {' and no '.join(gone)}", "Copy it into the folder.", file=folder)
    paths = [os.path.join(folder, name) for name in names]
    counts = [_numbers_in(path) for path in paths if path.endswith(".safetensors")]
    return _Weights(
        [*names, *([index] if index else [])], sum(map(os.path.getsize, paths)), sum(counts) if counts else None
    )


def _numbers_in(path: str) -> int:
    """Count the numbers in a safetensors file by its head, and see whether the file is whole."""
    size = os.path.getsize(path)
    broken = RunnerError("the weights are truncated, or no safetensors file", "Copy the model again.", file=path)
    try:
        with open(path, "rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > size - 8:  # a pointer of Git LFS is text, whose first bytes are a huge number
                raise broken
            head = json.loads(stream.read(length))
        tensors = [tensor for key, tensor in head.items() if key != "__metadata__"]
        end = max((tensor["data_offsets"][1] for tensor in tensors), default=0)
        count = sum(_product(tensor["shape"]) for tensor in tensors)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise broken from None
    if 8 + length + end != size:
        raise broken
    return count


def _product(shape: Sequence[int]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product


def _family(name: str, folder: str, config: dict[str, Any]) -> str | None:
    """Tell which kind of BGE model this is by its name, else by what it was trained from."""
    for title in (_title(name), _title(os.path.realpath(folder)), _title(str(config.get("_name_or_path", "")))):
        found = re.match(r"(?:baai_)?bge-(?:(?:small|base|large)-(en|zh-noinstruct|zh)|(m3))(?![a-z])", title.lower())
        if found:
            return f"bge-{found.group(1) or found.group(2)}"
    return None


def _title(path: str) -> str:
    """Return the part of a path that names the model, also in the hub's cache and of a checkpoint."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    if len(parts) > 2 and parts[-2] == "snapshots":
        return parts[-3].rpartition("--")[2]
    if len(parts) > 1 and parts[-1].startswith("checkpoint-"):
        return parts[-2]
    return parts[-1] if parts else ""


# The hub


def _is_path(name: str) -> bool:
    """Tell whether a name is meant as a folder: it cannot be one of the hub, or a folder above it is there."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", name):
        return True
    return "/" in name and os.path.isdir(os.path.dirname(name))
