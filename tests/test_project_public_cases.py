"""Files made after public bug reports and published files, in `public-cases`: what each command makes of them.

Every value is counted by hand, or is what another program printed, named beside it. A case that asks for a note or a
refusal has the words that every command must say.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import treceval
from readers import use_reader

import treceval_py as te
from treceval_py.checking.checking import check
from treceval_py.errors import InputError
from treceval_py.grading import grade_one
from treceval_py.io.formats import formats_of

CASES = Path(__file__).with_name("public-cases")


class Case(NamedTuple):
    """A case.

    Attributes
    ----------
    qrels, run : str
        The files.
    wrong : str
        The file that is wrong, and its line; empty if all can be read.
    says : str
        What is said of it.
    codes : str
        What `check` finds in the file that is wrong, or in the run.
    ap : float or None
        The average precision.
    """

    qrels: str
    run: str
    wrong: str
    says: str
    codes: str
    ap: float | None = None


READ = {
    "joined-without-newline": Case(
        "joined-without-newline.qrels",
        "joined-without-newline.run",
        "joined-without-newline.run:2",
        "two lines in one: a newline is missing at 'tq2'",
        "R101",
    ),
    "docid-with-space": Case(
        "docid-with-space.qrels",
        "docid-with-space.run",
        "docid-with-space.run:3",
        "document id '.I 1' contains a space",
        "R101",
    ),
    # Paris is the second of four: 1/2.
    "title-docids": Case("title-docids.qrels", "title-docids.run", "", "", "F020", 0.5),
    "subtopic": Case(
        "subtopic.qrels",
        "subtopic.run",
        "subtopic.qrels:2",
        "in format qrels_jg (-R qrels_jg)",
        "Q317",
    ),
}

cases = pytest.mark.parametrize("case", READ.values(), ids=READ)


@pytest.fixture(autouse=True, params=["compiled", "python"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    use_reader(monkeypatch, request.param)


def path(name: str) -> str:
    return str(CASES / name)


def test_every_file_belongs_to_a_case() -> None:
    names = {file.name.split(".")[0] for file in CASES.iterdir()}
    assert names - {"colbert", "explain-ideal-topk"} == {
        *READ,
        *(name.split(" ")[0] for name in VALUES),
        *LAYOUTS,
        *SIGNS,
    }


@cases
def test_python_and_score_read_it_or_say_what_is_wrong(case: Case) -> None:
    command = treceval(["-m", "map", path(case.qrels), path(case.run)])
    if case.ap is not None:
        assert te.evaluate(path(case.qrels), path(case.run), "AP").mean["AP"] == case.ap
        assert command.out.split()[-1] == f"{case.ap:.4f}".encode()
        return
    with pytest.raises(InputError) as caught:
        te.evaluate(path(case.qrels), path(case.run), "AP")
    assert (f"{path(case.wrong)}: " in str(caught.value), case.says in str(caught.value)) == (True, True)
    assert (command.status, command.err.decode()) == (1, f"{caught.value}\n")


@cases
def test_check_finds_the_cause(case: Case) -> None:
    file, _, line = case.wrong.partition(":")
    checked = check(path(file or case.run))
    of_code = [finding for finding in checked.findings if finding.code in case.codes]
    assert of_code
    if case.wrong:
        assert (of_code[0].line, case.says in f"{of_code[0].what}. {of_code[0].todo}") == (int(line), True)
    # Nothing else is wrong with it: no advice that would change labels, and not a hundred findings of one cause.
    others = [each for each in checked.findings if each.code not in case.codes and each.severity != "note"]
    assert (others, len(of_code) < 3) == ([], True)


@cases
def test_convert_loses_nothing(case: Case) -> None:
    file = case.wrong.partition(":")[0] or case.run
    target = io.BytesIO()
    kind = "run" if file.endswith(".run") else "qrels"
    if case.ap is not None:
        te.convert(path(file), target, target_format="json")
        assert te.read_run(io.BytesIO(target.getvalue()))["q"]["New York"] == 9.5
        return
    with pytest.raises(InputError) as caught:
        te.convert(path(file), target, kind=kind)  # type: ignore[arg-type]
    assert case.says in str(caught.value)
    assert target.getvalue() == b""


@pytest.mark.parametrize("name", [name for name, case in READ.items() if case.run == f"{name}.run"])
def test_grade_gives_no_points_for_a_run_that_is_not_read_whole(name: str) -> None:
    case = READ[name]
    if case.wrong.startswith(case.qrels):
        with pytest.raises(InputError) as caught:
            grade_one(path(case.qrels), path(case.run))
        assert case.says in str(caught.value)
        return
    entry = grade_one(path(case.qrels), path(case.run))[0]
    assert (entry.graded.status, entry.marks.total) == (("scored", 40.0) if case.ap else ("refused", 0.0))
    assert case.says in entry.graded.reason


def test_with_the_newline_it_is_another_number() -> None:
    """q1: d1 is relevant and first; q2: e1 is. AP is 1; without q2's first line it is 1/2."""
    text = (CASES / "joined-without-newline.run").read_text().replace("tq2", "t\nq2")
    run = te.read_run(text=text)
    assert te.evaluate(path("joined-without-newline.qrels"), run, ["AP", "NumRet"]).mean == {"AP": 1.0, "NumRet": 4.0}


# --- other layouts, and queries without judgments ---

VALUES: dict[str, tuple[str, str, str, dict[str, Any], float]] = {
    # The only relevant document is first.
    "colbert-ranking": ("colbert.qrels", "colbert-ranking.tsv", "RR", {}, 1.0),
    "flagembedding-search-results": (
        "flagembedding-search-results.qrels", "flagembedding-search-results.json", "AP", {}, 1.0,
    ),
    # pytrec_eval-terrier 0.5.11 gives {'a': 1.0} alone.
    "empty-judgments": ("empty-judgments.json", "empty-judgments.run.json", "RR", {}, 1.0),
    "empty-judgments as pytrec_eval": (
        "empty-judgments.json", "empty-judgments.run.json", "RR", {"profile": "pytrec_eval"}, 1.0,
    ),
    # What stands before the # is the only judged document.
    "segment-ids by document": ("segment-ids.qrels", "segment-ids.run", "RR", {"max_passage": "#"}, 1.0),
    "ascending-but-right": ("ascending-but-right.qrels", "ascending-but-right.run", "AP", {}, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_what_other_programs_read_has_their_value_and_no_note(name: str) -> None:
    qrels, run, measure, options, value = VALUES[name]
    assert te.evaluate(path(qrels), path(run), [measure], **options).mean == {measure: value}
    words = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    done = treceval([*words, "-m", measure, path(qrels), path(run)])
    notes = [
        note
        for note in done.err.splitlines()
        if not note.endswith(b"1 query of the run has no judgments (b) and is not scored.")
    ]
    assert (done.out.split()[-1], notes) == (b"1.0000", [])


def test_a_query_without_judgments_is_in_no_format(tmp_path: Path) -> None:
    run = path("empty-judgments.run.json")
    for form in formats_of("qrels", written=True):
        target = tmp_path / f"judgments.{form}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", te.errors.TrecevalWarning)
            te.convert(path("empty-judgments.json"), target, kind="qrels", target_format=form)
        assert te.evaluate(te.read_qrels(target, form), run, ["RR"]).mean == {"RR": 1.0}, form


LAYOUTS = {
    "sampled-5col": (
        {"11": {"15805248": -1, "24092809": 0, "25240409": 1, "25240410": 0}, "12": {"777": 2}},
        ["2", "2", "1", "1", "1"],
    ),
    "cranfield-3col": ({"1": {"184": 2, "29": 2, "31": 3, "486": -1}, "2": {"12": 3, "15": 4}}, None),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_judgments_of_other_columns_are_read_as_they_are(name: str, tmp_path: Path) -> None:
    labels, strata = LAYOUTS[name]
    file = path(f"{name}.qrels")
    qrels = te.read_qrels(file)
    assert (qrels.to_dict(), None if qrels.sample is None else qrels.sample.strata.tolist()) == (labels, strata)
    # No advice that would change labels, and not a hundred findings of one cause.
    assert [finding.code for finding in check(file).findings] == ["F018", "Q318"][: 1 + (strata is not None)]
    te.convert(file, tmp_path / "judgments.txt", target_format="sampled" if strata else "qrels")
    assert te.read_qrels(tmp_path / "judgments.txt").to_dict() == labels


# --- signs of a run beside its judgments ---

SIGNS = {
    "segment-ids": ("segment-ids.qrels", "segment-ids.run", "X205", "--max-passage"),
    "url-ids": ("url-ids.qrels", "q Q0 Name_A 1 2 t\nq Q0 Name_B 2 1 t\n", "X205", "the beginning of the URL"),
    # By the scores as they are, x is third of three: 1/3.
    "l2": ("l2.qrels", "l2.run", "R129", "with the opposite sign"),
}


@pytest.mark.parametrize("name", SIGNS)
def test_score_and_python_say_what_check_finds(name: str, tmp_path: Path) -> None:
    qrels, run, code, words = SIGNS[name]
    file = tmp_path / "run"
    file.write_text(run if "\n" in run else (CASES / run).read_text())
    with pytest.warns(te.errors.SuspectRunWarning) as caught:
        results = te.evaluate(path(qrels), file, ["RR"])
    assert (results.mean["RR"], [sign.code for sign in results.signs]) == (0.0 if code == "X205" else 1 / 3, [code])
    done = treceval(["-m", "RR", path(qrels), str(file)])
    notes = done.err.decode().splitlines()
    assert ([words in note for note in notes], [words in str(warning.message) for warning in caught]) == (
        [True],
        [True],
    )
    assert code in check(path(qrels), file).counts


# --- the same kinds of lines in other files ---

RUN_LINES = {
    # a line as it is in a run after "1 Q0 a 1 9.5 t": what is said of it, or its documents and scores
    "1 Q0 b 2 8 my tag": {"a": 9.5, "b": 8.0},
    "1 Q0 b 2 8 tag 3": {"a": 9.5, "b": 8.0},
    "1 Q0 b 2 8 bm25 k1 0.9 b 0.4": {"a": 9.5, "b": 8.0},
    "1 Q0 b 2 8 x y 1 0.9 z": {"a": 9.5, "b": 8.0},
    "1 Q0 b 2 8 2 stage": {"a": 9.5, "b": 8.0},  # 'b 2' as an id would make 8 the rank and 2 the score
    "1\tQ0\tb\t2\t8\tmy tag": {"a": 9.5, "b": 8.0},
    "1\tQ0\tNew York\t2\t8.5\tt": {"a": 9.5, "New York": 8.5},
    "1\tQ0\tNew York\t2\t8\tmy tag": {"a": 9.5, "New York": 8.0},
    "1 Q0 New York 2 8.5 t": "document id 'New York' contains a space",
    "1 Q0 New York City 2 8.5 t": "document id 'New York City' contains a space",
    "1 - New York 2 8.5 t": "document id 'New York' contains a space",
    "1 Q0 .I 1 2 8.5 t": "document id '.I 1' contains a space",
    "new york Q0 b 2 8.5 t": "query id 'new york' contains a space",
    "7 1 Q0 b 2 8.5 t": "Q0 is the third field",
    "1 Q0 b 2 8 t2 Q0 c 1 7 t": "two lines in one: a newline is missing at 't2'",
    "1 Q0 b 2 8 t 2 Q0 c 1 7 t": "two lines in one: a newline is missing at '2'",
    "1 Q0 b 2 8 my t2 Q0 c 1 7 my t": "two lines in one: a newline is missing at 't2'",
    "1 0 b 2 8 t2 0 c 1 7 t3 0 c 1 6 t": "two lines in one: a newline is missing at 't2'",
    "1 Q0 b 2 8.52 Q0 c 1 7 t": "two lines in one: a newline is missing at '8.52'",
    "1 Q02 Q0 c 1 7 t": "two lines in one: a newline is missing at 'Q02'",
}
JUDGMENT_LINES = {
    "1 0 b 12 0 c 1": "two lines in one: a newline is missing at '12'",
    "1 0 b 1 2 0 c 1": "two lines in one: a newline is missing at '2'",
    "1 0 b 1 2 0 c": "7 fields, but a judgment has 4",
    "1\t0\tNew York\t2": {"a": 1, "New York": 2},
    "1 0 New York 2": "5 fields, but a judgment has 4",
}


def test_a_line_with_more_fields_is_read_only_if_its_columns_are_certain() -> None:
    for lines, first, read in (
        (RUN_LINES, "1 Q0 a 1 9.5 t\n", te.read_run),
        (JUDGMENT_LINES, "1 0 a 1\n", te.read_qrels),
    ):
        for line, expected in lines.items():
            text = f"{first}{line}\n"
            if isinstance(expected, dict):
                assert read(text=text)["1"] == expected, line
                continue
            with pytest.raises(InputError) as caught:
                read(text=text)
            assert caught.value.line == 2
            assert expected in str(caught.value), line
