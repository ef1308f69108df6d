"""Files of saved results that are compared in place of runs, and which files and names are meant."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command import treceval
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.saved.files import run_files
from treceval_py.comparing.saved.measures import harmonised
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.saved.reading import is_saved, read_saved
from treceval_py.comparing.scores import Scored, scored_of

DATA = Path(__file__).parent.parent / "data"
QRELS = str(DATA / "qrels.tsv")
RUNS = tuple(str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "jaccard", "minilm"))

MEASURES = ("num_rel_ret", "map", "recip_rank", "P_5", "nDCG@10")
"""In the order in which they are printed."""
TEXT_FORMATS = ("trec", "csv", "tsv")


def written(folder: Path, text: str, name: str = "saved.txt") -> str:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(path)


def scored(folder: Path, format: str, *options: str, runs: Sequence[str] = RUNS[:1], profile: str = "") -> str:
    """Score runs on the command line and return the file of what it printed."""
    path = str(folder / f"saved.{format}")
    names = [argument for name in MEASURES for argument in ("-m", name)]
    rules = ["--profile", profile] if profile else []
    done = treceval(["-q", "--format", format, "-o", path, *names, *options, *rules, QRELS, *runs])
    assert (done.status, done.out) == (0, b""), done.err
    return path


def now(run: str, *, profile: str = "trec_eval-10", complete: bool = False) -> Scored:
    return scored_of(te.evaluate(QRELS, run, MEASURES, profile=profile, complete=complete), "")


def lacking(folder: Path, *qids: str) -> str:
    """Return a run that lacks queries."""
    lines = Path(RUNS[0]).read_text().splitlines(keepends=True)
    return written(folder, "".join(line for line in lines if line.split()[0] not in qids), "lacking.txt")


def same(found: Scored, expected: Scored, *, decimals: int | None = None) -> None:
    """Assert that all queries that count have the same values, in the same order."""
    assert found.measures == expected.measures
    some = ~np.isnan(expected.values).all(axis=1)
    assert found.qids == tuple(np.array(expected.qids, dtype=object)[some])
    values = expected.values[some]
    np.testing.assert_array_equal(found.values, values if decimals is None else np.round(values, decimals))


def refusal(path: str) -> str:
    """Return what is said of a file, without its folder."""
    with pytest.raises(te.InputError) as error:
        read_saved(path)
    return str(error.value).replace(path, Path(path).name)


# --- what was saved comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_full_precision_comes_back_exactly_and_lines_to_four_decimals(tmp_path: Path, profile: str) -> None:
    for form, digits in {"csv": None, "tsv": None, "json": None, "trec": 4}.items():
        (found,) = read_saved(scored(tmp_path, form, profile=profile))
        same(found, now(RUNS[0], profile=profile), decimals=digits)
        assert (found.name, found.digits) == ("saved" if form == "trec" else "bm25", digits)


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_as_many_digits_come_back_as_were_asked_for(tmp_path: Path, format: str) -> None:
    (found,) = read_saved(scored(tmp_path, format, "--digits", "6"))
    same(found, now(RUNS[0]), decimals=6)
    assert found.digits == 6


def test_lines_with_more_than_twelve_decimals_were_not_rounded(tmp_path: Path) -> None:
    for digits, rounded in ((12, 12), (13, None), (17, None)):
        (found,) = read_saved(scored(tmp_path, "trec", "--digits", str(digits)))
        np.testing.assert_allclose(found.values, now(RUNS[0]).values, rtol=0, atol=0.51 * 10**-digits)
        assert found.digits == rounded


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_several_runs_of_a_file_come_back(tmp_path: Path, format: str) -> None:
    found = read_saved(scored(tmp_path, format, "-m", "runid", runs=RUNS))
    assert [run.name for run in found] == ["bm25", "jaccard", "minilm"]
    for run, path in zip(found, RUNS, strict=True):
        same(run, now(path), decimals=4 if format == "trec" else None)


@pytest.mark.parametrize(
    ("format", "options"),
    [*((form, ["--long-signature"]) for form in TEXT_FORMATS), ("json", []), ("trec", ["-n", "--long-signature"])],
    ids=lambda value: "".join(value),
)
def test_long_signatures_come_back_and_json_always_has_them(tmp_path: Path, format: str, options: list[str]) -> None:
    # without averages (-n) signatures end a run
    found = read_saved(scored(tmp_path, format, *options, runs=RUNS))
    assert [run.signatures for run in found] == [now(path).signatures for path in RUNS]
    numbered = [f"saved ({number})" for number in (1, 2, 3)]
    assert [run.name for run in found] == (numbered if format == "trec" else ["bm25", "jaccard", "minilm"])


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_short_signatures_come_back_but_for_the_hash_of_the_queries(tmp_path: Path, format: str) -> None:
    found = read_saved(scored(tmp_path, format, "--signature", runs=RUNS, profile="msmarco"))
    for run, path in zip(found, RUNS, strict=True):
        expected = [signature for signature in now(path, profile="msmarco").signatures if signature is not None]
        assert run.signatures == tuple(signature._replace(query_set="") for signature in expected)


def test_a_column_signature_of_a_single_run_is_no_run(tmp_path: Path) -> None:
    (found,) = read_saved(scored(tmp_path, "csv", "--signature"))
    assert found.name == "bm25"
    assert found.signatures[0] is not None


@pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")
@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_a_query_that_the_run_lacks_has_no_values(tmp_path: Path, format: str) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, format, runs=[run]))
    same(found, now(run), decimals=4 if format == "trec" else None)
    assert len(found.qids) == 28
    assert found.missing == (("1043", "377") if format == "json" else ())


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_json_has_the_queries_that_count_0_unlisted(tmp_path: Path, profile: str) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, "json", "-c", runs=[run], profile=profile))
    same(found, now(run, profile=profile, complete=True))
    assert len(found.qids) == 30


@pytest.mark.parametrize("signature", ["--signature", "--long-signature"])
@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_signatures_and_the_other_runs_tell_which_queries_count_0_unlisted(
    tmp_path: Path, format: str, signature: str
) -> None:
    runs = [lacking(tmp_path, "377", "1043"), RUNS[1]]
    found = read_saved(scored(tmp_path, format, "-c", signature, runs=runs, profile="trec_eval-9"))
    same(found[0], now(runs[0], profile="trec_eval-9", complete=True), decimals=4 if format == "trec" else None)
    assert [run.missing for run in found] == [("1043", "377"), ()]


@pytest.mark.parametrize(
    ("option", "part", "other"), [("--long-signature", "set:", "set:0000"), ("--signature", "#:30|", "#:31|")]
)
def test_nothing_is_put_in_where_signatures_are_of_other_queries(
    tmp_path: Path, option: str, part: str, other: str
) -> None:
    runs = [lacking(tmp_path, "377", "1043"), RUNS[1]]
    path = Path(scored(tmp_path, "tsv", "-c", option, runs=runs, profile="trec_eval-9"))
    path.write_text(path.read_text().replace(part, other))
    assert [len(run.qids) for run in read_saved(path)] == [28, 30]


def test_how_many_relevant_documents_a_missing_query_has_is_not_known(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377")
    (found,) = read_saved(scored(tmp_path, "json", "-c", "-m", "num_rel", runs=[run], profile="trec_eval-9"))
    row = found.values[found.qids.index("377")]
    assert [name for name, value in zip(found.measures, row, strict=True) if np.isnan(value)] == ["num_rel"]


def test_without_signatures_a_query_that_is_not_listed_is_not_there(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, "trec", "-c", runs=[run], profile="trec_eval-9"))
    assert len(found.qids) == 28


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_averages_and_what_has_no_number_for_each_query_are_left_out(tmp_path: Path, format: str) -> None:
    others = [word for name in ("num_q", "gm_map", "runid", "relstring") for word in ("-m", name)]
    for options in (["-n"], others):
        (found,) = read_saved(scored(tmp_path, format, *options))
        same(found, now(RUNS[0]), decimals=4 if format == "trec" else None)
        assert found.measures == MEASURES


# --- what files of any program say -------------------------------------------------------------------------------

HOW = "AP(rel=1)|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0"
OTHER = HOW.replace("AP", "WorstRank")


def document(per_query: object, **more: object) -> str:
    """Return JSON of one run, ``a``."""
    return json.dumps({"treceval_py": "0.1.0", "runs": [{"name": "a", "per_query": per_query, **more}]})


READ = {
    "a line is a measure, a query and a value": "map                   \t301\t0.2500\nP_5  \t301\t0.4000\n"
    "map\t9\t0.5\nP_5 9 0.2\n",
    "queries are in the order of their bytes": "map\té\t1.0000\nmap\tz\t0.5000\nmap\t9\t0.2500\nmap\t10\t0.0000\n",
    "a query may have some measures only": "map\t1\t0.2500\nP_5\t1\t0.4000\nmap\t2\t0.5000\n",
    "the first query may lack the first measure": "P_5\t1\t0.2\nmap\t2\t0.5\nP_5\t2\t0.4\nmap\tall\t0.5\nP_5\tall\t0.3\n",
    "in rows too": "query,measure,a\n1,map,\n1,P_5,0.2\n2,map,0.5\n2,P_5,0.4\nall,map,0.5\nall,P_5,0.3\n",
    "and in JSON": '{"treceval_py": "0", "measures": {"map": "AP", "P_5": "P@5"}, '
    '"runs": [{"per_query": {"1": {"P_5": 0.2}, "2": {"map": 0.5, "P_5": 0.4}}}]}',
    "the least JSON": document({"1": {"map": 0.5}, "all": {"map": 1}}),
    "spaces between tabs": "map\t1\t0.5\nmap\twhat is it\t0.2500\n",
    "white space that is not ASCII": "map\t\u3000a\xa0\t0.2500\nmap b\u3000c 0.5\n",
    "an id that is not UTF-8": "map\t\udcff\t0.2500\n",
    "Windows line ends and a byte order mark": "\ufeffmap\t1\t0.2500\r\n\r\nmap\tall\t0.2500\r\n",
    "measures of other programs": "map\t1\t0.2500\nmy_measure\t1\t0.4000\nmy_measure\tall\tgood\n",
    "the tag is the name": "map\t1\t0.2500\nrunid\tall\tstandard\n",
    "a query after averages begins another run": "map\t1\t0.2500\nrunid\tall\tone\nmap\tall\t0.2500\nmap\t1\t0.5000\n"
    "runid\tall\ttwo\nmap\tall\t0.5000\n",
    "runs with the same name are numbered": "map\t1\t0.2500\nmap\tall\t0.2500\nmap\t1\t0.5000\nmap\tall\t0.5000\n",
    "comments that are not signatures": "# made: by hand | yesterday\n#\nmap\t1\t0.2500\n# map: good\n",
    "a signature before the values": f"# map: {HOW}\nmap\t1\t0.2500\nmap\t2\t0.2500\n",
    "a row without a signature": f"query,measure,a,signature\n1,map,0.5,\n2,map,0.5,{HOW}\n",
    "the signature of an unknown measure": f"map\t1\t0.5\nWorstRank\t1\t7\n# map: {HOW}\n# WorstRank: {OTHER}\n",
    "also in a row": f"query,measure,a,signature\n1,map,0.5,{HOW}\n1,WorstRank,7,{OTHER}\n",
    "also in JSON": document(
        {"1": {"map": 0.5, "WorstRank": 7}}, signatures={"map": {"short": HOW}, "WorstRank": {"short": OTHER}}
    ),
    "ir_measures has the query first": "q1\tAP\t0.2500\nq1\tnDCG@10\t0.5000\nq1\tmine\t1.0000\nall\tAP\t0.2500\n",
    "a query named like a measure": "map\tG\t0.5000\n",
    "counts have no decimals": "num_ret\t1\t500\nmap\t1\t0.250\n",
    "numbers of different lengths were not rounded": "query,measure,a\n1,map,0.25\n2,map,0.125\n",
    "nor were short ones": "query,measure,a\n1,map,0.5\n2,map,1.0\n",
    "a quoted cell with commas and line ends": 'query,measure,"a, b"\n"1\n2",map,0.5\n',
}


def test_files_of_any_program_are_read(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for case, text in READ.items():
        path = written(tmp_path, text)
        assert is_saved(path), case
        said[case] = [
            f"{run.name!r} {run.tag!r} {run.measures} {run.qids} {run.values.tolist()} {run.digits} "
            f"{[signature and signature.short for signature in run.signatures]}"
            for run in read_saved(path)
        ]
    assert said == snapshot


def test_a_run_without_a_tag_is_called_by_its_file_compressed_or_not(tmp_path: Path) -> None:
    for name in ("input.mine.eval", "mine.eval.gz"):
        path = tmp_path / name
        path.write_bytes((gzip.compress if name.endswith("gz") else bytes)(b"map\t1\t0.5000\n"))
        assert is_saved(path)
        (found,) = read_saved(path)
        assert (found.name, found.tag, found.file, found.values.tolist()) == ("mine", "", str(path), [[0.5]])


@pytest.mark.slow
def test_ir_measures_own_output_is_read(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures")
    qrels = written(tmp_path, Path(QRELS).read_text().replace("\t", " "), "qrels.txt")
    command = [sys.executable, "-m", "ir_measures", "-q", qrels, RUNS[0], "AP(rel=2)", "nDCG@10", "P@5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (found,) = read_saved(written(tmp_path, done.stdout))
    expected = scored_of(te.evaluate(QRELS, RUNS[0], ["AP(rel=2)", "nDCG@10", "P@5"]), "")
    assert (found.measures, found.qids, found.digits) == (expected.measures, expected.qids, 4)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=5.1e-5)


# --- trec_eval's recorded output ---------------------------------------------------------------------------------


@needs_shared
def test_the_regression_output_of_trec_eval_is_read() -> None:
    path = str(SHARED / "trec_eval-test" / "out.test.aq")
    assert is_saved(path)
    (found,) = read_saved(path)
    assert (found.name, found.qids, found.digits) == ("STANDARD", ("301", "302", "303"), 4)
    # grep -P '^(map|P_10|num_rel) ' out.test.aq
    row = dict(zip(found.measures, found.values[0].tolist(), strict=True))
    assert (row["num_ret"], row["map"], row["P_10"]) == (500.0, 0.0324, 0.2)
    assert {"num_q", "gm_map", "runid", "relstring"}.isdisjoint(found.measures)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("version", ["9", "10"])
def test_the_means_of_what_trec_eval_printed_are_the_averages_that_it_printed(version: str) -> None:
    for path in sorted((SHARED / "robust03" / "expected").glob(f"*.trec_eval-{version}.txt.gz")):
        (found,) = read_saved(str(path))
        assert found.name == path.name.split(".")[0]
        lines = [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        averages = {measure: value for measure, qid, value in lines if qid == "all"}
        for measure in ("map", "P_10", "ndcg_cut_10", "recip_rank"):
            mean = found.values[:, found.measures.index(measure)].mean()
            assert mean == pytest.approx(float(averages[measure]), abs=1.01e-4)


@needs_shared
@pytest.mark.parametrize("name", ["out.test", "out.test.a", "out.test.aqZ"])
def test_averages_and_z_scores_of_trec_eval_are_refused(name: str, snapshot: SnapshotAssertion) -> None:
    path = str(SHARED / "trec_eval-test" / name)
    assert is_saved(path)
    assert refusal(path) == snapshot


# --- what is refused ---------------------------------------------------------------------------------------------

PRINTED = {
    **{f"averages alone, {form}": ["--format", form] for form in (*TEXT_FORMATS, "json")},
    **{f"z-scores, {form}": ["-q", "-m", "map", "-Z", "norms", "--format", form] for form in ("csv", "json")},
    "ranges, csv": ["-q", "--ties", "-m", "map", "--format", "csv"],
    "ranges over ties, json": ["-q", "--ties", "-m", "map", "--format", "json"],
    "ranges over labels, json": ["-q", "--unjudged", "-m", "map", "--format", "json"],
    "a comparison, json": ["compare", "-m", "map", "--format", "json"],
    "agreement, json": ["compare", "--agreement", "-m", "map", "--format", "json"],
    "a board, json": ["board", "--no-cache", "-m", "map", "--format", "json"],
    **{
        f"a table of {name}, {form}": [*options, "-m", "map", "--format", form]
        for form in ("table", "markdown", "latex")
        for name, options in {
            "queries": ["-q"], "averages": [], "differences": ["compare"], "runs": ["board", "--no-cache"],
        }.items()
    },
}  # fmt: skip


def test_other_output_of_treceval_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    written(tmp_path, "1 map 0.5 0.1\n", "norms")
    written(tmp_path, "1 0 a 1\n2 0 a 1\n", "qrels")
    written(tmp_path, "1 Q0 a 1 2 one\n2 Q0 a 1 2 one\n", "one")
    written(tmp_path, "1 Q0 a 1 2 two\n2 Q0 b 1 2 two\n", "two")
    said = {}
    for case, options in PRINTED.items():
        runs = ["one", "two"] if options[0] in ("compare", "board") or "table" in case else ["one"]
        done = treceval([*options, "-o", "saved", "qrels", *runs], folder=tmp_path)
        assert (done.status, is_saved(tmp_path / "saved")) == (0, True), (case, done.err)
        said[case] = refusal(str(tmp_path / "saved"))
    assert said == snapshot


REFUSED = {
    "map\t1\t0.25\nmap\t1\t0.5\n": 2,
    "map\t1\t0.25\nmap\tall\t0.5\nmap\tall\t0.5\n": 3,
    "map\t1\tgood\n": 1,
    "map\t1\t1_0\n": 1,
    "map\t1\tNaN\n": 1,
    "map\t1\t0.5\nmap\tall\t-inf\n": 2,
    "map\t1\t1e999\n": 1,
    "map\t1\t0.5\nmap\t2\n": 2,
    "map\t1\t0.5\nm\n": 2,
    "1 Q0 a 1 0.5 t\n": 1,
    "1 0 a 1\n": 1,
    "1\ta\t1\n": None,
    "relstring\t1\t'01'\nrunid\tall\tmine\n": None,
    "map\t1\t0.5\0\n": 1,
    "# nothing\n": None,
    "": None,
    f"map\t1\t0.5\n# map: {OTHER.replace('(rel=1)', '')}\n": 2,
    "map\t1\t0.5\n# map: AP|x\n": 2,
    f"query   measure   {'run   ' * 9999}\n{'─' * 9999}\n": None,
    "query,measure,a\n1,map\n": 2,
    "query,measure,a\n1,map,0.5\n\n1,map,0.5\n": 4,
    "query,measure,a\n,map,0.5\n": 2,
    "query,measure,a\n1,,0.5\n": 2,
    'query,measure,a\n1,map,"0.5\n': 2,
    "query,measure,a\n1,map,\n": None,
    "query,measure,a,\n1,map,0.5,0.5\n": 1,
    "query,measure,a,a\n1,map,0.5,0.5\n": 1,
    "query,measure,a,signature\n1,map,0.5,one\n2,map,0.5,two\n": 3,
    '{"treceval_py": "0.1.0", "runs": ' + "[" * 200_000: None,
    document({"1": {"map": "good"}}): None,
    document({"1": {"map": float("nan")}}): None,
    document({"1": {"map": None}}): None,
    document({"1": {"map": True}}): None,
    document({"1": [0.5]}): None,
    document({"1": {"map": 0.5}}, tag=7): None,
    document({"1": {"map": 0.5}}, missing=[1]): None,
    document({"": {"map": 0.5}}): None,
    document({"\ud800": {"map": 0.5}}): None,
    document({"1": {"map": 0.5}}).replace('"map": 0.5', '"map": 0.5, "map": 0.5'): None,
    '{"treceval_py": "0.1.0", "runs": []}': None,
    '{"1": {"a": 0.5}}': None,
    document({"1": {"map": 0.5}}) + "\n}": 2,
}
"""Texts that are not results, with the line that is at fault."""


def test_malformed_results_are_refused_with_their_place(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for text, line in REFUSED.items():
        message = refusal(written(tmp_path, text))
        assert message.startswith(f"saved.txt:{line}: " if line else "saved.txt: "), message
        said[repr(text[:90])] = message
    assert said == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trec", "csv", "tsv", "json"])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = scored(tmp_path, name, "--long-signature", runs=[lacking(tmp_path, "377"), RUNS[1]])
    valid = Path(path).read_bytes()
    if name == "json":
        valid = json.dumps(json.loads(valid)).encode()
    draw = random.Random(f"{name} 1")
    target = tmp_path / "damaged"
    pieces = [b"", b"\n", b"\t", b",", b'"', b"{", b"}", b"\0", b"\xff", b"all", b"nan", b"9" * 99]
    for _ in range(300):
        damaged = bytearray(valid)
        for _ in range(draw.randint(1, 4)):
            at, piece = draw.randrange(len(damaged) + 1), draw.randrange(len(damaged))
            cut = damaged[piece : piece + draw.choice([0, 1, 2, 30])]
            damaged[at : at + draw.choice([0, 1, 2, 5, 200])] = draw.choice([*pieces, cut])
        target.write_bytes(damaged[: draw.choice([len(damaged), len(damaged), draw.randrange(1, len(damaged))])])
        is_saved(target)
        message = ""
        try:
            assert all(run.values.shape == (len(run.qids), len(run.measures)) for run in read_saved(target))
        except te.TrecevalError as error:
            message = str(error)
        assert message.isprintable()
        assert not message or message.startswith(f"{target}:")


# --- which files have saved results ------------------------------------------------------------------------------

SAVED = {
    "a run": ("1 Q0 a 1 0.5 t\n", False),
    "judgments": ("1 0 a 1\n", False),
    "a run of MS MARCO": ("1048585\t7187158\t1\n1048585\t7187157\t2\n", False),
    "a run of MS MARCO whose query is named like a measure": ("map\tD12\t1\nmap\tD13\t2\n", False),
    "a run of MS MARCO whose document is named like a measure": ("q1\tmap\t1\n", False),
    "a run of MS MARCO whose document is named like a count": ("q1\tnum_ret\t1\n", False),
    "judgments of BEIR": ("query-id\tcorpus-id\tscore\n1\ta\t1\n", False),
    "a run in JSON": ('{"1": {"a": 0.5}}', False),
    "a run in JSON Lines": ('{"qid": "1", "docid": "a", "score": 0.5}\n{"qid": "1", "docid": "b"}\n', False),
    "nothing": ("", False),
    "comments": ("# map: AP\n", False),
    "other CSV": ("query,docid,score\n1,a,0.5\n", False),
    "lines": ("map\t1\t0.5000\n", True),
    "counts": ("num_rel_ret\t1\t5\n", True),
    "lines after comments": ("# made by hand\n\nmap 1 0.5\n", True),
    "lines after many comments": ("# made by hand\n" * 400 + "map 1 0.5\n", True),
    "lines after seven of another program": ("mine\t1\t0.1\n" * 7 + "map\t1\t0.5000\n", True),
    "lines after eight of another program": ("mine\t1\t0.1\n" * 8 + "map\t1\t0.5000\n", False),
    "averages": ("runid\tall\tmine\n", True),
    "z-scores": ("Zmap\t1\t-0.5\n", True),
    "lines of ir_measures": ("q1\tAP\t0.2500\n", True),
    "CSV": ("query,measure,a\n", True),
    "TSV": ("query\tmeasure\ta\n", True),
    "CSV with quotes": ('"query","measure","a"\n', True),
    "JSON": ('{"treceval_py": "0.1.0", "profile": "trec_eval-10"', True),
    "JSON with sorted keys": ('{"complete": false, "judgments": "qrels.txt"', True),
}


def test_saved_results_are_recognised_by_their_beginning(tmp_path: Path) -> None:
    found = {what: is_saved(written(tmp_path, text)) for what, (text, _) in SAVED.items()}
    assert found == {what: saved for what, (_, saved) in SAVED.items()}
    assert not any(map(is_saved, ["-", "", str(tmp_path), str(tmp_path / "none")]))


def test_a_pipe_is_no_saved_result_and_is_left_untouched() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"map\t1\t0.5000\n")
    os.close(writing)
    try:
        assert not is_saved(f"/dev/fd/{reading}")
        assert os.read(reading, 99) == b"map\t1\t0.5000\n"
    finally:
        os.close(reading)


# --- one spelling ------------------------------------------------------------------------------------------------


def named(*measures: str) -> Scored:
    values = np.zeros((1, len(measures)))
    return Scored("a", "a.txt", "a", measures, ("1",), values, (None,) * len(measures))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [("nDCG@10", "mine"), ("P@5", "ndcg_cut_10"), ("P_5", "ndcg_cut.10", "mine")],
            [("nDCG@10", "mine"), ("P@5", "nDCG@10"), ("P@5", "nDCG@10", "mine")],
            id="the first spelling",
        ),
        pytest.param([("map",), ("AP(rel=2)",)], [("map",), ("AP(rel=2)",)], id="other parameters"),
        pytest.param(
            [("map",), ("AP", "map"), ("AP", "MAP")], [("map",), ("AP", "map"), ("map", "MAP")], id="two equal ones"
        ),
    ],
)
def test_measures_are_spelled_as_in_the_first_run(runs: list[tuple[str]], expected: list[tuple[str]]) -> None:
    assert [run.measures for run in harmonised([named(*each) for each in runs])] == expected


# --- which files are meant ---------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``runs`` with three runs, other files and links."""
    names = ("b.txt", "B.txt", "a.txt.gz", "a.txt.gz.json", "c.json", ".cache", "README", "readme.txt", "notes.md")
    for folder in ("older", "linked"):
        (tmp_path / "runs" / folder).mkdir(parents=True)
    for name in (*(f"runs/{name}" for name in names), "best.txt", "a*.txt", "ab.txt"):
        (tmp_path / name).touch()
    (tmp_path / "latest.txt").symlink_to("runs/b.txt")
    (tmp_path / "runs" / "b-latest.txt").symlink_to("b.txt")
    for name in ("y", "x"):
        (tmp_path / "runs" / "linked" / name).symlink_to(tmp_path / "best.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("given", "without", "expected"),
    [
        pytest.param("runs/", "", "runs/B.txt runs/a.txt.gz runs/b.txt runs/c.json", id="a folder"),
        pytest.param("runs/?.txt runs/[c]*", "", "runs/B.txt runs/b.txt runs/c.json", id="patterns"),
        pytest.param("runs/b*.txt", "", "runs/b.txt", id="a link to a file that matches too"),
        pytest.param("a*.txt", "", "a*.txt", id="a file named like a pattern"),
        pytest.param("runs/linked", "", "runs/linked/x", id="two links to a file elsewhere"),
        pytest.param("runs", "runs/../runs/b.txt runs/c.json none", "runs/B.txt runs/a.txt.gz", id="files left out"),
        pytest.param("runs/[cB]*", "runs/c.json", "runs/B.txt", id="a match left out"),
        pytest.param("runs/b.txt", "runs/b.txt", "runs/b.txt", id="a named file is never left out"),
        pytest.param("none.txt - runs/b.txt", "", "none.txt - runs/b.txt", id="other paths"),
    ],
)
def test_folders_and_patterns_stand_for_runs(given: str, without: str, expected: str) -> None:
    assert run_files(given.split(), without=without.split()) == expected.split()


def test_files_are_in_the_order_of_the_bytes_of_their_names(tmp_path: Path) -> None:
    # f0 9d 90 80 comes before ff, of which Python makes U+DCFF, which comes before U+1D400.
    for name in ("\udcff", "\U0001d400"):
        (tmp_path / name).touch()
    expected = [str(tmp_path / "\U0001d400"), str(tmp_path / "\udcff")]
    assert run_files([str(tmp_path)]) == expected
    assert run_files([str(tmp_path / "?")]) == expected


def test_what_stands_for_no_file_or_occurs_twice_is_refused(runs: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    given = "runs/older|runs/*.run|runs/old*|runs/b.txt runs|runs/b.txt ./runs/older/../b.txt|- -|runs/b.txt latest.txt"
    for paths in given.split("|"):
        with pytest.raises(te.InputError) as error:
            run_files(paths.split())
        said[paths] = str(error.value)
    (runs / "runs" / "older" / "one").touch()
    with pytest.raises(te.InputError) as error:
        run_files(["runs/older"], without=["runs/older/one"])
    said["without its only file"] = str(error.value)
    assert said == snapshot


# --- what runs are called ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "files", "by", "names"),
    [
        (["one", "two"], ["a.txt", "b.txt"], None, ("one", "two")),
        (["one", "one"], ["x/input.a.gz", "y/b.run.bz2"], None, ("a", "b")),
        (["", "two"], ["a.trec", "b.json"], None, ("a", "b")),
        (["run", "two"], ["x/a.tsv", "x/b.txt"], None, ("a", "two")),
        (["run", "a"], ["x/a.tsv", "x/b.txt"], None, ("a", "b")),
        (["run", "two"], ["<run>", "b.txt"], None, ("run", "two")),
        (["one", "one"], ["x/a.txt", "y/a.txt"], None, ("a (1)", "a (2)")),
        (["one", "two", "one"], ["a.csv", "a.csv", "b.csv"], None, ("a (one)", "a (two)", "b (one)")),
        (["one", "two", "one"], ["x/a", "x/a", "y/a"], None, ("a (1)", "a (2)", "a (3)")),
        (["one", "one"], ["a.csv", "a.csv"], None, ("a (1)", "a (2)")),
        (["", "", ""], ["x/.txt", "x/input.", "x/.gz"], None, (".txt", "input.", ".gz")),
        (["one", "two"], ["a.txt", "b.txt"], "file", ("a", "b")),
        (["one", "two"], ["a.txt", "a.txt"], "tag", ("one", "two")),
    ],
)
def test_runs_have_the_first_names_that_differ(
    tags: list[str], files: list[str], by: str | None, names: tuple[str, ...]
) -> None:
    assert unique_names(tags, files, by) == names


def test_files_with_the_same_name_are_named_with_their_hashes() -> None:
    digests = ["0123456789abcdef", "fedcba9876543210"]
    assert unique_names(["one", "one"], ["x/a.txt", "y/a.txt"], None, digests) == ("a (01234567)", "a (fedcba98)")
    assert unique_names(["one", "one"], ["x/a.txt", "y/a.txt"], None, digests[:1] * 2) == ("a (1)", "a (2)")
    assert unique_names(["one", "one"], ["x/a.txt", "<stdin>"], None, ["01234567", ""]) == ("a", "<stdin>")


def test_names_that_runs_share_are_refused(snapshot: SnapshotAssertion) -> None:
    said = []
    for tags, files, by in (
        ("x x", "a.txt b.txt", "tag"), ("x y", "x/a.txt y/a.txt", "file"), ("x x", "a a", "tag"), ("x ", "a b", "tag"),
        ("x y", "a b", "name"),
    ):  # fmt: skip
        with pytest.raises(te.EvaluationError) as error:
            unique_names(tags.split(" "), files.split(), by)
        said.append(str(error.value))
    assert said == snapshot
