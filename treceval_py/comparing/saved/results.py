"""Load results from the files of ``Results.save`` and ``treceval -q --format json``."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from treceval_py.comparing.saved.block import Block, shown
from treceval_py.comparing.saved.json_file import Fields, Reader, read_document
from treceval_py.comparing.scores import known_measure
from treceval_py.data.ids import encode
from treceval_py.diagnosis.sign import Sign
from treceval_py.errors import InputError, MeasureError, listed
from treceval_py.io.source import BYTE_ORDER_MARK, whole
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import TEXT
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.planning import Task
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint, Signature, explicit


def read_results(path: str | os.PathLike[str], run: str | None = None) -> Results:
    """Read results that `Results.save` wrote, or that ``treceval -q --format json`` printed.

    Parameters
    ----------
    path : path
        The file, plain or compressed.
    run : str, optional
        The run's name, if the file has several.

    Returns
    -------
    Results
        The same values, averages and signatures, without the notes about lines of the run file.

    Raises
    ------
    InputError
        The file cannot be read, is in another format, lacks values per query, or has several runs and none is named.
        `compare` accepts other formats of saved results.
    MeasureError
        It has a measure that is not declared here.

    Examples
    --------
    >>> import tempfile
    >>> import treceval_py as te
    >>> results = te.evaluate({"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}, ["RR"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results.save(f"{folder}/run.json")
    ...     read_results(f"{folder}/run.json").mean
    {'RR': 0.5}
    """
    file = os.fspath(path)
    raw = whole(file)
    if not raw.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        raise InputError("this is not JSON of results", "Save them with Results.save, or compare them.", file=file)
    reader, document = read_document(file, raw)
    runs = [reader.fields(each, f"run {number}") for number, each in enumerate(document["runs"], 1)]
    names = [reader.word(each, "name", f"run {number}") for number, each in enumerate(runs, 1)]
    if run is None and len(runs) > 1:
        raise InputError(f"it has {len(runs)} runs", f"Name one: run= {listed(names)}.", file=file)
    if run is not None and run not in names:
        raise InputError(f"it has no run {shown(run)}", f"It has {listed(names)}.", file=file)
    place = 0 if run is None else names.index(run)
    block = reader.block(document["runs"][place], f"run {place + 1}", [])
    block.scored()  # refuses a run without values
    return _results(reader, document, runs[place], block)


def _results(reader: Reader, document: Fields, run: Fields, block: Block) -> Results:
    """Return the results of a run in a file whose form has been checked."""
    of_queries = {qid: dict(values) for qid, values in run["per_query"]}
    notation = reader.fields(document.get("measures", ()), "'measures'")
    profile = document.get("profile") or ""
    usual = Conventions(missing="empty" if document.get("complete") else "out")
    made = [_signature(reader, run, name) for name in notation]
    first = next((each for each in made if each is not None), None)
    measures = [
        _measure(name, block.file, profile if each is None else each.profile)
        for name, each in zip(notation, made, strict=True)
    ]
    tasks = []
    for measure, signature in zip(measures, made, strict=True):
        resolved = _measure(str(notation[measure.name]), block.file)
        if signature is None:
            tasks.append(Task(measure, resolved, first.conventions if first else usual, ""))
            continue
        resolved = resolved if explicit(resolved) == signature.measure else signature.measure
        tasks.append(Task(measure, resolved, signature.conventions, signature.profile))
    zeros = block.missing if any(task.conventions.missing == "zero" for task in tasks) else ()
    qids = sorted({*of_queries, *zeros}, key=encode)
    averages = dict(run.get("mean", ()))
    matrix = np.full((len(qids), len(measures)), np.nan)
    counted = np.zeros((len(qids), len(measures)), dtype=bool)
    texts: dict[int, tuple[str, ...]] = {}
    for number, (measure, signature) in enumerate(zip(measures, made, strict=True)):
        name = measure.name
        column = [of_queries.get(qid, {}).get(name) for qid in qids]
        there = np.array([value is not None for value in column], dtype=bool)
        if measure.family.kind == TEXT:
            texts[number] = tuple(str(averages.get(name, "") if value is None else value) for value in column)
            counted[:, number] = there if measure.family.per_query else True
            continue
        matrix[there, number] = [value for value in column if value is not None]
        if signature is not None and signature.queries > there.sum():
            # Queries that count 0 are not listed; a measure without values per query still counts queries.
            missing = np.array([qid in block.missing for qid in qids], dtype=bool)
            if measure.family.per_query and not measure.family.of_judgments:
                matrix[missing & ~there, number] = 0.0
            there |= missing if measure.family.per_query else ~missing | (signature.queries == len(qids))
        counted[:, number] = there
    signs = [
        Sign(*(reader.word(dict(reader.fields(given, "a sign")), key, "a sign") for key in Sign._fields))
        for given in run.get("signs", ())
    ]
    return Results(
        tasks=tuple(tasks),
        qids=tuple(qids),
        matrix=matrix,
        counted=counted,
        texts=texts,
        averages=np.array([_number(averages.get(each.name)) for each in measures]),
        listed=np.array([qid in of_queries for qid in qids], dtype=bool),
        missing=block.missing,
        unjudged=tuple(run.get("unjudged", ())),
        profile=profile,
        judgments_name=document.get("judgments") or "",
        run_name=reader.word(run, "file", "the run"),
        tag=reader.word(run, "tag", "the run"),
        fingerprint=Fingerprint("" if first is None else first.judgments),
        version=reader.word(document, "treceval_py", "the file"),
        signs=tuple(signs),
    )


def _measure(name: str, file: str, profile: str = "") -> Measure:
    measure = known_measure(name, profile)
    if measure is None:
        raise MeasureError(f"measure {shown(name)} is not known", "Declare it first.", file=file)
    return replace(measure, asked="" if name == measure.notation else name)


def _signature(reader: Reader, run: Fields, name: str) -> Signature | None:
    forms = dict(run.get("signatures", ())).get(name)
    try:
        return None if forms is None else Signature.parse(dict(forms)["long"])
    except (MeasureError, KeyError, TypeError):
        reader.refuse(f"the signature of {shown(name)} cannot be read")


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
