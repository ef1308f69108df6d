"""Find a model, look at it without loading it, and settle everything that decides the vectors.

A model is a folder or a name on the Hugging Face hub. It describes itself in the files that sentence-transformers keeps
(``modules.json``, ``1_Pooling``, ``config_sentence_transformers.json``, ``sentence_bert_config.json``); where it does
not, FlagEmbedding's own table of models does. What is read here is small but for the hashes.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treceval_py.errors import RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.retrieval.hub import LEXICAL, TOKENIZER, deciding, from_hub, weight_files

Side = Literal["passages", "queries"]

Kind = Literal["dense", "sparse", "reranker"]
"""Output of a model: a vector for each text, weights of words, or a score for a query with a passage."""

POOLINGS = ("cls", "mean", "lasttoken")
"""Poolings of a text's tokens into one vector: the first token, the mean of all, or the last token."""

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""The numbers that the model computes with, and torch's name of them."""

LONGEST = 512
"""Default number of tokens of a text that count."""

SHORTEST, SHORTEST_PAIR = 3, 32
"""Fewest tokens of a text or a pair that count: some are the tokenizer's own."""

UNLIMITED = 2**31 - 1
"""The number of positions of a model whose configuration names no limit."""

PADDED = {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod"}
"""Types of models whose positions are counted from the padding's number on: of 514, texts have 512."""

PROMPTS = {
    "query_instruction": ("query", "web_search_query", "s2p_query", "search_query", "retrieval.query"),
    "passage_instruction": ("passage", "document", "corpus", "search_document", "retrieval.passage"),
}
"""Names of prompts in config_sentence_transformers.json; the first that is not empty counts."""

TASK = "Given a web search query, retrieve relevant passages that answer the query"

INSTRUCTIONS = {
    r"bge-(small|base|large)-en(?![a-z])": ("Represent this sentence for searching relevant passages: ", ""),
    r"bge-(small|base|large)-zh(?![a-z]|-noinstruct)": ("为这个句子生成表示以用于检索相关文章：", ""),
    r"multilingual-e5-large-instruct": (f"Instruct: {TASK}\nQuery: ", ""),
    r"(multilingual-)?e5-(small|base|large)(?![a-z])": ("query: ", "passage: "),
}
"""What the model cards of BGE and E5 put before queries and passages, and no file of these models does."""

INNER_PRODUCT = re.compile(r"contriever|.*-dot(?![a-z])|.*tas-b(?![a-z])")
"""Names of models whose vectors are not normalised, and whose files do not say so."""

KINDS: dict[Kind, tuple[str, str]] = {
    "dense": ("a model of one vector for each text", "to treceval retrieve as --model, with --retriever dense"),
    "sparse": ("a sparse model, which weighs words", "to treceval retrieve as --model, with --retriever sparse"),
    "reranker": ("a reranker, which scores a query with a passage", "as --rerank, or to treceval rerank"),
}
"""Kinds of models in messages, and the option that takes each."""

ON_HUB = re.compile(r"([A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)(?:@([\w./-]+))?")
"""Names that models can have on the hub, and a revision."""

OWN = "config_sentence_transformers.json"
ASKED, DEFAULT, CARD = "asked for", "default", "the model card"


Said = tuple[Any, str]
"""The value of a setting, and its source."""


class Settings(NamedTuple):
    """Everything that decides the vectors of a text, apart from the text.

    Attributes
    ----------
    pooling : str
        ``cls``, ``mean``, ``lasttoken``, or what the model's own files say; ``""`` for models other than dense ones.
    normalise : bool
        Whether vectors are divided by their lengths.
    precision : str
        ``fp32``, ``bf16`` or ``fp16``.
    query_instruction, passage_instruction : str
        What is written before each text; ``""`` is nothing.
    max_length : int
        Tokens of a text that count, those of the instruction and the tokenizer's own included.
    sources : dict of str to str
        Where each of them comes from: a file of the model, its model card, ``FlagEmbedding``, ``asked for``,
        ``default``.
    """

    pooling: str
    normalise: bool
    precision: str
    query_instruction: str
    passage_instruction: str
    max_length: int
    sources: dict[str, str] = {}  # noqa: RUF012 - of a NamedTuple, and never changed

    def instruction(self, side: Side) -> str:
        """Return what is written before each text of `side`."""
        return self.query_instruction if side == "queries" else self.passage_instruction


class Model(NamedTuple):
    """A model that was found and looked at; its weights are not loaded.

    Attributes
    ----------
    name : str
        As it was given, without a revision.
    folder : str
        Where its files are.
    revision : str or None
        The commit of a hub model.
    files : dict of str to str
        The SHA-256 of each file that decides the vectors, by its path in the folder.
    kind : {"dense", "sparse", "reranker"}
        What it is used as.
    titles : tuple of str
        The names that it goes by: its own, and that of the model that it was trained from, such as
        ``bge-base-en-v1.5``.
    lexical_weights : bool
        Whether it can weigh words beside making vectors, as bge-m3 can.
    dimensions : int
        The length of a text's vector, E.
    positions : int
        How many tokens a text can have; 2³¹ − 1 where the configuration names no limit.
    says : dict
        The settings that its own files decide, by their names in `Settings`, each with its source.
    layers : tuple of str
        The layers in ``modules.json``, such as ``("Transformer", "Pooling", "Normalize")``.
    plain : bool
        Whether it is what FlagModel can run: a transformer whose tokens are pooled in one of ``POOLINGS``, those of the
        instruction among them.
    architecture : str
        The class that was saved, such as ``BertModel``.
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
    titles: tuple[str, ...]
    lexical_weights: bool
    dimensions: int
    positions: int
    says: dict[str, Said]
    layers: tuple[str, ...]
    plain: bool
    architecture: str
    bytes: int
    host: str


def find_model(name: str | os.PathLike[str], *, wanted: Kind = "dense", weights: bool = True) -> Model:
    """Find a model and look at its files.

    Parameters
    ----------
    name : str or path
        A folder, or a name on the hub such as ``BAAI/bge-base-en-v1.5``, which is downloaded unless it is in the
        hub's cache. A branch, tag or commit may follow: ``BAAI/bge-base-en-v1.5@main``.
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
        return _look(name, os.path.abspath(name), None, wanted, None)
    # It cannot be a name on the hub, or a folder above it is there.
    if not (parts := ON_HUB.fullmatch(name)) or os.path.exists(name) or os.path.isdir(os.path.dirname(name)):
        todo = "Give a model's folder, or its name on the hub."
        raise RunnerError("there is no such folder", todo, file=name or None)
    folder, size = from_hub(parts[1], parts[2], weights=weights)
    return _look(parts[1], folder, os.path.basename(folder), wanted, None if weights else size)


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
        It is not there, or other files are.
    """
    if (here := platform.node()) == model.host:
        return model
    with suppress(RunnerError):
        local = find_model(f"{model.name}@{model.revision}" if model.revision else model.folder, wanted=model.kind)
        if local.files == model.files:
            return local
    todo = "Copy it to the same path on each node, or give its name on the hub."
    raise RunnerError(f"the node {here} does not have the same model as {model.host}", todo, file=model.name)


def settings_for(
    model: Model,
    *,
    pooling: str | None = None,
    precision: str = "fp32",
    instruction: str | None = None,
    max_length: int | None = None,
) -> Settings:
    """Choose the settings: as requested, else from the model's files, else from what is known of it.

    Parameters
    ----------
    model : Model
        From `find_model`.
    pooling : str, optional
        ``cls``, ``mean`` or ``lasttoken``.
    precision : str
        ``fp32``, ``bf16`` or ``fp16``; see ``devices.choose_precision``.
    instruction : str, optional
        What is written before each query.
    max_length : int, optional
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
    dense, shortest = model.kind == "dense", SHORTEST_PAIR if model.kind == "reranker" else SHORTEST
    own = model.says.get("pooling", (None, ""))[0]
    asked = {"pooling": pooling if dense else None, "query_instruction": instruction, "max_length": max_length}
    chosen: dict[str, Said] = {
        **dict.fromkeys(("pooling", "query_instruction", "passage_instruction"), ("", DEFAULT)),
        "normalise": (dense, DEFAULT), **_known(model, pooling or own), **model.says,
        **{name: (value, ASKED) for name, value in asked.items() if value is not None},
    }  # fmt: skip
    values = {name: value for name, (value, _) in chosen.items()}
    if own is not None and values["pooling"] != own:
        conflict = f"the model pools by {own} (1_Pooling/config.json), and --pooling {pooling} is asked for"
        raise RunnerError(conflict, "Leave the option out.", file=model.name)
    if dense and not values["pooling"]:
        unknown = f"--pooling {', '.join(POOLINGS[:-1])} or {POOLINGS[-1]} must be given, as the model does not say"
        raise RunnerError(unknown, "Its authors' description does; the wrong one ranks badly.", file=model.name)
    if dense and values["pooling"] not in (own, *POOLINGS):
        unknown = f"the pooling {values['pooling']!r} is unknown"
        raise RunnerError(unknown, f"Give --pooling {', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}.", file=model.name)
    if not shortest <= values["max_length"] <= model.positions:
        too_long = f"the model cannot take {values['max_length']} tokens"
        raise RunnerError(too_long, f"Give --max-length {shortest} to {model.positions}.", file=model.name)
    return Settings(precision=precision, sources={name: source for name, (_, source) in chosen.items()}, **values)


def identity(model: Model, settings: Settings, side: Side) -> dict[str, Any]:
    """Return all settings that decide the vectors of a side, as plain JSON: equal for compatible embeddings.

    Engine, batch size, device and versions are not in it, though they may change the last digits.

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
        The model (name, revision, hashes of its files), its kind, pooling, normalisation, precision, dimensions, the
        greatest length of a text, and the instruction of that side.
    """
    # A folder may be called in several ways, from several places: its last name is all that means something.
    name = model.name if model.revision is not None else os.path.basename(os.path.realpath(model.folder))
    decides = {key: getattr(settings, key) for key in ("pooling", "normalise", "precision", "max_length")}
    return {
        "model": {"name": name, "revision": model.revision, "files": dict(model.files)},
        "kind": model.kind, "dimensions": model.dimensions, "instruction": settings.instruction(side), **decides,
    }  # fmt: skip


def _known(model: Model, pooling: str | None) -> dict[str, Said]:
    """Return what is known of a model by its names: what FlagEmbedding's table has, and what is here."""
    known: dict[str, Said] = {}
    with suppress(Exception):  # it is not installed, or broken beside this transformers, or has no such model
        if model.kind == "dense" and pooling in (None, "lasttoken"):
            from FlagEmbedding.inference.embedder.model_mapping import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
                AUTO_EMBEDDER_MAPPING,
            )

            table = {name.lower(): config for name, config in AUTO_EMBEDDER_MAPPING.items()}
            config = next(table[title] for title in model.titles if title in table)
            known["pooling"] = config.pooling_method.value.replace("_", ""), "FlagEmbedding"
            if (form := config.query_instruction_format) != "{}{}":
                task = f"{TASK}." if form.startswith("<instruct>") else TASK  # as BGE's cards have it
                known["query_instruction"] = form.format(task, ""), "FlagEmbedding"
    if model.kind == "dense" and any(map(INNER_PRODUCT.match, model.titles)):
        known["normalise"] = False, CARD
    cards = (texts for title in model.titles for name, texts in INSTRUCTIONS.items() if re.match(name, title))
    return {**known, **{name: (text, CARD) for name, text in zip(PROMPTS, next(cards, ()), strict=False)}}


# Folders


def _look(name: str, folder: str, revision: str | None, wanted: Kind, size: int | None) -> Model:
    """Inspect a folder; only its configuration if its weights are not here and just their size is known."""
    files = [path.relative_to(folder).as_posix() for part in ("*", "*/*") for path in Path(folder).glob(part)]
    weights = weight_files(files)
    # Without the files of a tokenizer transformers makes one that knows no word, and says nothing.
    tokenizer = any(map(TOKENIZER.fullmatch, files))
    parts = {"config.json": "config.json" in files, "weights": weights, "tokenizer": tokenizer}
    lacking = [part for part, there in parts.items() if not there]
    if lacking and size is None:
        usual = "config.json, model.safetensors (or pytorch_model.bin), and tokenizer.json (or vocab.txt)"
        raise RunnerError(f"the model has no {' and no '.join(lacking)}", f"It needs {usual}.", file=name)
    try:
        model, seen = _described(name, folder, revision, wanted, files)
    except (AttributeError, IndexError, KeyError, OSError, TypeError, ValueError):
        unreadable = "config.json or another configuration file cannot be read, or has a value of the wrong type"
        raise RunnerError(unreadable, "Copy the model again.", file=name) from None
    _check_kind(model, *seen)
    there = [] if lacking else deciding(files, wanted == "sparse")
    hashes = {file: digest_of_file(os.path.join(folder, file)) for file in there}
    sizes = [os.path.getsize(os.path.join(folder, file)) for file in weights]
    return model._replace(files=hashes, bytes=size or 0 if lacking else sum(sizes))


def _described(name: str, folder: str, revision: str | None, wanted: Kind, files: Sequence[str]) -> tuple[Model, Any]:
    """Return a model from its configuration, without its weights, and what decides on its kind beside."""

    def read(file: str) -> Any:
        return json.loads(Path(folder, file).read_bytes()) if file in files else {}

    config, own = read("config.json"), read(OWN)
    # The packages of layers changed between versions of sentence-transformers: the last part of a type counts.
    layers = {layer["type"].rpartition(".")[2]: layer["path"] for layer in read("modules.json")}
    pooling = read(f"{layers.get('Pooling', '1_Pooling')}/config.json")
    modes, hidden = _pooling_modes(pooling), _number(config, "hidden_size", "dim", "d_model", "n_embd")
    dense = read(f"{layers.get('Dense')}/config.json").get("out_features", hidden * max(1, len(modes)))
    positions = max(0, _number(config, "max_position_embeddings", "n_positions")) or UNLIMITED
    if config.get("model_type") in PADDED:
        positions -= config.get("pad_token_id", 1) + 1
    longest = read("sentence_bert_config.json").get("max_seq_length")
    # sentence-transformers adds empty prompts to what it saves: they do not say that there is none.
    prompts = {prompt: str(text) for prompt, text in (own.get("prompts") or {}).items() if text}
    usual = prompts.get(own.get("default_prompt_name"), "")
    lengths = (LONGEST, DEFAULT), (int(longest or LONGEST), "sentence_bert_config.json"), (positions, "config.json")
    says: dict[str, Said] = {"max_length": min(lengths, key=lambda length: length[0])}
    for side, names in PROMPTS.items():
        if text := next((prompts[name] for name in names if name in prompts), usual):
            says[side] = text, OWN
    if wanted == "dense" and modes:
        says["pooling"] = "+".join(modes), "1_Pooling/config.json"
    if wanted == "dense" and ("Normalize" in layers or own.get("similarity_fn_name") == "dot"):
        says["normalise"] = (True, "modules.json") if "Normalize" in layers else (False, OWN)
    titles = map(_title, (name, os.path.realpath(folder), str(config.get("_name_or_path", ""))))
    model = Model(
        name=name, folder=folder, revision=revision, host=platform.node(), files={}, bytes=0, kind=wanted,
        architecture=str((config.get("architectures") or [""])[0]), titles=tuple(dict.fromkeys(titles)),
        lexical_weights=set(files) >= LEXICAL, layers=tuple(layers), positions=positions, says=says,
        dimensions=int(dense) if wanted == "dense" else _number(config, "vocab_size"),
        plain=set(layers) <= {"Transformer", "Pooling", "Normalize"}
        and "+".join(modes) in ("", *POOLINGS) and pooling.get("include_prompt", True) is True,
    )  # fmt: skip
    # Two labels are the default, and not written.
    labels = config.get("num_labels") or len(config.get("id2label") or (0, 1))
    return model, (own.get("model_type"), hidden, labels, prompts)


def _check_kind(model: Model, saved_as: str | None, hidden: int, labels: int, prompts: dict[str, str]) -> None:
    """Refuse a model of another kind than is wanted, with what it is and the option that takes it."""
    kinds, wanted, architecture = _kinds(model, saved_as), model.kind, model.architecture
    if kinds and wanted not in kinds:
        raise RunnerError(f"this is {KINDS[kinds[0]][0]}", f"Give it {KINDS[kinds[0]][1]}.", file=model.name)
    weighs = wanted != "sparse" or model.lexical_weights or "SpladePooling" in model.layers
    scores = wanted == "reranker" and architecture.endswith("ForSequenceClassification")
    layered = architecture.startswith(("LayerWise", "CostWise"))
    # Models that answer queries from a table begin with a Router.
    others = model.layers and not (weighs and model.layers[0] in ("Transformer", "MLMTransformer"))
    for wrong, unsupported in (
        (not hidden, "its config.json does not say how long vectors are (hidden_size)"),
        (not kinds, "it makes several vectors of each text (ColBERT)"),
        (others, f"it has layers that are not run here: {', '.join(model.layers)}"),
        ("bge-en-icl" in model.titles, "its queries end with an answer that is to be written"),
        (layered, "FlagEmbedding's classes for it do not load beside transformers 5"),
        (wanted == "reranker" and prompts, "it has prompts, which are not put before pairs here"),
        (scores and labels != 1, f"it gives {labels} scores for a pair, not one"),
    ):
        if wrong:
            raise RunnerError(f"the model is not supported: {unsupported}", "Use another model.", file=model.name)


def _kinds(model: Model, saved_as: str | None) -> tuple[Kind, ...]:
    """Return the possible uses of a model, the most likely first; empty if its kind is unknown."""
    dense: tuple[Kind, ...] = ("dense", "sparse") if model.lexical_weights else ("dense",)
    classes, title = model.architecture, model.titles[0]
    rules: tuple[tuple[Any, tuple[Kind, ...]], ...] = (
        ("ColBERT" in classes or saved_as in ("MultiVectorEncoder", "ColBERT"), ()),
        (saved_as == "CrossEncoder", ("reranker",)),
        (saved_as == "SparseEncoder" or "SpladePooling" in model.layers, ("sparse",)),
        ("Pooling" in model.layers, dense),
        ("rerank" in title or classes.endswith("ForSequenceClassification"), ("reranker",)),
        # also that of an encoder that was trained from one
        (classes.endswith("ForMaskedLM"), ("sparse",) if "splade" in title else ("dense", "sparse")),
        (classes.endswith("ForCausalLM"), ("dense", "reranker")),
    )
    return next((kinds for true, kinds in rules if true), dense)


def _number(config: dict[str, Any], *names: str) -> int:
    """Return the first number that a configuration has of those that are called so; 0 if there is none."""
    return next((config[name] for name in names if isinstance(config.get(name), int)), 0)


def _pooling_modes(config: dict[str, Any]) -> list[str]:
    """Return how a model pools; in several ways if their vectors are joined."""
    # Before version 5.6 there was a key for each.
    keys = [key.removeprefix("pooling_mode_") for key, on in config.items() if "pooling_mode_" in key and on]
    modes = config.get("pooling_mode", keys)
    return [re.sub("_tokens?$", "", mode) for mode in ([modes] if isinstance(modes, str) else modes)]


def _title(path: str) -> str:
    """Return the part of a path that names the model, in small letters, also in the hub's cache and of a checkpoint."""
    path = re.sub(r"([/\\]snapshots[/\\][^/\\]+|[/\\]checkpoint-[^/\\]+)?[/\\]*$", "", path)
    # Some write the organisation before it: BAAI_bge-base-en.
    return re.sub(r"^[a-z]+_", "", re.split(r"[/\\]|--", path)[-1].lower())
