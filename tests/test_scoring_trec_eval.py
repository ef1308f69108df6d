"""Agreement with what NIST trec_eval 10.0 and 9.0.8 printed, byte for byte.

The recorded cases (``conformance/trec_eval.jsonl.gz``) hold inputs made for this purpose and the output of trec_eval 10.0 (tag
v10.0) and 9.0.8 (tag v9.0.8). Cases that expect ``own`` are not followed, for the reasons in the README: they must not
crash. The TREC data is not part of this project: those tests run where the folder ``../shared/data`` is.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command import treceval
from modules import module_at
from shared import SHARED, needs_shared

HERE = Path(__file__).parent
RUNNER = module_at(HERE.parent / "conformance" / "run.py")
KINDS = {"10": {"match": 294, "refuse": 77, "own": 154}, "9": {"match": 266, "refuse": 77, "own": 182}}


# Two seconds each: 525 command lines, which the whole program is held to.
@pytest.mark.parametrize("against", ["10", "9"])
def test_all_recorded_cases_hold(against: str) -> None:
    def execute(arguments: list[str], stdin: bytes, folder: str) -> tuple[int, bytes, bytes]:
        profile = ["--profile", "trec_eval-9"] if against == "9" else []
        done = treceval([*profile, *arguments], stdin=stdin, folder=folder)
        assert done.status == 0 or done.err.count(b"\n") == 1, (arguments, done.err)
        return done

    counts, failed = RUNNER.recorded(against, execute)
    assert failed == {}
    # 525 cases, as they were recorded.
    assert {kind: of for kind, (_, of) in counts.items()} == KINDS[against]


def test_z_scores_of_a_missing_query_count_as_in_trec_eval_9(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 1\n3 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 a 1 2 t\n2 Q0 b 2 1 t\n")
    norms = ["gm_bpref 2.0 3.0", "gm_map 0.5 4.0", "map 0.5 0.25", "num_ret 1.0 2.0", "zz 0 0"]
    (tmp_path / "norms").write_text("".join(f"{qid} {norm}\n" for qid in (1, 2, 3, 4) for norm in norms))
    measures = ["-m", "num_ret", "-m", "map", "-m", "gm_map", "-m", "gm_bpref"]
    done = treceval([*measures, "-q", "-c", "-Z", "norms", "qrels", "run", "--profile=trec_eval-9"], folder=tmp_path)
    # What trec_eval 9.0.8 printed. Query 3 adds ln 0.00001 to geometric means, 0 to the others, and no line. So gm_map
    # is exp(((ln 0.5 - 0.5) / 4 + (ln 1 - 0.5) / 4 + ln 0.00001) / 3).
    assert done.out.decode() == (
        "Znum_ret               \t1\t0.5000\n"
        "Zmap                   \t1\t0.0000\n"
        "Znum_ret               \t2\t0.5000\n"
        "Zmap                   \t2\t2.0000\n"
        "Znum_ret               \tall\t1.0000\n"
        "Zmap                   \tall\t0.6667\n"
        "Zgm_map                \tall\t0.0187\n"
        "Zgm_bpref              \tall\t0.0038\n"
    )


RUNS = ["MU03rob01", "NLPR03vb10", "SABIR03BASE", "UIUC03Rd1", "aplrob03a", "pircRBa1", "rutcor03100", "uic0301"]


@needs_shared
@pytest.mark.parametrize("version", ["10", "9"])
@pytest.mark.parametrize("run", RUNS)
def test_a_run_of_trec_2003_robust_prints_what_trec_eval_printed(run: str, version: str) -> None:
    robust = SHARED / "robust03"
    done = treceval(
        ["--profile", f"trec_eval-{version}", "-q", "-c", "-m", "all_trec", "qrels.txt.gz", f"input.{run}.gz"],
        folder=robust,
    )
    expected = gzip.decompress((robust / "expected" / f"{run}.trec_eval-{version}.txt.gz").read_bytes())
    assert done.status == 0
    assert done.out == expected


PARAMETERS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23 -msuccess.2,5,20"
)
"""trec_eval's own regression test says 23.4, which it reads as 23 and we refuse."""

REGRESSION = [
    ("out.test", "-m official qrels.test results.test"),
    ("out.test", "-m official qrels.test.with-comments results.test"),
    ("out.comment.test", "-m official qrels.comment.test results.comment.test"),
    ("out.test.a", "-m all_trec qrels.test results.test"),
    ("out.test.aq", "-m all_trec -q qrels.test results.test"),
    ("out.test.aqc", "-m all_trec -q -c qrels.test results.trunc"),
    ("out.test.aqcM", "-m all_trec -q -c -M100 qrels.test results.trunc"),
    ("out.test.aql", "-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test"),
    ("out.test.prefs", "-m all_prefs -q -R prefs prefs.test prefs.results.test"),
    ("out.test.prefs", "-m all_prefs -q -R prefs prefs.comment.test prefs.results.test"),
    ("out.test.qrels_prefs", "-m all_prefs -q -R qrels_prefs qrels.test results.test"),
    ("out.test.qrels_jg", "-m qrels_jg -q -R qrels_jg qrels.123 results.test"),
    ("out.test.qrels_jg", "-m qrels_jg -q -R qrels_jg qrels.comments.123 results.test"),
    ("out.test.meas_params", f"{PARAMETERS} qrels.test results.test"),
    ("out.test.aqZ", "-q -m all_trec -Z zscores_file qrels.test results.test"),
]


@needs_shared
@pytest.mark.parametrize(("output", "arguments"), REGRESSION)
def test_trec_evals_own_regression_outputs_are_reproduced(output: str, arguments: str) -> None:
    folder = SHARED / "trec_eval-test"
    done = treceval(arguments.split(), folder=folder)
    assert done.status == 0
    assert done.out == (folder / output).read_bytes()
