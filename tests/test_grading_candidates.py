"""What each file of a submission could be: by what is in it, and only then by its name."""

from __future__ import annotations

import gzip
import io
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


def handed(folder: Path, files: Files, qrels: str = "") -> Handed:
    """Return what the files of a submission could be."""
    top = folder / "ada"
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return candidates(one(str(top)), qrels=qrels.encode())


def runs(found: Handed) -> list[str]:
    return [run.item.name for run in found.runs]


def texts(found: Handed) -> list[str]:
    return [item.name for item in found.texts]


def in_short(found: Handed) -> list[str]:
    """Return what is said of each file, which is said once; then runs and texts, the likeliest first."""
    assert len({file.name for file in found.files}) == len(found.files)
    said = [f"{file.name}: {file.role}; {file.why}" for file in found.files]
    of_runs = [f"{run.item.name} ({run.kind or 'with mistakes'})" for run in found.runs]
    return [*said, f"runs: {', '.join(of_runs)}", f"texts: {', '.join(texts(found))}"]


# --- what a file could be ---


def lines(count: int, line: str) -> str:
    return "".join(line.format(number=number, score=count - number) for number in range(count))


LONG_QRELS = "".join(f"{qid} 0 d{(doc * 7) % 30} {doc % 3}\n" for qid in (1, 2, 3) for doc in range(30))
ROWS = LONG_QRELS.splitlines(keepends=True)
A_RUN, SAME, LIKE, THREE = "run", "msmarco", "", "judged-ranking"
"""The kinds of runs: TREC's, MS MARCO's, one with mistakes, and a ranking with judgments."""

KINDS: list[tuple[str, str | bytes, str | None]] = [
    ("plain", RUN, A_RUN),
    ("UTF-16", RUN.encode("utf-16"), A_RUN),
    ("gzip", gzip.compress(RUN.encode(), mtime=0), A_RUN),
    ("header", "qid Q0 docid rank score tag\n" + RUN, A_RUN),
    ("decimal commas", RUN.replace("0.", "0,"), A_RUN),
    ("ranks without Q0", RUN.replace("Q0", "ITER"), A_RUN),
    ("Q0 without ranks", RUN.replace(" 1 0", " - 0").replace(" 2 0", " - 0"), A_RUN),
    ("neither, ten lines", lines(10, "1 ITER d{number} - {score} tag\n"), LIKE),
    ("neither, nine lines", lines(9, "1 ITER d{number} - {score} tag\n"), None),
    ("half of the lines", "1 ITER a - 0.5 t\n" + RUN[:15], None),
    ("most of the lines", "1 ITER a - 0.5 t\n" + RUN, A_RUN),
    ("MS MARCO", MSMARCO, SAME),
    ("MS MARCO, ten lines without tabs", lines(10, "9 d{number} {number}\n"), SAME),
    ("MS MARCO, nine lines without tabs", lines(9, "9 d{number} {number}\n"), None),
    ("MS MARCO of a judged query", "1 d1 1\n", SAME),
    ("settings", "k\t=\t3\nb\t=\t1\n" * 5, None),
    ("without tag", DAMAGED, LIKE),
    ("without Q0 and tag", "1\ta\t1\t0.9\n1\tb\t2\t0.8\n", LIKE),
    ("commas", RUN.replace(" ", ","), LIKE),
    ("bars, without tag", DAMAGED.replace(" ", "|"), LIKE),
    ("names of columns", "qid,docid,score\n1,a,0.9\n1,b,0.8\n", LIKE),
    ("names and scores", "rank,system,score\n1,mine,0.41\n2,bm25,0.31\n", None),
    ("JSON", '{"1": {"a": 0.9, "b": 0.8}}', LIKE),
    ("records", '{"qid": "1", "docid": "a", "score": 0.9}\n' * 2, LIKE),
    ("other JSON", '{"a": 1}', None),
    # ids that can be read as names of measures
    ("ids with a letter", "q1\tp_1\t1\nq1\tp_2\t2\n", SAME),
    ("ids with a letter and scores", lines(10, "q1 r{number} {score}.5\n"), LIKE),
    ("ids of five digits", "1\tAP88021\t1\n1\tAP88022\t2\n", SAME),
    ("ids with a letter in JSON", '{"q1": {"p1": 0.9}}', LIKE),
    # four columns
    ("labels", RANKING, THREE),
    ("labels after 0", RANKING.replace("Q0", "0"), THREE),
    ("labels from 2", "1 Q0 b 2\n1 Q0 a 3\n1 Q0 c 4\n", THREE),
    ("three ranks", "1 Q0 a 1\n1 Q0 b 2\n1 Q0 c 3\n", LIKE),
    ("two ranks", "1 Q0 b 1\n1 Q0 a 2\n", THREE),
    ("falling to 11", "1 0 b 11\n1 0 a 10\n", LIKE),
    ("falling to 10", "1 0 b 10\n1 0 a 9\n", THREE),
    ("falling scores", "1 Q0 b 0.9\n1 Q0 a 0.8\n", LIKE),
    ("judgments by order", QRELS, None),
    ("judgments of three columns", lines(10, "1 d{number} 0\n"), None),
    # in the order of the judgments, of which the last query may be cut off
    ("ten judgments", "".join(ROWS[30:50:2]), None),
    ("nine judgments", "".join(ROWS[30:48:2]), THREE),
    ("judgments of the last query", "".join(ROWS[61:90:2]), THREE),
    ("the first judgments", "".join(ROWS[:2]), None),
    ("other labels", "".join(ROWS[30:50:2]).replace(" 2\n", " 3\n"), THREE),
    ("another order", "".join(ROWS[50:30:-2]), THREE),
    # prose and numbers of measures
    ("prose", "We set k1 to 0.9 after trying ten values.\n" * 2, None),
    ("a claim with a run that has mistakes", CLAIMS + lines(20, "1,Q0,d{number},1,0.5,t\n"), None),
    ("a table", "run MAP nDCG@10 MRR P@10 R@100\nbaseline 0.31 0.42 0.83 0.34 0.55\n", None),
    ("a table of queries", "qid\tmap\tndcg\tP_10\trecall\n" + lines(50, "{number}\t0.1\t0.2\t0.3\t0.4\n"), None),
    ("JSON of measures", '{"bm25": {"map": 0.31, "ndcg_cut_10": 0.42}}', None),
    # as trec_eval 9.0.4 prints a run's numbers
    ("trec_eval", "num_q                 \tall\t2\nnum_ret               \tall\t20\n", None),
    ("trec_eval -q", "map\t301\t0.2000\nmap\t302\t0.1000\nmap\tall\t0.1500\n", None),
]


@pytest.mark.parametrize(("data", "kind"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS])
def test_the_lines_of_a_file_decide_whether_it_is_a_run(tmp_path: Path, data: str | bytes, kind: str | None) -> None:
    found = handed(tmp_path, {"x": data, "notes.md": PROSE}, LONG_QRELS)
    assert [run.kind for run in found.runs] == ([] if kind is None else [kind])
    # What is no run is text, unless it is judgments.
    assert ("x" in texts(found)) == (kind is None and "judgments" not in in_short(found)[1])


SEVERAL: dict[str, Files] = {
    "names that mislead": {"claims.txt": RUN, "run.txt": CLAIMS, "main.py": RUN, "requirements.txt": "a==1\n"},
    "judgments": {"a.txt": QRELS, "b.txt": "".join(ROWS[:3]), "c.txt": lines(10, "1 d{number} 0\n")},
    "judgments by their name": {"x.txt": RUN, "qrels.txt": RANKING, "judged_ranking.txt": RANKING},
    "no judgments, without a run": {"qrels.txt": RANKING, "x.txt": DAMAGED},
    "documents": {
        "x.txt": RUN,
        "report.pdf": b"%PDF-1.4\n",
        "report.docx": b"PK\x03\x04" + bytes(40),
        "essay.odt": b"PK\x03\x04" + bytes(40),
        "result.csv": "a,b\n",
        "onlinetext.html": "<p>MAP = 0.28</p>",
    },
    "a page with a run": {"page.html": RUN},
    "neither": {"e.txt": "", "plot.png": b"\x89PNG" + bytes(40), "x.txt": RUN, "scan.txt": bytes(9), "data": bytes(9)},
    "only a name": {"run.txt": "", "results.txt": PROSE, "notes.txt": PROSE},
    "a better one than a name": {"results.txt": PROSE, "a.txt": RUN},
    "an only file": {"ada.bin": bytes(range(256))},
    "an only report": {"report.pdf": b"%PDF-1.4\n"},
    "only judgments by their name": {"qrels.bin": bytes(range(256))},
    "the likeliest first": {"a.txt": LONGER, "my_run.txt": RUN, "ranking.txt": RANKING, "z.csv": RUN.replace(" ", ",")},
    "names, then sizes": {"a.txt": MSMARCO, "b.txt": DAMAGED, "run.txt": MSMARCO[:6]},
    "a word with run": {"pruned.txt": RUN, "b.txt": LONGER},
}


def test_of_several_files_each_has_its_role(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = {case: handed(tmp_path / case, files, LONG_QRELS) for case, files in SEVERAL.items()}
    assert {case: in_short(each) for case, each in found.items()} == snapshot
    assert runs(found["names that mislead"]) == ["claims.txt"]


def test_data_of_more_than_a_mebibyte_is_no_text_unless_it_names_a_measure(tmp_path: Path) -> None:
    data = ("d1\tthe words of a document\n" * 60_000)[: 1 << 20]
    found = handed(tmp_path, {"x.txt": RUN, "at.tsv": data, "more.tsv": data + "x", "claims.txt": CLAIMS + data})
    assert texts(found) == ["claims.txt", "at.tsv"]


def test_a_glance_tells_what_may_be_a_run() -> None:
    cases = ((RUN, "x"), (RUN, "x.py"), (PROSE, "x"), (QRELS, "x"), (CLAIMS, "x"))
    assert [like_a_run(data.encode(), name) for data, name in cases] == [True, False, False, False, False]


# --- several of them ---


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["run.txt", "run-1.txt", "run-2.txt"], "run-2.txt"),
        (["run-9.txt", "run-10.txt"], "run-10.txt"),
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


def test_the_times_in_an_archive_tell_the_last_run_unless_another_is_beside_it(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.run", (2026, 1, 11, 12, 0, 0)), RUN)
        archive.writestr(zipfile.ZipInfo("b.run", (2026, 1, 10, 12, 0, 0)), LONGER)
    for others, known in (({}, "it was changed last, 2026-01-11 12:00:00"), ({"c.run": LONGER}, "")):
        run, why = last_of(handed(tmp_path, {"all.zip": packed.getvalue(), **others}).runs)
        assert (run.item.name, why) == ("all.zip/a.run", known)


def test_no_more_than_20_runs_are_scored_and_20_texts_searched(tmp_path: Path) -> None:
    for most in (20, 21):
        numbers = range(10, 10 + most)
        files: Files = {f"{n}.run": RUN for n in numbers} | {f"{n}.txt": CLAIMS for n in numbers}
        found = handed(tmp_path / str(most), files | ({"0a.txt": PROSE, "0b.md": PROSE} if most > 20 else {}))
        assert runs(found) == [f"{n}.run" for n in range(10, 30)]
        assert texts(found) == [f"{n}.txt" for n in range(10, 30)]  # those first that name measures
    searched = "no more than 20 files are searched for claims"
    assert [line for line in in_short(found) if "no more" in line] == [
        f"0a.txt: not used; {searched}",
        f"0b.md: unread; {searched}",
        "30.run: unread; it has the lines of a run, but no more than 20 are scored",
        f"30.txt: unread; {searched}",
    ]


# --- attempts ---

FIRST, SECOND = "HW_ada_attempt_2026-01-09-10-00-00", "HW_ada_attempt_2026-01-10-10-00-00"
CANVAS = "lovelaceada_1"
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
        f"{SECOND}_report.md": CLAIMS,
    },
    "the last one has only data": {f"{FIRST}_run.txt": RUN, f"{FIRST}_report.md": CLAIMS, f"{SECOND}_x.csv": "a\n"},
    "an only file in two versions": {f"{CANVAS}_1_x.bin": "\0", f"{CANVAS}_2_x-1.bin": "\0"},
    "later versions of Canvas": {
        **{f"{CANVAS}_{name}": RUN for name in ("77_run-1.txt", "81_run-2.txt", "79_bm25-1.txt", "80_bm25-2.txt")},
        **{f"{CANVAS}_{name}": CLAIMS for name in ("55_run.txt", "56_report.tar.md", "78_report-1.tar.md")},
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


def test_a_file_that_changed_meanwhile_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "link.txt").symlink_to("run.txt")
    submission = one(str(tmp_path))
    assert runs(candidates(submission)) == ["run.txt"]
    (tmp_path / "run.txt").write_text(LONGER)
    assert in_short(candidates(submission)) == [
        "link.txt: refused; it is a link: links are not followed",
        "run.txt: refused; the file changed while it was being read",
        "runs: ",
        "texts: ",
    ]


@pytest.mark.parametrize(
    "data",
    [b"," * 65536, b"1 " * 32768, b"\n" * 65536, b"(" * 65536, b"{" * 65536, b"| a " * 16384, bytes(range(256)) * 256],
    ids=["commas", "fields", "lines", "brackets", "braces", "bars", "bytes"],
)
def test_files_that_make_no_sense_do_no_harm(tmp_path: Path, data: bytes) -> None:
    found = handed(tmp_path, {"x.txt": data, "run-1.txt": data, "y.csv": data, "my.run": RUN})
    assert (runs(found)[0], len(found.files)) == ("my.run", 4)
