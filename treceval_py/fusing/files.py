"""Fuse run files into one, with a record beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from treceval_py.errors import DataError, OutputError
from treceval_py.fusing.fusing import Fused, opened, run_of
from treceval_py.fusing.listing import ListedRun
from treceval_py.fusing.methods import Fusion
from treceval_py.fusing.tuning import Before, Tuned, Tuning, tune
from treceval_py.io.digests import digest_of, digest_of_file
from treceval_py.io.target import written_whole
from treceval_py.io.writing import trec_lines
from treceval_py.runs.record import check_sidecar, provenance, read_sidecar, remove_sidecar, write_sidecar
from treceval_py.runs.writing import check_folder
from treceval_py.scoring.evaluation import Evaluator


class FusedFile(NamedTuple):
    """The record and notes of a fused file.

    Attributes
    ----------
    record : dict
        The record written next to the run.
    notes : list of str
        Notes for people.
    tuned : Tuned or None
        The settings, if they were chosen by judgments.
    """

    record: dict[str, Any]
    notes: list[str]
    tuned: Tuned | None = None


def fuse_files(
    runs: Sequence[str],
    output: str,
    fusion: Fusion | Tuning | Before,
    *,
    depth: int | None = None,
    k: int = 1000,
    strict: bool = False,
    tag: str | None = None,
    format: str | None = None,
    max_passage: str | None = None,
    command: Sequence[str] = (),
    paths: bool = True,
) -> FusedFile:
    """Fuse run files, a query at a time, and write a TREC run and its record.

    Parameters
    ----------
    runs : sequence of str
        The files; ``"-"`` is standard input.
    output : str
        The file of the fused run; the record is ``output.json``.
    fusion : Fusion, Tuning or Before
        The method and its settings, the way to choose them, or an earlier choice.
    depth, k, strict, tag, max_passage
        As for `treceval_py.fuse`.
    format : str, optional
        The format of the runs, by default recognised.
    command : sequence of str
        The command line, for the record.
    paths : bool
        Whether the record has full paths or only file names.

    Returns
    -------
    FusedFile
        The record and the notes.

    Raises
    ------
    DataError
        The runs, their scores or the tag do not allow fusing.
    InputError
        A run cannot be read.
    OutputError
        The run or its record cannot be written.
    """
    begun = datetime.now(UTC)
    before, fusion = (fusion, fusion.fusion) if isinstance(fusion, Before) else (None, fusion)
    usual = fusion.fusions[0] if isinstance(fusion, Tuning) else fusion
    name = _tag(fusion, depth) if tag is None else tag
    _check_files(runs, output)
    trec_lines(run_of([], name), name)  # a tag that cannot be written is refused before anything is read
    if before is None:
        usual.check_runs(len(runs))
    tuned, own = None, before.tuned if before else None
    with _digests(runs) as digests, opened(runs, format, max_passage) as listed_runs:
        notes = before.check_runs(listed_runs, depth) if before else []
        fused = Fused(listed_runs, lambda _: usual, depth, k, strict=strict)
        if isinstance(fusion, Tuning):
            tuned = tune(fused, fusion)
            fused = Fused(listed_runs, tuned.fusion_of, depth, k, strict=strict)
            usual, own = tuned.chosen.final.fusion, {**tuned.record(), **_judged(fusion.evaluator)}
        with written_whole(output) as stream:
            for lines in fused.groups(lambda group: trec_lines(run_of(group, name), name)):
                stream.write(lines)
        remove_sidecar(output)  # the record of the replaced run; if writing fails, that run and its record both stay
        notes += fused.notes(usual)
        inputs = [_about(*each) for each in zip(runs, listed_runs, digests(), strict=True)]
    seen = fused.observed
    for about, tied in zip(inputs, seen.tied.tolist(), strict=True):
        about["tied"] = tied
    record = {
        "run": {
            "file": output, "tag": name, "k": k, "lines": seen.kept, "queries": seen.queries, "tied": seen.fused_ties,
        },
        "fusion": {**usual.settings(), "depth": depth, "max_passage": max_passage, **RULES},
        "inputs": inputs,
        "queries": {"all": seen.queries, "in_every_run": seen.complete},
        "overlap": seen.overlaps(),
        **_tuned(inputs, own),
        **provenance(command, begun, ["numpy"], paths=paths),
        "notes": notes,
    }  # fmt: skip
    if os.path.isfile(output):  # not a pipe or a device
        record["run"]["sha256"] = digest_of_file(output)
        write_sidecar(output, record, paths=paths)
    return FusedFile(record, notes, tuned)


def _tag(fusion: Fusion | Tuning, depth: int | None) -> str:
    if isinstance(fusion, Fusion):
        return fusion.tag(depth)
    return f"{fusion.fusions[0].tag(depth)}-tuned" if len(fusion.fusions) == 1 else "tuned"


RULES = {
    "missing_documents": "a list without the document adds nothing to it, unless the formula says otherwise",
    "missing_queries": "a query is fused from the runs that have it",
    "ranks": "by descending score; of equal scores the larger id (by bytes) is first",
}
"""Rules of every fusion, for the record."""


@contextmanager
def _digests(runs: Sequence[str]) -> Iterator[Callable[[], list[str]]]:
    """Compute the SHA-256 of files during other work, and yield a function that waits for them."""
    pool = ThreadPoolExecutor(1)
    try:
        digests = [pool.submit(digest_of, run) for run in runs]
        yield lambda: [digest.result() for digest in digests]
    finally:
        pool.shutdown(cancel_futures=True)


def _about(file: str, run: ListedRun, digest: str) -> dict[str, Any]:
    """Return the record of an input, including the record next to its file, if there is one."""
    return {
        "file": file, "sha256": digest or None, "tag": run.tag, "lines": run.num_rows, "queries": len(run.spans),
        "record": read_sidecar(file, digest) if digest else None,
    }  # fmt: skip


def _judged(evaluator: Evaluator) -> dict[str, Any]:
    """Return the record of how settings were chosen."""
    (task,) = evaluator.plan.tasks
    name = evaluator.judgments.name
    return {"resolved": task.resolved.name, "qrels": {"file": name, "sha256": digest_of(name) or None}}


def _tuned(inputs: Sequence[dict[str, Any]], own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the queries on which settings were chosen, including those of the inputs' settings."""
    said = [(about["record"] or {}).get("tuned") for about in inputs]
    known = [each for each in (*said, own) if isinstance(each, Mapping) and isinstance(each.get("queries"), list)]
    if not known:
        return {}
    queries = {str(query) for tuned in known for query in tuned["queries"]}
    nested = all(tuned.get("nested") for tuned in known)
    return {"tuned": {**(own or {}), "queries": sorted(queries), "nested": nested}}


def _check_files(runs: Sequence[str], output: str) -> None:
    """Refuse files that cannot be read or written as runs."""
    if runs.count("-") > 1:
        raise DataError("standard input (-) is given for several runs", "Give - only once.")
    if output in {"", "-"} or output.endswith(os.sep):
        raise OutputError("a run is a file, with its record next to it", "Name a file.", file=output or "''")
    check_sidecar(output)
    if not os.path.exists(output) or os.path.isfile(output):  # not a pipe or a device
        check_folder(output)
