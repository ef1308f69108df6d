"""Coverage-guided fuzzing of what reads files of others, by Atheris: ``make fuzz``, or ``make fuzz TARGET=json RUNS=1000``.

Every input ends in a value or in one of the package's errors; and each target has an oracle of its own.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import atheris

warnings.simplefilter("ignore")
with atheris.instrument_imports(include=["treceval_py"]):
    from treceval_py.checking.checking import check
    from treceval_py.comparing.saved.reading import read_saved
    from treceval_py.errors import TrecevalError
    from treceval_py.grading.claims.documents.reading import read_document
    from treceval_py.io.conversion import convert
    from treceval_py.io.named import read_qrels, read_run
    from treceval_py.io.source import Text
    from treceval_py.scan import VARIABLE, scanner


def outcome(read: Callable[[Any, str], Any], data: bytes, name: str) -> Any:
    """Return what is read in a format as dictionaries, or the error."""
    try:
        table = read(Text(data), name)
    except TrecevalError as error:
        return str(error)
    return {qid: {docid: repr(value) for docid, value in table[qid].items()} for qid in table}


def scan(data: bytes) -> None:
    """The compiled scanner and the Python reader come to the same; what `check` accepts is read."""
    for name, read in (("trec_results", read_run), ("msmarco", read_run), ("qrels", read_qrels)):
        outcomes = []
        for reader in ("compiled", "python"):
            os.environ[VARIABLE] = reader
            scanner.cache_clear()
            outcomes.append(outcome(read, data, name))
        assert outcomes[0] == outcomes[1], (name, outcomes)
        checked = check(io.BytesIO(data), kind="run" if name == "trec_results" else name)
        broken = checked.errors or any(finding.code.startswith("F") for finding in checked.findings)
        assert broken or isinstance(outcomes[0], dict), (name, outcomes)


def json(data: bytes) -> None:
    """What is read is the same after it was written."""
    for name in ("json", "jsonl", "csv"):
        once = outcome(read_run, data, name)
        if isinstance(once, dict):
            again = io.BytesIO()
            convert(read_run(Text(data), name), again, target_format=name)
            assert outcome(read_run, again.getvalue(), name) == once


def saved(data: bytes) -> None:
    """Saved results are read or refused."""
    with open(PATH, "wb") as file:
        file.write(data)
    with suppress(TrecevalError):
        read_saved(PATH)


def documents(data: bytes) -> None:
    """A document of a submission is read, or has a fault; it never raises."""
    name, _, body = data.partition(b"\n")
    endings = ("md", "txt", "html", "tex", "ipynb", "csv", "json", "docx", "xlsx", "odt", "pdf")
    read_document(body, f"report.{endings[sum(name) % len(endings)]}")


TARGETS = {target.__name__: target for target in (scan, json, saved, documents)}
PATH = f"/tmp/treceval-fuzz-{os.getpid()}"

if __name__ == "__main__":
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name])
    try:
        atheris.Fuzz()
    finally:
        if os.path.exists(PATH):
            os.unlink(PATH)
