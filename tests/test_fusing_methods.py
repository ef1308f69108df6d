"""What methods and normalisations compute, for the lists of one query.

``fusion.jsonl.gz`` has what ranx 0.3.21 computed for small inputs; its first line says how. Keys under ``suspect`` are
left out: their values follow from lists of equal scores, which count as missing there, or from a largest score below 0.
So are the normalisations ``sum`` and ``zmuv`` of input f23: ranx divides by 1e-9 where it should by less.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.data.ids import Ids, encode
from treceval_py.errors import DataError
from treceval_py.fusing.fusing import fuse
from treceval_py.fusing.methods import METHODS, NORMS, Fusion, align

with gzip.open(Path(__file__).parent / "fusion.jsonl.gz", "rt", encoding="utf-8") as stream:
    CASES = [json.loads(line) for line in stream][1:]

RANX = {
    "rrf": "rrf", "isr": "isr", "rbc": "rbc", "bordafuse": "borda", "w_bordafuse": "borda",
    "sum": "combsum", "mnz": "combmnz", "wsum": "weighted", "anz": "combanz", "min": "combmin", "max": "combmax",
    "med": "combmed",
}  # fmt: skip
"""The methods of ranx that are here, with their names here."""


def lists_of(*lists: dict[str, float]) -> list[tuple[Ids, np.ndarray]]:
    return [
        (Ids.from_bytes([encode(docid) for docid in scores]), np.array(list(scores.values()), dtype=float))
        for scores in lists
    ]


def fused(fusion: Fusion, *lists: dict[str, float], depth: int | None = None) -> dict[str, float]:
    aligned = align(lists_of(*lists), depth)
    order, scores = aligned.best(fusion)
    return dict(zip((docid.decode() for docid in aligned.docids[order].tolist()), scores.tolist(), strict=True))


def fusion_of(key: str) -> Fusion | None:
    """Return the settings of a key of the recorded cases, as ``min-max|wsum(weights=[0.7,0.3])``."""
    norm, name, written = re.fullmatch(r"([a-z-]+)\|(\w+)(?:\((.*)\))?", key).groups()  # type: ignore[union-attr]
    if name not in RANX or norm not in NORMS or (RANX[name] == "combmnz" and norm == "zmuv"):
        return None
    parameter, _, value = (written or "").partition("=")
    given: dict[str, Any] = {}
    if value:
        given[{"k": "rrf_k", "phi": "rbc_phi", "weights": "weights"}[parameter]] = json.loads(value)
    return Fusion(RANX[name], norm, **given)


@pytest.mark.parametrize("case", [case for case in CASES if "fused" in case], ids=lambda case: case["id"])
def test_values_are_those_of_ranx(case: dict[str, Any]) -> None:
    compared = 0
    for key in set(case["fused"]) - set(case.get("suspect", [])):
        fusion = fusion_of(key)
        if fusion is None or (case["id"] == "f23" and fusion.norm in ("sum", "zmuv")):
            continue
        for qid, expected in case["fused"][key].items():
            found = fused(fusion, *(run[qid] for run in case["runs"]))
            assert [found[docid] for docid in case["docs"][qid]] == pytest.approx(expected, rel=1e-9, abs=1e-12), key
            compared += 1
    assert compared >= 10


def test_every_method_and_normalisation_is_compared_with_ranx() -> None:
    fusions = [fusion_of(key) for case in CASES for key in case.get("fused", [])]
    assert {fusion.method for fusion in fusions if fusion is not None} == set(METHODS)
    assert {fusion.norm for fusion in fusions if fusion is not None} == set(NORMS)


def random_lists(seed: int, runs: int, docids: str = "d{}") -> list[dict[str, float]]:
    """Return lists with documents in common, scores from 0 to 20, some equal."""
    rng = random.Random(seed)
    return [
        {docids.format(number): rng.randrange(80) / 4 for number in rng.sample(range(30), rng.randrange(1, 20))}
        for _ in range(runs)
    ]


def ranked(scores: dict[str, float]) -> list[str]:
    """Return documents by descending score, and those with equal scores by descending id."""
    return sorted(sorted(scores, reverse=True), key=lambda docid: -scores[docid])


@pytest.mark.parametrize("docids", ["d{}", "clueweb09-en{}", "é{}"])
def test_rrf_of_scores_with_ties_is_that_of_its_definition(docids: str) -> None:
    for seed in range(20):
        lists = random_lists(seed, 4, docids)
        expected: dict[str, list[float]] = {}
        for scores in lists:
            for rank, docid in enumerate(ranked(scores), 1):
                expected.setdefault(docid, []).append(1 / (60 + rank))
        assert fused(Fusion(), *lists) == {docid: math.fsum(values) for docid, values in expected.items()}


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize("depth", [None, 7])
def test_documents_with_equal_scores_are_in_descending_order_of_their_ids(
    shuffled: bool, levels: int, depth: int | None
) -> None:
    rng = random.Random(f"{shuffled} {levels}")
    ids = [str(number) for number in range(0, 90, 3)] + ["", "12345678", "1234567"]
    scores = {docid: float(rng.randrange(levels)) for docid in rng.sample(ids, len(ids))}
    given = dict(rng.sample([*scores.items()], len(scores)))
    if not shuffled:
        given = dict(sorted(given.items(), key=lambda row: -row[1]))
    aligned = align(lists_of(given, {"12": 2.0}), depth)
    expected = sorted(scores, key=lambda docid: (scores[docid], encode(docid)), reverse=True)[:depth]
    assert aligned.docids[aligned.places[0]].tolist() == [encode(docid) for docid in expected]
    assert aligned.scores[0].tolist() == [scores[docid] for docid in expected]
    assert aligned.docids.tolist() == sorted(encode(docid) for docid in {*expected, "12"})


def test_documents_come_in_the_order_of_their_bytes() -> None:
    short = align(lists_of({"b": 1, "a": 3}, {"aa": 1, "": 2}))
    long = align(lists_of({"b": 1, "a": 3, "a very long id": 0.5}, {"aa": 1, "": 2}))
    odd = align(lists_of({"a\0": 1, "a": 3}, {"é": 1, "z": 2}))
    assert short.docids.tolist() == [b"", b"a", b"aa", b"b"]
    assert long.docids.tolist() == [b"", b"a", b"a very long id", b"aa", b"b"]
    assert odd.docids.tolist() == [b"a", b"a\0", b"z", "é".encode()]


def test_a_run_without_the_query_adds_nothing() -> None:
    lists = random_lists(1, 2)
    for name, method in METHODS.items():
        if name not in ("weighted", "borda"):  # a mean over all runs; points for what a list lacks
            fusion = Fusion(name, weights=(1, 1, 1) if method.weighted else None)
            two = Fusion(name)
            assert fused(fusion, *lists, {}) == fused(two, *lists), name


def test_all_methods_do_without_the_order_of_runs() -> None:
    lists = random_lists(2, 3)
    for name in METHODS:
        found = [fused(Fusion(name), *order) for order in permutations(lists)]
        assert all(each == found[0] for each in found), name


def test_true_ties_of_three_runs_stay_ties() -> None:
    triples = [(a, b, c) for a in range(1, 40, 3) for b in range(1, 40, 3) for c in range(1, 40, 3)]
    values = np.array([[1 / (60 + rank) for rank in triple] for triple in triples]).T
    orders = [Fusion().combine(values[list(order)]) for order in permutations(range(3))]
    assert all((each == orders[0]).all() for each in orders)
    assert any((sum(values[list(order)]) != orders[0]).any() for order in permutations(range(3)))


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.value is not None])
def test_methods_of_ranks_see_only_the_order(method: str) -> None:
    lists = random_lists(3, 3)
    grown = [{docid: math.exp(score) - 7 for docid, score in scores.items()} for scores in lists]
    assert fused(Fusion(method), *grown) == fused(Fusion(method), *lists)


def test_min_max_does_not_see_scale_and_origin() -> None:
    lists = random_lists(4, 3)
    moved = [{docid: 2 * score - 50 for docid, score in scores.items()} for scores in lists]  # powers of two: exact
    for method in METHODS:
        assert fused(Fusion(method), *moved) == pytest.approx(fused(Fusion(method), *lists), rel=1e-12), method


def test_a_run_fused_with_itself_keeps_its_order() -> None:
    scores = random_lists(5, 1)[0]
    for method in METHODS:
        assert ranked(fused(Fusion(method), scores, scores)) == ranked(scores) or method == "combmin", method


def test_a_run_with_weight_0_changes_only_which_documents_are_listed() -> None:
    one, other = random_lists(6, 2)
    for method in ("rrf", "rbc", "weighted"):
        alone = fused(Fusion(method, weights=(1,)), one)
        both = fused(Fusion(method, weights=(1, 0)), one, other)
        assert both == {docid: alone.get(docid, 0.0) for docid in {*one, *other}}


def test_weighted_is_the_mean_without_weights_and_the_sum_with_ones() -> None:
    lists = random_lists(7, 2)
    total = fused(Fusion("combsum"), *lists)
    assert fused(Fusion("weighted", weights=(1, 1)), *lists) == total
    assert fused(Fusion("weighted"), *lists) == pytest.approx({docid: score / 2 for docid, score in total.items()})


def test_a_list_of_equal_scores_is_not_missing() -> None:
    def values(norm: str, *scores: float) -> list[float]:
        return list(Fusion("combsum", norm).values(np.array(scores)))

    assert values("min-max", 7.0) == [1]
    assert values("min-max", 3.0, 3.0) == [1, 1]
    assert values("sum", 3.0, 3.0) == [0.5, 0.5]
    assert values("max", 3.0, 3.0) == [1, 1]
    assert values("max", 0.0, 0.0) == [0, 0]
    assert values("zmuv", 0.1, 0.1, 0.1) == [0, 0, 0]
    assert values("rank", 3.0, 3.0) == [1, 0.5]
    assert values("none", 3.0, 3.0) == [3, 3]


def test_a_tiny_range_keeps_its_scale() -> None:
    # 2⁻⁴⁰ is less than the 10⁻⁹ below which ranx takes a range for 0.
    scores = np.array([1 + 2.0**-40, 1 + 2.0**-42, 1.0])
    assert Fusion("combsum").values(scores).tolist() == [1, 0.25, 0]
    # Of scores so small that their squares are 0: 5, 1 and -6 above the mean, and the variance 62/3.
    values = Fusion("combsum", "zmuv").values(np.array([9e-300, 5e-300, -2e-300]))
    assert values == pytest.approx(np.array([5, 1, -6]) / math.sqrt(62 / 3))


def test_depth_cuts_lists_before_scores_are_normalised() -> None:
    one, other = {"a": 4.0, "b": 3.0, "c": 0.0}, {"b": 9.0, "a": 1.0, "x": 0.5}
    assert fused(Fusion("combsum"), one, other, depth=2) == {"a": 1.0, "b": 1.0}
    assert fused(Fusion("combsum"), one, other) == {"a": 1 + 0.5 / 8.5, "b": 0.75 + 1, "c": 0, "x": 0}


FAULTS: list[tuple[Fusion, list[float], bool]] = [
    (Fusion("combsum", "max"), [-1.0, -2.0], True),
    (Fusion("combmin", "max"), [0.0, -2.0], True),
    (Fusion("combsum", "max"), [0.0, 0.0], False),
    (Fusion("combsum", "none"), [1.0, -2.0], True),
    (Fusion("combsum", "none"), [1.0, 0.0], False),
    (Fusion("weighted", "max"), [1.0, -2.0], True),
    (Fusion("combmed", "none"), [1.0, -2.0], False),
    (Fusion("combmnz"), [math.inf, 2.0], True),
    (Fusion("combmax", "none"), [1.0, -1e150], True),
    (Fusion("combmax", "none"), [1.0, -0.9e150], False),
    (Fusion("combsum", "none"), [0.9e150, 0.0], False),
    (Fusion("rrf"), [math.inf, -2.0], False),
    (Fusion("combsum"), [-1.0, -2.0], False),
]


def test_scores_that_a_method_cannot_take_are_refused(snapshot: SnapshotAssertion) -> None:
    said = {f"{fusion.method} {fusion.norm} {scores}": fusion.fault(np.array(scores)) for fusion, scores, _ in FAULTS}
    assert [bool(fault) for fault in said.values()] == [faulty for *_, faulty in FAULTS]
    assert said == snapshot


REFUSED: list[dict[str, Any]] = [
    {"method": "condorcet"}, {"method": "combsum", "norm": "l2"}, {"norm": "zmuv"}, {"method": "combmnz", "norm": "zmuv"},
    {"rrf_k": -1}, {"rbc_phi": 1}, {"rbc_phi": 0}, {"method": "combsum", "weights": (1, 2)}, {"weights": (0, 0)},
    {"weights": (1, math.nan)}, {"weights": (1, math.inf)}, {"weights": (1, -1)},
]  # fmt: skip


def test_settings_that_do_not_fit_are_refused(snapshot: SnapshotAssertion) -> None:
    said = {}
    for settings in REFUSED:
        with pytest.raises(DataError) as refused:
            Fusion(**settings)
        said[str(settings)] = str(refused.value)
    for count in (1, 3):
        with pytest.raises(DataError) as refused:
            Fusion("weighted", weights=(0.7, 0.3)).check_runs(count)
        said[f"{count} runs"] = str(refused.value)
    assert said == snapshot
    Fusion("weighted", weights=(0.7, 0.3)).check_runs(2)
    for settings in ({"rrf_k": 0}, {"rbc_phi": 1e-9}, {"rbc_phi": 1 - 1e-9}, {"weights": (0, 1e-9)}):
        Fusion(**settings)


def test_the_page_has_every_formula_and_the_docstring_every_name() -> None:
    page = (Path(__file__).parent.parent / "docs" / "fuse.md").read_text("utf-8")
    for name, formula in [
        *((name, method.formula) for name, method in METHODS.items()),
        *((name, norm.formula) for name, norm in NORMS.items()),
    ]:
        assert re.search(rf"^\| [^|]*`{name}`[^|]*\|[^|]*{re.escape(formula)}", page, re.MULTILINE), name
    said = (fuse.__doc__ or "").partition("Raises")[0]
    assert all(f"``{name}``" in said for name in (*METHODS, *NORMS))
    for name, norm in NORMS.items():
        assert re.search(rf"^\| `{name}`.*\| {re.escape(norm.says)} ?\|$", page, re.MULTILINE), name
    for name, method in METHODS.items():
        if not name.startswith("comb"):
            assert re.search(rf"^\| `{name}`.*\| {'yes ' * method.weighted}\|$", page, re.MULTILINE), name
