"""Tables in every format: each command has all of them, and data do nothing to whoever reads them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import pty
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from command import treceval
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from treceval_py.cli.commands import run
from treceval_py.cli.commands import treceval as group
from treceval_py.errors import visible
from treceval_py.rendering import FORMATS, render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.escaping import active, inert, markdown, markdown_line, typeset
from treceval_py.rendering.numbers import exactly, needed, number, p_value, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Section, Table
from treceval_py.rendering.terminal import filled

ROOT = Path(__file__).parent.parent
QRELS, OTHER = "data/qrels.tsv", "data/judge.tsv"
RUNS = [f"data/runs/{name}.txt" for name in ("bm25", "jaccard", "minilm")]
FEW = ["-m", "map", "-m", "P.5"]
GROUPS = ["--groups", "data/query_groups.tsv"]
COMPARED = [QRELS, *RUNS, *FEW, "--resamples", "99"]

COMMANDS = {
    "score": [
        [QRELS, RUNS[0], *FEW],
        [QRELS, RUNS[0], *FEW, "--ties", "--unjudged"],
        [QRELS, *RUNS, *FEW, "-q", "--signature"],
        [QRELS, *RUNS, *FEW, *GROUPS],
    ],
    "compare": [
        [*COMPARED, "--pairs", *["--test", "all", "--margin", "0.1"]],
        [*COMPARED, "--per-query", "1"],
        [*COMPARED, "--per-query", "2", "--pairs"],
        [*COMPARED, "--agreement"],
        [*COMPARED, *GROUPS, "--pairs"],
        COMPARED,
    ],
    "board": [[QRELS, *RUNS, *FEW, "--no-cache"], [QRELS, *RUNS, *FEW, "--no-cache", *GROUPS]],
    "gate": [[QRELS, RUNS[0], RUNS[2], *FEW], [QRELS, RUNS[0], RUNS[2], "--margin", "map=5%", "--floor", "P.5=0.1"]],
    "agree": [[QRELS, OTHER, "-q", "--bootstrap", "100"], [QRELS, OTHER, *RUNS, *FEW, "--bootstrap", "100"]],
    "explain": [
        [QRELS, RUNS[0], *FEW],
        [QRELS, RUNS[0], "--claim", "nDCG@10=0.7093"],
        [QRELS, RUNS[0], "-m", "AP", "--against", "ranx"],
        [QRELS, RUNS[0], *FEW, "--query", "31"],
    ],
    "pool": [[QRELS, *RUNS, "--budget", "5"]],
    "check": [["--qrels", QRELS, RUNS[1]]],
    "measures": [[]],
    "profiles": [[]],
}
"""What each command that prints a table is called with."""

CASES = [[name, *arguments] for name, several in COMMANDS.items() for arguments in several]


def formats_of(name: str) -> list[str]:
    """Return what a command takes for ``--format``; nothing if it has no such option."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    options = [each for each in command.params if "--format" in each.opts]
    return [choice for each in options if isinstance(each.type, click.Choice) for choice in each.type.choices]


def test_every_command_that_prints_tables_has_every_format() -> None:
    having = {name: formats_of(name) for name in group.list_commands(click.Context(group))}
    assert {name for name, formats in having.items() if "table" in formats} == set(COMMANDS)
    for name in COMMANDS:
        assert [
            each for each in having[name] if each not in {"trec", "qrels", "coursework", "text", "github", "sarif"}
        ] == list(FORMATS)


def test_the_formats_are_the_files_in_their_order() -> None:
    assert FORMATS[:7] == ("table", "csv", "tsv", "json", "markdown", "latex", "html")
    files = (ROOT / "treceval_py/rendering/formats").glob("*.py")
    assert sorted(FORMATS) == sorted(path.stem for path in files if path.stem[0] != "_")
    with pytest.raises(ValueError, match=r"format must be one of table, csv, .*, not 'odt'"):
        rendered(Document("x", [], lambda _: Made()), "odt")


class Tags(HTMLParser):
    """The tags and texts of a page, with every tag closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.data: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def check_rectangle(text: str, name: str) -> None:
    """Assert that text is of a format: a table whose rows have as many cells."""
    blocks = [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n"))]
    if name in ("csv", "tsv"):
        for block in blocks:
            rows = list(csv.reader(block, delimiter="," if name == "csv" else "\t", strict=True))
            assert len(rows) > 1
            assert {len(row) for row in rows} == {len(rows[0])}
    elif name == "json":
        VALIDATOR.validate(json.loads(text, parse_constant=pytest.fail))
    elif name == "markdown":
        for block in blocks:
            rows = [line for line in block if line.startswith("|")]
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1
        assert "\n| :--" in text or "\n| --:" in text
    elif name == "latex":
        for kind in ("tabular", "table"):
            assert text.count(f"\\begin{{{kind}}}") == text.count(f"\\end{{{kind}}}")
        for form, body in re.findall(
            r"\\begin\{tabular\}\{(?:@\{\})?([lr@{}]*?)(?:@\{\})?\}\n(.*?)\\end", text, re.DOTALL
        ):
            rows = [line for line in body.split("\n") if line.endswith(r"\\") and "multicolumn" not in line]
            assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} <= {form.count("l") + form.count("r")}
    elif name == "html":
        assert "table" in Tags(text).seen
    else:
        assert "─" * 10 in text or re.search(r"^ +docid +judged", text, re.MULTILINE)


SCHEMA = (ROOT / "docs/json-schema.json").read_text("utf-8")
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA))


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_each_command_prints_each_format(case: list[str]) -> None:
    for name in FORMATS:
        done = treceval([*case, "--format", name], folder=ROOT)
        assert done.status == 0, done.err
        check_rectangle(done.out.decode(), name)


def test_the_schema_is_one_and_refuses_what_is_no_envelope() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA))
    good = json.loads(treceval(["score", QRELS, *RUNS, *FEW, "-q", "--format", "json"], folder=ROOT).out)
    keys = ["treceval_py", "kind", "judgments", "profile", "complete", "signatures", "runs"]
    assert list(good)[:7] == keys
    assert list(good)[-2:] == ["notes", "errors"]
    VALIDATOR.validate(good)
    wrong = [
        {name: value for name, value in good.items() if name != key} for key in [*keys, "notes", "errors", "measures"]
    ]
    for change in ({"kind": "poem"}, {"runs": [{}]}, {"signatures": {"map": "AP"}}, {"notes": "none"}):
        wrong.append({**good, **change})
    assert [each for each in wrong if VALIDATOR.is_valid(each)] == []


def test_notes_of_a_run_are_in_json_and_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    done = treceval(["-m", "map", "--format", "json", "qrels", "run"], folder=tmp_path)
    (note,) = json.loads(done.out)["notes"]
    assert note == "run: 1 judged query is missing (2), and left out; -c counts it."
    assert done.err.decode() == f"note: {note}\n"


# Hostile data ---------------------------------------------------------------------------------------

HOSTILE = [
    "\x1b[2J\x1b]0;title\x07",
    "a\u202etxt.exe\u2066b\u2069",
    "\u200e\u200f\u202a\x85\x9b31m",
    "\udcff\ud800",
    "=1+1",
    "-2+3;=cmd()",
    " @SUM(A1)",
    "\t=1",
    "\r+1",
    "'=1",
    "\uff1d1",
    "one\ntwo\r\nthree",
    'a|b"c,d\te',
    r"\input{x}$_^~#%&\\",
    "<script>alert(1)</script>&lt;",
    "[x](javascript:y) *b* `c` ~d~ https://x.y www.x.y a@b.cd",
    "--''``?`!`",
    "[ht]",
    "*",
    "文字🎉é",
    "",
]


def rendered(made: Table | Document, name: str, **style: Any) -> str:
    document = Document("x", [made], lambda _: Made()) if isinstance(made, Table) else made
    return render(document, name, Style(**style))


def hostile_table(label: str = "") -> Document:
    columns = [
        Column("run", HOSTILE, text=True, head=True),
        Column(HOSTILE[12], HOSTILE[::-1], text=True),
        Column("map", [-0.5] * len(HOSTILE), best=frozenset({1}), letters=["ab"] * len(HOSTILE)),
    ]
    table = Table(tuple(columns), title=HOSTILE[13], notes=(HOSTILE[15],), made=(HOSTILE[0], "`"), label=label)
    return Document("x", [table._replace(breaks={0: HOSTILE[14], 3: ""})], lambda _: Made(notes=HOSTILE))


def hostile_sections() -> Document:
    """Return a table whose names stand behind others, in sections and across columns."""
    (table,) = hostile_table().tables
    ranks = Column("rank", [f"{row} → 1" for row in range(len(HOSTILE))], joint=" → ", marks=["▲"] * len(HOSTILE))
    columns = (table.columns[0]._replace(behind=HOSTILE), table.columns[1], ranks._replace(apart=True))
    sections = tuple(Section(row, text, ("0.1 → 0.2", "+0.1"), text) for row, text in enumerate(HOSTILE[:-1]))
    return Document("x", [table._replace(columns=columns, sections=sections, version=HOSTILE[0])], lambda _: Made())


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"csv", "tsv", "json"}))
@pytest.mark.parametrize("document", [hostile_table(), hostile_sections()], ids=["plain", "sections"])
def test_no_character_that_steers_reaches_people(document: Document, name: str) -> None:
    for colour in (False, True):
        text = rendered(document, name, colour=colour, width=40)
        text = re.sub("\x1b\\[[012]m", "", text) if colour and name == "table" else text
        assert [each for each in text if not each.isprintable() and each != "\n"] == []


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_no_cell_is_computed_by_a_spreadsheet(name: str, delimiter: str) -> None:
    text = rendered(hostile_table(), name)
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    assert [active(row[0]) for row in rows] == HOSTILE
    assert [active(row[1]) for row in rows] == HOSTILE[::-1]
    assert [row[2] for row in rows] == ["-0.5"] * len(HOSTILE)  # numbers stay numbers
    assert active(header[1]) == HOSTILE[12]
    for cell in [cell for row in rows for cell in row[:2]]:
        assert all(not re.match("\\s*[=+\\-@\uff1d]|[\t\r]", part) for part in cell.split(";"))


def test_no_sign_of_markdown_is_one() -> None:
    text = rendered(hostile_table(), "markdown")
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len(rows) == 2 + 1 + len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", row))) for row in rows} == {4}
    for escaped in (r"https\://x.y", r"www\.x.y", r"a\@b.cd", r"\<script\>", r"\[x\]", r"\*b\*", r"\`c\`", r"\&lt;"):
        assert escaped in text
    assert [markdown_line(each) for each in ("- a", "1. a", "+ a", "-a", "# a")] == [
        "\\- a", "1\\. a", "\\+ a", "-a", "\\# a",
    ]  # fmt: skip
    assert markdown("nDCG@10, a: b") == "nDCG@10, a: b"


def test_no_text_of_html_is_a_tag() -> None:
    assert "script" not in Tags(rendered(hostile_sections(), "html")).seen
    tags = Tags(rendered(hostile_table(), "html"))
    assert set(tags.seen) == {
        "section", "style", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "b", "span", "sup",
        "ul", "li", "code",
    }  # fmt: skip
    assert {visible(each) for each in HOSTILE} - {""} <= set(tags.data)
    assert "−0.5000" in tags.data


def test_no_sign_of_tex_is_one() -> None:
    macros = r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|ldots)\{\}|\\[&%$#_{}]|\{[\[*]?\}"
    for each in HOSTILE:
        assert not set(re.sub(macros, "", typeset(each))) & set("\\{}$&#^_%~<>[*\n"), each
    assert typeset("--") == "-{}-"
    assert typeset("文") == r"\textless{}U+6587\textgreater{}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("label", ["", "tab:x"])
def test_latex_compiles(tmp_path: Path, label: str) -> None:
    packages = "\\usepackage{booktabs}\\usepackage[T1]{fontenc}"
    text = rendered(hostile_table(label), "latex")
    document = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{text}\\end{{document}}\n"
    (tmp_path / "x.tex").write_text(document, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "x.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_json_is_the_text_itself() -> None:
    document = json.loads(rendered(hostile_table(), "json"))
    plain = [each for each in HOSTILE if each != "\udcff\ud800"]  # which Unicode has not
    assert [row["run"] for row in document["rows"] if row["run"] in plain] == plain
    assert "\\xff" in document["rows"][3]["run"] or "\\udcff" in document["rows"][3]["run"]


@settings(max_examples=50)
@given(st.text(st.characters() | st.sampled_from("='+-@;\t\r \0\ufeff\uff1d")))
@example("; \t=")
@example("a\t=1")
@example("\0\ufeff=1")
def test_what_is_made_inert_is_read_back(text: str) -> None:
    assert active(inert(text)) == text
    assert all(not re.match("[\\s\0\ufeff]*[=+\\-@]", part) for part in re.split("[;\t]", inert(text)))


def test_a_run_may_have_the_name_of_a_column_of_signs() -> None:
    """A column of values is one in HTML, whatever its name."""
    table = Table((Column("measure", ["map"], text=True, head=True), Column("mark", [-0.5])))
    assert "<td>−0.5000</td>" in rendered(table, "html").replace("&#8722;", "−")


def test_relevance_strings_keep_their_hyphens() -> None:
    table = Table((Column("run", ["-10-", -0.5]), Column("interval", ["[-0.1, +0.2]", ""], joint=", ")))
    latex = rendered(table, "latex")
    assert "-10- & {[}$-$0.1, 0.2] \\\\" in latex
    assert "$-$0.5000 &  \\\\" in latex
    assert "<tr><td>-10-</td><td>[−0.1, +0.2]</td></tr>" in rendered(table, "html").replace("&#8722;", "−")


class Terminal(io.TextIOWrapper):
    """A standard output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters_and_a_pipe_gets_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qid = b"q\x1b[2J\xe2\x80\xaey\xff"
    (tmp_path / "qrels").write_bytes(qid + b" 0 a 1\n")
    (tmp_path / "run").write_bytes(qid + b" Q0 a 1 1.0 t\x07\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    arguments = ["-q", "-m", "map", "qrels", "run", "--format"]
    for name in ("trec", "coursework", "csv", "tsv", "json", "table"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", Terminal(io.BytesIO(), "utf-8"))
            assert run([*arguments, name]) == 0
            sys.stdout.flush()
            shown = sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
        assert [each for each in shown if not each.isprintable() and each not in "\n\t"] == []
        assert "\\x1b" in shown or "\\u001b" in shown
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "treceval_py", *arguments, "table"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment, check=True)
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        assert terminal.read(1 << 16).replace(b"\r\n", b"\n") == shown.encode()
    first = treceval([*arguments, "trec"]).out.split(b"\n")[0]
    assert first == b"map                   \t" + qid + b"\t1.0000"


# Sections -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table", "markdown", "latex", "html"])
def test_sections_have_headings_and_rows_further_in(name: str, snapshot: SnapshotAssertion) -> None:
    columns = (
        Column("docid", ["a", "3 more documents", "b"], text=True, head=True),
        Column("rank", ["12 → 3", None, "– → 1"], joint=" → "),
        Column("change", [-0.25, 0.125, 0.5], signed=True, digits=2),
    )
    headed = ((0, "q1", ("0.1", "+0.2"), "what"), (2, "q22", ("0.3", "-0.1")), (3, "q3", ("0", "1")))
    sections = tuple(Section(*each) for each in headed)  # type: ignore[arg-type]
    text = rendered(Table(columns, title="Moved", sections=sections, across=frozenset({1})), name)
    assert text == snapshot
    if name == "html":
        assert Tags(text).seen.count("tbody") == 3


# Cells ----------------------------------------------------------------------------------------------


def drawn(name: str, column: Column, **style: Any) -> str:
    return rendered(Table((column,), naming=0), name, **style)


def test_what_is_not_known_has_a_sign_for_people_and_none_for_programs() -> None:
    column = Column("value", [math.nan, None, 1.0, 2], unknown="not known")
    assert drawn("table", column).split("\n")[2:6] == ["not known", "", "   1.0000", "        2"]
    assert drawn("csv", column) == "value\n\n\n1.0\n2\n"
    assert [row["value"] for row in json.loads(drawn("json", column))["rows"]] == [None, None, 1.0, 2]


def test_digits_are_those_of_values() -> None:
    assert drawn("csv", Column("p", [0.123456]), digits=2) == "p\n0.12\n"
    assert drawn("csv", Column("p", [0.123456], exact=True), digits=2) == "p\n0.123456\n"
    assert json.loads(drawn("json", Column("p", [0.126]), digits=2))["rows"] == [{"p": 0.13}]
    assert "+0.1\n" in drawn("table", Column("d", [0.126], digits=1, signed=True), digits=3)


def test_numbers_are_written_for_people() -> None:
    cases = {
        number(math.nan, 2): "–",
        number(math.inf, 2): "∞",
        number(math.inf, 2, signed=True): "+∞",
        number(-math.inf, 2, signed=True): "-∞",
        number(0.125, 2, signed=True): "+0.12",
        number(-0.004, 2): "0.00",
        number(-0.006, 2): "-0.01",
        number(0.004, 2, signed=True): "0.00",
        number(1234.5, 0): "1234",
        p_value(0.0001): "0.0001",
        p_value(0.00009999): "<0.0001",
        p_value(1.0): "1.0000",
        p_value(math.nan): "–",
        needed(10_000.0): "10000",
        needed(10_001.0): ">10,000",
        needed(math.inf): "∞",
        percent(0.9999): "99.99 %",
        percent(1.0): "100 %",
        exactly(2.0): "2",
        exactly(0.1): "0.1",
    }
    assert {found: expected for found, expected in cases.items() if found != expected} == {}


def test_the_tag_is_the_heading_of_several_runs_and_a_row_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = ["-m", "runid", "-m", "map", QRELS, *RUNS[:2]]
    people, csv_text = (treceval([*words, "--format", name]).out.decode() for name in ("table", "csv"))
    assert [line.split()[0] for line in people.splitlines()[::2]] == ["measure", "map"]
    assert people.splitlines()[0].split() == ["measure", "bm25", "jaccard"]
    assert "all,runid,bm25,jaccard\n" in csv_text
    assert b"runid" in treceval(["-m", "runid", QRELS, *RUNS[:2]]).out  # there is nothing else


def test_agreement_names_means_and_single_rows_have_no_lines_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    measured = ["-m", "AP", "-m", "RR", QRELS]
    for words, heads in (
        (measured, ("MAP", "MRR")),
        ([QRELS], ("MAP", "MRR")),
        (["-m", "map", "-m", "mrr", QRELS], ("map", "mrr")),
    ):
        agreement = treceval(["compare", *words, *RUNS, "--agreement"]).out.decode()
        assert re.findall(r"^(AP|MAP|map) +(RR|MRR|mrr) ", agreement, re.MULTILINE)[:1] == [heads]
    differences = [treceval(["compare", *measured, *RUNS[:n]]).out.decode() for n in (2, 3)]
    blank = [bool(re.search(r"^MAP .*\n\nMRR ", text, re.MULTILINE)) for text in differences]
    assert blank == [False, True]


def test_lines_are_wrapped_just_beyond_the_width_and_go_on_below_their_last_column() -> None:
    row, sentence, indented = "  0.5  a  ranx, beir, mteb", "beir counts the documents", "  once, then once more"
    assert [filled(each, 25) for each in (sentence, indented)] == [sentence, indented]
    assert filled(row, 26) == row
    assert filled(row, 20) == "  0.5  a  ranx,\n          beir, mteb"
    assert filled(row, 19) == "  0.5  a  ranx,\n    beir, mteb"  # the column begins beyond the middle
    assert filled(sentence, 24) == "beir counts the\n  documents"
    assert filled(f"{indented}\n\n{row}", 20) == f"  once, then once\n    more\n\n{filled(row, 20)}"
    assert filled(sentence, None) == sentence


@pytest.mark.parametrize(
    "words",
    [
        ["measures", "nDCG"],
        ["profiles", "ranx"],
        ["check", "--explain", "R104"],
        ["check", "--qrels", QRELS, "data/messy/run.txt"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_text_fits_a_terminal_at_words_and_a_pipe_gets_its_lines(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    piped = treceval(words).out.decode()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal(io.BytesIO(), "utf-8"))
        assert run(words) == 0
        shown = sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert shown.split() == piped.split()
    assert max(map(len, piped.splitlines())) > 80 >= max(map(len, shown.splitlines()))


def test_texts_in_the_last_column_are_wrapped_below_one_another() -> None:
    columns = (Column("value", [1.0]), Column("way", ["one two three four five six"], text=True))
    rows = rendered(Table(columns), "table", width=20).splitlines()[2:]
    assert rows == ["1.0000   one two", "         three four", "         five six"]


def test_a_table_is_cut_into_blocks_just_beyond_the_width_of_the_terminal() -> None:
    columns = (Column("run", ["a"], text=True), Column("x1", [0.5]), Column("x2", [0.25]))
    whole = rendered(Table(columns), "table")
    assert len(whole.split("\n")[0]) == 21  # 3 + 2 * (3 + 6)
    assert rendered(Table(columns), "table", width=21) == whole
    assert rendered(Table(columns), "table", width=20).count("run") == 2


def test_a_long_text_in_the_last_column_goes_on_below_itself() -> None:
    table = Table((Column("run", ["a"], text=True), Column("x", [0.5]), Column("why", ["ten words " * 20], text=True)))
    lines = rendered(table, "table", width=40).split("\n")
    assert lines[:2] == ["run        x   why", "─" * 40]
    assert lines[2] == "a     0.5000   ten words ten words ten"
    assert {line[:15] for line in lines[3:-1]} == {" " * 15}
    piped = rendered(table, "table").split("\n")
    assert (len(piped[1]), len(piped[2])) == (120, 15 + 199)


def test_a_long_table_that_folds_is_closed_in_html() -> None:
    def folded(rows: int) -> str:
        return rendered(Table((Column("x", [0.5] * rows),), title="Many", folds=True), "html")

    assert ["<details open>" in folded(rows) for rows in (40, 41)] == [True, False]
    assert "<details>" in folded(41)


def test_columns_with_a_common_head() -> None:
    columns = (Column("q", ["1"], text=True), Column("low", [0.0], group="range"), Column("high", [1.0], group="range"))
    lines = rendered(Table(columns), "latex").split("\n")
    assert lines[4:7] == [
        "\\multicolumn{1}{c}{} & \\multicolumn{2}{c}{range} \\\\", "\\cmidrule(lr){2-3}", "q & low & high \\\\",
    ]  # fmt: skip
    assert '<td colspan="1"></td><th scope="colgroup" colspan="2">range</th>' in rendered(Table(columns), "html")


def test_a_table_wider_than_a_page_is_cut_or_squeezed_in_latex() -> None:
    columns = (Column("run", ["a"], text=True), *(Column(f"measure{number}", [0.5]) for number in range(12)))
    table = Table(columns, label="tab:x", notes=("Said.", "Judged."))
    # A page of 345 points has room for five columns of about 44 points with 12 between, beside the name.
    cut = rendered(table, "latex")
    assert cut.count("\nrun & measure") > 1
    assert cut.count("\\begin{tabular}") == 1
    spare = columns[-1]._replace(spare=True, note="Judged.")
    squeezed = table._replace(columns=(*columns[:-1], spare), tight=True)
    tight = rendered(squeezed, "latex")
    assert tight.count("\nrun & measure0") == 1
    assert "\\footnotesize\n\\setlength{\\tabcolsep}{2pt}" in tight
    assert tight.startswith("% ")
    assert "% the table of rows fits into a page only without measure11.\n" in tight
    body = tight[tight.index("\\begin{table*}") :]
    assert ("measure11" in body, "Judged." in body, "Said." in body) == (False, False, True)


def test_a_long_table_goes_over_pages_in_latex() -> None:
    def tall(rows: int, columns: int = 1) -> str:
        table = Table((Column("run", [str(row) for row in range(rows)], text=True), Column("x", [0.5] * rows)))
        return rendered(table._replace(label="tab:x", notes=("Said.",)), "latex", columns=columns)

    text = tall(41)
    # Two floats of one number: longtable stops with an error in two columns.
    assert text.count("\\begin{table}") == text.count("\nrun & x \\\\\n\\midrule\n") == 2
    assert text.count("\\caption{Said.}\\label{tab:x}") == 1
    assert "\\addtocounter{table}{-1}\n\\caption{Continued.}" in text
    # A column of text has room for 30 rows, a page for 36, and LaTeX for 12 floats that wait.
    assert [tall(rows).count("\\begin{table}") for rows in (30, 31)] == [1, 2]
    assert [tall(rows, 2).count("\\begin{table*}") for rows in (36, 37)] == [1, 2]
    assert [tall(rows).count("\\clearpage") for rows in (360, 361)] == [0, 1]
    assert text.count("0.5000 \\\\") == 41


def floats(columns: list[Column], wide: int) -> str:
    document = Document("x", [Table(tuple(columns), label="tab:x")], lambda _: Made())
    return render(document, "latex", Style(columns=wide))


@pytest.mark.parametrize(("values", "blocks"), [(12, 1), (13, 2)])
def test_a_page_has_room_for_345_points_before_columns_go_below_each_other(values: int, blocks: int) -> None:
    # In the smallest letters, 0.85 × 27.8 points for 0.5000 and 0.85 × 5.6 for q, and 4 between: 12 columns need 336.4
    # without the gaps at the sides, 13 need 364.
    text = floats([Column("q", ["a"], text=True), *(Column("x", [0.5]) for _ in range(values))], 2)
    assert text.count("\nq & x &") == blocks


@pytest.mark.parametrize(("short", "tables"), [(2, 1), (3, 2)])
def test_a_broken_name_takes_as_many_lines_of_a_table_as_it_has_pieces(short: int, tables: int) -> None:
    # A column of text has 30 lines: seven names of four lines each, and two of one.
    names = ["sentence-transformers/msmarco-distilbert"] * 7 + ["bm25"] * short
    values = [Column(str(number), [0.5] * len(names)) for number in range(5)]
    text = floats([Column("run", names, text=True, head=True), *values], 1)
    assert (text.count("\\parbox"), text.count("\\begin{table}")) == (7, tables)
