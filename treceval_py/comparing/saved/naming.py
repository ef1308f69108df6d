"""Names of runs."""

from __future__ import annotations

from collections.abc import Sequence

from treceval_py.data.run import DEFAULT_TAG, RUN_NAME
from treceval_py.errors import EvaluationError
from treceval_py.io.digests import base_name, short

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

WRITTEN_AS = (".txt", ".run", ".tsv", ".csv", ".json", ".trec", ".res", ".eval", ".qrels")

ARCHIVED = "input."
"""Prefix of the names of runs in TREC's archive."""


def unique_names(
    tags: Sequence[str], files: Sequence[str], by: str | None = None, digests: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return a unique name for each run.

    Parameters
    ----------
    tags : sequence of str, length S
        Their tags, empty if there is none.
    files : sequence of str, length S
        Their files.
    by : {"tag", "file"}, optional
        What to name runs by. Default: their tags if all have one and all differ; else their file names without folders
        and known endings; else these with the tag, with the hash of the file, or with a number. A run whose tag is
        ``run``, the default tag, is named by its file.
    digests : sequence of str, length S, optional
        The hashes of their files, empty if there is none.

    Returns
    -------
    tuple of str, length S
        The names, none empty.

    Raises
    ------
    EvaluationError
        With the given `by`, two runs have the same name, or one has none.
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
    """Return a file name without folder, ``input.``, and the endings of compression and format."""
    name = base_name(file)
    for endings in (COMPRESSED, WRITTEN_AS):
        ending = next((each for each in endings if name.endswith(each) and name != each), "")
        name = name.removesuffix(ending)
    return name.removeprefix(ARCHIVED) or name
