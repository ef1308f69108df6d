"""Models on the Hugging Face hub: which of their files are needed, and how they come here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from treceval_py.errors import RunnerError, visible
from treceval_py.runs.record import version_of
from treceval_py.version import pip_install

INSTALL, INSTALL_RAY = pip_install("retrieve"), pip_install("ray")
"""Commands that install missing packages."""

ENCODING = ("torch", "sentence_transformers", "transformers", "faiss")
"""Packages that encode texts and search their vectors."""

TOKENIZER = re.compile(r"tokenizer\.json|vocab\.(txt|json)|(sentencepiece\.bpe|spiece|tokenizer)\.model")
"""Files that a tokenizer can be made from."""

CONFIGURATION = re.compile(r"(config|modules|config_sentence_transformers|sentence_bert_config|\d+_\w+/config)\.json")
"""Files by which a model describes itself and its layers, which are in folders such as ``1_Pooling``."""

LEXICAL = {"sparse_linear.pt", "colbert_linear.pt"}
"""Layers of bge-m3 for the weights of words; FlagEmbedding looks at both, and makes both at random where one lacks."""

DECIDING = re.compile(
    rf"{CONFIGURATION.pattern}|{TOKENIZER.pattern}|merges\.txt|\d+_\w+/(model\.safetensors|pytorch_model\.bin)"
    r"|(tokenizer_config|special_tokens_map|added_tokens|(pytorch_)?model\.(safetensors|bin)\.index)\.json"
)
"""Files that, if they exist, decide the vectors, besides the weights."""


def check_packages(*packages: str) -> None:
    """Refuse to begin without a package that is needed only after hours.

    Raises
    ------
    RunnerError
        One is not installed; or sentence-transformers is needed, and is older than version 6.
    """
    for package in packages:
        if find_spec(package) is None:
            todo = INSTALL if package != "ray" else INSTALL_RAY
            name = "PyStemmer" if package == "Stemmer" else package
            raise RunnerError(f"this needs the package {name}, which is not installed", todo)
    # Version 6.0 moved the modules that models are made of.
    if "sentence_transformers" in packages and re.match(r"[0-5]\.", installed := version_of("sentence-transformers")):
        raise RunnerError(f"encoding needs sentence-transformers>=6.0, and {installed} is installed", INSTALL)


def import_flag_embedding() -> Any:
    """Import FlagEmbedding.

    Raises
    ------
    RunnerError
        It is not installed, or cannot be imported beside the version of transformers that is.
    """
    try:
        import FlagEmbedding  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except Exception as error:  # noqa: BLE001 - it imports most of transformers, which changes
        versions = f"FlagEmbedding ({version_of('FlagEmbedding')}) and transformers ({version_of('transformers')})"
        todo = f"Give --engine sentence-transformers, or install versions that fit: {INSTALL}"
        raise RunnerError(f"{versions} cannot be imported together: {first_line(error)}", todo) from None
    return FlagEmbedding


def weight_files(names: Sequence[str]) -> list[str]:
    """Return those files of a folder that transformers takes the weights from: safetensors before torch's own."""
    for form in (r"model(-\d+-of-\d+)?\.safetensors", r"pytorch_model(-\d+-of-\d+)?\.bin"):
        if files := sorted(name for name in names if re.fullmatch(form, name)):
            return files
    return []


def deciding(names: Sequence[str], lexical: bool) -> list[str]:
    """Return those files of a model that decide its vectors, or the weights of its words (``lexical``)."""
    wanted = {*weight_files(names), *(LEXICAL if lexical else ())}
    return sorted(name for name in names if name in wanted or DECIDING.fullmatch(name))


def from_hub(name: str, revision: str | None, *, weights: bool) -> tuple[str, int]:
    """Return the folder of a hub model in the hub's cache, and the size of its weights; download what is not there.

    Without weights, only the model's configuration is downloaded, and what shows that it can weigh words.
    """
    check_packages("huggingface_hub")
    import huggingface_hub as hub  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from huggingface_hub import errors

    try:
        info = hub.HfApi().model_info(name, revision=revision, files_metadata=True, timeout=20)
        sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or []}
        files = [
            file
            for file in deciding(list(sizes), lexical=True)
            if weights or file in LEXICAL or CONFIGURATION.fullmatch(file)
        ]
        folder = str(hub.snapshot_download(name, revision=info.sha, allow_patterns=files))
    except Exception as error:  # noqa: BLE001 - offline by choice, no connection, a full disk: each has its own exception
        with suppress(Exception):  # whatever it is, the model is not there
            return str(hub.snapshot_download(name, revision=revision, local_files_only=True)), 0
        fault = (
            f"there is no such folder, nor a copy in the hub's cache, nor can it be downloaded ({first_line(error)})"
        )
        if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
            fault = "the hub has no such model or revision"
        raise RunnerError(fault, "Check the name, or give a folder.", file=name) from None
    return folder, sum(sizes[file] for file in weight_files(list(sizes)))


def first_line(error: BaseException) -> str:
    """Return the first line of an error that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (visible(lines[0][:300].rstrip(".")) if lines else "") or type(error).__name__
