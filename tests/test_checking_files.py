"""Checking from the command line to the findings: mending and what remains, how findings look, and what is read."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from command import Done, treceval

import treceval_py as te
from treceval_py.checking import CODES
from treceval_py.checking.catalogue import Code
from treceval_py.checking.checking import Checked, check
from treceval_py.checking.findings import Finding
from treceval_py.checking.show import check_output, explained
from treceval_py.diagnosis.columns import KINDS
from treceval_py.rendering.style import Style

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 c 1\n"
CLEAN = b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n2 Q0 c 1 3 t\n"
TWICE = b"1 Q0 a 1 2.5 t\n1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"
ONCE = b"1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"
TWO_SCORES = b"1 Q0 a 0 2.5 t\n1 Q0 a 1 1.5 t\n2 Q0 c 0 3 t\n"
"""Ranks from 0, which can be mended, and a document with two scores, which cannot."""
JSON = b'{"1": {"a": 2.5}}'
BEIR = b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tc\t1\n"


def command(folder: Path, *arguments: str, **files: bytes) -> Done:
    """Check in a folder with some files, whose names have their last underscore in the place of a dot."""
    for name, data in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_bytes(data)
    return treceval(["check", *arguments], folder=folder)


def notes(done: Done) -> list[str]:
    return done.err.decode().splitlines()


# --- mending: where it goes ---


@pytest.mark.parametrize("target", ["twice.txt", "./twice.txt", "link.txt"])
def test_findings_are_not_written_over_a_file_that_is_mended_in_place(tmp_path: Path, target: str) -> None:
    os.symlink("twice.txt", tmp_path / "link.txt")
    done = command(tmp_path, "twice.txt", "--in-place", "-o", target, twice_txt=TWICE)
    said = f"{target}: this file is an input, and would be overwritten. Name another file.\n"
    assert (done.status, done.out, done.err.decode()) == (1, b"", said)
    assert (tmp_path / "twice.txt").read_bytes() == TWICE
    assert (tmp_path / "link.txt").is_symlink()


def test_findings_are_written_beside_a_file_that_is_mended_in_place(tmp_path: Path) -> None:
    done = command(tmp_path, "twice.txt", "--in-place", "--format", "json", "-o", "found.json", twice_txt=TWICE)
    said = b"written: found.json\nnote: twice.txt: 1 exact duplicate was removed (line 2)\n"
    assert done == (0, b"", said)
    assert (tmp_path / "twice.txt").read_bytes() == ONCE
    found = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert ("R120", 2) in [(each["code"], each["line"]) for each in found]


@pytest.mark.parametrize("out", ["out/", "out/mended/"])
def test_the_copy_of_one_file_goes_into_a_folder_that_is_named_as_such(tmp_path: Path, out: str) -> None:
    done = command(tmp_path, "twice.txt", "--fix", out, twice_txt=TWICE)
    assert (done.status, notes(done)) == (0, [f"note: {out}twice.txt: 1 exact duplicate was removed (line 2)"])
    assert (tmp_path / out / "twice.txt").read_bytes() == ONCE


def test_the_copy_of_one_file_goes_into_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    command(tmp_path, "twice.txt", "--fix", "out", twice_txt=TWICE)
    assert (tmp_path / "out" / "twice.txt").read_bytes() == ONCE


def test_the_copy_of_a_file_of_another_folder_has_its_name_alone(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "twice.txt").write_bytes(TWICE)
    assert command(tmp_path, "sub/twice.txt", "--fix", "out/").status == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["twice.txt"]


def test_a_copy_does_not_replace_its_file_by_way_of_a_folder(tmp_path: Path) -> None:
    done = command(tmp_path, "twice.txt", "--fix", "./", twice_txt=TWICE)
    assert done == (1, b"", b"./twice.txt: this file is an input, and would be overwritten. Name another file.\n")
    assert (tmp_path / "twice.txt").read_bytes() == TWICE


# --- mending: what cannot be mended ---


@pytest.mark.parametrize("options", [["--fix", "out.txt"], ["--in-place"]])
def test_what_has_no_lines_is_no_failure_until_it_is_to_be_mended(tmp_path: Path, options: list[str]) -> None:
    assert command(tmp_path, "run.json", run_json=JSON).status == 0
    done = command(tmp_path, "run.json", *options)
    said = b"treceval: run.json: it has no lines that could be fixed, so nothing was written.\n"
    assert (done.status, done.err) == (1, said)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_text_that_mending_refuses_is_a_failure_though_its_finding_is_left_out(tmp_path: Path) -> None:
    nul = b"1 Q0 a 1 2.5 t\n1 Q0 b\0 2 1.5 t\n"
    assert command(tmp_path, "nul.txt", "--ignore", "F005", nul_txt=nul).status == 0
    done = command(tmp_path, "nul.txt", "--ignore", "F005", "--fix", "out.txt")
    (said,) = notes(done)
    assert done.status == 1
    assert said.startswith("nul.txt:2: ")
    assert said.endswith(" Nothing was written.")
    assert [path.name for path in tmp_path.iterdir()] == ["nul.txt"]


# --- mending: what remains ---


APART = b"1 Q0 a 1 3 t\n2 Q0 c 1 3 t\n\n1 Q0 b 2 2 t\n"
# Labels of a: 1 and 0, of b: 1 and 0; those outside the scale are 5 and 7.
LABELS = b"1 0 a 1\n1 0 a 0\n1 0 b 1\n1 0 b 0\n1 0 c 5\n1 0 d 7\n1 0 d 7\n"
RANKED = "ranks of 2 queries were numbered from 1 (first: line 1)"
BLANK = "1 blank line was removed (line 2)"
NAN_TWICE = b"1 Q0 a 1 nan t\n\n1 Q0 b 2 nan t\n1 Q0 c 3 nan t\n"

REMAINING: dict[str, tuple[str, bytes, int, list[str]]] = {
    "what is not selected": ("--select R124", TWO_SCORES, 0, [RANKED]),
    "what is ignored": ("--ignore R121", TWO_SCORES, 0, [RANKED]),
    "an error": ("", TWO_SCORES, 1, [RANKED, "remaining: 1 error (R121)"]),
    "a warning": ("--scale 0-1", b"1 0 a 1\n\n1 0 b 2\n", 0, [BLANK, "remaining: 1 warning (Q312)"]),
    "a warning with --strict": (
        "--scale 0-1 --strict",
        b"1 0 a 1\n\n1 0 b 2\n",
        1,
        [BLANK, "remaining: 1 warning (Q312)"],
    ),
    "a warning that was repaired, with --strict": ("--strict", TWO_SCORES.replace(b"a 1", b"b 1"), 0, [RANKED]),
    "errors and warnings": (
        "--scale 0-1",
        LABELS,
        1,
        ["1 exact duplicate was removed (line 7)", "remaining: 2 errors (Q311), 2 warnings (Q312)"],
    ),
    "more than are shown": ("--max 1", NAN_TWICE, 1, [BLANK, "remaining: 3 errors (R104)"]),
    "notes": ("", APART, 0, ["1 blank line was removed (line 3)"]),
    # Judgments say that a is relevant, and the ranking that it is not. That is a finding of judged rankings only.
    "the same judgments": (
        "--as judged-ranking --qrels qrels.txt",
        b"1 Q0 a 0\n\n1 Q0 b 0\n2 Q0 c 1\n",
        0,
        [BLANK, "remaining: 1 warning (X210)"],
    ),
    # By most of its lines it would be a run, and only the first one would be wrong.
    "the same kind": (
        "--as msmarco",
        b"1 a 1\n\n1 Q0 b 2 3 t\n1 Q0 c 3 2 t\n",
        1,
        [BLANK, "remaining: 2 errors (R101)"],
    ),
}


@pytest.mark.parametrize("case", REMAINING)
def test_what_remains_after_repairs_is_counted_and_decides_the_status(tmp_path: Path, case: str) -> None:
    options, lines, status, said = REMAINING[case]
    done = command(tmp_path, "in.txt", "--fix", "out.txt", *options.split(), in_txt=lines, qrels_txt=QRELS)
    assert (done.status, notes(done)) == (status, [f"note: out.txt: {each}" for each in said])


# --- how findings look ---

NAN = Finding("R104", "error", "run.txt", 2, 10, "score 'nan' is not a number", "Find its cause.")


def made(style: str, *findings: Finding, colour: bool = False) -> str:
    counts = Counter(each.code for each in findings)
    file = Checked("run.txt", KINDS["run"], list(findings), counts, 3, None)
    return check_output([file], style, Style(colour=colour))


def test_control_characters_of_data_are_visible_in_github_s_messages() -> None:
    finding = NAN._replace(what="score '\x1b[2J\r\n' is not a number", todo="Write\x071.")
    assert made("github", finding) == (
        f"::error file=run.txt,line=2,col=10,title=R104 {CODES['R104'].name}::"
        "score '\\x1b[2J\\r\\n' is not a number. Write\\x071.\n"
    )


def test_bytes_that_are_no_utf_8_are_visible_in_github_s_messages() -> None:
    message = made("github", NAN._replace(what="id 'd\udce9'", todo="")).partition("::score")[0].split("::")[-1]
    assert message == "id 'd\\xe9'.\n"


@pytest.mark.parametrize(("severity", "style"), [("error", "\x1b[31m"), ("warning", "\x1b[33m"), ("note", "\x1b[36m")])
def test_places_are_bold_and_severities_have_their_colours(severity: str, style: str) -> None:
    first = made("text", NAN._replace(severity=severity), colour=True).splitlines()[0]
    assert first == (
        f"\x1b[1mrun.txt:2:10\x1b[0m: {style}{severity}\x1b[0m R104: score 'nan' is not a number. Find its cause."
    )


@pytest.mark.parametrize(
    ("file", "shown"), [("a\x1b[2J.txt", "a\\x1b[2J.txt"), ("a\n\u0085b", "a\\n\\x85b"), ("\udcff.txt", "\\xff.txt")]
)
def test_colour_stands_where_it_should_beside_a_name_with_control_characters(file: str, shown: str) -> None:
    first = made("text", NAN._replace(file=file, todo=""), colour=True).splitlines()[0]
    assert first == f"\x1b[1m{shown}:2:10\x1b[0m: \x1b[31merror\x1b[0m R104: score 'nan' is not a number."


def test_what_is_not_shown_is_told_in_the_order_of_the_codes_over_all_files(tmp_path: Path) -> None:
    nans = b"".join(b"1 Q0 d%d %d nan t\n" % (number, number) for number in range(1, 4))
    escapes = b"".join(b"1 Q0 d\x1b%d %d %d t\n" % (number, number, 9 - number) for number in range(1, 5))
    arguments = ["nans.txt", "escapes.txt", "--max", "1", "--select", "R104,F012"]
    done = command(tmp_path, *arguments, nans_txt=nans, escapes_txt=escapes)
    # 3 - 1 of R104 in the first file, 4 - 1 of F012 in the second.
    said = done.out.decode().splitlines()[-1].partition("; ")[2]
    assert said == "3 more of F012, 2 more of R104 not shown (--max)"
    beside = command(tmp_path, *arguments, "--format", "github").err
    assert beside == b"note: 3 more of F012, 2 more of R104 not shown (--max)\n"


# --- explanations ---


def test_that_it_is_mended_is_said_once_where_the_advice_says_it() -> None:
    code = Code("F003", "mark", "warning", "A mark", "Why.", "", "Save it anew; --fix does it.", fixed=True)
    assert explained(code).endswith("\nWhat to do: Save it anew; --fix does it.\n")


def test_that_it_is_mended_is_not_said_of_what_is_not() -> None:
    code = Code("R104", "score-nan", "error", "A score is NaN", "Why.", "", "Mend it.")
    assert explained(code).endswith("\nWhat to do: Mend it.\n")


# --- lines that are read ---


def checked(
    lines: bytes, qrels: bytes | None = None, *, kind: str | None = None, select: tuple[str, ...] = ()
) -> Checked:
    return check(None if qrels is None else io.BytesIO(qrels), io.BytesIO(lines), kind=kind, select=select)


def codes(found: Checked) -> list[str]:
    return [each.code for each in found.findings]


LONG = b"x" * 1000
"""The end of ids, so that a few thousand lines are more than are read at once (4 MB)."""


def test_lines_are_counted_over_all_pieces_of_a_long_file() -> None:
    queries = [
        b"".join(b"%d Q0 d%d%s %d %d t\n" % (query, rank, LONG, rank, 9000 - rank) for rank in range(1, 1001))
        for query in range(1, 11)
    ]
    # A comment, 5 queries, a blank line, 5 queries, and a line with a score that is none.
    found = checked(b"# a comment\n" + b"".join(queries[:5]) + b"\n" + b"".join(queries[5:]) + b"99 Q0 a 1 nan t\n")
    assert found.lines == 1 + 5 * 1000 + 1 + 5 * 1000 + 1
    (nan,) = [each for each in found.findings if each.code == "R104"]
    assert nan.line == found.lines
    assert found.shape is not None
    assert (found.shape.documents, found.shape.first_line[b"6"]) == (10_000, 5003)


def test_lines_without_data_or_newline_are_counted() -> None:
    assert checked(b"# a comment\n\n" + CLEAN + b"\n").lines == 2 + 3 + 1
    assert checked(CLEAN[:-1]).lines == 3


def test_where_all_lines_are_wrong_in_the_same_way_reading_ends() -> None:
    lines = b"".join(b"1,Q0,d%d%s,%d,%d,t\n" % (rank, LONG, rank, 9999 - rank) for rank in range(1, 10_001))
    damaged = gzip.compress(lines + b"\n", 1)[:-20]
    found = checked(damaged)
    # Neither the blank line at the end nor that the end is damaged is seen.
    assert (codes(found), found.unread) == (["R112"], "R112")
    assert 0 < found.lines < 10_000


# --- runs whose queries do not stand together ---

SCATTERED = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 2 t\n2 Q0 b 2 2 t\n2 Q0 b 3 2 t\n"


def test_that_the_queries_of_a_run_do_not_stand_together_is_known() -> None:
    shape = checked(SCATTERED).shape
    assert shape is not None
    assert shape.scattered
    assert (shape.counts, shape.first_line, shape.documents) == ({b"1": 2, b"2": 3}, {b"1": 1, b"2": 2}, 5)


def test_that_the_queries_of_a_run_stand_together_is_known() -> None:
    shape = checked(CLEAN).shape
    assert shape is not None
    assert not shape.scattered


# --- BEIR's judgments ---


def test_beir_s_judgments_are_known_by_their_header(tmp_path: Path) -> None:
    done = command(tmp_path, "qrels.tsv", "--format", "json", qrels_tsv=BEIR)
    assert (done.status, [each["code"] for each in json.loads(done.out)["rows"]]) == (0, ["F018"])


def test_a_run_is_looked_at_beside_beir_s_judgments(tmp_path: Path) -> None:
    run = b"1 Q0 a 1 2.5 t\n7 Q0 c 1 3 t\n"
    done = command(
        tmp_path, "--qrels", "qrels.tsv", "run.txt", "--select", "X", "--format", "json", qrels_tsv=BEIR, run_txt=run
    )
    assert [each["code"] for each in json.loads(done.out)["rows"]] == ["X203", "X202"]


# --- judgments beside a file ---


def test_judgments_that_are_not_there_are_refused() -> None:
    with pytest.raises(te.errors.InputError, match=r"^no/such/qrels\.txt: no such file\. Check the name\.$"):
        check("no/such/qrels.txt", io.BytesIO(CLEAN))


@pytest.mark.parametrize(
    "judgments",
    [
        te.data.Preferences({"1": [te.data.Preference(b"g", b"s", b"a", 1.0)]}, name="judged.txt"),
        te.data.JudgmentGroups({"1": {b"g": {b"a": 1}}}, name="judged.txt"),
    ],
    ids=["preferences", "groups"],
)
def test_other_judgments_than_of_relevance_are_refused(judgments: te.data.Preferences | te.data.JudgmentGroups) -> None:
    said = r"^judged\.txt: a run can only be checked against relevance judgments \(qrels\)\.$"
    with pytest.raises(te.errors.EvaluationError, match=said):
        check(judgments, io.BytesIO(CLEAN))  # type: ignore[arg-type]


def test_a_file_that_is_named_twice_is_not_mended_in_place_twice(tmp_path: Path) -> None:
    done = command(tmp_path, "twice.txt", "./twice.txt", "--in-place", twice_txt=TWICE)
    assert done == (1, b"", b"./twice.txt: two outputs would go to this file. Name another file.\n")


def test_a_scale_without_judgments_has_no_effect(tmp_path: Path) -> None:
    done = command(tmp_path, "run.txt", "--scale", "0-3", run_txt=ONCE, qrels_txt=QRELS)
    assert (done.status, done.err) == (0, b"note: --scale had no effect: no judgments were checked\n")
    assert command(tmp_path, "run.txt", "--qrels", "qrels.txt", "--scale", "0-3").err == b""
