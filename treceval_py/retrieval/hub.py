"""Models on the Hugging Face hub: which of their files are needed, and how they come here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from treceval_py.errors import RunnerError, visible

__all__ = ["DECIDING", "INSTALL", "TOKENIZERS", "Sketch", "from_cache", "from_hub", "sketch", "weight_files"]

INSTALL = "pip install 'treceval-py[retrieve]'"
"""What to do about a package that is not installed."""

TOKENIZERS = (
    ("tokenizer.json",),
    ("vocab.txt",),
    ("sentencepiece.bpe.model",),
    ("spiece.model",),
    ("tokenizer.model",),
    ("vocab.json", "merges.txt"),
)
"""Files of which a tokenizer can be made; one of these sets must be there."""

DECIDING = (
    "config.json",
    *dict.fromkeys(name for names in TOKENIZERS for name in names),
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "1_Pooling/config.json",
    # an adapter that lies beside the weights is loaded with them
    "adapter_config.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
)
"""Files that decide the vectors where they are there, beside the weights."""


class Sketch(NamedTuple):
    """The configuration of a hub model whose weights are not here.

    Attributes
    ----------
    folder : str
        Where the configuration is.
    revision : str
        The commit.
    bytes : int
        The size of the weights.
    """

    folder: str
    revision: str
    bytes: int


def weight_files(names: Sequence[str]) -> list[str]:
    """Return those files of a folder that transformers takes the weights from: safetensors before torch's own."""
    for pattern in (r"model(-\d+-of-\d+)?\.safetensors", r"pytorch_model(-\d+-of-\d+)?\.bin"):
        found = sorted(name for name in names if re.fullmatch(pattern, name))
        single = [name for name in found if "-of-" not in name]
        if found:
            return single or found
    return []


def from_hub(name: str, revision: str | None) -> str:
    """Return the folder of a hub model in the hub's cache, downloading what is needed of it."""
    hub = _hub(name)
    errors = hub.errors
    try:
        info = hub.HfApi().model_info(name, revision=revision, timeout=20)
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise _unknown(name, revision, isinstance(error, errors.RevisionNotFoundError)) from None
    except Exception as error:  # noqa: BLE001 - offline by choice, no connection, a proxy: each has its own exception
        folder = from_cache(name, revision)
        if folder is None:
            raise _nowhere(name, revision, error) from None
        return folder
    files = _needed([sibling.rfilename for sibling in info.siblings or []])
    try:
        with _no_bars():
            return str(hub.snapshot_download(name, revision=info.sha, allow_patterns=files))
    except Exception as error:  # noqa: BLE001 - as above, and a full disk
        what = f"the model cannot be downloaded from the hub: {_told(error)}"
        raise RunnerError(what, "Try again, or give the model's folder.", file=name) from None


def from_cache(name: str, revision: str | None) -> str | None:
    """Return the folder of a model that was downloaded before, None where it was not."""
    hub = _hub(name)
    try:
        return str(hub.snapshot_download(name, revision=revision, local_files_only=True))
    except Exception:  # noqa: BLE001 - whatever it is, the model is not there
        return None


def sketch(name: str, revision: str | None) -> Sketch:
    """Download the configuration of a model, and ask for the sizes of its files."""
    hub = _hub(name)
    try:
        info = hub.HfApi().model_info(name, revision=revision, files_metadata=True, timeout=20)
        sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or []}
        small = [file for file in ("config.json", "1_Pooling/config.json") if file in sizes]
        with _no_bars():
            folder = str(hub.snapshot_download(name, revision=info.sha, allow_patterns=small))
    except Exception as error:  # noqa: BLE001 - as in `from_hub`
        raise _nowhere(name, revision, error) from None
    return Sketch(folder, str(info.sha), sum(sizes[file] for file in weight_files(list(sizes))))


def _hub(name: str) -> Any:
    """Return the package that knows the hub."""
    try:
        import huggingface_hub  # type: ignore[import-untyped,import-not-found,unused-ignore]
        import huggingface_hub.errors  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        what = "models of the hub need the package huggingface_hub, which is not installed"
        raise RunnerError(what, INSTALL, file=name) from None
    return huggingface_hub


def _unknown(name: str, revision: str | None, of_revision: bool) -> RunnerError:
    what = f"the model has no revision {revision!r} on the hub" if of_revision else "the hub has no such model"
    return RunnerError(what, "Check the name; a model's folder can be given instead.", file=name)


def _needed(names: Sequence[str]) -> list[str]:
    """Return those files of a repository that are needed to encode."""
    weights = weight_files(names)
    indexes = [f"{re.sub(r'-[0-9]+-of-[0-9]+', '', weight)}.index.json" for weight in weights if "-of-" in weight]
    wanted = {*weights, *indexes, *DECIDING, "modules.json"}
    return sorted(wanted.intersection(names))


def _nowhere(name: str, revision: str | None, error: Exception) -> RunnerError:
    version = f" of revision {revision}" if revision is not None else ""
    what = f"there is no such folder, the hub cannot be reached ({_told(error)}), and its cache has no copy{version}"
    return RunnerError(what, "A folder with the model can be given instead.", file=name)


def _told(error: Exception) -> str:
    """Return the first sentence of what went wrong, on one line."""
    if type(error).__name__ == "OfflineModeIsEnabled":
        return "HF_HUB_OFFLINE is set"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return visible(lines[0][:200].rstrip(".")) if lines else type(error).__name__


@contextmanager
def _no_bars() -> Iterator[None]:
    """Keep the hub from drawing its own progress bars."""
    import huggingface_hub.utils  # type: ignore[import-untyped,import-not-found,unused-ignore]

    utils: Any = huggingface_hub.utils  # which has these functions, but not in its list of names
    shown = not utils.are_progress_bars_disabled()
    with contextlib.ExitStack() as stack:
        if shown:
            utils.disable_progress_bars()
            stack.callback(utils.enable_progress_bars)
        yield
