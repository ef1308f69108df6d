"""`report`: the page in one call, as the two functions that make it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from refused import refusal

import treceval_py as te
from treceval_py.reporting import reporting

pytest.importorskip("jinja2", reason="a report needs jinja2: .[report] has it")

QRELS = {"1": {"a": 1}, "2": {"a": 1, "b": 0}, "3": {"c": 2}}
RUNS: dict[str, Any] = {
    "one": {"1": {"a": 1.0, "b": 0.5}, "2": {"b": 1.0, "a": 0.5}, "3": {"c": 1.0}},
    "two": {"1": {"b": 1.0, "a": 0.5}, "2": {"b": 1.0, "a": 0.5}, "3": {"c": 1.0}},
}
TEXTS = {"1": "which text is first?"}, {"a": "the beginning of a"}
TITLE = "Comparison of 2 runs"


def test_it_writes_what_comparison_and_payload_give(tmp_path: Path) -> None:
    file, (queries, corpus) = tmp_path / "page.html", TEXTS
    compared = te.report(QRELS, RUNS, file, ["RR", "P@1"], queries=queries, corpus=corpus)
    assert compared.runs == ("one", "two")
    assert compared["RR"].means.tolist() == [(1 + 0.5 + 1) / 3, (0.5 + 0.5 + 1) / 3]
    payload = te.reporting.report_payload(
        te.compare(QRELS, RUNS, ["RR", "P@1"]), qrels=QRELS, runs=RUNS, texts=queries, passages=corpus, title=TITLE
    )
    te.reporting.write_report(tmp_path / "other.html", payload)
    assert payload["docs"] is not None
    assert payload["texts"] == queries
    assert file.read_bytes() == (tmp_path / "other.html").read_bytes()


def contents(*arguments: Any, **options: Any) -> dict[str, Any]:
    """Return the payload of the page that is written."""
    with patch.object(reporting, "write_report") as write:
        te.report(*arguments, **options)
    ((_, payload), _) = write.call_args
    return dict(payload)


def test_runs_are_a_list_of_files_or_objects_and_texts_are_files(tmp_path: Path) -> None:
    file, (queries, corpus) = tmp_path / "page.html", TEXTS
    te.io.write_qrels(QRELS, tmp_path / "qrels")
    for name, run in RUNS.items():
        te.write_run(run, tmp_path / name, tag=name)
    for name, texts in (("queries", queries), ("corpus", corpus)):
        (tmp_path / name).write_text("".join(f"{key}\t{text}\n" for key, text in texts.items()))
    files = [str(tmp_path / name) for name in RUNS]
    where = {"queries": tmp_path / "queries", "corpus": str(tmp_path / "corpus")}
    by_files = contents(tmp_path / "qrels", files, file, "RR", **where)
    by_objects = contents(
        te.read_qrels(tmp_path / "qrels"), map(te.read_run, files), file, "RR", queries=queries, corpus=corpus
    )
    for part in ("texts", "passages", "measures", "docs", "qids"):
        assert by_files[part] == by_objects[part]
    assert (by_files["texts"], by_files["passages"]) == TEXTS


def test_one_run_alone_is_a_page_too(tmp_path: Path) -> None:
    file, run = tmp_path / "page.html", te.Run(RUNS["one"], tag="mine")
    te.write_run(run, tmp_path / "run.txt")
    for alone in (run, [run], tmp_path / "run.txt", str(tmp_path / "run.txt"), {"mine": RUNS["one"]}):
        payload = contents(QRELS, alone, file, "RR")
        assert (payload["title"], payload["measures"][0]["means"]) == ("mine", [(1 + 0.5 + 1) / 3])


def test_results_need_no_judgments_and_have_no_documents(tmp_path: Path) -> None:
    results = {name: te.evaluate(QRELS, run, "RR") for name, run in RUNS.items()}
    payload = contents(None, results, tmp_path / "page.html", title="Results alone", alpha=0.1)
    assert (payload["title"], payload["alpha"], payload["docs"]) == ("Results alone", 0.1, None)


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert "InputError: no/run.txt: no such file" in refusal(te.report, QRELS, "no/run.txt", file)
    assert "MeasureError: alpha must be between 0 and 1, not 2" in refusal(te.report, QRELS, RUNS, file, alpha=2)
    assert "the baseline 'three' is not among the runs" in refusal(te.report, QRELS, RUNS, file, baseline="three")
    assert not file.exists()
