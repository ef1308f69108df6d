"""What each file of a submission could be: by what is in it, and only then by its name."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from treceval_py.grading.intake.candidates import Handed, candidates, last_of
from treceval_py.grading.intake.intake import one, submissions
from treceval_py.grading.records import FileRead

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"
LONGER = RUN + "2 Q0 a 1 0.9 t\n"
MSMARCO = "1\ta\t1\n1\tb\t2\n"
RANKING = "1 Q0 b 2\n1 Q0 a 0\n"
QRELS = "1 0 a 0\n1 0 b 2\n2 0 a 1\n"
CLAIMS = "MAP = 0.75185\n"
PROSE = "We did our best.\n"

Files = dict[str, "str | bytes"]


def handed(folder: Path, files: Files, qrels: bytes = b"") -> Handed:
    """Return what the files of a submission could be."""
    top = folder / "ada"
    top.mkdir()
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return candidates(one(str(top)), qrels=qrels)


def runs(found: Handed) -> list[str]:
    return [run.item.name for run in found.runs]


def texts(found: Handed) -> list[str]:
    return [item.name for item in found.texts]


def read(found: Handed) -> dict[str, FileRead]:
    """Return what is said of each file, and see that nothing is said twice of one."""
    assert len({each.name for each in found.files}) == len(found.files)
    return {each.name: each for each in found.files}


def roles(found: Handed) -> dict[str, str]:
    return {name: each.role for name, each in read(found).items()}


def told(found: Handed, name: str) -> tuple[str, str]:
    return read(found)[name].role, read(found)[name].why


# --- what a file could be ---


def test_runs_and_claims_are_found_by_what_is_in_them(tmp_path: Path) -> None:
    found = handed(tmp_path, {"claims.txt": RUN, "run.txt": CLAIMS, "main.py": "k = 10\n"})
    assert (runs(found), texts(found)) == (["claims.txt"], ["run.txt"])
    assert found.files == (
        FileRead("claims.txt", "run", "its lines are those of a run", 30),
        FileRead("main.py", "not used", "it is a program, or a part of one", 7),
        FileRead("run.txt", "claims", "it has numbers that are claimed for measures", 14),
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (RUN, "its lines are those of a run"),
        (RUN.encode("utf-16"), "its lines are those of a run"),
        (b"\xef\xbb\xbf" + RUN.encode(), "its lines are those of a run"),
        (RUN.replace("\n", "\r"), "its lines are those of a run"),
        (gzip.compress(RUN.encode()), "its lines are those of a run"),
        (RUN.replace("0.9", "nan"), "its lines are those of a run"),
        (RUN.replace("0.", "0,"), "its lines are those of a run"),
        ("qid Q0 docid rank score tag\n" + RUN, "its lines are those of a run"),
        (RUN.replace(" t\n", " my tag\n"), "its lines are those of a run"),
        (MSMARCO, "its lines are those of an MS MARCO run"),
        (RUN.replace(" ", ","), "its lines are like those of a run, with mistakes"),
        (RUN.replace(" ", ";"), "its lines are like those of a run, with mistakes"),
        (RUN.replace(" t\n", "\n"), "its lines are like those of a run, with mistakes"),
        ("qid,docid,score\n1,a,0.9\n1,b,0.8\n", "its lines are like those of a run, with mistakes"),
        ('{"1": {"a": 0.9, "b": 0.8}}', "its lines are like those of a run, with mistakes"),
        ('{"qid": "1", "docid": "a", "score": 0.9}\n' * 2, "its lines are like those of a run, with mistakes"),
    ],
    ids=[
        "plain", "UTF-16", "byte-order mark", "old Macintosh", "gzip", "NaN", "decimal commas", "header", "spaces in tag",
        "MS MARCO", "commas", "semicolons", "five fields", "names of columns", "JSON", "records",
    ],
)  # fmt: skip
def test_a_damaged_run_is_still_a_run(tmp_path: Path, data: str | bytes, why: str) -> None:
    found = handed(tmp_path, {"x": data, "notes.txt": PROSE})
    assert (runs(found), texts(found), told(found, "x")) == (["x"], ["notes.txt"], ("run", why))


@pytest.mark.parametrize(
    "data",
    [
        "MAP = 0.4009, MRR = 0.9440\n",
        "MAP: 0.4009, MRR: 0.9440, nDCG@10: 0.5523\n",
        "run,MAP,nDCG@10,MRR,P@10\nbaseline,0.3111,0.4222,0.8333,0.3444\nmine,0.4009,0.5523,0.9440,0.4556\n",
        "run MAP nDCG@10 MRR P@10 R@100\nbaseline 0.31 0.42 0.83 0.34 0.55\nmine 0.41 0.55 0.94 0.45 0.66\n",
        "We obtained MAP = 0.4009 and nDCG@10 = 0.5523 on the test topics.\n",
        "qid map ndcg P_10\n301 0.1 0.2 0.3\n302 0.2 0.3 0.4\nall 0.15 0.25 0.35\n",
        "qid\tmap\tndcg\tP_10\trecall\n" + "".join(f"{qid}\t0.1\t0.2\t0.3\t0.4\n" for qid in range(301, 351)),
        "map\t301\t0.1000\nmap\t302\t0.2000\nmap\tall\t0.1500\n",
        '{"bm25": {"map": 0.31, "ndcg_cut_10": 0.42}, "mine": {"map": 0.41, "ndcg_cut_10": 0.55}}',
        "{" + ",\n".join(f'"{qid}": {{"map": 0.1, "ndcg": 0.2}}' for qid in range(301, 351)) + "}",
    ],
    ids=[
        "= and commas",
        ": and commas",
        "CSV",
        "table",
        "sentence",
        "queries",
        "fifty queries",
        "trec_eval -q",
        "JSON",
        "JSON of queries",
    ],
)
@pytest.mark.parametrize("beside", ["a good run", "a damaged run", "nothing"])
def test_numbers_of_measures_are_text_beside_any_run(tmp_path: Path, data: str, beside: str) -> None:
    run = {"a good run": {"my.run": RUN}, "a damaged run": {"my.run": RUN.replace(" ", ";")}, "nothing": {}}[beside]
    found = handed(tmp_path, {"values.csv": data, **run})
    assert (runs(found), texts(found)) == (list(run), ["values.csv"])
    assert roles(found)["values.csv"] in ("claims", "report")


def test_many_lines_of_a_damaged_run_with_a_claim_above_them_are_both(tmp_path: Path) -> None:
    lines = "".join(f"1,Q0,d{rank},{rank},{1 - rank / 100},tag\n" for rank in range(1, 40))
    found = handed(tmp_path, {"x.txt": CLAIMS + lines})
    assert (runs(found), texts(found), roles(found)) == (["x.txt"], ["x.txt"], {"x.txt": "run"})


@pytest.mark.parametrize("name", ["x.txt", "judged_ranking.txt", "qrels_run.txt", "judgments.txt", "qrels.txt"])
@pytest.mark.parametrize("second", ["Q0", "0"])
def test_a_ranking_with_judgments_is_one_whatever_its_name(tmp_path: Path, name: str, second: str) -> None:
    found = handed(tmp_path, {name: RANKING.replace("Q0", second), "main.py": ""})
    assert [(run.item.name, run.kind, run.strength) for run in found.runs] == [(name, "judged-ranking", 2)]
    assert told(found, name) == ("judged ranking", "its lines are those of a ranking with judgments")


def test_what_is_named_like_judgments_and_not_like_a_ranking_is_none_beside_a_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x.txt": RUN, "qrels.txt": RANKING, "judged_ranking.txt": RANKING})
    assert runs(found) == ["x.txt", "judged_ranking.txt"]
    assert told(found, "qrels.txt") == (
        "not used",
        "these are judgments, by the name of the file, and x.txt is a run",
    )


LONG_QRELS = "".join(f"{qid} 0 d{(doc * 7) % 30} {doc % 3}\n" for qid in (1, 2, 3) for doc in range(30))
LONG_RANKING = "".join(f"{qid} 0 d{doc} {(doc * 13) % 30 % 3}\n" for qid in (1, 2) for doc in range(20))
"""The labels of LONG_QRELS in another order: 7 × 13 = 91 is 1 modulo 30."""


@pytest.mark.parametrize(
    ("data", "qrels", "why"),
    [
        (RANKING, RANKING, "these are the judgments of the assignment, not a run"),
        (RANKING.replace("\n", "\r\n"), RANKING, "these are the judgments of the assignment, not a run"),
        (
            "".join(LONG_QRELS.splitlines(True)[30:50]),
            LONG_QRELS,
            "these are the judgments of the assignment, not a run",
        ),
        (QRELS, "", "these are judgments: the documents of each query are in the order of their ids"),
    ],
    ids=["same as those given", "with other line ends", "some of them", "by order"],
)
def test_judgments_that_are_handed_in_again_are_no_run(tmp_path: Path, data: str, qrels: str, why: str) -> None:
    found = handed(tmp_path, {"x": data}, qrels.encode())
    assert (runs(found), told(found, "x")) == ([], ("not used", why))


@pytest.mark.parametrize(
    ("data", "qrels"),
    [
        ("1 0 b 2\n1 0 a 0\n2 0 a 1\n", QRELS),
        (LONG_RANKING, LONG_QRELS),
        ("2 0 d14 2\n2 0 d28 1\n2 0 d12 0\n", LONG_QRELS),  # three lines may be in the same order by chance
    ],
    ids=["short", "long", "three lines"],
)
def test_a_ranking_with_the_labels_of_the_judgments_in_another_order_is_one(
    tmp_path: Path, data: str, qrels: str
) -> None:
    assert runs(handed(tmp_path, {"x": data}, qrels.encode())) == ["x"]


@pytest.mark.parametrize(
    "data",
    [
        "1 Q0 a 1\n1 Q0 b 2\n1 Q0 c 3\n2 Q0 a 1\n",
        "1 0 b 0\n1 0 a 1\n1 0 c 2\n",
        "1 0 b 999\n1 0 a 998\n1 0 c 997\n1 0 d 996\n1 0 e 995\n1 0 f 994\n",
    ],
    ids=["from 1", "from 0", "falling"],
)
def test_four_columns_with_ranks_are_a_run_with_mistakes_and_no_ranking_with_judgments(
    tmp_path: Path, data: str
) -> None:
    found = handed(tmp_path, {"x.txt": data})
    assert told(found, "x.txt") == ("run", "its lines are like those of a run, with mistakes")
    assert found.runs[0].kind == ""


def test_labels_that_fall_in_the_best_order_are_no_ranks(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x": "1 Q0 d 3\n1 Q0 c 2\n1 Q0 b 1\n1 Q0 a 0\n"})
    assert found.runs[0].kind == "judged-ranking"


SETTINGS = "k = 3\nb = 1\ntopk = 1000\n"
DAMAGED = RUN.replace(" t\n", "\n")


@pytest.mark.parametrize("settings", [SETTINGS, "k 3 1\nb 1 1\n", SETTINGS * 10, SETTINGS.replace(" ", "\t")])
def test_settings_are_no_ms_marco_run(tmp_path: Path, settings: str) -> None:
    found = handed(tmp_path, {"params.txt": settings, "x.txt": DAMAGED})
    assert (runs(found), told(found, "params.txt")) == (["x.txt"], ("report", "it may have claims"))


def test_short_lines_of_a_query_that_is_judged_are_an_ms_marco_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x": "1 a 1\n1 b 2\n", "notes": PROSE}, QRELS.encode())
    assert [(run.item.name, run.kind) for run in found.runs] == [("x", "msmarco")]


def test_a_damaged_run_that_is_named_so_comes_in_the_place_of_an_ms_marco_run_that_is_not(tmp_path: Path) -> None:
    found = handed(tmp_path, {"a.txt": MSMARCO, "run.txt": DAMAGED})
    why = "its lines are those of an MS MARCO run, but run.txt was chosen, because its name says so"
    assert (runs(found), told(found, "a.txt")) == (["run.txt"], ("not used", why))


def test_a_damaged_run_that_is_far_larger_comes_in_the_place_of_an_ms_marco_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"a.txt": MSMARCO, "b.txt": DAMAGED * 20})
    why = "its lines are those of an MS MARCO run, but b.txt was chosen, because it is far larger"
    assert (runs(found), told(found, "a.txt")) == (["b.txt"], ("not used", why))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("onlinetext.html", "<p>MAP = 0.28</p>"),
        # As trec_eval 9.0.4 prints a run's numbers.
        (
            "results.txt",
            "runid                 \tall\tt\nnum_q                 \tall\t2\nmap                   \tall\t0.7500\n",
        ),
        (
            "out.txt",
            "num_q                 \tall\t2\nnum_ret               \tall\t20\nnum_rel               \tall\t7\n",
        ),
    ],
)
def test_claims_are_found_in_pages_and_in_what_trec_eval_printed(tmp_path: Path, name: str, data: str) -> None:
    found = handed(tmp_path, {"run.txt": RUN, name: data})
    role = "report" if name.endswith(".html") else "claims"
    assert (runs(found), texts(found), roles(found)[name]) == (["run.txt"], [name], role)


def test_documents_of_all_kinds_are_texts(tmp_path: Path) -> None:
    files: Files = {
        "report.pdf": b"%PDF-1.4\n",
        "report.docx": b"PK\x03\x04" + bytes(40),
        "nb.ipynb": '{"cells": []}',
        "paper.tex": "\\documentclass{article}",
        "notes.md": PROSE,
        "result.csv": "a,b\n",
        "old.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40),
    }
    found = handed(tmp_path, {"x.txt": RUN, **files})
    assert runs(found) == ["x.txt"]
    assert {name: role for name, role in roles(found).items() if name != "x.txt"} == dict.fromkeys(files, "report")
    assert set(texts(found)) == set(files)


def test_a_program_an_empty_file_and_an_image_are_neither(tmp_path: Path) -> None:
    files: Files = {"main.py": "run = 1\n", "e.txt": "", "plot.png": b"\x89PNG\r\n\x1a\n" + bytes(40), "x.txt": RUN}
    found = handed(tmp_path, files)
    assert (runs(found), texts(found)) == (["x.txt"], [])
    assert {name: each.why for name, each in read(found).items() if name != "x.txt"} == {
        "e.txt": "it is empty",
        "main.py": "it is a program, or a part of one",
        "plot.png": "it is a picture, and numbers in pictures are not read",
    }


@pytest.mark.parametrize("name", ["essay.pages", "slides.key", "essay.odt"])
def test_a_document_that_cannot_be_read_is_neither_an_archive_nor_a_damaged_run(tmp_path: Path, name: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Index/Document.iwa", "MAP 0.5")
    found = handed(tmp_path, {"x.txt": RUN, name: packed.getvalue()})
    assert (runs(found), texts(found)) == (["x.txt"], [name])


def test_a_large_file_of_data_is_no_text(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x.txt": RUN, "corpus.tsv": "d1\tthe words of a document\n" * 60_000})
    assert texts(found) == []
    why = "it has 1.5 MiB, its lines are not those of a run, and its beginning has no claims"
    assert told(found, "corpus.tsv") == ("not used", why)


def test_a_large_text_whose_beginning_has_claims_is_one(tmp_path: Path) -> None:
    assert texts(handed(tmp_path, {"x.txt": RUN, "log.txt": CLAIMS + "step 1 done\n" * 100_000})) == ["log.txt"]


@pytest.mark.parametrize("name", ["run.txt", "bm25.run", "results.txt", "run_1.txt"])
def test_a_file_that_only_its_name_makes_a_run_is_one_without_others(tmp_path: Path, name: str) -> None:
    found = handed(tmp_path, {name: "", "notes.txt": PROSE})
    assert (runs(found), found.runs[0].strength) == ([name], 4)
    assert told(found, name) == ("run", "it is named like a run, though its lines are not those of one")


def test_a_report_that_is_named_like_a_run_is_a_text_beside_a_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"output.md": PROSE, "results.txt": PROSE, "a.txt": RUN})
    assert (runs(found), texts(found)) == (["a.txt"], ["output.md", "results.txt"])


def test_an_only_file_may_be_a_run_whatever_is_in_it(tmp_path: Path) -> None:
    found = handed(tmp_path, {"ada.bin": bytes(range(256))})
    assert [(run.item.name, run.strength) for run in found.runs] == [("ada.bin", 5)]


def test_an_only_report_is_no_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"report.pdf": b"%PDF-1.4\n"})
    assert (runs(found), texts(found)) == ([], ["report.pdf"])


def test_a_table_of_names_and_scores_without_documents_is_no_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x.txt": RUN, "y.csv": "rank,system,score\n1,mine,0.41\n2,bm25,0.31\n"})
    assert (runs(found), texts(found)) == (["x.txt"], ["y.csv"])


def test_prose_with_a_number_where_a_score_would_be_is_no_run(tmp_path: Path) -> None:
    found = handed(tmp_path, {"x.txt": RUN, "notes.txt": "We set k1 to 0.9 after trying ten values.\n" * 2})
    assert (runs(found), texts(found)) == (["x.txt"], ["notes.txt"])


def test_a_run_without_q0_and_ranks_is_a_damaged_one(tmp_path: Path) -> None:
    lines = "".join(f"1 ITER d{rank} - {1 / rank} tag\n" for rank in range(1, 20))
    assert [run.strength for run in handed(tmp_path, {"x.txt": lines, "y.md": PROSE}).runs] == [3]


# --- several of them ---


def test_all_runs_are_told_the_likeliest_first(tmp_path: Path) -> None:
    files: Files = {"a.txt": LONGER, "my_run.txt": RUN, "z.csv": RUN.replace(" ", ","), "ranking.txt": RANKING}
    found = handed(tmp_path, files)
    assert [(run.item.name, run.strength) for run in found.runs] == [
        ("my_run.txt", 0),
        ("a.txt", 0),
        ("ranking.txt", 2),
        ("z.csv", 3),
    ]
    assert set(roles(found).values()) == {"run", "judged ranking"}


def test_a_word_that_merely_contains_run_is_no_name_of_a_run(tmp_path: Path) -> None:
    assert runs(handed(tmp_path, {"pruned.txt": RUN, "b.txt": LONGER})) == ["b.txt", "pruned.txt"]


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["run.txt", "run-1.txt", "run-2.txt"], "run-2.txt"),
        (["run-9.txt", "run-10.txt"], "run-10.txt"),
        (["run", "run-1"], "run-1"),
        (["run (1).txt", "run.txt"], "run (1).txt"),
        (["bm25_v1.txt", "bm25_v2.txt"], "bm25_v2.txt"),
        (["results2.txt", "results.txt"], "results2.txt"),
    ],
)
def test_the_number_in_a_name_tells_the_last_run_and_its_size_does_not(
    tmp_path: Path, names: list[str], last: str
) -> None:
    found = handed(tmp_path, {name: RUN if name == last else LONGER for name in names})
    run, why = last_of(found.runs)
    assert (run.item.name, why, found.runs[0].item.name) == (last, "its name has the highest number", last)
    assert sorted(runs(found)) == sorted(names)


@pytest.mark.parametrize("names", [["a.txt", "b.txt"], ["bm25_k10.txt", "bm25_k20.txt"], ["run1.txt", "dense2.txt"]])
def test_other_names_do_not_tell_which_run_is_the_last(tmp_path: Path, names: list[str]) -> None:
    found = handed(tmp_path, {names[0]: RUN, names[1]: LONGER})
    run, why = last_of(found.runs)
    assert (run, why) == (found.runs[0], "")


@pytest.mark.parametrize("make", ["zip", "tar"])
def test_the_times_in_an_archive_tell_the_last_run(tmp_path: Path, make: str) -> None:
    stream = io.BytesIO()
    if make == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a.run", (2026, 1, 11, 12, 0, 0)), RUN)
            archive.writestr(zipfile.ZipInfo("b.run", (2026, 1, 10, 12, 0, 0)), LONGER)
        when = "2026-01-11T12:00:00"
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as tar:
            for name, time in (("a.run", 1_768_132_800), ("b.run", 1_768_046_400)):
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(RUN), time
                tar.addfile(info, io.BytesIO(RUN.encode()))
        when = "2026-01-11T12:00:00Z"  # date -u -d @1768132800
    found = handed(tmp_path, {f"all.{make}": stream.getvalue()})
    run, why = last_of(found.runs)
    assert (run.item.name, why) == (f"all.{make}/a.run", f"it was changed last, {when.replace('T', ' ')}")


def test_no_more_than_20_runs_are_scored_and_20_texts_searched(tmp_path: Path) -> None:
    numbers = range(10, 32)
    found = handed(
        tmp_path,
        {f"{n}.run": RUN for n in numbers} | {f"{n}.txt": CLAIMS for n in numbers} | {"0a.txt": PROSE, "0b.md": PROSE},
    )
    assert runs(found) == [f"{n}.run" for n in range(10, 30)]
    assert texts(found) == [f"{n}.txt" for n in range(10, 30)]  # those first that have claims
    assert told(found, "31.run") == ("unread", "its lines are those of a run, but no more than 20 are scored")
    assert told(found, "0a.txt") == ("not used", "no more than 20 files are searched for claims")
    assert (roles(found)["0b.md"], len(found.files)) == ("unread", 46)


def test_times_that_are_known_of_some_runs_only_tell_nothing(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("b.run", (2026, 1, 10, 12, 0, 0)), RUN)
    found = handed(tmp_path, {"all.zip": stream.getvalue(), "a.run": LONGER})
    assert last_of(found.runs) == (found.runs[0], "")


# --- attempts ---


def of_class(folder: Path, files: dict[str, str]) -> Handed:
    """Return what the files of the first student of a class could be."""
    path = folder / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return candidates(submissions(str(path))[0])


FIRST, SECOND = "HW_ada_attempt_2026-01-09-10-00-00", "HW_ada_attempt_2026-01-10-10-00-00"


def test_runs_and_texts_of_an_earlier_attempt_are_told(tmp_path: Path) -> None:
    found = of_class(
        tmp_path,
        {f"{FIRST}_a.txt": LONGER, f"{FIRST}_b.md": CLAIMS, f"{SECOND}_run.txt": RUN, f"{SECOND}_new.md": CLAIMS},
    )
    assert (runs(found), texts(found)) == (["run.txt"], ["new.md"])
    assert (told(found, "a.txt"), told(found, "b.md")) == (("not used", "it is from an earlier attempt"),) * 2


def test_the_run_of_an_earlier_attempt_counts_if_the_last_one_has_none(tmp_path: Path) -> None:
    found = of_class(
        tmp_path, {f"{FIRST}_run.txt": RUN, f"{FIRST}_report.md": CLAIMS, f"{SECOND}_report.md": "MAP = 0.5\n"}
    )
    assert (runs(found), texts(found)) == (["run.txt"], ["report.md"])
    assert found.texts[0].attempt == "2026-01-10-10-00-00"
    assert told(found, f"{FIRST}_report.md") == ("not used", "it is from an earlier attempt")


def test_what_canvas_numbered_as_a_later_version_replaces_the_earlier_one(tmp_path: Path) -> None:
    found = of_class(
        tmp_path,
        {
            "lovelaceada_1_77_run-1.txt": RUN,
            "lovelaceada_1_55_run.txt": LONGER,
            "lovelaceada_1_56_report.tar.md": CLAIMS,
            "lovelaceada_1_78_report-1.tar.md": CLAIMS,
            "lovelaceada_1_79_bm25-1.txt": RUN,
            "lovelaceada_1_80_bm25-2.txt": RUN,
        },
    )
    assert runs(found) == ["run-1.txt", "bm25-2.txt", "bm25-1.txt"]
    assert texts(found) == ["report-1.tar.md"]
    assert told(found, "run.txt") == ("not used", "run-1.txt was uploaded later in its place")
    assert last_of(found.runs)[0].item.name == "bm25-2.txt"
    assert last_of(found.runs)[1] == "it was uploaded last"


# --- what cannot be read ---


def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    submission = one(str(tmp_path))
    (tmp_path / "run.txt").write_text(LONGER)
    found = candidates(submission)
    assert found.runs == ()
    assert found.files == (FileRead("run.txt", "refused", "the file changed while it was being read", 30),)


def test_refused_files_are_told_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "b.txt").symlink_to("run.txt")
    (tmp_path / "run.txt").write_text(RUN)
    assert roles(candidates(one(str(tmp_path)))) == {"b.txt": "refused", "run.txt": "run"}


@pytest.mark.parametrize(
    "data",
    [b"," * 65536, b"1 " * 32768, b"\n" * 65536, b"(" * 65536, b"{" * 65536, b"| a " * 16384, bytes(range(256)) * 256],
    ids=["commas", "fields", "lines", "brackets", "braces", "bars", "bytes"],
)
def test_files_that_make_no_sense_are_told_and_do_no_harm(tmp_path: Path, data: bytes) -> None:
    found = handed(tmp_path, {"x.txt": data, "run-1.txt": data, "y.csv": data, "my.run": RUN})
    assert runs(found)[0] == "my.run"
    assert len(found.files) == 4
