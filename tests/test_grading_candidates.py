"""What each file of a submission could be: by what is in it, and only then by its name."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.intake.candidates import Handed, candidates, last_of, like_a_run
from treceval_py.grading.intake.intake import one, submissions

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"
LONGER = RUN + "2 Q0 a 1 0.9 t\n"
MSMARCO = "1\ta\t1\n1\tb\t2\n"
RANKING = "1 Q0 b 2\n1 Q0 a 0\n"
QRELS = "1 0 a 0\n1 0 b 2\n2 0 a 1\n"
CLAIMS = "MAP = 0.75185\n"
PROSE = "We did our best.\n"
DAMAGED = RUN.replace(" t\n", "\n")

Files = dict[str, "str | bytes"]
Cases = dict[str, "Files | tuple[Files, str]"]


def handed(folder: Path, files: Files, qrels: bytes = b"") -> Handed:
    """Return what the files of a submission could be."""
    top = folder / "ada"
    top.mkdir(parents=True)
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return candidates(one(str(top)), qrels=qrels)


def runs(found: Handed) -> list[str]:
    return [run.item.name for run in found.runs]


def texts(found: Handed) -> list[str]:
    return [item.name for item in found.texts]


def in_short(found: Handed) -> list[str]:
    """Return what is said of each file, which is said once; then runs and texts, the likeliest first."""
    assert len({each.name for each in found.files}) == len(found.files)
    said = [f"{each.name}: {each.role}; {each.why}" for each in found.files]
    of_runs = [f"{run.item.name} ({run.kind or 'with mistakes'})" for run in found.runs]
    return [*said, f"runs: {', '.join(of_runs)}", f"texts: {', '.join(texts(found))}"]


def all_of(folder: Path, cases: Cases) -> dict[str, Handed]:
    made = {case: files if isinstance(files, tuple) else (files, "") for case, files in cases.items()}
    return {case: handed(folder / str(at), *of_case(made[case])) for at, case in enumerate(made)}


def of_case(case: tuple[Files, str]) -> tuple[Files, bytes]:
    return case[0], case[1].encode()


# --- what a file could be ---

A_RUN: dict[str, str | bytes] = {
    "plain": RUN,
    "UTF-16": RUN.encode("utf-16"),
    "byte-order mark": b"\xef\xbb\xbf" + RUN.encode(),
    "old Macintosh": RUN.replace("\n", "\r"),
    "gzip": gzip.compress(RUN.encode(), mtime=0),
    "NaN": RUN.replace("0.9", "nan"),
    "decimal commas": RUN.replace("0.", "0,"),
    "header": "qid Q0 docid rank score tag\n" + RUN,
    "spaces in tag": RUN.replace(" t\n", " my tag\n"),
    "ranks without Q0": RUN.replace("Q0", "ITER"),
    "MS MARCO": MSMARCO,
    "commas": RUN.replace(" ", ","),
    "semicolons": RUN.replace(" ", ";"),
    "five fields": DAMAGED,
    "names of columns": "qid,docid,score\n1,a,0.9\n1,b,0.8\n",
    "JSON": '{"1": {"a": 0.9, "b": 0.8}}',
    "records": '{"qid": "1", "docid": "a", "score": 0.9}\n' * 2,
    "neither Q0 nor ranks": "".join(f"1 ITER d{rank} - {1 / rank} tag\n" for rank in range(1, 20)),
    # four columns with ranks or scores, which are no judgments
    "ranks from 1": "1 Q0 a 1\n1 Q0 b 2\n1 Q0 c 3\n2 Q0 a 1\n",
    "ranks from 0": "1 0 b 0\n1 0 a 1\n1 0 c 2\n",
    "falling scores": "".join(f"1 0 d{9 - at} {999 - at}\n" for at in range(6)),
}
A_RANKING: Cases = {
    "labels from 2": {"x": "1 Q0 b 2\n1 Q0 a 3\n1 Q0 c 4\n"},
    "one step": {"x": "1 Q0 b 0\n1 Q0 a 1\n"},
    "five falling labels": {"x": "".join(f"1 Q0 d{9 - at} {4 - at}\n" for at in range(5))},
    "the best order": {"x": "1 Q0 d 3\n1 Q0 c 2\n1 Q0 b 1\n1 Q0 a 0\n"},
    "0 as in judgments": {"x": RANKING.replace("Q0", "0")},
    "judged": ({"x": "1 0 b 2\n1 0 a 0\n2 0 a 1\n"}, QRELS),
    **{
        name: {name: RANKING, "main.py": ""}
        for name in ("x.txt", "judged_ranking.txt", "qrels_run.txt", "judgments.txt", "qrels.txt")
    },
}
LONG_QRELS = "".join(f"{qid} 0 d{(doc * 7) % 30} {doc % 3}\n" for qid in (1, 2, 3) for doc in range(30))
LONG_RANKING = "".join(f"{qid} 0 d{doc} {(doc * 13) % 30 % 3}\n" for qid in (1, 2) for doc in range(20))
"""The labels of LONG_QRELS in another order: 7 × 13 = 91 is 1 modulo 30."""
LINES = LONG_QRELS.splitlines(True)
JUDGMENTS: Cases = {
    "same as those given": ({"x": RANKING}, RANKING),
    "with other line ends": ({"x": RANKING.replace("\n", "\r\n")}, RANKING),
    "ten of them": ({"x": "".join(LINES[30:50:2])}, LONG_QRELS),
    "by order": {"x": QRELS},
    "a ranking: another order": ({"x": LONG_RANKING}, LONG_QRELS),
    "a ranking: nine of them": ({"x": "".join(LINES[30:48:2])}, LONG_QRELS),  # may be in the same order by chance
    "a ranking: of the last query": ({"x": "".join(LINES[61:90:2])}, LONG_QRELS),  # which may be cut off
}


def test_a_damaged_run_is_still_a_run(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = all_of(tmp_path, {case: {"x": data, "notes.txt": PROSE} for case, data in A_RUN.items()})
    assert {case: (runs(each), texts(each)) for case, each in found.items()} == dict.fromkeys(
        found, (["x"], ["notes.txt"])
    )
    assert {case: in_short(each)[1:3] for case, each in found.items()} == snapshot


def test_a_ranking_with_judgments_is_one_whatever_its_name(tmp_path: Path) -> None:
    found = all_of(tmp_path, A_RANKING)
    expected = {case: ["judged-ranking"] for case in A_RANKING}
    assert {case: [run.kind for run in each.runs] for case, each in found.items()} == expected


def test_judgments_that_are_handed_in_again_are_no_run(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = all_of(tmp_path, JUDGMENTS)
    assert [case for case, each in found.items() if each.runs] == [case for case in found if "a ranking" in case]
    assert {case: in_short(each)[0] for case, each in found.items()} == snapshot


OF_MEASURES = {
    "= and commas": "MAP = 0.4009, MRR = 0.9440\n",
    ": and commas": "MAP: 0.4009, MRR: 0.9440, nDCG@10: 0.5523\n",
    "CSV": "run,MAP,nDCG@10,MRR,P@10\nbaseline,0.3111,0.4222,0.8333,0.3444\nmine,0.4009,0.5523,0.9440,0.4556\n",
    "table": "run MAP nDCG@10 MRR P@10 R@100\nbaseline 0.31 0.42 0.83 0.34 0.55\nmine 0.41 0.55 0.94 0.45 0.66\n",
    "sentence": "We obtained MAP = 0.4009 and nDCG@10 = 0.5523 on the test topics.\n",
    "queries": "qid map ndcg P_10\n301 0.1 0.2 0.3\n302 0.2 0.3 0.4\nall 0.15 0.25 0.35\n",
    "fifty queries": "qid\tmap\tndcg\tP_10\trecall\n"
    + "".join(f"{qid}\t0.1\t0.2\t0.3\t0.4\n" for qid in range(301, 351)),
    "trec_eval -q": "map\t301\t0.1000\nmap\t302\t0.2000\nmap\tall\t0.1500\n",
    # as trec_eval 9.0.4 prints a run's numbers
    "trec_eval": "runid                 \tall\tt\nnum_q                 \tall\t2\nmap                   \tall\t0.7500\n",
    "counts": "num_q                 \tall\t2\nnum_ret               \tall\t20\nnum_rel               \tall\t7\n",
    "JSON": '{"bm25": {"map": 0.31, "ndcg_cut_10": 0.42}, "mine": {"map": 0.41, "ndcg_cut_10": 0.55}}',
    "JSON of queries": "{" + ",\n".join(f'"{qid}": {{"map": 0.1, "ndcg": 0.2}}' for qid in range(301, 351)) + "}",
    "settings": CLAIMS + "k = 3\nb = 1\ntopk = 1000\n",
}


def test_numbers_of_measures_are_text_beside_any_run(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for beside, run in {"good": {"my.run": RUN}, "damaged": {"my.run": RUN.replace(" ", ";")}, "none": {}}.items():
        found = all_of(tmp_path / beside, {case: {"values.csv": data, **run} for case, data in OF_MEASURES.items()})
        assert {case: (runs(each), texts(each)) for case, each in found.items()} == dict.fromkeys(
            found, (list(run), ["values.csv"])
        )
        said[beside] = {
            case: next(file.role for file in each.files if file.name == "values.csv") for case, each in found.items()
        }
    assert said == snapshot


SETTINGS = "k = 3\nb = 1\ntopk = 1000\n"
ROWS = [f"1,Q0,d{rank},{rank},{1 - rank / 100},tag\n" for rank in range(1, 40)]
PACKED = io.BytesIO()
with zipfile.ZipFile(PACKED, "w") as archive:
    archive.writestr("Index/Document.iwa", "MAP 0.5")
SEVERAL: Cases = {
    "names that mislead": {"claims.txt": RUN, "run.txt": CLAIMS, "main.py": "k = 10\n"},
    "a run with a claim, ten lines": {"x.txt": CLAIMS + "".join(ROWS[:9])},
    "a run with a claim, nine lines": {"x.txt": CLAIMS + "".join(ROWS[:8])},
    "judgments by their name": {"x.txt": RUN, "qrels.txt": RANKING, "judged_ranking.txt": RANKING},
    "settings with =": {"params.txt": SETTINGS, "x.txt": DAMAGED},
    "settings in columns": {"params.txt": "k 3 1\nb 1 1\n", "x.txt": DAMAGED},
    "many settings": {"params.txt": SETTINGS * 10, "x.txt": DAMAGED},
    "settings with tabs": {"params.txt": SETTINGS.replace(" ", "\t"), "x.txt": DAMAGED},
    "lines of a judged query": ({"x": "1 a 1\n1 b 2\n", "notes": PROSE}, QRELS),
    "lines of no judged query": ({"x": "3 a 1\n3 b 2\n", "notes": PROSE}, QRELS),
    "MS MARCO, damaged run by name": {"a.txt": MSMARCO, "run.txt": DAMAGED},
    "MS MARCO, damaged run 20 times larger": {"a.txt": MSMARCO, "b.txt": (DAMAGED * 20)[:240]},
    "MS MARCO, damaged run 19 times larger": {"a.txt": MSMARCO, "b.txt": (DAMAGED * 20)[:239]},
    "documents": {
        "x.txt": RUN,
        "report.pdf": b"%PDF-1.4\n",
        "report.docx": b"PK\x03\x04" + bytes(40),
        "nb.ipynb": '{"cells": []}',
        "paper.tex": "\\documentclass{article}",
        "notes.md": PROSE,
        "result.csv": "a,b\n",
        "old.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40),
        "onlinetext.html": "<p>MAP = 0.28</p>",
        **{name: PACKED.getvalue() for name in ("essay.pages", "slides.key", "essay.odt")},
    },
    "neither": {
        "main.py": "run = 1\n",
        "e.txt": "",
        "plot.png": b"\x89PNG\r\n\x1a\n" + bytes(40),
        "x.txt": RUN,
        "scan.txt": bytes(9),
        "data.bin": bytes(9),
    },
    "a mebibyte of data": {"x.txt": RUN, "corpus.tsv": ("d1\tthe words of a document\n" * 60_000)[: 1 << 20]},
    "more data": {"x.txt": RUN, "corpus.tsv": ("d1\tthe words of a document\n" * 60_000)[: (1 << 20) + 1]},
    "a large text with claims": {"x.txt": RUN, "log.txt": CLAIMS + "step 1 done\n" * 100_000},
    **{
        f"only a name, {name}": {name: "", "notes.txt": PROSE}
        for name in ("run.txt", "bm25.run", "results.txt", "run_1.txt")
    },
    "reports named like runs": {"output.md": PROSE, "results.txt": PROSE, "a.txt": RUN},
    "an only file": {"ada.bin": bytes(range(256))},
    "an only report": {"report.pdf": b"%PDF-1.4\n"},
    "only judgments": {"qrels.bin": bytes(range(256))},
    "names and scores": {"x.txt": RUN, "y.csv": "rank,system,score\n1,mine,0.41\n2,bm25,0.31\n"},
    "prose with numbers": {"x.txt": RUN, "notes.txt": "We set k1 to 0.9 after trying ten values.\n" * 2},
    "the likeliest first": {"a.txt": LONGER, "my_run.txt": RUN, "z.csv": RUN.replace(" ", ","), "ranking.txt": RANKING},
    "a word with run": {"pruned.txt": RUN, "b.txt": LONGER},
}


def test_what_is_in_a_file_decides_before_its_name(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = all_of(tmp_path, SEVERAL)
    assert {case: in_short(each) for case, each in found.items()} == snapshot
    assert runs(found["names that mislead"]) == ["claims.txt"]
    larger = found["MS MARCO, damaged run 20 times larger"], found["MS MARCO, damaged run 19 times larger"]
    assert [*map(runs, larger)] == [["b.txt"], ["a.txt", "b.txt"]]


def test_a_glance_tells_what_may_be_a_run() -> None:
    assert [
        like_a_run(data.encode(), name) for data, name in ((RUN, "x"), (RUN, "x.py"), (PROSE, "x"), (QRELS, "x"))
    ] == [
        *(True, False, False, False),
    ]


# --- several of them ---


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["run.txt", "run-1.txt", "run-2.txt"], "run-2.txt"),
        (["run-9.txt", "run-10.txt"], "run-10.txt"),
        (["run", "run-1"], "run-1"),
        (["run (1).txt", "run.txt"], "run (1).txt"),
        (["bm25_v1.txt", "bm25_v2.txt"], "bm25_v2.txt"),
        (["results2.txt", "results.txt"], "results2.txt"),
        # other names do not tell it
        (["a.txt", "b.txt"], ""),
        (["bm25_k10.txt", "bm25_k20.txt"], ""),
        (["run1.txt", "dense2.txt"], ""),
    ],
)
def test_the_number_in_a_name_tells_the_last_run_and_its_size_does_not(
    tmp_path: Path, names: list[str], last: str
) -> None:
    found = handed(tmp_path, {name: RUN if name == (last or names[0]) else LONGER for name in names})
    run, why = last_of(found.runs)
    assert run == found.runs[0]
    assert (run.item.name, why) == (last, "its name has the highest number") if last else why == ""
    assert sorted(runs(found)) == sorted(names)


@pytest.mark.parametrize("make", ["zip", "tar", "zip beside another"])
def test_the_times_in_an_archive_tell_the_last_run(tmp_path: Path, make: str) -> None:
    packed = io.BytesIO()
    if make == "tar":
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, time in (("a.run", 1_768_132_800), ("b.run", 1_768_046_400)):
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(RUN), time
                tar.addfile(info, io.BytesIO(RUN.encode()))
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a.run", (2026, 1, 11, 12, 0, 0)), RUN)
            archive.writestr(zipfile.ZipInfo("b.run", (2026, 1, 10, 12, 0, 0)), LONGER)
    name = f"all.{make[:3]}"
    others: Files = {"c.run": LONGER} if "beside" in make else {}
    found = handed(tmp_path, {name: packed.getvalue(), **others})
    run, why = last_of(found.runs)
    when = {"zip": "2026-01-11 12:00:00", "tar": "2026-01-11 12:00:00Z"}.get(make)  # date -u -d @1768132800
    assert (run.item.name, why) == (f"{name}/a.run", f"it was changed last, {when}" if when else "")


def test_no_more_than_20_runs_are_scored_and_20_texts_searched(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for most in (20, 22):
        numbers = range(10, 10 + most)
        files: Files = {f"{n}.run": RUN for n in numbers} | {f"{n}.txt": CLAIMS for n in numbers}
        found = handed(tmp_path / str(most), files | ({"0a.txt": PROSE, "0b.md": PROSE} if most > 20 else {}))
        assert runs(found) == [f"{n}.run" for n in range(10, 30)]
        assert texts(found) == [f"{n}.txt" for n in range(10, 30)]  # those first that have claims
        said = [line for line in in_short(found) if "no more" in line]
        assert said == (snapshot if most > 20 else [])


# --- attempts ---

FIRST, SECOND = "HW_ada_attempt_2026-01-09-10-00-00", "HW_ada_attempt_2026-01-10-10-00-00"
ATTEMPTS: dict[str, dict[str, str]] = {
    "both whole": {
        f"{FIRST}_a.txt": LONGER,
        f"{FIRST}_b.md": CLAIMS,
        f"{SECOND}_run.txt": RUN,
        f"{SECOND}_new.md": CLAIMS,
    },
    "the last one without a run": {
        f"{FIRST}_run.txt": RUN,
        f"{FIRST}_report.md": CLAIMS,
        f"{SECOND}_report.md": "MAP = 0.5\n",
    },
    "later versions of Canvas": {
        "lovelaceada_1_77_run-1.txt": RUN,
        "lovelaceada_1_55_run.txt": LONGER,
        "lovelaceada_1_56_report.tar.md": CLAIMS,
        "lovelaceada_1_78_report-1.tar.md": CLAIMS,
        "lovelaceada_1_79_bm25-1.txt": RUN,
        "lovelaceada_1_80_bm25-2.txt": RUN,
        "lovelaceada_1_81_run-2.txt": RUN,
    },
}


def test_of_several_attempts_the_last_one_counts(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = {}
    for case, files in ATTEMPTS.items():
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        made = candidates(submissions(str(tmp_path / "class.zip"))[0])
        found[case] = [*in_short(made), *(f"{each.name}: {each.attempt}" for each in made.texts), last_of(made.runs)[1]]
    assert found == snapshot


# --- what cannot be read ---


def test_a_file_that_changed_meanwhile_and_a_link_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "link.txt").symlink_to("run.txt")
    submission = one(str(tmp_path))
    assert runs(candidates(submission)) == ["run.txt"]
    (tmp_path / "run.txt").write_text(LONGER)
    assert in_short(candidates(submission)) == snapshot


@pytest.mark.parametrize(
    "data",
    [b"," * 65536, b"1 " * 32768, b"\n" * 65536, b"(" * 65536, b"{" * 65536, b"| a " * 16384, bytes(range(256)) * 256],
    ids=["commas", "fields", "lines", "brackets", "braces", "bars", "bytes"],
)
def test_files_that_make_no_sense_do_no_harm(tmp_path: Path, data: bytes) -> None:
    found = handed(tmp_path, {"x.txt": data, "run-1.txt": data, "y.csv": data, "my.run": RUN})
    assert (runs(found)[0], len(found.files)) == ("my.run", 4)
