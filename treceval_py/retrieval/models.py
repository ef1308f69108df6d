"""Find a model, look at it without loading it, and settle everything that decides the vectors.

A model is a folder or a name on the Hugging Face hub. It describes itself in the files that sentence-transformers keeps
(``modules.json``, ``1_Pooling``, ``config_sentence_transformers.json``, ``sentence_bert_config.json``); where it does
not, its family's model card does (`FAMILIES`). What is read here is small but for the hashes; torch is not needed.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treceval_py.errors import RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.retrieval.hub import TOKENIZER, deciding, from_hub, weight_files

Side = Literal["passages", "queries"]

Kind = Literal["dense", "sparse", "reranker"]
"""Output of a model: a vector for each text, weights of words, or a score for a query with a passage."""

POOLINGS = ("cls", "mean", "lasttoken")
"""Poolings of a text's tokens into one vector: the first token, the mean of all, or the last token."""

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp16-weights": "float16"}
"""The numbers that the model computes with, and torch's name of them; fp16-weights: only rounded to them."""

LONGEST = 512
"""Default number of tokens of a text that count."""

SHORTEST = 3
"""Fewest tokens of a text that count: the first and the last one are the tokenizer's own."""

UNLIMITED = 2**31 - 1
"""The number of positions of a model whose configuration names no limit."""

PROMPTS: dict[Side, tuple[str, ...]] = {
    "queries": ("query", "web_search_query", "s2p_query", "search_query", "retrieval.query"),
    "passages": ("passage", "document", "corpus", "search_document", "retrieval.passage"),
}
"""Names of prompts in config_sentence_transformers.json; the first that is not empty counts."""


class Family(NamedTuple):
    """The settings on the model card of a family of models.

    Attributes
    ----------
    pattern : str
        A regular expression that the names of its models begin with.
    pooling : str or None
        ``cls``, ``mean`` or ``lasttoken``.
    query, passage : str
        Text put before each query or passage.
    query_suffix : str
        Text put after each query, even if it was cut.
    normalise : bool
        Whether vectors are divided by their lengths.
    """

    pattern: str
    pooling: str | None
    query: str = ""
    passage: str = ""
    query_suffix: str = ""
    normalise: bool = True


_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_E5 = f"Instruct: {_TASK}\nQuery: "
_BGE = f"<instruct>{_TASK}.\n<query>"

# The first pattern that fits counts. Spaces at the end of an instruction belong to it.
FAMILIES = {
    "bge-en": Family(
        r"bge-(small|base|large)-en(?![a-z])", "cls", "Represent this sentence for searching relevant passages: "
    ),
    "bge-zh-noinstruct": Family(r"bge-(small|base|large)-zh-noinstruct", "cls"),
    "bge-zh": Family(r"bge-(small|base|large)-zh(?![a-z])", "cls", "为这个句子生成表示以用于检索相关文章："),
    "bge-m3": Family(r"bge-m3(?![a-z])", "cls"),
    "bge-en-icl": Family(r"bge-en-icl", "lasttoken", _BGE, query_suffix="\n<response>"),
    "bge-multilingual-gemma2": Family(r"bge-multilingual-gemma2", "lasttoken", _BGE),
    "e5-instruct": Family(r"multilingual-e5-large-instruct", "mean", _E5),
    "e5": Family(r"(multilingual-)?e5-(small|base|large)(?![a-z])", "mean", "query: ", "passage: "),
    "e5-mistral": Family(r"e5-mistral|sfr-embedding|linq-embed-mistral|gte-qwen", "lasttoken", _E5),
    "qwen3-embedding": Family(r"qwen3-embedding", "lasttoken", f"Instruct: {_TASK}\nQuery:"),
    "gte-cls": Family(r"gte-((base|large)-en-v1\.5|multilingual|modernbert|(small|base|large)-zh)", "cls"),
    "gte": Family(r"gte-(small|base|large)(?![a-z])", "mean"),
    "inner-product": Family(r"contriever|.*-dot(?![a-z])|.*tas-b(?![a-z])", None, normalise=False),
}
"""Families of models whose files lack these settings, with those of their model cards."""

# RoBERTa counts positions from the one after the padding token, so that some of the table are never used.
OFFSET_POSITIONS = frozenset(
    {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
     "xlm-roberta-xl", "xmod"}
)  # fmt: skip

KINDS: dict[Kind, tuple[str, str]] = {
    "dense": ("a model of one vector for each text", "to treceval retrieve as --model, with --retriever dense"),
    "sparse": (
        "a sparse model, which weighs the words of each text",
        "to treceval retrieve as --model, with --retriever sparse",
    ),
    "reranker": ("a reranker, which scores a query with a passage", "as --rerank, or to treceval rerank"),
}
"""Kinds of models in messages, and the option that takes each."""

AGAIN = "Copy the model again."
"""What to do about a damaged file."""

ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
"""Names that models can have on the hub."""

ASKED = "asked for"
DEFAULT = "default"


class Settings(NamedTuple):
    """Everything that decides the vectors of a text, apart from the text.

    Attributes
    ----------
    model : str
        The name on the hub, or the folder, as it was given.
    revision : str or None
        The commit of a hub model.
    pooling : str
        ``cls``, ``mean``, ``lasttoken``, or what the model's own files say; ``""`` for models other than dense ones.
    normalise : bool
        Whether vectors are divided by their lengths.
    precision : str
        ``fp32``, ``bf16``, ``fp16`` or ``fp16-weights``.
    dimensions : int or None
        How many of the first numbers of a vector are kept; None keeps all.
    query_instruction, passage_instruction : str
        What is written before each text; ``""`` is nothing.
    query_max_length, passage_max_length : int
        Tokens of a text that count, those of the instruction and the tokenizer's own included.
    kind : {"dense", "sparse", "reranker"}
        What the model is used as.
    query_suffix : str
        What is written after each query, also after one that was cut.
    sources : dict of str to str
        Where each of them comes from: a file of the model, a family's model card, ``asked for``, ``default``.
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
    kind: Kind = "dense"
    query_suffix: str = ""
    sources: dict[str, str] = {}  # noqa: RUF012 - of a NamedTuple, and never changed

    def instruction(self, side: Side) -> str:
        """Return what is written before each text of `side`."""
        return self.query_instruction if side == "queries" else self.passage_instruction

    def max_length(self, side: Side) -> int:
        """Return how many tokens of a text of `side` count."""
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
    kind : {"dense", "sparse", "reranker"}
        What it is used as.
    lexical_weights : bool
        Whether it can weigh words beside making vectors, as bge-m3 can (``sparse_linear.pt``).
    hidden_size : int
        The length of a token's vector.
    dimensions : int
        The length of a text's vector, E.
    positions : int
        How many tokens a text can have; 2³¹ − 1 where the configuration names no limit.
    max_length : int or None
        How many it was made for (``sentence_bert_config.json``).
    pooling : str or None
        What ``1_Pooling/config.json`` says, such as ``mean``.
    layers : tuple of str
        The layers in ``modules.json``, such as ``("Transformer", "Pooling", "Normalize")``.
    similarity : str or None
        What its vectors are compared by (``config_sentence_transformers.json``), such as ``cosine``.
    prompts : dict of str to str
        What it says is written before texts, by name; ``""`` names the one for all other texts.
    family : str or None
        The family that its name tells, such as ``bge-en``.
    architecture : str
        The class that was saved, such as ``BertModel``.
    own_code : str
        The architecture by which a model is computed that brings code of its own, which is not run; ``""`` for others.
    bytes : int
        The size of the weights.
    host : str
        The machine that it was found on.
    """

    name: str
    folder: str
    revision: str | None
    files: dict[str, str]
    kind: Kind
    lexical_weights: bool
    hidden_size: int
    dimensions: int
    positions: int
    max_length: int | None
    pooling: str | None
    layers: tuple[str, ...]
    similarity: str | None
    prompts: dict[str, str]
    family: str | None
    architecture: str
    own_code: str
    bytes: int
    host: str


def find_model(
    name: str | os.PathLike[str], revision: str | None = None, *, wanted: Kind = "dense", weights: bool = True
) -> Model:
    """Find a model and look at its files.

    Parameters
    ----------
    name : str or path
        A folder, or a name on the hub such as ``BAAI/bge-base-en-v1.5``, which is downloaded unless it is in the
        hub's cache.
    revision : str, optional
        The branch, tag or commit of a hub model.
    wanted : {"dense", "sparse", "reranker"}
        Its intended use.
    weights : bool
        Whether weights are downloaded; without them, of a hub model that is not in the hub's cache only the
        configuration is, and ``files`` is empty.

    Returns
    -------
    Model
        The model, as far as it can be described without loading it.

    Raises
    ------
    RunnerError
        There is no such folder, or something is missing in it; the hub cannot be reached or has no such model; it is
        a model of another kind.
    """
    name = os.fspath(name)
    if os.path.isdir(name):
        if revision is not None:
            raise RunnerError("a folder has no revisions", "Leave the revision out.", file=name)
        return _look(name, os.path.abspath(name), None, wanted, None)
    # It cannot be a name on the hub, or a folder above it is there.
    if os.path.exists(name) or os.path.isdir(os.path.dirname(name)) or not ON_HUB.fullmatch(name):
        todo = "Give a model's folder, or its name on the hub."
        raise RunnerError("there is no such folder", todo, file=name or None)
    folder, size = from_hub(name, revision, weights=weights)
    return _look(name, folder, os.path.basename(folder), wanted, None if weights else size)


def model_here(model: Model) -> Model:
    """Return a model as it is on this machine.

    Parameters
    ----------
    model : Model
        As it was found on this machine or another.

    Returns
    -------
    Model
        On another machine, the one in the folder of the same path, or of the same name on the hub.

    Raises
    ------
    RunnerError
        It is not there, or is another.
    """
    here = platform.node()
    if here == model.host:
        return model
    try:
        name = model.folder if model.revision is None else model.name
        local = find_model(name, model.revision, wanted=model.kind)
    except RunnerError as error:
        todo = "Copy the model to the same path on each node, or give its name on the hub."
        raise RunnerError(f"on the node {here}: {error.what}", todo, file=error.file) from None
    if local.files != model.files:
        mismatch = f"the node {here} has other files of the model than {model.host}"
        raise RunnerError(mismatch, "Copy the same model to each node.", file=model.name)
    return local


def settings_for(
    model: Model,
    *,
    pooling: str | None = None,
    normalise: bool | None = None,
    precision: str = "fp32",
    dimensions: int | None = None,
    query_instruction: str | None = None,
    passage_instruction: str | None = None,
    query_max_length: int | None = None,
    passage_max_length: int | None = None,
) -> Settings:
    """Choose the settings: as requested, else from the model's files, else from its model card.

    Parameters
    ----------
    model : Model
        From `find_model`.
    pooling : str, optional
        ``cls``, ``mean`` or ``lasttoken``.
    normalise : bool, optional
        Whether vectors are divided by their lengths; by default they are, but for models made for inner products.
    precision : str
        ``fp32``, ``bf16``, ``fp16`` or ``fp16-weights``.
    dimensions : int, optional
        How many numbers of a vector are kept, from 1 to E.
    query_instruction, passage_instruction : str, optional
        What is written before each text.
    query_max_length, passage_max_length : int, optional
        From 3 to what the model can take; by default 512, or what the model was made for if it is less.

    Returns
    -------
    Settings
        Complete settings.

    Raises
    ------
    RunnerError
        A value is unknown or out of range, contradicts the model, or is needed and was not given.
    """
    if dimensions is not None and not 1 <= dimensions <= model.dimensions:
        too_many = f"{dimensions} dimensions cannot be kept of vectors that have {model.dimensions}"
        raise RunnerError(too_many, f"Give 1 to {model.dimensions}.", file=model.name)
    family = FAMILIES[model.family] if model.family is not None else Family("", None)
    card = DEFAULT if model.family is None else f"the model card of {model.family}"
    told = "config_sentence_transformers.json"

    def instruction(side: Side, asked: str | None, of_family: str) -> tuple[str, str]:
        prompts = ((model.prompts.get(name), told) for name in (*PROMPTS[side], ""))
        return _first((asked, ASKED), *prompts, (of_family, card))

    chosen: dict[str, tuple[Any, str]] = {
        "pooling": ("", DEFAULT),
        "normalise": (False, DEFAULT),
        "query_instruction": instruction("queries", query_instruction, family.query),
        "passage_instruction": instruction("passages", passage_instruction, family.passage),
        "query_max_length": _length_for(model, query_max_length, "query-max-length"),
        "passage_max_length": _length_for(model, passage_max_length, "passage-max-length"),
    }
    if model.kind == "dense":
        chosen["pooling"] = _pooling_for(model, (pooling, ASKED), (family.pooling, card))
        chosen["normalise"] = _first(
            (normalise, ASKED),
            (True if "Normalize" in model.layers else None, "modules.json"),
            (False if model.similarity == "dot" else None, told),
            (family.normalise, card),
        )
    return Settings(
        model.name, model.revision, precision=precision, dimensions=dimensions, kind=model.kind,
        query_suffix=family.query_suffix, sources={name: source for name, (_, source) in chosen.items()},
        **{name: value for name, (value, _) in chosen.items()},
    )  # fmt: skip


def identity(model: Model, settings: Settings, side: Side) -> dict[str, Any]:
    """Return all settings that decide the vectors of a side, as plain JSON: equal for compatible embeddings.

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
        The model (name, revision, hashes of its files), its kind, pooling, normalisation, precision, dimensions, and
        the instruction and the greatest length of that side.
    """
    # A folder may be called in several ways, from several places: its last name is all that means something.
    name = model.name if model.revision is not None else os.path.basename(os.path.realpath(model.folder))
    suffix = settings.query_suffix if side == "queries" else ""
    return {
        "model": {"name": name, "revision": model.revision, "files": dict(model.files)},
        "kind": settings.kind, "pooling": settings.pooling, "normalise": settings.normalise,
        "precision": settings.precision, "dimensions": settings.dimensions or model.dimensions,
        "instruction": settings.instruction(side) + (f"{{}}{suffix}" if suffix else ""),
        "max_length": settings.max_length(side),
    }  # fmt: skip


def _first(*found: tuple[Any, str]) -> tuple[Any, str]:
    """Return the first value that exists, with its source."""
    return next(option for option in found if option[0] is not None)


def _pooling_for(model: Model, asked: tuple[str | None, str], by_card: tuple[str | None, str]) -> tuple[str, str]:
    pooling, own = asked[0], model.pooling
    if pooling is not None and pooling not in POOLINGS:
        raise RunnerError(f"pooling {pooling!r} is unknown", f"Give one of {', '.join(POOLINGS)}.", file=model.name)
    if pooling is not None and own is not None and pooling != own:
        conflict = f"the model pools by {own} (1_Pooling/config.json), and the setting is pooling={pooling}"
        todo = "Leave the setting out, or give a copy of the model's folder without 1_Pooling and modules.json."
        raise RunnerError(conflict, todo, file=model.name)
    chosen = _first((own, "1_Pooling/config.json"), asked, by_card, ("", DEFAULT))
    if not chosen[0]:
        known = f"{', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}"
        unknown = f"--pooling {known} must be given, as the model does not say"
        raise RunnerError(unknown, "Its authors' description does; the wrong one ranks badly.", file=model.name)
    return chosen


def _length_for(model: Model, asked: int | None, option: str) -> tuple[int, str]:
    if asked is None:
        longest = min(model.max_length or LONGEST, model.positions)
        if longest >= LONGEST:
            return LONGEST, DEFAULT
        return longest, "sentence_bert_config.json" if longest == model.max_length else "config.json"
    if not SHORTEST <= asked <= model.positions:
        too_long = f"the model cannot encode texts of {asked} tokens ({option})"
        raise RunnerError(too_long, f"Give {SHORTEST} to {model.positions}.", file=model.name)
    return asked, ASKED


# Folders


def _look(name: str, folder: str, revision: str | None, wanted: Kind, size: int | None) -> Model:
    """Inspect a folder; only its configuration if its weights are not here and just their size is known."""
    files = [path.relative_to(folder).as_posix() for part in ("*", "*/*") for path in Path(folder).glob(part)]
    lacking = _lacking(files)
    if lacking and size is None:
        missing = f"the model has no {' and no '.join(lacking)}"
        raise RunnerError(missing, "Copy what is missing into its folder.", file=name)
    if "adapter_config.json" in files:
        unsupported = "the folder has an adapter, and the weights below it are in another folder"
        raise RunnerError(unsupported, "Merge both (peft's merge_and_unload) and save the model.", file=name)
    try:
        model = _described(name, folder, revision, wanted, files)
    except RunnerError:
        raise
    except (AttributeError, IndexError, TypeError, ValueError):
        raise RunnerError("a configuration file has a value of the wrong type", AGAIN, file=name) from None
    if lacking:
        return model._replace(bytes=size or 0)
    return model._replace(
        files={file: digest_of_file(os.path.join(folder, file)) for file in deciding(files, wanted == "sparse")},
        bytes=sum(os.path.getsize(os.path.join(folder, file)) for file in weight_files(files)),
    )


def _described(name: str, folder: str, revision: str | None, wanted: Kind, files: Sequence[str]) -> Model:
    """Return a model from its configuration, without its weights; refuse a model of another kind."""
    config = _json(folder, "config.json")
    # The packages of layers changed between versions of sentence-transformers: the last part of a type counts.
    try:
        layers = [(layer["type"].rpartition(".")[2], layer["path"]) for layer in _json(folder, "modules.json", list)]
    except (AttributeError, KeyError, TypeError):
        malformed = "is not a list of layers, each with its type and its path"
        raise RunnerError(malformed, AGAIN, file=os.path.join(folder, "modules.json")) from None
    own = _json(folder, "config_sentence_transformers.json")
    modes = _pooling(folder, f"{dict(layers).get('Pooling', '1_Pooling')}/config.json")
    hidden = _number(config, "hidden_size", "dim", "d_model", "n_embd")
    if hidden is None:
        missing = "config.json does not say how long the vectors are (hidden_size)"
        raise RunnerError(missing, "Use an encoder model.", file=name)
    dimensions = hidden * max(1, len(modes))
    for layer, path in layers:
        if layer == "Dense":
            dimensions = int(_json(folder, f"{path}/config.json").get("out_features", dimensions))
    longest = _json(folder, "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(longest, int | None):
        raise TypeError
    model = Model(
        name=name, folder=folder, revision=revision, host=platform.node(), files={}, bytes=0, kind=wanted,
        architecture=str((config.get("architectures") or [""])[0]), family=_family(name, folder, config),
        lexical_weights="sparse_linear.pt" in files, layers=tuple(layer for layer, _ in layers),
        hidden_size=hidden, dimensions=dimensions if wanted == "dense" else _number(config, "vocab_size") or hidden,
        positions=_positions(config), max_length=longest,
        pooling="+".join(modes) or None, similarity=own.get("similarity_fn_name"), prompts=_prompts(own, folder),
        own_code=str(config.get("model_type", "")) if "auto_map" in config else "",
    )  # fmt: skip
    _check_kind(model, own.get("model_type"), wanted)
    labels = config.get("num_labels") or len(config.get("id2label") or (0, 1))  # two are the default, and not written
    if wanted == "reranker" and model.architecture.endswith("ForSequenceClassification") and labels != 1:
        unsupported = f"the model gives {labels} scores for a pair"
        raise RunnerError(unsupported, "Give a cross-encoder with one label.", file=name)
    return model


def _check_kind(model: Model, saved_as: str | None, wanted: Kind) -> None:
    """Refuse a model of another kind than is wanted, with what it is and the option that takes it."""
    kinds = _kinds(model, saved_as)
    if not kinds:
        unsupported = "this is a model of several vectors for each text (ColBERT), which is not supported"
        raise RunnerError(unsupported, "Use another model.", file=model.name)
    if wanted not in kinds:
        raise RunnerError(f"this is {KINDS[kinds[0]][0]}", f"Give it {KINDS[kinds[0]][1]}.", file=model.name)
    weighs = wanted != "sparse" or model.lexical_weights or "SpladePooling" in model.layers
    # Models that answer queries from a table begin with a Router.
    if model.layers and not (weighs and model.layers[0] in ("Transformer", "MLMTransformer")):
        unsupported = f"the model has layers that are not run here: {', '.join(model.layers)}"
        raise RunnerError(unsupported, "Use another model.", file=model.name)


def _kinds(model: Model, saved_as: str | None) -> tuple[Kind, ...]:
    """Return the possible uses of a model, the most likely first; empty if its kind is unknown."""
    saved: dict[str | None, tuple[Kind, ...]] = {"SparseEncoder": ("sparse",), "CrossEncoder": ("reranker",)}
    dense: tuple[Kind, ...] = ("dense", "sparse") if model.lexical_weights else ("dense",)
    title = _title(model.name).lower()
    if "ColBERT" in model.architecture or saved_as in ("MultiVectorEncoder", "ColBERT"):
        return ()
    if saved_as in saved or "SpladePooling" in model.layers:
        return saved.get(saved_as, ("sparse",))
    if "Pooling" in model.layers:
        return dense
    if "rerank" in title or model.architecture.endswith("ForSequenceClassification"):
        return ("reranker",)
    if model.architecture.endswith("ForMaskedLM"):  # also that of an encoder that was trained from one
        return ("sparse",) if "splade" in title else ("dense", "sparse")
    return ("dense", "reranker") if model.architecture.endswith("ForCausalLM") else dense


def _lacking(files: list[str]) -> list[str]:
    """Return the missing parts of a model."""
    parts = {
        "config.json": "config.json" in files,
        "weights (model.safetensors or pytorch_model.bin)": weight_files(files),
        # Without these files transformers makes a tokenizer that knows no word, and says nothing.
        "tokenizer (tokenizer.json, vocab.txt or a sentencepiece model)": any(map(TOKENIZER.fullmatch, files)),
    }
    return [part for part, there in parts.items() if not there]


def _json(folder: str, file: str, wanted: type = dict) -> Any:
    """Return the contents of a file, a dictionary or a list; empty if there is no file."""
    path = os.path.join(folder, file)
    try:
        contents = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return wanted()
    except (OSError, ValueError) as error:
        raise RunnerError(f"cannot be read as JSON: {error}", AGAIN, file=path) from None
    if not isinstance(contents, wanted):
        raise RunnerError(f"is not a JSON {'list' if wanted is list else 'object'}", AGAIN, file=path)
    return contents


def _number(config: dict[str, Any], *names: str) -> int | None:
    """Return the first number that a configuration has of those that are called so."""
    return next((config[name] for name in names if isinstance(config.get(name), int)), None)


def _positions(config: dict[str, Any]) -> int:
    most, padding = _number(config, "max_position_embeddings", "n_positions"), _number(config, "pad_token_id")
    if most is None or most < 1:
        return UNLIMITED
    # Without a padding token, positions are counted as with the one that the architecture has by default.
    used = (1 if padding is None else padding) + 1
    return most - (used if config.get("model_type") in OFFSET_POSITIONS else 0)


def _pooling(folder: str, file: str) -> list[str]:
    """Return how a model pools; in several ways if their vectors are joined."""
    config = _json(folder, file)
    # Before version 5.6 there was a key for each.
    keys = [key.removeprefix("pooling_mode_") for key, on in config.items() if "pooling_mode_" in key and on]
    modes = config.get("pooling_mode", keys)
    modes = [modes] if isinstance(modes, str) else modes
    short = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    return [short.get(mode, mode) for mode in modes]


def _prompts(own: dict[str, Any], folder: str) -> dict[str, str]:
    """Return the prompts that a model has, without empty ones; ``""`` names the one for all texts without their own."""
    # sentence-transformers adds empty prompts to what it saves: they do not say that there is none.
    saved = own.get("prompts") or {}
    if not isinstance(saved, dict) or not all(isinstance(text, str) for text in saved.values()):
        malformed = "has prompts that are not texts by their names"
        raise RunnerError(malformed, "Correct it.", file=os.path.join(folder, "config_sentence_transformers.json"))
    prompts = {name: text for name, text in saved.items() if text}
    by_default = prompts.get(own.get("default_prompt_name"))
    return prompts if by_default is None else {**prompts, "": by_default}


def _family(name: str, folder: str, config: dict[str, Any]) -> str | None:
    """Return the family of a model, by its name or by the model that it was trained from."""
    for title in (_title(name), _title(os.path.realpath(folder)), _title(str(config.get("_name_or_path", "")))):
        for family, card in FAMILIES.items():
            # Some write the organisation before it: BAAI_bge-base-en.
            if re.match(rf"([a-z]+_)?({card.pattern})", title.lower()):
                return family
    return None


def _title(path: str) -> str:
    """Return the part of a path that names the model, also in the hub's cache and of a checkpoint."""
    path = re.sub(r"([/\\]snapshots[/\\][^/\\]+|[/\\]checkpoint-[^/\\]+)?[/\\]*$", "", path)
    return re.split(r"[/\\]|--", path)[-1]
