"""Queries without judgments or documents: they count alike in every form, after every writer and under every profile.

The expected values are those of the same data without such queries, as a file of lines holds them, or arithmetic in
sight; `tests/test_scoring_peers.py` has what other packages compute.
"""

from __future__ import annotations

import io
import json
import math
import random
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from command import treceval
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from shared import SHARED

import treceval_py as te
from treceval_py.data.ids import Ids
from treceval_py.data.table import with_bare
from treceval_py.io.formats import formats_of
from treceval_py.scoring.profiles import PROFILES

Rows = Mapping[str, Mapping[str, float]]

DOCUMENTS, MEASURES = 6, ["AP", "RR", "RR@3", "nDCG@3", "SetP", "num_q", "num_ret"]

CASES = {"judgments": {"a": {"x": 1}, "b": {}}, "run": {"a": {"x": 1.0}, "b": {"y": 1.0}}}


class Pair(NamedTuple):
    """Judgments of the queries "0", "1", …, and a run of some of them and of others; either may have bare queries."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Return judgments and a run, in order of scores, without equal scores; both have a query with documents."""
    rng = draw(st.randoms(use_true_random=False))
    documents = list(map(str, range(DOCUMENTS)))
    grades = rng.choice([[1], [0, 1], [0, 1, 2]])
    qrels = {str(query): {docid: rng.choice(grades) for docid in some(rng, documents)} for query in range(5)}
    ranked = {str(query): some(rng, documents) for query in rng.sample(range(7), rng.randint(1, 6))}
    qrels[rng.choice(list(qrels))]["0"] = 1
    ranked[rng.choice(list(ranked))][:] = ["1", "0"]
    run = {qid: {docid: -float(rank) for rank, docid in enumerate(docids, 1)} for qid, docids in ranked.items()}
    return Pair(qrels, run)


def some(rng: random.Random, documents: list[str]) -> list[str]:
    return [] if rng.random() < 0.4 else rng.sample(documents, rng.randint(1, len(documents)))


def held(rows: Mapping[str, Any]) -> Any:
    """Return the queries with documents."""
    return {qid: row for qid, row in rows.items() if row}


def records(rows: Rows, value: str) -> list[dict[str, Any]]:
    return [{"qid": qid, "docid": docid, value: number} for qid, row in rows.items() for docid, number in row.items()]


def columns(rows: Rows) -> Any:
    """Return the queries, offsets, documents and values of a table, bare queries last."""
    table = held(rows)
    qids, offsets = with_bare(
        tuple(table), np.cumsum([0, *map(len, table.values())]), [qid for qid in rows if not rows[qid]]
    )
    docids = [docid for row in table.values() for docid in row]
    return qids, offsets, Ids.from_text(docids), np.array([number for row in table.values() for number in row.values()])


def label_matrix(qrels: Rows) -> Any:
    labels = np.full((len(qrels), DOCUMENTS), np.nan)
    for qid, row in qrels.items():
        for docid, label in row.items():
            labels[int(qid), int(docid)] = label
    return labels


def score_arrays(run: Rows, kind: type) -> Any:
    ids = np.full((len(run), DOCUMENTS), -1 if kind is int else "", dtype=np.int64 if kind is int else object)
    scores = np.zeros(ids.shape)
    for place, row in enumerate(run.values()):
        ids[place, : len(row)] = list(map(kind, row))
        scores[place, : len(row)] = list(row.values())
    return scores, ids, list(run)


def json_lines(rows: Rows) -> bytes:
    return "".join(json.dumps({qid: row}) + "\n" for qid, row in rows.items()).encode()


Forms = dict[str, Callable[[Any], Any]]

BOTH_HOLDING: Forms = {
    "dict": lambda rows: {qid: dict(row) for qid, row in rows.items()},
    "numbers as ids": lambda rows: {int(qid): {int(docid): number for docid, number in rows[qid].items()} for qid in rows},
    "pairs": lambda rows: {qid: list(row.items()) for qid, row in rows.items()},
    "JSON": lambda rows: io.BytesIO(json.dumps(rows, indent=1).encode()),
    "JSON in one line": lambda rows: io.BytesIO(json.dumps(rows).encode()),
    "JSON Lines of dictionaries": lambda rows: io.BytesIO(json_lines(rows)),
}  # fmt: skip

HOLDING: dict[str, Forms] = {
    "qrels": {
        **BOTH_HOLDING,
        "Qrels": te.Qrels,
        "from_columns": lambda rows: te.Qrels.from_columns(*columns(rows)),
        "labels": label_matrix,
        "Qrels of to_dict": lambda rows: te.Qrels(te.Qrels(rows).to_dict()),
    },
    "run": {
        **BOTH_HOLDING,
        "Run": te.Run,
        "from_columns": lambda rows: te.Run.from_columns(*columns(rows)),
        "arrays": lambda rows: score_arrays(rows, int),
        "arrays of text": lambda rows: score_arrays(rows, str),
        "lists": lambda rows: {qid: list(row) for qid, row in rows.items()},
        "Run of lists": lambda rows: te.Run({qid: list(row) for qid, row in rows.items()}),
    },
}
"""Forms that can hold a bare query."""

NOT_HOLDING: dict[str, Forms] = {
    name: {
        "pandas": lambda rows, value=value: pd.DataFrame(records(rows, value)),
        "polars": lambda rows, value=value: pl.DataFrame(records(rows, value)),
        "records": lambda rows, value=value: records(rows, value),
        "tuples": lambda rows, value=value: [tuple(record.values()) for record in records(rows, value)],
        "columns": lambda rows, value=value: pd.DataFrame(records(rows, value)).to_dict("list"),
        "JSON Lines": lambda rows, value=value: io.BytesIO(
            "".join(json.dumps(record) + "\n" for record in records(rows, value)).encode()
        ),
    }
    for name, value in (("qrels", "rel"), ("run", "score"))
}  # fmt: skip
"""Forms that cannot: one row for each document."""


def outcome(qrels: Any, run: Any, profile: str, complete: bool) -> Any:
    """Return all that is computed, or the kind of error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", te.errors.TrecevalWarning)  # of missing queries, or that none counts
            found = te.evaluate(qrels, run, MEASURES, profile=profile, complete=complete)
    except te.errors.TrecevalError as error:
        return type(error)
    values = np.where(found.counted, np.nan_to_num(found.matrix, nan=-7), -9).tolist()
    return found.qids, values, found.listed.tolist(), found.mean, found.missing, sorted(found.unjudged)


def written(table: Any, kind: str, format: str, folder: Path, way: str) -> Path:
    """Write a table, which warns if it has bare queries that the format cannot hold."""
    target = folder / f"{kind}.{way}.{format}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if way == "convert":
            source = folder / f"{kind}.json"
            source.write_text(json.dumps(table))
            te.convert(source, target, kind=kind, target_format=format)  # type: ignore[arg-type]
        else:
            (te.write_run if kind == "run" else te.io.write_qrels)(table, target, format=format)
    bare = any(not row for row in table.values())
    assert sum("left out" in str(warning.message) for warning in caught) == (bare and format != "json")
    return target


def differences(pair: Pair, profile: str, folder: Path, complete: bool) -> tuple[int, list[str]]:
    """Return how many outcomes were compared, and which differ from that of dictionaries."""
    wrong: list[str] = []
    compared = 0
    # MS MARCO's script ranks by the rank column, which dictionaries of scores lack.
    by_rank = PROFILES[profile].conventions.order == "rank"
    without = {"qrels": held(pair.qrels), "run": held(pair.run)}
    plain = {"qrels": pair.qrels, "run": HOLDING["run"]["lists"](pair.run) if by_rank else pair.run}
    usual: dict[str, Any] = {"qrels": pair.qrels, "run": pair.run}

    def check(kind: str, form: str, made: Any, holds: bool) -> None:
        nonlocal compared
        sides = plain if holds else {**plain, kind: held(plain[kind])}
        compared += 1
        given = {**plain, kind: made}
        found = outcome(given["qrels"], given["run"], profile, complete)
        if found != outcome(sides["qrels"], sides["run"], profile, complete):
            wrong.append(f"{kind}: {form}")

    for kind, rows in usual.items():
        for holds, forms in ((True, HOLDING[kind]), (False, NOT_HOLDING[kind])):
            for form, make in forms.items():
                if kind == "run" and by_rank and "ists" not in form:
                    continue
                check(kind, form, make(rows), holds)
        for target in formats_of(kind, written=True):
            for way in ("write", "convert"):
                read = te.read_run if kind == "run" else te.read_qrels
                table = read(written(rows, kind, target, folder, way), target)
                if kind == "qrels" or not by_rank or target in ("trec_results", "msmarco"):
                    check(kind, f"{target} by {way}", table, target == "json")
    every = [PROFILES[profile].conventions_of(each) for each in te.measuring.parse_measures(MEASURES)]
    if all(each.bare == "out" for each in every):
        check("qrels", "without bare queries", without["qrels"], holds=True)
        if not by_rank:
            check("run", "without bare queries", without["run"], holds=True)
    return compared, wrong


AT_RANDOM = settings(
    deadline=None,
    phases=[Phase.generate],  # an example is small as it is
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@settings(AT_RANDOM, max_examples=3)
@given(pair=pairs(), profile=st.sampled_from(sorted(PROFILES)), complete=st.booleans())
def test_every_form_and_writer_has_the_same_queries(tmp_path: Path, pair: Pair, profile: str, complete: bool) -> None:
    compared, wrong = differences(pair, profile, tmp_path, complete)
    assert compared > 20
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.filterwarnings("ignore:.*no query counts, because none has a relevant document:UserWarning")
def test_every_form_and_writer_has_the_same_queries_under_every_profile(tmp_path: Path, profile: str) -> None:
    @settings(AT_RANDOM, max_examples=15)
    @given(pair=pairs(), complete=st.booleans())
    def try_it(pair: Pair, complete: bool) -> None:
        assert differences(pair, profile, tmp_path, complete)[1] == []

    try_it()


JUDGED, ANSWERED = ("ranx", "ir_measures"), ("pytrec_eval", "beir", "flagembedding", "mteb")
"""Profiles of programs that count such a query of the judgments, and of the run."""


@pytest.mark.parametrize("profile", sorted(set(PROFILES) - {"msmarco", "coursework"}))
def test_a_bare_query_counts_only_where_the_program_counts_it(profile: str) -> None:
    # Query a has the average precision 1; b, if it counts, 0 without relevant documents or without documents.
    qrels, run = CASES.values()
    of_lines = te.evaluate({"a": {"x": 1}}, run, ["AP"], profile=profile).mean["AP"]
    found = te.evaluate(qrels, run, ["AP"], profile=profile)
    assert found.mean["AP"] == (0.5 if profile in JUDGED else of_lines)
    assert found.missing == ()
    both = {"a": {"x": 1}, "b": {"y": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.errors.MissingQueriesWarning)
        of_lines = te.evaluate(both, {"a": {"x": 1.0}}, ["AP"], profile=profile).mean["AP"]
        found = te.evaluate(both, {"a": {"x": 1.0}, "b": {}}, ["AP"], profile=profile)
    assert found.mean["AP"] == (0.5 if profile in ANSWERED else of_lines)
    assert found.missing == (() if profile in ANSWERED else ("b",))


def test_beirs_own_measures_divide_by_the_judged_queries_and_its_others_do_not() -> None:
    results = te.evaluate(*CASES.values(), ["RR@10", "nDCG@10"], profile="beir")
    assert results.mean == {"RR@10": 0.5, "nDCG@10": 1.0}
    assert results["b"] == {"RR@10": 0.0}


def test_measures_of_ir_measures_that_are_computed_from_lines_know_no_bare_query() -> None:
    results = te.evaluate(*CASES.values(), ["RR", "RR@10", "num_q", "num_ret"], profile="ir_measures")
    assert results.mean == {"RR": 0.5, "RR@10": 1.0, "num_q": 1, "num_ret": 1}


def test_a_container_of_bare_queries_alone_has_none() -> None:
    for qrels, run in (({"a": {}}, {"a": {"x": 1.0}}), ({"a": {"x": 1}}, {"a": {}}), ({"a": {}}, {"a": {}})):
        for forms in BOTH_HOLDING["dict"], BOTH_HOLDING["JSON"]:
            with pytest.raises(te.errors.EvaluationError, match=r"no document"):
                te.evaluate(forms(qrels), forms(run), ["RR"])
    assert te.evaluate({"a": {"x": 1}}, {"a": {}}, ["RR"], profile="pytrec_eval").mean == {"RR": 0.0}
    assert te.evaluate({"a": {"x": 1}}, {"a": {}}, ["RR"], complete=True).mean == {"RR": 0.0}
    with pytest.raises(te.errors.EvaluationError, match="no document"):
        te.evaluate({"a": {"x": 1}}, {"b": {}}, ["RR"], profile="pytrec_eval")


def test_judgments_by_groups_and_preferences_have_no_bare_query() -> None:
    groups = te.data.JudgmentGroups.from_dict({"1": {"a": {"x": 1}, "b": {}}, "2": {"a": {}}, "3": {}})
    assert groups.groups == {"1": {b"a": {b"x": 1}}}
    assert te.data.Preferences({"1": []}).qids == ()


def test_judging_leaves_bare_queries_out() -> None:
    judged = te.judging.judge({"a": {"x": 1}, "b": {"x": 1}}, {"b": {}, "a": {"x": 1.0}}, complete=False)
    assert judged.qids == ("a",)


def test_a_signature_repeats_what_counted() -> None:
    for profile in (*JUDGED, *ANSWERED):
        for qrels, run in (CASES.values(), ({"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 1.0}, "b": {}})):
            found = te.evaluate(qrels, run, ["AP"], profile=profile)
            again = te.evaluate(qrels, run, signature=found.signatures["AP"].long)
            assert list(again.mean.values()) == list(found.mean.values())


def test_ranges_count_the_same_queries() -> None:
    for profile, mean in (("trec_eval-10", 1.0), ("ranx", 0.5), ("ir_measures", 0.5)):
        found = te.ranges.assess(
            *CASES.values(), ["RR"], ties=profile != "ranx", unjudged=profile == "ranx", profile=profile
        )
        (of_queries,) = (found.ties or found.unjudged).values()
        assert len(found.qids["RR"]) == round(1 / mean)
        assert of_queries.lowest_mean == mean


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")
def test_comparisons_boards_and_fusion_take_the_queries_that_lines_can_name(tmp_path: Path) -> None:
    qrels = {"a": {"x": 1}, "b": {}, "c": {"x": 1, "y": 0}}
    runs = [{"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {}}, {"a": {"y": 1.0}, "c": {"y": 2.0, "x": 1.0}}]
    alike = []
    for name, keep in (("as they are", dict), ("as lines", held)):
        judged, ranked = keep(qrels), [keep(run) for run in runs]
        paths = [tmp_path / f"{name} {number}.json" for number in (0, 1)]
        for path, run in zip(paths, ranked, strict=True):
            path.write_text(json.dumps(run))
        compared = te.compare(judged, ranked, ["RR"], names=["one", "two"], complete=True)
        means = [[run.means[0] for run in te.board(judged, paths, ["RR"]).runs]]
        alike.append(([*compared["RR"].means], means, te.fuse(ranked).to_dict()))
    # Queries a and c: 1 and 0, as it is missing; 0 and 1/2.
    assert alike[0] == alike[1]
    assert alike[0][0] == [0.5, 0.25]


def test_the_command_counts_alike_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    for name, rows in CASES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    measures = ["-m", "RR", "-m", "num_q"]
    expected = (0, b"num_q                 \tall\t1\nRR                    \tall\t1.0000\n")
    assert treceval([*measures, "judgments.json", "run.json"], folder=tmp_path)[:2] == expected
    done = treceval(["convert", "--kind", "qrels", "judgments.json", "judgments.txt"], folder=tmp_path)
    assert done.err.decode().splitlines() == [
        "note: judgments.txt: 1 query without judgments (b) left out; to keep it, write JSON.",
        "written: judgments.txt (qrels)",
    ]
    assert treceval([*measures, "judgments.txt", "run.json"], folder=tmp_path)[:2] == expected
    assert treceval(["convert", "--kind", "qrels", "judgments.json", "again.json"], folder=tmp_path).status == 0
    assert json.loads((tmp_path / "again.json").read_text()) == CASES["judgments"]


def test_two_bare_queries_are_named_in_the_plural(tmp_path: Path) -> None:
    with pytest.warns(
        te.errors.TrecevalWarning, match=r"2 queries without documents \(b, c\) left out; to keep them, write"
    ):
        te.write_run({"a": {"x": 1.0}, "b": {}, "c": {}}, tmp_path / "run")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared")
def test_the_public_case_has_one_answer() -> None:
    folder = SHARED.parent / "public-cases"
    paths = [folder / "empty-judgments.json", folder / "empty-judgments.run.json"]
    for profile in (None, "pytrec_eval"):
        assert te.evaluate(*paths, ["RR"], profile=profile).mean == {"RR": 1.0}
    assert not math.isnan(te.evaluate(*paths, ["AP"]).mean["AP"])
