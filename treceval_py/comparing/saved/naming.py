"""What runs are called."""

from __future__ import annotations

from collections.abc import Sequence

from treceval_py.data.run import DEFAULT_TAG, RUN_NAME
from treceval_py.errors import EvaluationError
from treceval_py.io.digests import base_name, short

__all__ = ["stem", "unique_names"]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

WRITTEN_AS = (".txt", ".run", ".tsv", ".csv", ".json", ".trec", ".res", ".eval", ".qrels")

ARCHIVED = "input."
"""How the names of runs begin in TREC's archive."""


def unique_names(
    tags: Sequence[str], files: Sequence[str], by: str | None = None, digests: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what runs are called, each differently.

    Parameters
    ----------
    tags : sequence of str, length S
        Their tags, empty where there is none.
    files : sequence of str, length S
        Their files.
    by : {"tag", "file"}, optional
        What they are called by. By default their tags, where all have one and all differ; else the names of the
        files without folders and known endings, else these with the tag, else with the hash of the file, else with a
        number. A run with the tag that runs without one get, ``run``, is called by its file.
    digests : sequence of str, length S, optional
        The hashes of their files, empty where there is none.

    Returns
    -------
    tuple of str, length S
        The names, none of them empty.

    Raises
    ------
    EvaluationError
        By what they are to be called, two are called the same, or one has no name.
    """
    stems = [stem(file) for file in files]
    if by is not None:
        if by not in ("tag", "file"):
            raise EvaluationError(f"runs cannot be named by {by!r}", "Choose 'tag' or 'file'.")
        return _checked(tags if by == "tag" else stems, files, by)
    numbers = range(1, len(files) + 1)
    said = [
        stem(file) if tag == DEFAULT_TAG and file != RUN_NAME else tag for tag, file in zip(tags, files, strict=True)
    ]
    for names in (
        said,
        stems,
        [f"{name} ({tag})" for name, tag in zip(stems, tags, strict=True)] if all(tags) else [],
        [f"{name} ({short(digest)})" for name, digest in zip(stems, digests, strict=False)] if all(digests) else [],
    ):
        if len(names) == len(files) and all(names) and len(set(names)) == len(names):
            return tuple(names)
    return tuple(f"{name} ({number})" for name, number in zip(stems, numbers, strict=True))


def _checked(names: Sequence[str], files: Sequence[str], by: str) -> tuple[str, ...]:
    other = "files" if by == "tag" else "tags"
    first: dict[str, str] = {}
    for name, file in zip(names, files, strict=True):
        if not name:
            raise EvaluationError(f"run {file} has no {by}", f"Name runs by {other}.")
        if name in first:
            both = f"runs {first[name]} and {file} are both" if file != first[name] else f"two runs of {file} are both"
            raise EvaluationError(f"{both} named '{name}'", f"Name them by {other}, or rename one.")
        first[name] = file
    return tuple(names)


def stem(file: str) -> str:
    """Return the name of a file without its folder, the endings of its compression and format, and ``input.``."""
    name = base_name(file)
    for endings in (COMPRESSED, WRITTEN_AS):
        ending = next((each for each in endings if name.endswith(each) and name != each), "")
        name = name.removesuffix(ending)
    return name.removeprefix(ARCHIVED) or name
