"""Which file of a submission is the run: by what is in it, and only then by its name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from treceval_py.grading.intake.choosing import choose
from treceval_py.grading.intake.intake import one
from treceval_py.grading.records import FileRead

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"
LONGER = RUN + "2 Q0 a 1 0.9 t\n"
MSMARCO = "1\ta\t1\n1\tb\t2\n"
RANKING = "1 Q0 b 2\n1 Q0 a 0\n"
QRELS = "1 0 a 0\n1 0 b 2\n2 0 a 1\n"
CLAIMS = "MAP = 0.75185\n"

Files = dict[str, "str | bytes"]


def chosen(folder: Path, files: Files, qrels: bytes = b"") -> tuple[str, list[str], dict[str, FileRead]]:
    """Return the run, the files with claims, and what is said of each file."""
    top = folder / "ada"
    top.mkdir()
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    run, claims, read = choose(one(str(top)), qrels=qrels)
    return "" if run is None else run.name, [item.name for item in claims], {each.name: each for each in read}


def roles(read: dict[str, FileRead]) -> dict[str, str]:
    return {name: each.role for name, each in read.items()}


def test_the_run_and_the_claims_are_found_by_what_is_in_them(tmp_path: Path) -> None:
    run, claims, read = chosen(tmp_path, {"claims.txt": RUN, "run.txt": CLAIMS, "main.py": "k = 10\n"})
    assert (run, claims) == ("claims.txt", ["run.txt"])
    assert list(read.values()) == [
        FileRead("claims.txt", "run", "its lines are those of a run", 30),
        FileRead("main.py", "not used", "it is a program, or a part of one", 7),
        FileRead("run.txt", "claims", "it has numbers that are claimed for measures", 14),
    ]


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
    ],
    ids=[
        "plain", "UTF-16", "byte-order mark", "old Macintosh", "gzip", "NaN", "decimal commas", "header", "spaces in tag",
        "MS MARCO", "commas", "semicolons", "five fields",
    ],
)  # fmt: skip
def test_a_damaged_run_is_still_the_run(tmp_path: Path, data: str | bytes, why: str) -> None:
    run, _, read = chosen(tmp_path, {"x": data, "notes.txt": "We did our best.\n"})
    assert (run, read["x"].role, read["x"].why) == ("x", "run", why)


def test_a_ranking_with_judgments_is_a_judged_ranking(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"x.txt": RANKING})
    assert run == "x.txt"
    assert read["x.txt"] == FileRead("x.txt", "judged ranking", "its lines are those of a ranking with judgments", 18)


@pytest.mark.parametrize(
    ("name", "data", "qrels", "why"),
    [
        ("x", RANKING, RANKING.encode(), "these are the judgments of the assignment, not a run"),
        ("x", RANKING.replace("\n", "\r\n"), RANKING.encode(), "these are the judgments of the assignment, not a run"),
        ("qrels.txt", RANKING, b"", "these are judgments, by the name of the file, not a run"),
        ("x", QRELS, b"", "these are judgments: the documents of each query stand in the order of their ids"),
    ],
    ids=["same as those given", "with other line ends", "by name", "by order"],
)
def test_judgments_that_are_handed_in_again_are_no_run(
    tmp_path: Path, name: str, data: str, qrels: bytes, why: str
) -> None:
    run, _, read = chosen(tmp_path, {name: data}, qrels)
    assert (run, read[name].role, read[name].why) == ("", "not used", why)


def test_a_ranking_with_the_labels_of_the_judgments_in_another_order_is_one(tmp_path: Path) -> None:
    assert chosen(tmp_path, {"x": "1 0 b 2\n1 0 a 0\n2 0 a 1\n"}, QRELS.encode())[0] == "x"


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
    _, _, read = chosen(tmp_path, {"x.txt": data})
    assert (read["x.txt"].role, read["x.txt"].why) == ("run", "its lines are like those of a run, with mistakes")


def test_labels_that_fall_in_the_best_order_are_no_ranks(tmp_path: Path) -> None:
    assert chosen(tmp_path, {"x": "1 Q0 d 3\n1 Q0 c 2\n1 Q0 b 1\n1 Q0 a 0\n"})[2]["x"].role == "judged ranking"


SETTINGS = "k = 3\nb = 1\ntopk = 1000\n"
DAMAGED = RUN.replace(" t\n", "\n")


@pytest.mark.parametrize("settings", [SETTINGS, "k 3 1\nb 1 1\n", SETTINGS * 10, SETTINGS.replace(" ", "\t")])
def test_settings_are_no_ms_marco_run(tmp_path: Path, settings: str) -> None:
    run, _, read = chosen(tmp_path, {"params.txt": settings, "x.txt": DAMAGED})
    assert (run, read["params.txt"].why) == ("x.txt", "its lines are not those of a run, and it has no claims")


def test_short_lines_of_a_query_that_is_judged_are_an_ms_marco_run(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"x": "1 a 1\n1 b 2\n", "notes": "We did.\n"}, QRELS.encode())
    assert (run, read["x"].why) == ("x", "its lines are those of an MS MARCO run")


def test_a_damaged_run_that_is_named_so_comes_before_an_ms_marco_run_that_is_not(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"a.txt": MSMARCO, "run.txt": DAMAGED})
    assert run == "run.txt"
    assert read["a.txt"].why == (
        "its lines are those of an MS MARCO run, but run.txt was chosen, because its name says so"
    )


def test_a_damaged_run_that_is_far_larger_comes_before_an_ms_marco_run(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"a.txt": MSMARCO, "b.txt": DAMAGED * 20})
    assert run == "b.txt"
    assert read["a.txt"].why == (
        "its lines are those of an MS MARCO run, but b.txt was chosen, because it is far larger"
    )


def test_claims_are_found_in_a_page(tmp_path: Path) -> None:
    assert chosen(tmp_path, {"run.txt": RUN, "onlinetext.html": "<p>MAP = 0.28</p>"})[1] == ["onlinetext.html"]


def test_of_two_runs_the_one_that_is_named_so_is_taken(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"a.txt": LONGER, "my_run.txt": RUN})
    assert run == "my_run.txt"
    assert read["my_run.txt"].why == (
        "its lines are those of a run; of 2 files that may be the run it was chosen because its name says so"
    )
    why = "its lines are those of a run, but my_run.txt was chosen, because its name says so"
    assert read["a.txt"] == FileRead("a.txt", "not used", why, 45)


def test_of_two_runs_the_larger_one_is_taken(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"a.txt": RUN, "b.txt": LONGER})
    assert run == "b.txt"
    assert read["a.txt"].why == "its lines are those of a run, but b.txt was chosen, because it is larger"


def test_of_two_runs_of_a_size_the_first_by_name_is_taken(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"b.txt": RUN, "a.txt": RUN})
    assert run == "a.txt"
    assert read["b.txt"].why == "its lines are those of a run, but a.txt was chosen, because its name comes first"


def test_a_run_comes_before_a_ranking_with_judgments(tmp_path: Path) -> None:
    run, _, read = chosen(tmp_path, {"run.txt": RANKING, "x.txt": RUN})
    assert run == "x.txt"
    assert read["run.txt"].why == (
        "its lines are those of a ranking with judgments, but x.txt was chosen, because its lines say so"
    )


def test_a_word_that_merely_contains_run_is_no_name_of_a_run(tmp_path: Path) -> None:
    assert chosen(tmp_path, {"pruned.txt": RUN, "b.txt": LONGER})[0] == "b.txt"


@pytest.mark.parametrize("name", ["run.txt", "bm25.run", "results.txt", "run_1.txt"])
def test_a_file_that_only_its_name_makes_a_run_is_taken_for_it(tmp_path: Path, name: str) -> None:
    run, _, read = chosen(tmp_path, {name: "", "notes.txt": "We did our best.\n"})
    assert run == name
    assert read[name].why == "it is named like a run, though its lines are not those of one"


def test_an_only_file_is_taken_for_the_run_whatever_is_in_it(tmp_path: Path) -> None:
    assert chosen(tmp_path, {"ada.bin": bytes(range(256))})[0] == "ada.bin"


def test_a_report_and_a_program_are_no_run(tmp_path: Path) -> None:
    run, claims, read = chosen(
        tmp_path, {"report.pdf": b"%PDF-1.4\n", "main.py": "run = 1\n", "notes.txt": "We did our best.\n", "e.txt": ""}
    )
    assert (run, claims) == ("", [])
    assert {name: each.why for name, each in read.items()} == {
        "e.txt": "it is empty",
        "main.py": "it is a program, or a part of one",
        "notes.txt": "its lines are not those of a run, and it has no claims",
        "report.pdf": "it is a document",
    }


def test_what_trec_eval_printed_has_claims(tmp_path: Path) -> None:
    # As trec_eval 9.0.4 prints a run's numbers.
    printed = "runid                 \tall\tt\nnum_q                 \tall\t2\nmap                   \tall\t0.7500\n"
    assert chosen(tmp_path, {"run.txt": RUN, "results.txt": printed})[:2] == ("run.txt", ["results.txt"])


def test_the_counts_that_trec_eval_printed_are_no_ms_marco_run(tmp_path: Path) -> None:
    printed = "num_q                 \tall\t2\nnum_ret               \tall\t20\nnum_rel               \tall\t7\n"
    assert chosen(tmp_path, {"run.txt": RUN, "out.txt": printed})[:2] == ("run.txt", ["out.txt"])


def test_no_more_than_20_files_are_searched_for_claims(tmp_path: Path) -> None:
    _, claims, read = chosen(tmp_path, {"run.txt": RUN, **{f"c{number:02}.txt": CLAIMS for number in range(22)}})
    assert claims == [f"c{number:02}.txt" for number in range(20)]
    assert read["c21.txt"].why == "more than 20 files with claims are not read"


def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    found = one(str(tmp_path))
    (tmp_path / "run.txt").write_text(LONGER)
    run, _, files = choose(found)
    assert run is None
    assert files == (FileRead("run.txt", "refused", "the file changed while submissions were read", 30),)


def test_refused_files_are_told_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "b.txt").symlink_to("run.txt")
    (tmp_path / "run.txt").write_text(RUN)
    assert roles({each.name: each for each in choose(one(str(tmp_path))).files}) == {
        "b.txt": "refused",
        "run.txt": "run",
    }
