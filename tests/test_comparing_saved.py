"""Files of saved results that are compared in place of runs, and which files and names are meant."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import refused
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
FORMATS = ("trec", "json")


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
    return refused.refusal(read_saved, path).replace(path, Path(path).name).removeprefix("InputError: ")


# --- what was saved comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_full_precision_comes_back_exactly_and_lines_to_four_decimals(tmp_path: Path, profile: str) -> None:
    for form, digits in {"json": None, "trec": 4}.items():
        (found,) = read_saved(scored(tmp_path, form, profile=profile))
        same(found, now(RUNS[0], profile=profile), decimals=digits)
        assert (found.name, found.digits) == ("saved" if form == "trec" else "bm25", digits)


def test_as_many_digits_and_runs_come_back_as_were_asked_for(tmp_path: Path) -> None:
    for form in FORMATS:
        (found,) = read_saved(scored(tmp_path, form, "--digits", "6"))
        same(found, now(RUNS[0]), decimals=6)
        assert found.digits == 6
    several = read_saved(scored(tmp_path, "json", "-m", "runid", runs=RUNS))
    assert [run.name for run in several] == ["bm25", "jaccard", "minilm"]
    for run, path in zip(several, RUNS, strict=True):
        same(run, now(path))
    assert "twice" in refusal(scored(tmp_path, "trec", runs=RUNS))  # lines do not say where a run begins


def test_lines_with_more_than_twelve_decimals_were_not_rounded(tmp_path: Path) -> None:
    for digits, rounded in ((12, 12), (13, None), (17, None)):
        (found,) = read_saved(scored(tmp_path, "trec", "--digits", str(digits)))
        np.testing.assert_allclose(found.values, now(RUNS[0]).values, rtol=0, atol=0.51 * 10**-digits)
        assert found.digits == rounded


def test_json_has_signatures_and_lines_have_none(tmp_path: Path) -> None:
    found = read_saved(scored(tmp_path, "json", runs=RUNS))
    assert [run.signatures for run in found] == [now(path).signatures for path in RUNS]
    (found_in_lines,) = read_saved(scored(tmp_path, "trec", "--long-signature"))
    assert set(found_in_lines.signatures) == {None}


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_a_query_that_the_run_lacks_has_no_values(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377", "1043")
    for form in FORMATS:
        (found,) = read_saved(scored(tmp_path, form, runs=[run]))
        same(found, now(run), decimals=4 if form == "trec" else None)
        assert len(found.qids) == 28
        assert found.missing == (("1043", "377") if form == "json" else ())


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_json_has_the_queries_that_count_0_unlisted(tmp_path: Path, profile: str) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, "json", "-c", runs=[run], profile=profile))
    same(found, now(run, profile=profile, complete=True))
    assert len(found.qids) == 30


def test_nothing_is_put_in_where_a_signature_counts_other_queries(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377", "1043")
    path = Path(scored(tmp_path, "json", "-c", runs=[run], profile="trec_eval-9"))
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document).replace("queries:30|", "queries:31|"))
    assert [len(run.qids) for run in read_saved(path)] == [28]
    (found,) = read_saved(scored(tmp_path, "trec", "-c", runs=[run], profile="trec_eval-9"))
    assert len(found.qids) == 28


def test_how_many_relevant_documents_a_missing_query_has_is_not_known(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377")
    (found,) = read_saved(scored(tmp_path, "json", "-c", "-m", "num_rel", runs=[run], profile="trec_eval-9"))
    row = found.values[found.qids.index("377")]
    assert [name for name, value in zip(found.measures, row, strict=True) if np.isnan(value)] == ["num_rel"]


def test_averages_and_what_has_no_number_for_each_query_are_left_out(tmp_path: Path) -> None:
    others = [word for name in ("num_q", "gm_map", "runid", "relstring") for word in ("-m", name)]
    for form, options in itertools.product(FORMATS, (["-n"], others)):
        (found,) = read_saved(scored(tmp_path, form, *options))
        same(found, now(RUNS[0]), decimals=4 if form == "trec" else None)
        assert found.measures == MEASURES


# --- what files of any program say -------------------------------------------------------------------------------


HOW = "AP(rel=1)|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0"
TEXTS = tomllib.loads(Path(__file__).with_name("saved_results.toml").read_text("utf-8"))


def read_table() -> dict[str, str]:
    """Return texts that are read, with their signatures."""
    other = HOW.replace("AP", "WorstRank")
    texts = {case: text.replace("{HOW}", HOW).replace("{OTHER}", other) for case, text in TEXTS["read"].items()}
    return texts | {"an id that is not UTF-8": "map\t\udcff\t0.2500\n"}


def test_files_of_any_program_are_read(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for case, text in read_table().items():
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

TABLES = {"queries": ["-q"], "averages": [], "differences": ["compare"], "runs": ["board", "--no-cache"]}
PRINTED = {
    **{f"averages alone, {form}": ["--format", form] for form in FORMATS},
    "z-scores, json": ["-q", "-m", "map", "-Z", "norms", "--format", "json"],
    **{f"results, {form}": ["-q", "-m", "map", "--format", form] for form in ("csv", "tsv")},
    "ranges over ties, json": ["-q", "--ties", "-m", "map", "--format", "json"],
    "ranges over labels, json": ["-q", "--unjudged", "-m", "map", "--format", "json"],
    "a comparison, json": ["compare", "-m", "map", "--format", "json"],
    "agreement, json": ["compare", "--agreement", "-m", "map", "--format", "json"],
    "a board, json": ["board", "--no-cache", "-m", "map", "--format", "json"],
    **{
        f"a table of {name}, {form}": [*options, "-m", "map", "--format", form]
        for name, options in TABLES.items()
        for form in ("table", "markdown", "latex")
    },
}


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


def test_malformed_results_are_refused_with_their_place(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    long = [f"query   measure   {'run   ' * 9999}\n{'─' * 9999}\n", '{"treceval_py": "0.1.0", "runs": ' + "[" * 200_000]
    said = {}
    for text, line in {**TEXTS["refused"], **dict.fromkeys(long)}.items():
        message = refusal(written(tmp_path, text))
        assert message.startswith(f"saved.txt:{line}: " if line else "saved.txt: "), message
        said[repr(text[:90])] = message
    assert said == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = scored(
        tmp_path, name, "--long-signature", runs=[lacking(tmp_path, "377"), *RUNS[1:2]][: 1 if name == "trec" else 2]
    )
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
        except te.errors.TrecevalError as error:
            message = str(error)
        assert message.isprintable()
        assert not message or message.startswith(f"{target}:")


# --- which files have saved results ------------------------------------------------------------------------------


def test_saved_results_are_recognised_by_their_beginning(tmp_path: Path) -> None:
    results = TEXTS["results"] | {"lines after many comments": "# made by hand\n" * 400 + "map 1 0.5\n"}
    assert [what for what, text in results.items() if not is_saved(written(tmp_path, text))] == []
    assert [what for what, text in TEXTS["others"].items() if is_saved(written(tmp_path, text))] == []
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


def test_measures_are_spelled_as_in_the_first_run() -> None:
    for given, expected in (
        # the first spelling, other parameters, two equal ones
        ("nDCG@10 mine|P@5 ndcg_cut_10|P_5 ndcg_cut.10 mine", "nDCG@10 mine|P@5 nDCG@10|P@5 nDCG@10 mine"),
        ("map|AP(rel=2)", "map|AP(rel=2)"),
        ("map|AP map|AP MAP", "map|AP map|map MAP"),
    ):
        runs = [each.split() for each in given.split("|")]
        made = [Scored("a", "", "a", tuple(run), ("1",), np.zeros((1, len(run))), (None,) * len(run)) for run in runs]
        assert "|".join(" ".join(run.measures) for run in harmonised(made)) == expected


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
    given = "runs/older|runs/*.run|runs/old*|runs/b.txt runs|runs/b.txt ./runs/older/../b.txt|- -|runs/b.txt latest.txt"
    said = {paths: refused.refusal(run_files, paths.split()) for paths in given.split("|")}
    (runs / "runs" / "older" / "one").touch()
    said["without its only file"] = refused.refusal(run_files, ["runs/older"], without=["runs/older/one"])
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
    assert [
        refused.refusal(unique_names, tags.split(" "), files.split(), by)
        for tags, files, by in (
            ("x x", "a.txt b.txt", "tag"), ("x y", "x/a.txt y/a.txt", "file"), ("x x", "a a", "tag"),
            ("x ", "a b", "tag"), ("x y", "a b", "name"),
        )
    ] == snapshot  # fmt: skip
