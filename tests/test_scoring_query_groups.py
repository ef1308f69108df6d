"""Groups of queries: how they are read, the averages and differences in each, and whether differences depend on them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import treceval
from refused import refusal
from scipy import stats
from shared import ROBUST, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.by_group import welch_anova

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data"


# The relevant document is on rank 1, 2 or 4: reciprocal ranks of 1, 0.5 and 0.25.
QRELS = {qid: {"a": 1} for qid in "123456"}


def ranked(*ranks: int) -> dict[str, dict[str, float]]:
    """Return a run with the relevant document of queries 1, 2, … on some ranks."""
    return {
        str(number): {"a" if place == rank else f"x{place}": 9.0 - place for place in range(1, 5)}
        for number, rank in enumerate(ranks, 1)
    }


FIRST, SECOND = ranked(1, 2, 4, 1, 1, 2), ranked(2, 2, 4, 4, 2, 4)
THIRD = ranked(1, 1, 2, 4, 2, 4)
SETS = {"1": "old", "2": "old", "3": "old", "4": "new", "5": "new", "6": "new"}


# How groups are read.


def read(folder: Path, text: str, columns: str = "") -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Return what is read of a file: attribute, labels, and the label of each query."""
    (folder / "groups.tsv").write_text(text)
    found = te.io.read_query_groups(f"{folder}/groups.tsv{columns}")
    return [(each.attribute, each.labels, dict(each.of)) for each in found]


LENGTHS = [("set", ("old", "new"), {"1": "old", "2": "new"}), ("length", ("short",), {"1": "short"})]
COLUMNS = "qid\ttext\tset\tkind\n1\twhat is it\told\tfact\n2\twhy is it\told\treason\n3\twhat\tnew\tfact\n"
OF_THREE = ("set", ("old", "new"), {"1": "old", "2": "old", "3": "new"})
KINDS = ("kind", ("fact", "reason"), {"1": "fact", "2": "reason", "3": "fact"})
BEIR = (
    '{"_id": "1", "text": "x", "metadata": {"set": "old", "hops": 2, "hard": true}}\n'
    '{"_id": "2", "text": "y", "metadata": {"set": "new", "hops": null}}\n{"_id": "3", "text": "z"}'
)
HOPS = ("hops", ("2",), {"1": "2"})


READ = [
    ("601\tnew\n303\told\r\n\n602\tnew\n", "", [("group", ("new", "old"), {"601": "new", "303": "old", "602": "new"})]),
    # Several labels without a header are numbered.
    (
        "1\ta\tx\n2\ta\ty\n",
        "",
        [("group1", ("a",), {"1": "a", "2": "a"}), ("group2", ("x", "y"), {"1": "x", "2": "y"})],
    ),
    *(
        (f"{first}\tset\tlength\n1\told\tshort\n2\tnew\t\n", "", LENGTHS)
        for first in ("qid", "#qid", "Query_ID", "query-id", "query", "_id", "topic")
    ),
    (COLUMNS, ":set", [OF_THREE]),
    (COLUMNS, ":kind,set", [KINDS, OF_THREE]),
    (BEIR, "", [LENGTHS[0], HOPS, ("hard", ("true",), {"1": "true"})]),
    (BEIR, ":hops", [HOPS]),
]


def test_groups_are_read_from_lines_and_columns(tmp_path: Path) -> None:
    for text, columns, expected in READ:
        assert read(tmp_path, text, columns) == expected


def test_compressed_files_pipes_and_names_with_a_colon_are_read(tmp_path: Path) -> None:
    (tmp_path / "groups:set").write_text("1\ta\n")
    (tmp_path / "groups").write_text("qid\tset\n1\tb\n")
    assert te.io.read_query_groups(tmp_path / "groups:set")[0].labels == ("a",)
    (tmp_path / "groups.gz").write_bytes(gzip.compress(b"1\ta\n2\tb\n"))
    for given in (tmp_path / "groups.gz", io.BytesIO(b"1\ta\n2\tb\n")):
        assert te.io.read_query_groups(given)[0].labels == ("a", "b")


NO_GROUPS: dict[str, tuple[str, ...]] = {
    "two labels": ("1\told\n2\told\n1\tnew\n",),
    "no tab": ("1 old\n",),
    "a field more": ("1\told\n2\tnew\tlong\n",),
    "no id": ("qid\tset\n\told\n",),
    "a name twice": ("qid\tset\tset\n1\ta\tb\n",),
    "another attribute": ("qid\tset\n1\ta\n", ":kind"),
    "only a header": ("qid\tset\n",),
    "all differ": ("qid\ttext\n1\ta\n2\tb\n3\tc\n",),
    "no label": ("qid\tset\n1\t\n",),
    "no metadata": ('{"_id": "1", "text": "x"}\n',),
    "a list": ('{"_id": "1", "metadata": {"set": ["a"]}}\n',),
    "an id that is a number": ('{"_id": 1}\n',),
    "not JSON": ('{"_id": "1", "metadata": {"a": "b"}}\n{"_id"',),
    "metadata that are a number": ('{"_id": "1", "metadata": 3}\n',),
    "empty": ("",),
}


def test_what_is_no_groups_is_refused_with_its_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {what: refusal(read, tmp_path, *given).replace(str(tmp_path), "") for what, given in NO_GROUPS.items()}
    assert said == snapshot
    # Two queries may differ in everything.
    assert read(tmp_path, "qid\ttext\n1\ta\n2\tb\n")[0][1] == ("a", "b")


@pytest.mark.parametrize(
    "given",
    [
        {"1": "old", "2": "new"},
        {1: "old", 2: "new"},
        {"1": {"group": "old"}, "2": {"group": "new"}},
        pd.DataFrame({"qid": ["1", "2"], "group": ["old", "new"]}),
        pd.DataFrame({"group": ["old", "new"]}, index=pd.Index([1, 2], name="qid")),
        [{"qid": "1", "group": "old"}, {"qid": "2", "group": "new"}],
        te.data.QueryGroups.from_labels("group", {"1": "old", "2": "new"}),
    ],
    ids=["labels", "numbers", "attributes", "frame", "index", "rows", "groups"],
)
def test_groups_are_made_from_objects(given: Any) -> None:
    (found,) = te.io.read_query_groups(given)
    assert (found.attribute, found.labels, dict(found.of)) == ("group", ("old", "new"), {"1": "old", "2": "new"})


def test_cells_without_a_label_are_of_no_group_and_whole_numbers_stay_whole() -> None:
    frame = pd.DataFrame({"qid": ["1", "2", "3"], "hops": [1.0, None, 2.0], "yes": [True, False, True]})
    hops, yes = te.io.read_query_groups(frame)
    assert dict(hops.of) == {"1": "1", "3": "2"}
    assert yes.labels == ("true", "false")
    assert te.io.read_query_groups(frame, ["yes"]) == (yes,)


def test_labels_break_no_lines(home: Path) -> None:
    label = "old\nrecip_rank\tall\t1.0\x1b[31m"
    lines = [{"_id": qid, "metadata": {"s\ne\tt": label}} for qid in QRELS]
    (home / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = treceval(["qrels", "first", "-m", "recip_rank", "--groups", "queries.jsonl"], folder=home)
    named = [line.split("\t")[1] for line in done.out.decode().splitlines()]
    assert named == ["all", "all:s e t=old recip_rank all 1.0\\x1b[31m"]


def test_objects_that_are_no_groups_are_refused(snapshot: SnapshotAssertion) -> None:
    wrong: dict[str, Any] = {
        "large": {"1": 10**400},
        "mixed": {"1": "a", "2": {"set": "b"}},
        "list": {"1": ["a"]},
        "name": {"1": {2: "a"}},
        "nothing": {},
        "number": 5,
        "frame": pd.DataFrame({"set": ["a"]}),
        "twice": pd.DataFrame({"qid": ["1", "1"], "set": ["a", "b"]}),
        "all differ": {"1": "a", "2": "b", "3": "c"},
        "two attributes of one name": [te.data.QueryGroups.from_labels("set", {"1": x}, name=f"{x}.tsv") for x in "ab"],
    }
    assert {what: refusal(te.io.read_query_groups, given) for what, given in wrong.items()} == snapshot


# Averages of groups.


def test_averages_of_a_group_are_over_its_queries() -> None:
    results = te.evaluate(QRELS, FIRST, ["RR", "num_q", "gm_map"])
    found = results.by_group(SETS)["group"]
    assert found["old"].mean["RR"] == (1 + 0.5 + 0.25) / 3
    assert found["new"].mean["RR"] == (1 + 1 + 0.5) / 3
    assert found["old"].mean["gm_map"] == pytest.approx((1 * 0.5 * 0.25) ** (1 / 3), abs=1e-15)
    assert found["old"].mean["num_q"] == 3
    assert found["old"].qids == ("1", "2", "3")


@pytest.mark.parametrize("profile", ["trec_eval-10", "ir_measures", "ranx"])
@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_a_group_has_the_averages_of_its_judgments_alone(profile: str) -> None:
    qrels = te.read_qrels(DATA / "qrels.tsv")
    run = te.read_run(DATA / "runs" / "bm25.txt")
    run = te.Run({qid: dict(run[qid]) for qid in run if qid != "31"})
    (groups,) = te.io.read_query_groups(DATA / "query_groups.tsv")
    found = te.evaluate(qrels, run, ["official", "ndcg", "gm_map"], profile=profile).by_group(groups)["answer"]
    assert found.keys() == {"fact", "explanation"}
    for label, results in found.items():
        part = {qid: dict(qrels[qid]) for qid in qrels if groups.of[qid] == label}
        alone = te.evaluate(part, run, ["official", "ndcg", "gm_map"], profile=profile)
        assert results.mean == alone.mean
        assert results.missing == alone.missing
        assert results.qids == alone.qids


def test_z_scores_are_averaged_by_group() -> None:
    results = te.evaluate(QRELS, FIRST, ["RR"]).standardise({(qid, "RR"): (0.5, 0.25) for qid in QRELS})
    assert results.by_group(SETS)["group"]["old"].mean["RR"] == pytest.approx((2 + 0 - 1) / 3)
    # A geometric mean is that of exp(z), and z with mean 0 and deviation 1 is the logarithm itself.
    results = te.evaluate(QRELS, FIRST, ["gm_map"]).standardise({(qid, "gm_map"): (0.0, 1.0) for qid in QRELS})
    assert results.by_group(SETS)["group"]["old"].mean["gm_map"] == pytest.approx((1 * 0.5 * 0.25) ** (1 / 3))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with judgments, three runs and groups."""
    (tmp_path / "qrels").write_text("".join(f"{qid} 0 a 1\n" for qid in QRELS))
    for name, run in {"first": FIRST, "second": SECOND, "third": THIRD}.items():
        lines = [f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in run.items() for d, score in docs.items()]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "groups").write_text("qid\tset\n" + "".join(f"{qid}\t{label}\n" for qid, label in SETS.items()))
    return tmp_path


def test_score_prints_groups_below_all(home: Path) -> None:
    arguments = ["qrels", "first", "-m", "recip_rank", "-m", "num_q"]
    plain, done = (treceval([*arguments, *more], folder=home).out for more in ([], ["--groups", "groups"]))
    assert done.decode().removeprefix(plain.decode()) == (
        "num_q                 \tall:set=old\t3\n"
        "recip_rank            \tall:set=old\t0.5833\n"  # (1 + 0.5 + 0.25) / 3
        "num_q                 \tall:set=new\t3\n"
        "recip_rank            \tall:set=new\t0.8333\n"  # (1 + 1 + 0.5) / 3
    )
    done = treceval(["qrels", "first", "-m", "RR", "--groups", "groups", "--format", "json"], folder=home)
    assert json.loads(done.out)["runs"][0]["groups"]["set"] == {
        "old": {"queries": 3, "mean": {"RR": pytest.approx(1.75 / 3)}},
        "new": {"queries": 3, "mean": {"RR": pytest.approx(2.5 / 3)}},
    }


@pytest.mark.parametrize("form", ["trec", "json"])
def test_saved_results_with_groups_compare_as_those_without(home: Path, form: str) -> None:
    for name, more in (("a", []), ("b", ["--groups", "groups"])):
        arguments = ["-q", "-m", "RR", "--format", form, "-o", f"{name}.{form}"]
        assert treceval(["qrels", "first", *arguments, *more], folder=home).status == 0
    found = te.compare([home / f"a.{form}", home / f"b.{form}"], names=["a", "b"])
    assert found["RR"].qids == tuple(QRELS)
    assert np.array_equal(*found["RR"].values)


def test_what_cannot_go_together_is_refused(home: Path, snapshot: SnapshotAssertion) -> None:
    score, compare = ["qrels", "first", "-m", "RR", "--groups"], ["qrels", "first", "second", "--groups"]
    said = {}
    for arguments, status in [
        ([*score, "groups", "--ties"], 2),
        ([*score, "groups", "-n"], 2),
        ([*score, "groups", "-o", "groups"], 1),
        (["compare", *compare, "groups", "--per-query"], 2),
    ]:
        done = treceval(arguments, folder=home)
        assert (done.status, done.out) == (status, b"")
        said[" ".join(arguments)] = done.err.decode()
    assert said == snapshot


def test_queries_and_groups_that_do_not_fit_are_noted(home: Path) -> None:
    (home / "groups").write_text("qid\tset\n1\told\n2\told\n77\told\n78\tnew\n3\t\n")
    done = treceval(["qrels", "first", "-m", "RR", "--groups", "groups"], folder=home)
    assert done.err.decode().splitlines() == [
        "note: 4 queries are in no group of set (3, 4, 5, …) and left out.",
        "note: groups:4: 2 queries are in groups of set but not among the 6 with values (77, 78).",
        "note: group new of set has no query with values.",
    ]
    assert b"new" not in done.out


# Welch's analysis of variance.


def columns(*groups: list[float]) -> list[Any]:
    return [np.array(group)[:, None] for group in groups]


def test_groups_are_tested_as_r_and_statsmodels_do() -> None:
    # R 4.3: t.test(extra ~ group, data = sleep), the example of its help: t = -1.8608, df = 17.776, p-value = 0.07939.
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = welch_anova(columns(one, two))
    assert float(found.statistic[0]) == pytest.approx(1.8608**2, abs=2e-4)
    assert (found.degrees, round(float(found.error_degrees[0]), 3)) == (1, 17.776)
    assert round(float(found.p[0]), 5) == 0.07939
    # statsmodels 0.15.0: anova_oneway(groups, use_var="unequal", welch_correction=True)
    groups = [[0.1, 0.4, -0.2, 0.3, 0.25], [0.9, -0.5, 0.7, 1.1, -0.3, 0.2, 0.8], [0.05, 0.06, 0.01, -0.02]]
    found = welch_anova(columns(*groups))
    expected = [2.0572587031348553, 6.662497681456221, 0.20147939443127716]
    assert [float(each[0]) for each in (found.statistic, found.error_degrees, found.p)] == pytest.approx(
        expected, 1e-13
    )


def test_many_pairs_at_once_are_tested_as_scipy_does_one() -> None:
    rng = np.random.default_rng(5)
    one, two = rng.normal(0, 1, (12, 40)), rng.normal(0.4, 3, (30, 40))
    found = welch_anova([one, two])
    scipy = stats.ttest_ind(one, two, equal_var=False)
    assert np.allclose(found.statistic, scipy.statistic**2, rtol=1e-12)
    assert np.allclose(found.p, scipy.pvalue, rtol=1e-10)
    assert np.allclose(found.error_degrees, scipy.df, rtol=1e-12)


def test_differences_that_do_not_vary_in_a_group_are_not_tested() -> None:
    varying = [0.1, 0.2, 0.5]
    for groups in ((varying, [0.3, 0.3, 0.3]), ([0.1, 0.1], [0.3, 0.3]), (varying, [0.3]), (varying,)):
        assert math.isnan(welch_anova(columns(*groups)).p[0]), groups
    assert welch_anova(columns([0.2, 0.2], [0.3 - 0.1, 0.2])).p.tolist() == [1.0]


# Comparisons.


def test_differences_in_a_group_are_those_of_a_t_test() -> None:
    runs = {"first": FIRST, "second": SECOND}
    (found,) = te.compare(QRELS, runs, "RR", groups=SETS, test="t").by_group
    rows = {each.group: each for each in found.differences}
    # Second minus first: -0.5, 0, 0 for old, -0.75, -0.5, -0.25 for new.
    for label, expected in (("old", [-0.5, 0, 0]), ("new", [-0.75, -0.5, -0.25])):
        test = stats.ttest_1samp(expected, 0)
        interval = test.confidence_interval(0.975)  # 0.05 over two p-values
        assert rows[label].mean == pytest.approx(np.mean(expected))
        assert (rows[label].p, rows[label].adjusted) == pytest.approx((test.pvalue, min(1, 2 * test.pvalue)))
        # The difference of two values of RR is at least -1: of less for both.
        assert (rows[label].low, rows[label].high) == pytest.approx((max(interval.low, -1), interval.high))
        assert rows[label].queries == 3
    assert found.means.round(4).tolist() == [[0.5833, 0.8333], [0.4167, 0.3333]]
    (interaction,) = found.interactions
    assert interaction.p == pytest.approx(stats.ttest_ind([-0.5, 0, 0], [-0.75, -0.5, -0.25], equal_var=False).pvalue)


def test_p_values_are_corrected_over_all_groups_measures_pairs_and_attributes() -> None:
    runs = {"first": FIRST, "second": SECOND, "third": ranked(4, 1, 2, 2, 1, 4)}
    groups = {qid: {"set": label, "parity": str(int(qid) % 2)} for qid, label in SETS.items()}
    found = te.compare(QRELS, runs, ["RR", "P@2"], groups=groups).by_group
    within = [each for part in found for each in part.differences]
    between = [each for part in found for each in part.interactions]
    assert (len(within), len(between)) == (2 * 2 * 2 * 2, 2 * 2 * 2)
    known = [each for each in within if not math.isnan(each.p)]
    assert [each.adjusted for each in known] == pytest.approx([min(1.0, each.p * len(known)) for each in known])
    # Holm: the smallest p-value times how many there are, the next times one fewer.
    p = sorted(each.p for each in between if not math.isnan(each.p))
    holm = np.minimum(1, np.maximum.accumulate([value * (len(p) - rank) for rank, value in enumerate(p)]))
    assert sorted(each.adjusted for each in between if not math.isnan(each.p)) == pytest.approx(holm.tolist())


def test_intervals_and_corrected_p_values_agree() -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        runs = {name: ranked(*rng.integers(1, 5, 6).tolist()) for name in "abc"}
        found = te.compare(QRELS, runs, "RR", groups=SETS, pairs=True)
        for each in found.by_group[0].differences:
            if not math.isnan(each.p):
                assert (each.adjusted <= 0.05) == (not each.low <= 0 <= each.high), each


def test_groups_in_tables_json_and_csv(home: Path, snapshot: SnapshotAssertion) -> None:
    arguments = ["compare", "qrels", "first", "second", "-m", "RR", "--groups", "groups", "--format"]
    said = {form: treceval([*arguments, form], folder=home).out.decode() for form in ("table", "csv", "json")}
    found = json.loads(said.pop("json"))
    assert found["groups"][0]["sha256"] == hashlib.sha256((home / "groups").read_bytes()).hexdigest()
    # Second minus first: -0.5, 0, 0 for old, -0.75, -0.5, -0.25 for new.
    assert [(each["group"], each["difference"]) for each in found["by_group"]] == [
        ("old", pytest.approx(-0.5 / 3)),
        ("new", pytest.approx(-0.5)),
    ]
    said |= {key: json.dumps(found[key], indent=1) for key in ("by_group", "interactions", "group_means")}
    rounded = {
        name: re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.6g}", text) for name, text in said.items()
    }
    assert rounded | {"table": said["table"].replace(te.__version__, "VERSION")} == snapshot
    assert (found["groups"][0]["labels"], found["groups"][0]["of"]) == (["old", "new"], SETS)


def test_runs_in_another_order_keep_their_groups() -> None:
    runs = {"low": ranked(4, 4, 4, 2, 2, 4), "high": FIRST, "middle": SECOND}
    found = te.compare(QRELS, runs, "RR", groups=SETS, baseline="low")
    again = found.sorted("RR")
    assert (found.runs, again.runs) == (("low", "high", "middle"), ("high", "middle", "low"))
    for each in (found, again):
        (part,) = each.by_group
        assert [each.runs[one.run] for one in part.differences] == ["high", "middle"] * 2
        assert {each.runs[one.other] for one in part.interactions} == {"low"}
        means = dict(zip(each.runs, part.means[:, 0], strict=True))
        assert means == {"low": 0.25, "high": pytest.approx(1.75 / 3), "middle": pytest.approx(1.25 / 3)}
        for one in part.differences:
            assert one.mean == pytest.approx(
                part.means[one.run][part.labels.index(one.group)] - part.means[one.other][part.labels.index(one.group)]
            )


def test_only_with_groups_is_anything_of_them_printed(home: Path) -> None:
    compare = ["compare", "qrels", "first", "second"]
    for form in ("table", "csv", "json", "latex"):
        done = treceval([*compare, "-m", "RR", "--format", form], folder=home)
        assert b"by_group" not in done.out
        assert b"Welch" not in done.out
    assert b"Welch" in treceval([*compare, "-m", "RR", "--groups", "groups"], folder=home).out


def test_a_report_has_groups(home: Path) -> None:
    arguments = ["report", "qrels", "first", "second", "-m", "RR", "--groups", "groups", "-o", "page.html"]
    assert treceval(arguments, folder=home).status == 0
    data = re.search('<script[^>]*id="data"[^>]*>([^<]*)</script>', (home / "page.html").read_text("utf-8"))
    assert data is not None
    groups = json.loads(gzip.decompress(base64.b64decode(data[1])))["groups"]
    assert groups[0] == {"name": "by set", "sets": [["old", [0, 1, 2]], ["new", [3, 4, 5]]]}


# Boards.


def test_a_board_ranks_runs_within_each_group(home: Path) -> None:
    found = te.board(home / "qrels", [home / name for name in ("first", "second", "third")], ["RR"], groups=SETS)
    assert [run.name for run in found.runs] == ["first", "third", "second"]
    old, new = found.groups
    # old: first 1.75, third 2.5, second 1.25 thirds; new: first 2.5, third 1, second 1.
    assert [mean[0] for mean in old.means] == pytest.approx([1.75 / 3, 2.5 / 3, 1.25 / 3])
    assert (old.label, old.queries, old.ranks) == ("old", (3,), (2, 1, 3))
    assert (new.label, new.queries, new.ranks) == ("new", (3,), (1, 2, 2))
    # The command shows them in every format.
    arguments = ["board", "qrels", "first", "second", "-m", "RR", "--no-cache", "--groups", "groups", "--format"]
    table, document, rows = (
        treceval([*arguments, form], folder=home).out.decode() for form in ("table", "json", "csv")
    )
    assert "RR by set (number of queries)" in table
    assert table.split("\n\n")[-2].splitlines()[2].split() == ["first", "●", "0.5833", "1", "●", "0.8333", "1"]
    groups = {each["group"]: [run["rank"] for run in each["runs"]] for each in json.loads(document)["groups"]}
    assert groups == {"old": [1, 2], "new": [1, 2]}
    lines = rows.split("\n\n")[1].splitlines()
    assert (lines[0], len(lines)) == ("attribute,group,queries,run,rank,RR", 1 + 2 * 2)


# Old and new topics of TREC 2003 Robust.


@pytest.fixture(scope="module")
def robust() -> tuple[dict[str, str], dict[str, te.Results]]:
    """The runs' results, and which topics are old (up to 450) and new (from 601)."""
    qrels = te.read_qrels(ROBUST / "qrels.txt.gz")
    evaluator = te.Evaluator(qrels, te.Scoring(["map", "nDCG@10", "recip_rank", "P.10"], complete=True))
    paths = sorted(ROBUST.glob("input.*.gz"))
    return {qid: "old" if int(qid) <= 450 else "new" for qid in qrels}, {p.name: evaluator.scored(p) for p in paths}


@needs_shared
def test_a_difference_of_robust_runs_depends_on_the_topics(robust: Any) -> None:
    sets, results = robust
    pair = [results["input.aplrob03a.gz"], results["input.uic0301.gz"]]
    found = te.compare(pair, measures=["map"], groups=sets, names=["apl", "uic"]).by_group[0]
    values = [np.array([each[qid]["map"] for qid in each]) for each in pair]
    old = np.array([sets[qid] == "old" for qid in pair[0]])
    difference = values[1] - values[0]
    expected = stats.ttest_ind(difference[old], difference[~old], equal_var=False)
    assert old.sum() == (~old).sum() == 50
    assert found.interactions[0].p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.interactions[0].adjusted < 0.001
    assert [round(each.mean, 4) for each in found.differences] == [0.0046, -0.1235]


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(50, 50), (25, 75), (90, 10), (10, 90), (15, 15)])
def test_the_test_of_interaction_keeps_its_level_on_real_values(robust: Any, sizes: tuple[int, int]) -> None:
    # 2,000 nulls a measure: differences of two runs, centred within old and within new topics, and drawn anew.
    sets, results = robust
    rng = np.random.default_rng(sizes[0])
    values = np.stack([[list(each[qid].values()) for qid in each] for each in results.values()])
    old = np.array([sets[qid] == "old" for qid in next(iter(results.values()))])
    pairs = list(itertools.combinations(range(len(values)), 2))
    for measure in range(values.shape[2]):
        groups: list[list[Any]] = [[], []]
        for number in range(2000):
            one, two = pairs[number % len(pairs)]
            difference = values[one, :, measure] - values[two, :, measure]
            for group, pool, size in zip(groups, (difference[old], difference[~old]), sizes, strict=True):
                group.append(rng.choice(pool - pool.mean(), size))
        found = welch_anova([np.column_stack(group) for group in groups])
        assert 0.035 <= float((found.p <= 0.05).mean()) <= 0.065
