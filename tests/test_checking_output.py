"""Findings as text, JSON and GitHub's commands, and what is said of a code."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.checking.catalogue import CODES, Code
from treceval_py.checking.checking import Checked
from treceval_py.checking.findings import SEVERITIES, Finding
from treceval_py.checking.show import CHECK_FORMATS, by_severity, check_output, explained, left_out, summary
from treceval_py.diagnosis.columns import KINDS
from treceval_py.rendering.style import Style

NAN = Finding("R104", "error", "run.txt", 2, 10, "score 'nan' is not a number", "Find its cause.")
DISTANCES = Finding("R129", "warning", "run.txt", 0, 0, "scores grow with ranks", "Change their sign.")
APART = Finding("R122", "note", "run.txt", 3, 0, "the lines of 1 query do not stand together")


def checked(*findings: Finding, file: str = "run.txt", more: dict[str, int] | None = None) -> Checked:
    counts = Counter(each.code for each in findings) + Counter(more or {})
    return Checked(file, KINDS["run"], list(findings), counts, 3, None)


def made(format: str, *files: Checked, colour: bool = False) -> str:
    return check_output(files, format, Style(colour=colour))


# Text.


@pytest.mark.parametrize("format", ["text", "markdown", "csv", "github"])
def test_every_severity_is_shown_and_a_formula_is_none(format: str, snapshot: SnapshotAssertion) -> None:
    formula = NAN._replace(what="=1+1", line=4)
    assert made(format, checked(NAN, APART, DISTANCES, formula, more={"R104": 2})) == snapshot


def test_the_summary_counts_over_files_and_says_what_is_not_shown() -> None:
    files = [checked(NAN, more={"R104": 1199}), checked(NAN, DISTANCES, more={"R104": 1, "R129": 2}, file="b.txt")]
    assert summary(files) == "1,202 errors, 3 warnings in 2 files; 1,200 more of R104, 2 more of R129 not shown (--max)"


def test_clean_files_give_one_line() -> None:
    assert made("text", checked(), checked(file="b.txt")) == "nothing found in 2 files\n"


def test_colour_changes_nothing_but_colour() -> None:
    file = checked(NAN, DISTANCES, APART)
    coloured = made("text", file, colour=True)
    assert coloured.startswith("\x1b[1mrun.txt:2:10\x1b[0m: \x1b[31merror\x1b[0m R104: score")
    plain = coloured
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m"):
        plain = plain.replace(style, "")
    assert plain == made("text", file)


@pytest.mark.parametrize("colour", [False, True])
def test_control_characters_of_names_and_data_do_not_reach_a_terminal(colour: bool) -> None:
    nasty = NAN._replace(file="a\x1b[2J.txt", what="score '\x07' is no number")
    text = made("text", checked(nasty), colour=colour)
    assert "a\\x1b[2J.txt:2:10" in text
    assert "score '\\x07' is no number" in text


# JSON.


def test_json_has_all_fields_and_what_is_known_of_the_code(snapshot: SnapshotAssertion) -> None:
    assert json.loads(made("json", checked(NAN, NAN._replace(code="R120"))))["rows"] == snapshot


def test_json_of_clean_files_has_no_findings() -> None:
    document = json.loads(made("json", checked()))
    assert (document["kind"], document["rows"], document["notes"]) == ("findings", [], [])


def test_json_notes_what_is_not_shown() -> None:
    document = json.loads(made("json", checked(NAN, more={"R104": 2})))
    assert document["notes"] == ["2 more of R104 not shown (--max)"]


def test_json_can_hold_bytes_that_are_no_utf_8() -> None:
    (found,) = json.loads(made("json", checked(NAN._replace(what="id '\udcff'"))).encode("utf-8"))["rows"]
    assert found["what"] == "id '\\xff'"


@pytest.mark.parametrize("format", CHECK_FORMATS)
def test_every_format_shows_a_finding_and_takes_files_without_any(format: str) -> None:
    assert "R104" in made(format, checked(NAN))
    assert "R104" not in made(format, checked())


# GitHub. What is escaped, and how: escapeData and escapeProperty in command.ts of github.com/actions/toolkit.


def test_what_ends_a_property_or_a_command_is_escaped() -> None:
    finding = APART._replace(file="C:\\50%,\r\n.txt", what="90 % of a:b,c are alike")
    assert made("github", checked(finding)) == (
        f"::notice file=C%3A\\50%25%2C%0D%0A.txt,line=3,title=R122 {CODES['R122'].name}::90 %25 of a:b,c are alike.\n"
    )


def test_a_line_break_in_data_begins_no_command() -> None:
    finding = NAN._replace(what="score '\n::error::x'", todo="")
    assert made("github", checked(finding)).count("\n") == 1


# Counts and codes.


def test_severities_are_counted_from_all_findings() -> None:
    assert by_severity(Counter({"R104": 3, "R121": 1, "R129": 2})) == Counter(error=4, warning=2)


def test_nothing_is_withheld_where_all_are_shown() -> None:
    assert left_out([checked(NAN, DISTANCES)]) == ""


def test_a_single_one_is_withheld_too() -> None:
    assert left_out([checked(NAN, more={"R104": 1})]) == "1 more of R104 not shown (--max)"


def test_files_that_were_not_looked_at_are_counted_where_nothing_else_says_so() -> None:
    files = [checked()._replace(unread="R112"), checked()._replace(unread="F007"), checked()]
    assert summary(files) == "nothing found in 3 files; 2 files not read to the end (F007, R112)"


def test_a_file_that_was_not_looked_at_is_not_counted_where_a_finding_says_so() -> None:
    assert left_out([checked(NAN._replace(code="R112"))._replace(unread="R112")]) == ""


def test_an_explanation_has_everything() -> None:
    code = Code("R104", "score-nan", "error", "A score is NaN", "One.\n\nTwo.", "1 Q0 a\t1 nan t\n2", "Mend it.")
    assert explained(code) == (
        "R104 score-nan (error)\nA score is NaN.\n\nOne.\n\nTwo.\n\n"
        "Example:\n\n    1 Q0 a\\t1 nan t\n    2\n\nWhat to do: Mend it.\n"
    )


def test_an_explanation_says_what_is_mended() -> None:
    code = Code("R120", "twice", "error", "Twice", "Why.", "", "Delete one.", fixed=True)
    assert explained(code).endswith("\nWhat to do: Delete one. 'treceval check --fix OUT' does this.\n")


def test_all_is_said_of_each_code() -> None:
    for code, found in CODES.items():
        assert found.code == code
        assert found.severity in SEVERITIES
        assert all([found.name, found.title, found.why, found.todo]), code
        assert (found.title[-1] != ".", found.why.strip()[-1], found.todo[-1] in ".?") == (True, ".", True), code
        words = " ".join(explained(found).split())
        assert all(" ".join(each.split()) in words for each in (found.title, found.why, found.todo)), code
        assert max(map(len, explained(found).splitlines())) <= 120, code
        # It is said once that --fix does it, and only where it does.
        fixes = words.partition("What to do: ")[2].count("--fix")
        assert fixes == 1 if found.fixed else "--fix" not in words.replace("--fix does not", ""), code


def test_no_two_codes_have_one_name() -> None:
    names = [code.name for code in CODES.values() if code.code[0] == "R"]
    assert len(set(names)) == len(names)


# SARIF. The fields are those of the schema of version 2.1.0, which requires version and runs; of a run tool.driver.name; of
# a result message; lines and columns from 1 (docs.oasis-open.org/sarif/sarif/v2.1.0).


def sarif(*files: Checked) -> dict[str, Any]:
    log = json.loads(made("sarif", *files))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    return dict(log["runs"][0])


def test_sarif_has_a_result_for_each_finding_and_a_rule_for_each_code(snapshot: SnapshotAssertion) -> None:
    run = sarif(checked(NAN, APART, NAN._replace(line=3, column=0), DISTANCES))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["R104", "R122", "R129"]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == ["R104", "R122", "R104", "R129"]
    assert run["tool"]["driver"].pop("version") == te.__version__
    assert run == snapshot


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("runs/my run#1.txt", "runs/my%20run%231.txt"),
        ("/tmp/ü.txt", "file:///tmp/%C3%BC.txt"),
        ("<file>", "%3Cfile%3E"),
    ],
)
def test_files_are_named_in_sarif_as_uris(file: str, uri: str) -> None:
    (result,) = sarif(checked(NAN._replace(file=file, line=0), file=file))["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": uri}}}]


def test_sarif_says_what_is_not_shown_and_is_whole_without_findings() -> None:
    (invocation,) = sarif(checked(NAN, more={"R104": 1199}))["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "1,199 more of R104 not shown (--max)"
    run = sarif(checked())
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
