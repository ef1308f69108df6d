"""Laws about all formats, tried with arbitrary ids: what is written is read again, and what `check` accepts is read."""

from __future__ import annotations

import bz2
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import treceval_py as te
from treceval_py.errors import DataError, InputError, TrecevalError
from treceval_py.grading.rules import read_rules
from treceval_py.io.conversion import convert, write_while_reading
from treceval_py.io.formats import FORMATS
from treceval_py.io.named import read_qrels, read_run
from treceval_py.io.source import Text
from treceval_py.io.writing import write_qrels, write_run, write_table
from treceval_py.scan import scanner

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")  # of what a format lacks

HOSTILE = (
    *("", "\ud800", "\udcff", "\udcc3\udca9", "\udc1f\udc8b", "PAR1", "%PDF", "%PDF-1.4", "PK", "PK\x03\x04", "BZh", "BZh9"),
    *("BZh91AY&SY", "{}", "{", '{"a', "[", "#", "#1", "\ufeff", "\ufeff1", "\xa0", "\x85", "\u2028", "\x1c", "\x1b[2J", "\0"),
    *("a b", " a", "a ", "tab\t", "line\n", "\r", "\v", ",", '"', "'", "quo\"te", "\\", "NaN", "007", "7", "qid", "query-id"),
)  # fmt: skip
IDS = st.sampled_from(HOSTILE) | st.text(max_size=6) | st.text("ab1", min_size=1, max_size=2)
PLAIN = st.text("ab1", min_size=1, max_size=2)
SCORES = st.floats(allow_nan=False) | st.integers(-3, 3).map(float) | st.decimals(-99, 99, places=4).map(float)
GRADES = st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 3)
WRITTEN = [(form, kind) for form in FORMATS if form.write for kind in form.holds]
NAMES = [f"{form.name}-{kind}" for form, kind in WRITTEN]


def rows(ids: st.SearchStrategy[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    return st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=5), min_size=1, max_size=4)


def slow_law(examples: int) -> Any:
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind"), WRITTEN, ids=NAMES)
@slow_law(300)
@given(data=st.data())
def test_what_is_written_is_read_again_or_refused(form: Any, kind: str, data: st.DataObject) -> None:
    ids = data.draw(st.sampled_from([IDS, PLAIN]))
    given = data.draw(rows(ids, SCORES if kind == "run" else GRADES))
    try:
        table: Any = te.Run(given, tag="mine") if kind == "run" else te.Qrels(given)
    except DataError as error:  # an id that no table can have
        if not ("\\ud" in str(error) or "encoded as the same bytes" in str(error)):
            raise
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        try:
            (write_run if kind == "run" else write_qrels)(table, path, format=form.name)
        except DataError as error:
            if ids is PLAIN or path.exists() or not re.match("query id|docid|identifier", error.what):
                raise
            return
        again: Any = (read_run if kind == "run" else read_qrels)(path, form.name)
    assert list(again) == list(table)
    if kind == "qrels" or len(form.holds) == 2:
        assert [list(row) for row in again.values()] == [list(row) for row in table.values()]
    if "scores" in form.lacks:
        assert {qid: list(row) for qid, row in again.to_dict().items()} == ranked(table)
    else:
        assert again.to_dict() == table.to_dict()
        if kind == "run":  # equal numbers may be different zeros
            assert all(str(again[qid][docid]) == str(score) for qid in table for docid, score in table[qid].items())
            assert again.tag == ("run" if "tag" in form.lacks else "mine")


def ranked(run: te.Run) -> dict[str, list[str]]:
    """Documents by descending score, equal ones by descending bytes."""
    as_bytes = {docid: docid.encode("utf-8", "surrogateescape") for row in run.values() for docid in row}
    return {qid: sorted(row, key=lambda docid: (row[docid], as_bytes[docid]), reverse=True) for qid, row in run.items()}


LINES = {"run": "{0} Q0 {1} 1 {2} t\n", "qrels": "{0} 0 {1} {2}\n", "msmarco": "{0}\t{1}\t1\n"}
VALUES = ("1", "0", "-1", "0.5", "1e400", "inf", "nan", "1_0", "9" * 25, "+1", "x")


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
@slow_law(400)
@given(data=st.data())
def test_what_check_finds_no_errors_in_is_read(kind: str, data: st.DataObject) -> None:
    cells = st.tuples(IDS, IDS, st.sampled_from(VALUES[: data.draw(st.integers(1, len(VALUES)))]))
    text = "".join(LINES[kind].format(*row) for row in data.draw(st.lists(cells, min_size=1, max_size=4)))
    raw = data.draw(st.sampled_from([text, text[:-1], "# a\n" + text])).encode("utf-8", "surrogatepass")
    checked = te.check(io.BytesIO(raw), kind=kind)
    if checked.errors or any(finding.code.startswith("F") for finding in checked.findings):
        return
    kinds: Any = {"run": "trec_results", "msmarco": "msmarco"}
    if kind == "qrels":
        read_qrels(io.BytesIO(raw), "qrels")
    else:
        read_run(io.BytesIO(raw), kinds[kind])


@pytest.mark.slow
@slow_law(60)
@given(rows(IDS, st.integers(0, 2)), rows(IDS, SCORES), rows(IDS, SCORES))
@example({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}, {"1": {"b": 1.0}, "2": {"a": 1.0}})
def test_saved_results_give_the_same_comparison(judged: Any, one: Any, two: Any) -> None:
    judged = {qid: dict.fromkeys([*one.get(qid, ()), "x"], 1) for qid in (*one, *two)} | judged
    try:
        qrels, runs = te.Qrels(judged), [te.Run(one, tag="one"), te.Run(two, tag="two")]
    except DataError:
        return
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for run in runs:
            try:
                results = te.evaluate(qrels, run, ["map", "P_5"])
                files.append(str(Path(folder) / f"{run.tag}.json"))
                results.save(files[-1])
            except TrecevalError:  # no query in common, or an empty id
                return
        saved = compared(None, dict(zip(("one", "two"), files, strict=True)))
        assert saved == compared(qrels, {run.tag: run for run in runs})


def compared(qrels: te.Qrels | None, runs: Any) -> str:
    try:
        return str(te.compare(qrels, runs, ["map", "P_5"], resamples=200).to_pandas().to_string())
    except TrecevalError as error:
        return type(error).__name__


PARTED = [(form, kind) for form in FORMATS if form.parts for kind in form.holds]


@pytest.mark.parametrize(("form", "kind"), PARTED, ids=[f"{form.name}-{kind}" for form, kind in PARTED])
def test_what_is_written_while_it_is_read_is_the_same(
    form: Any, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries of different lengths, some longer than a block and a portion; what is refused is left to `convert`."""
    monkeypatch.setattr("treceval_py.io.source.BLOCK_SIZE", 300)
    monkeypatch.setattr("treceval_py.io.source.SMALL_BLOCK_SIZE", 300)
    monkeypatch.setattr("treceval_py.io.parquet.BATCH", 7)
    monkeypatch.setattr("treceval_py.data.table.PORTION", 8)
    rng = np.random.default_rng(1)
    rows = {
        f"q{q}": {f"d{d}é": float(rng.integers(4)) for d in range(size)} for q, size in enumerate([3, 40, 1, 9, 8, 7])
    }
    table: Any = (
        te.Run(rows, tag="mine") if kind == "run" else te.Qrels({q: dict.fromkeys(row, 1) for q, row in rows.items()})
    )
    source, out = str(tmp_path / "source"), str(tmp_path / "out")
    write_table(table, source, form.name)
    parted = 0
    for to in (to for to, holds in WRITTEN if holds == kind):
        convert(source, out, kind=kind, target_format=to.name)
        whole = Path(out).read_bytes()
        if write_while_reading(source, out, kind=kind, target_format=to.name) is not None:
            parted += 1
            assert Path(out).read_bytes() == whole, to.name
    assert parted > 5 or (form.binary and scanner() is None)  # Parquet is then read as a whole


def test_text_that_begins_like_another_file_is_read_and_the_other_is_not() -> None:
    for qid in ("PAR1", "%PDF", "%PDF-1.4", "PK", "PK\x03\x04", "BZh", "BZh9", "BZh91AY&S", "{}"):
        assert list(read_run(Text(f"{qid} Q0 a 1 0.5 t\n".encode()))) == [qid]
    compressed = bz2.compress(b"1 Q0 a 1 0.5 t\n")
    assert list(read_run(Text(compressed))) == ["1"]
    for data in (
        b"%PDF-1.4\n1 Q0 a 1 0.5 t\n",
        b"PAR1 Q0 a 1 0.5 t\n\0",
        b"PK\x03\x04\n",
        compressed[:9],
        bz2.compress(b""),
    ):
        with pytest.raises(InputError):
            read_run(Text(data), "trec_results")
    with pytest.raises(DataError, match="look compressed by bzip2"):
        write_run({"BZh91AY&SY": {"a": 1.0}}, "nowhere/x")


def test_only_white_space_of_json_is_skipped() -> None:
    for space in " ", "\t", "\r\n":
        assert list(read_run(Text((space + '{"1": {"a": 1}}' + space).encode()), "json")) == ["1"]
    for other in "\x85", "\xa0", "\v", "\u2028":
        for name in "json", "jsonl":
            for text in (other + '{"1": {"a": 1}}', '{"1": {"a": 1}}' + other):
                with pytest.raises(InputError):
                    read_run(Text(text.encode()), name)


def test_a_toml_file_has_at_most_a_mebibyte() -> None:
    most = b"#" * ((1 << 20) - 1) + b"\n"
    read_rules(Text(most.replace(b"#", b"\n")))
    with pytest.raises(InputError, match="more than 1,048,576 bytes"):
        read_rules(Text(most + b"#"))


def test_ids_are_escaped_on_a_terminal_and_exact_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"1 Q0 a\x1b[2J 1 1.0 t\n")
    assert treceval(["convert", "run", "-"], folder=tmp_path).out == b"1 Q0 a\x1b[2J 1 1.0 t\n"
    for command in (["convert", "run", "-"], ["convert", "run", "out"]):
        done = on_terminal([sys.executable, "-m", "treceval_py", *command], tmp_path)
        assert (b"a\\x1b[2J" in done) == (command[-1] == "-")
        assert b"\x1b[2J" not in done
    assert (tmp_path / "out").read_bytes() == b"1 Q0 a\x1b[2J 1 1.0 t\n"


def on_terminal(command: list[str], folder: Path) -> bytes:
    """Return what a command shows on a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run(command, cwd=folder, stdout=theirs, stderr=theirs, check=True)
    os.close(theirs)
    with suppress(OSError):
        return os.read(ours, 1 << 16)
    return b""
