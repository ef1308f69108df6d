"""The pages in docs/ say what the package declares, and the numbers that other tools print."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from markdown_it import MarkdownIt  # which rich needs, too
from modules import module_at

import treceval_py as te
from treceval_py import CONVENTIONS, PROFILES
from treceval_py.checking.catalogue import CODES
from treceval_py.cli.commands import COMMANDS
from treceval_py.measures import FAMILIES, NICKNAMES, SECTIONS
from treceval_py.measures.documentation import described, sections

HOME = Path(__file__).parent.parent
MESSY = HOME / "data" / "messy"
TOOLS: list[dict[str, Any]] = json.loads((MESSY / "tools.json").read_text("utf-8"))
PAGES = {path.name: path.read_text("utf-8") for path in sorted((HOME / "docs").glob("*.md"))}


make = module_at(HOME / "docs" / "make.py")


# What is made from the registry.


def run(script: Path, *arguments: str) -> tuple[int, str]:
    """Run docs/make.py, or a copy of it, where no test has declared a measure."""
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.returncode, done.stderr


def test_the_pages_are_what_would_be_made_now() -> None:
    assert run(HOME / "docs" / "make.py", "--check") == (0, "")


def test_pages_are_made_and_stale_ones_found(tmp_path: Path) -> None:
    script = tmp_path / "make.py"
    script.write_bytes((HOME / "docs" / "make.py").read_bytes())
    wrong = "not up to date. Run python docs/make.py."
    assert run(script, "--check") == (
        1,
        f"docs/measures.md, docs/profiles.md, docs/codes.md, docs/rules.md and docs/commands.md: {wrong}\n",
    )
    assert run(script) == (0, "")
    assert {name: (tmp_path / name).read_text("utf-8") for name in make.PAGES} == {
        name: PAGES[name] for name in make.PAGES
    }
    (tmp_path / "profiles.md").write_text("older", "utf-8")
    assert run(script, "--check") == (1, f"docs/profiles.md: {wrong}\n")


def test_an_option_that_making_the_pages_has_not_is_refused() -> None:
    status, said = run(HOME / "docs" / "make.py", "--chek")
    assert status == 1
    assert "python docs/make.py --check" in said


@pytest.mark.parametrize("name", list(FAMILIES))
def test_a_measure_has_a_section_with_everything(name: str) -> None:
    section = section_of("measures.md", f"### {name}")
    found, says = sections(FAMILIES[name].function), described(FAMILIES[name])
    assert found[""].strip().endswith(".")
    assert all(found[title].strip() for title in ("Formula", "Returns", "References", "Examples"))
    value = make.value_of(FAMILIES[name])
    assert "Empty case:" in value
    assert set(says) == {each.name for each in FAMILIES[name].parameters}
    assert all(says.values())
    formula = found["Formula"].strip("\n").split("\n\n")
    for part in (found[""], value, found["References"], *formula, *says.values()):
        assert make.prose(part) in section
    for notation in FAMILIES[name].notation:
        assert re.search(rf"`{re.escape(notation)}[(@`]", section)
    assert ">>> " in section


def test_a_docstring_has_no_section_that_the_page_leaves_out() -> None:
    known = {"Formula", "Parameters", "Returns", "References", "Examples"}
    for family in FAMILIES.values():
        text = inspect.getdoc(family.function) or ""
        assert set(re.findall(r"^(\S.*)\n-{3,}$", text, re.MULTILINE)) <= known, family.name
        assert re.match(r".*\n\nFormula\n", text), family.name


def test_measures_stand_under_the_titles_of_their_kinds() -> None:
    titles = [
        each for each in re.findall(r"^## (.*)$", PAGES["measures.md"], re.MULTILINE) if each in SECTIONS.values()
    ]
    assert titles == list(SECTIONS.values())


@pytest.mark.parametrize("code", list(CODES))
def test_a_kind_of_findings_has_a_section_with_everything_and_a_row(code: str) -> None:
    found = CODES[code]
    heading = f"{code} {found.name}"
    # Not `section_of`: an example may have a line with a number sign.
    section = PAGES["codes.md"].partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    for paragraph in (found.title, found.todo, *found.why.split("\n\n")):
        assert make.prose(paragraph) in section
    assert found.severity.capitalize() in section
    fixed = "yes" if found.fixed else ""
    row = f"| [{heading}](#{make.anchor(heading)}) | {found.severity} | {make.prose(found.title)} | {fixed} |\n"
    assert row in PAGES["codes.md"]


@pytest.mark.parametrize("name", ["score", *COMMANDS])
def test_a_command_has_a_section_with_each_option_and_its_spellings(name: str) -> None:
    section = section_of("commands.md", f"## treceval {name}")
    printed = treceval([name, "--help"]).out.decode().partition("\nOptions:\n")[2]
    rows = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `-")]
    for spellings in re.findall(r"^  (-.*?)(?:  |$)", printed, re.MULTILINE):
        written = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", spellings)
        assert any(all(f"`{each}`" in row for each in written) for row in rows), spellings
    for choices in re.findall(r"\[((?:[\w.-]+\|)+[\w.-]+)\]", "".join(printed.split())):
        assert ", ".join(f"`{each}`" for each in choices.split("|")) in section
    assert len(rows) == len(re.findall(r"^  -", printed, re.MULTILINE))


def test_names_that_stand_for_several_measures_are_listed() -> None:
    section = section_of("measures.md", "## Sets of measures")
    assert [name for name in NICKNAMES if f"| `{name}` |" not in section] == []


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_profile_has_a_section_with_everything(name: str) -> None:
    section, profile = section_of("profiles.md", f"## {name}"), PROFILES[name]
    assert make.prose(profile.title) in section
    for each in CONVENTIONS.values():
        value = getattr(profile.conventions, each.name)
        said = f"* `{each.key}:{each.show(value)}` {each.question} {each.says(value)}" in section
        assert said != (each.rare and value == getattr(te.Conventions(), each.name))
    for remark in profile.remarks:
        assert make.prose(remark) in section
    for meaning in profile.meanings.values():
        assert meaning in section
    assert section.count("](measures.md#") >= len(profile.exceptions) + len(profile.meanings)


# Markdown.


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize("name", list(PAGES))
def test_nothing_of_the_markup_is_left_when_a_page_is_rendered(name: str) -> None:
    html = rendered(PAGES[name])
    plain = re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)
    assert re.findall(r"[^\n]*(?:``|`|\*\*|\\|&lt;br)[^\n]*", plain) == []
    assert "<s>" not in html
    assert "<ol" not in html  # no sentence that begins with a number has become a list


@pytest.mark.parametrize("name", list(PAGES))
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(name: str) -> None:
    for drawn in re.findall(r"(?:^\|.*\n)+", PAGES[name], re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in drawn.splitlines()}
        assert len(cells) == 1, drawn


@pytest.mark.parametrize("text", ["a * b_i | c < d_ > [e] \\ f", "*", "_x and x_"])
def test_plain_text_looks_the_same_when_it_is_rendered(text: str) -> None:
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert rendered(make.prose(text)) == f"<p>{escaped}</p>\n"


def test_links_lead_somewhere() -> None:
    pages = [HOME / "README.md", HOME / "CONTRIBUTING.md", *sorted((HOME / "docs").rglob("*.md"))]
    for path in pages:
        text = path.read_text("utf-8")
        found = [make.anchor(each) for each in headings(text)]
        assert sorted(set(found)) == sorted(found), f"two headings of {path} are linked alike"
        for page, anchor in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", outside_of_code(text)):
            if page.startswith("https:"):
                continue
            target = path.parent / page if page else path
            assert target.exists(), (path, page)
            if anchor:
                titles = [make.anchor(each) for each in headings(target.read_text("utf-8"))]
                assert anchor.removeprefix("#") in titles, (path, page, anchor)


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)


def section_of(page: str, heading: str) -> str:
    """Return what stands under a heading."""
    level = heading.split(" ")[0]
    found = re.search(
        rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", PAGES[page], re.DOTALL | re.MULTILINE
    )
    assert found is not None, heading
    return found[1]


# The table of tools in conventions.md. Its numbers are those that the tools printed, of data/messy/tools.json.

COLUMNS = {"MRR@10": ("RR@10",), "nDCG@10": ("nDCG@10",), "MAP": ("AP", "AP@1000")}
OF_GDEVAL = ("nDCG(dcg='exp-log2')@10",)

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| tool .*\n\|-.*\n((?:\|.*\n)+)", PAGES["conventions.md"], re.MULTILINE)[0].splitlines()
]


def names_in_tools(tool: str, column: str) -> tuple[str, ...]:
    return OF_GDEVAL if tool.startswith("gdeval") and column == "nDCG@10" else COLUMNS[column]


def belongs(record: dict[str, Any], tool: str) -> bool:
    """Tell whether a record is of the tool in a row, called as the row says."""
    program = record["tool"].split(" (")[0]
    version = "" if program == "MS MARCO script" else record["version"]
    return (
        tool.startswith(f"{program} {version}".strip())
        and (" -c " in record["how"]) == ("`-c`" in tool)
        and ("only the lines with a label of 1 or more" in record["how"]) == ("judged 1 or more" in tool)
    )


@pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_has_what_a_tool_printed_and_its_profile_prints_the_same(row: list[str]) -> None:
    tool, *cells, profile = row
    (name,) = re.findall(r"^`([^`]*)`", profile)
    qrels: Any = te.read_qrels(MESSY / "qrels.txt")
    if "judged 1 or more" in profile:
        labels = {qid: {docid: rel for docid, rel in qrels[qid].items() if rel >= 1} for qid in qrels}
        qrels = {qid: documents for qid, documents in labels.items() if documents}
    scored = te.evaluate(qrels, MESSY / "run.txt", list(COLUMNS), profile=name, complete="`-c`" in profile)
    for column, cell in zip(COLUMNS, cells, strict=True):
        printed = [
            record for record in TOOLS if belongs(record, tool) and record["measure"] in names_in_tools(tool, column)
        ]
        if cell == "–":
            assert printed == []
            continue
        number = cell.split(" ")[0]
        assert printed, column
        assert {f"{record['value']:.4f}" for record in printed} == {number}
        assert f"{scored.mean[column]:.4f}" == number
        assert {record["queries"] for record in printed} == {scored.signatures[column].queries}


def test_no_tool_is_missing_in_the_table() -> None:
    for record in TOOLS:
        columns = [column for column, names in COLUMNS.items() if record["measure"] in names]
        assert not columns or any(belongs(record, tool) for tool, *_ in ROWS), record


def test_the_messy_run_is_what_it_is_said_to_be() -> None:
    qrels, run = te.read_qrels(MESSY / "qrels.txt"), te.read_run(MESSY / "run.txt")
    tied = {qid: [list(run[qid].values()).count(score) > 1 for score in run[qid].values()] for qid in run}
    unjudged = [docid for qid in run if qid in qrels for docid in run[qid] if docid not in qrels[qid]]
    found = {
        "judgments": sum(map(len, qrels.values())),
        "documents": sum(map(len, run.values())),
        "missing": set(qrels) - set(run),
        "extra": set(run) - set(qrels),
        "nothing relevant": {qid for qid in qrels if not any(qrels[qid].values())},
        "tied": sum(map(sum, tied.values())),
        "of judged queries": sum(len(run[qid]) for qid in run if qid in qrels),
        "unjudged": len(unjudged),
    }
    # as docs/conventions.md and data/README.md say
    assert found == {
        "judgments": 151,
        "documents": 162,
        "missing": {"8"},
        "extra": {"13"},
        "nothing relevant": {"5"},
        "tied": 129,
        "of judged queries": 150,
        "unjudged": 54,
    }
    for number in (151, 162, 129, 150, 54):
        assert re.search(rf"\b{number}\b", PAGES["conventions.md"])


def test_the_readme_of_the_data_counts_the_tools() -> None:
    text = " ".join((HOME / "data" / "README.md").read_text("utf-8").split())
    assert len({(record["tool"], record["version"]) for record in TOOLS}) == 10
    assert "what ten tools printed" in text
    for record in TOOLS:
        assert record["tool"].split(" (")[0] in text
        assert re.findall(r"[\d.]+[\d]a?", record["version"])[0] in text


def test_a_claim_that_two_ways_meet_is_met_by_both() -> None:
    # 0.5030 is what the MS MARCO script printed (data/messy/tools.json); conventions.md says who else would have
    found = te.explain(MESSY / "qrels.txt", MESSY / "run.txt", claims=["MRR@10=0.5030"]).measures[0]
    changes = [match for match in found.matches if not match.variant.profile]
    ties = next(match for match in changes if match.variant.task.conventions.ties == "line")
    assert ties.outcome.queries == 11
    counted = {qid for qid, there in zip(ties.outcome.qids, ties.outcome.counted, strict=True) if there}
    assert "5" in counted
    assert "8" not in counted
