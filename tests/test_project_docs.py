"""The pages in docs/ say what the package declares, and the numbers that other tools print."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
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
from treceval_py.grading.rules import RULES
from treceval_py.measures import FAMILIES, NICKNAMES, SECTIONS
from treceval_py.measures.documentation import described, sections

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
MESSY = HOME / "data" / "messy"
TOOLS: list[dict[str, Any]] = json.loads((MESSY / "tools.json").read_text("utf-8"))
PAGES = {path.name: path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))}

make = module_at(DOCS / "make.py")
DECLARED = dict(FAMILIES)
FULL: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _only_what_the_package_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(FAMILIES) - set(DECLARED):  # by another test
        monkeypatch.delitem(FAMILIES, name)


@pytest.fixture
def full() -> dict[str, str]:
    """Return the pages in full, which are not in git."""
    FULL.update({name: made() for name, made in make.FULL.items() if name not in FULL})
    return FULL


def section_of(page: str, heading: str) -> str:
    """Return what stands under a heading, down to the next one of its level or above."""
    level = heading.split(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return found[1]


# The generator.


def test_the_pages_in_git_are_up_to_date() -> None:
    command = [sys.executable, str(DOCS / "make.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_pages_are_written_and_stale_ones_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "HERE", tmp_path)
    names = ", ".join(f"docs/{name}" for name in make.INDEXES)
    assert make.main(["--check"]) == f"Not up to date: {names}. Run make docs."
    assert make.main([]) is None
    assert {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.md")} == {
        name: PAGES[name] for name in make.INDEXES
    }
    assert {path.name for path in (tmp_path / "full").iterdir()} == set(make.FULL)
    (tmp_path / "profiles.md").write_text("older", "utf-8")
    assert make.main(["--check"]) == "Not up to date: docs/profiles.md. Run make docs."


def test_an_unknown_option_of_the_generator_is_refused() -> None:
    assert "python docs/make.py --check" in make.main(["--chek"])


def test_what_is_made_and_in_git_stays_short() -> None:
    assert sum(len(PAGES[name].split()) for name in make.INDEXES) <= 9000


def test_nothing_in_full_is_in_git() -> None:
    assert "docs/full/" in (HOME / ".gitignore").read_text("utf-8").splitlines()
    assert "prune docs/full" in (HOME / "MANIFEST.in").read_text("utf-8").splitlines()


# Indexes.


def test_each_index_lists_everything() -> None:
    missing = [
        (name, notation)
        for name, family in DECLARED.items()
        for row in re.findall(rf"^\| `{re.escape(name)}` \|.*$", PAGES["measures.md"], re.MULTILINE) or [""]
        for notation in ("", *family.notation)
        if not re.search(rf"`{re.escape(notation)}[(@`]" if notation else ".", row)
    ]
    missing += [("set", name) for name in NICKNAMES if f"\n* `{name}`: " not in PAGES["measures.md"]]
    missing += [
        ("code", code)
        for code, found in CODES.items()
        if f"| `{code}`{chr(92) + '*' if found.fixed else ''} | {found.severity} | {make.prose(found.title)} |"
        not in PAGES["codes.md"]
    ]
    missing += [
        ("profile", name)
        for name, profile in PROFILES.items()
        if f"| `{name}` | {make.prose(profile.title)} |" not in PAGES["profiles.md"]
    ]
    assert missing == []


def options_of(name: str) -> list[list[str]]:
    """Return the spellings of each option that the help of a command prints."""
    printed = treceval([name, "--help"]).out.decode().partition("\nOptions:\n")[2]
    options = re.findall(r"^  (-.*?)(?:  |$)", printed, re.MULTILINE)
    return [re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", each) for each in options]


def test_the_index_of_commands_has_a_row_for_each_option() -> None:
    shared = re.findall(r"^\| (`-.*?) \| ", section_of(PAGES["commands.md"], "## Shared options"), re.MULTILINE)
    wrong = []
    for name in ("score", *COMMANDS):
        section = section_of(PAGES["commands.md"], f"## treceval {name}")
        rows = re.findall(r"^\| (`-.*?) \| ", section, re.MULTILINE)
        named = re.findall(r"`(.*?)`", section.partition("[Shared options]")[2])
        rows += [row for row in shared if re.findall(r"`(.*?)`", row)[0] in named]
        described = sorted(re.findall(r"`(--?[A-Za-z].*?)`", row) for row in rows)
        if described != sorted(options_of(name)):
            wrong.append((name, described))
    assert wrong == []


def test_indexes_of_the_site_lead_to_the_pages_in_full(full: dict[str, str]) -> None:
    dead, links = [], 0
    for name, made in make.INDEXES.items():
        for page, anchor in re.findall(r"\]\(full/([\w.]*)#?([^)]*)\)", made(site=True)):
            links += 1
            if page not in full or (anchor and anchor not in map(make.anchor, headings(full[page]))):
                dead.append((name, page, anchor))
    assert dead == []
    assert links == len(DECLARED) + len(PROFILES) + len(CODES) + len(make.INDEXES)
    assert not any("](full/" in text for text in PAGES.values())


# Pages in full. Each test returns what is missing of all measures, codes, … at once.


def missing_of_measure(name: str, page: str) -> Iterator[str]:
    section, family = section_of(page, f"### {name}"), DECLARED[name]
    found, says = sections(family.function), described(family)
    if not found[""].strip().endswith("."):
        yield "a sentence that says what it is"
    yield from (title for title in ("Formula", "Returns", "References", "Examples") if not found.get(title, "").strip())
    value = make.value_of(family)
    if "Empty case:" not in value:
        yield "the value of the empty case"
    yield from (each.name for each in family.parameters if not says.get(each.name))
    formula = found["Formula"].strip("\n").split("\n\n")
    parts = (found[""], value, found["References"], *formula, *says.values())
    yield from (part for part in parts if make.prose(part) not in section)
    yield from (each for each in family.notation if not re.search(rf"`{re.escape(each)}[(@`]", section))
    if ">>> " not in section:
        yield "an example"


def test_a_measure_in_full_has_everything(full: dict[str, str]) -> None:
    missing = {name: [*missing_of_measure(name, full["measures.md"])] for name in DECLARED}
    assert {name: parts for name, parts in missing.items() if parts} == {}
    titles = re.findall(r"^## (.*)$", full["measures.md"], re.MULTILINE)
    assert titles[: len(SECTIONS)] == list(SECTIONS.values())
    sets = section_of(full["measures.md"], "## Sets of measures")
    assert [name for name in NICKNAMES if f"| `{name}` |" not in sets] == []


def test_a_docstring_has_no_section_that_the_page_leaves_out() -> None:
    known = {"Formula", "Parameters", "Returns", "References", "Examples"}
    texts = {name: inspect.getdoc(family.function) or "" for name, family in DECLARED.items()}
    titles = {name: set(re.findall(r"^(\S.*)\n-{3,}$", text, re.MULTILINE)) for name, text in texts.items()}
    assert {name: found - known for name, found in titles.items() if found - known} == {}
    assert [name for name, text in texts.items() if not re.match(r".*\n\nFormula\n", text)] == []


def test_a_code_in_full_has_everything(full: dict[str, str]) -> None:
    missing = []
    for code, found in CODES.items():
        heading = f"{code} {found.name}"
        # Not `section_of`: an example may have a line with a number sign.
        section = full["codes.md"].partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
        parts = [found.severity.capitalize(), *map(make.prose, (found.title, found.todo, *found.why.split("\n\n")))]
        missing += [(code, part) for part in parts if part not in section]
        fixed = "yes" if found.fixed else ""
        row = f"| [{heading}](#{make.anchor(heading)}) | {found.severity} | {make.prose(found.title)} | {fixed} |\n"
        missing += [(code, "its row")] if row not in full["codes.md"] else []
    assert missing == []


def test_a_profile_in_full_has_everything(full: dict[str, str]) -> None:
    wrong = []
    for name, profile in PROFILES.items():
        section = section_of(full["profiles.md"], f"## {name}")
        parts = [*map(make.prose, (profile.title, *profile.remarks)), *profile.meanings.values()]
        wrong += [(name, part) for part in parts if part not in section]
        for each in CONVENTIONS.values():
            value = getattr(profile.conventions, each.name)
            said = f"* `{each.key}:{each.show(value)}` {each.question} {each.says(value)}" in section
            if said == (each.rare and value == getattr(te.Conventions(), each.name)):
                wrong.append((name, each.key))
        if section.count("](measures.md#") < len(profile.exceptions) + len(profile.meanings):
            wrong.append((name, "links to measures"))
    assert wrong == []


def test_a_command_in_full_has_everything(full: dict[str, str]) -> None:
    missing = []
    for name in ("score", *COMMANDS):
        section = section_of(full["commands.md"], f"## treceval {name}")
        rows = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `-")]
        missing += [
            (name, each) for each in options_of(name) if not any(all(f"`{x}`" in row for x in each) for row in rows)
        ]
        printed = "".join(treceval([name, "--help"]).out.decode().split())
        for choices in re.findall(r"\[((?:[\w.-]+\|)+[\w.-]+)\]", printed):
            if ", ".join(f"`{each}`" for each in choices.split("|")) not in section:
                missing.append((name, choices))
        assert len(rows) == len(options_of(name)), name
    assert missing == []


def test_rules_and_cards_in_full_have_everything(full: dict[str, str]) -> None:
    cards = make.cards.cards_there()
    assert [key.name for key in RULES if f"| `{key.name}` | {make.prose(key.meaning)} |" not in full["rules.md"]] == []
    rows = {line.count(" |") for line in full["conformance.md"].splitlines() if line.startswith("| ")}
    assert rows == {len(cards) + 1}
    assert len(cards) == full["conformance.md"].count("\n### ") == 16
    questions = [each["question"] for each in make.cards.run.cases()[0]]
    assert [each for each in questions if f"\n| {each} |" not in full["conformance.md"]] == []


# Docstrings.

GOOD = '''def f(a):
    """Return twice a number.

    Parameters
    ----------
    a : int
        The number.

    Returns
    -------
    int
        Twice that.

    Notes
    -----
    None.
    """
    return 2 * a
'''


@pytest.mark.filterwarnings("ignore:Unknown section")
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        pytest.param("", "", None, id="a good docstring"),
        pytest.param("Return twice a number.", "", "SS01", id="no summary"),
        pytest.param("Notes\n    -----\n    None.", "Notes ----- None.", "heading Notes", id="a joined heading"),
        pytest.param("    a : int\n", "    The number\n", "PR02", id="a sentence for a name"),
        pytest.param("f(a)", "f(b)", "PR02", id="another parameter"),
        pytest.param("        The number.\n", "", "PR07", id="a parameter without a description"),
        pytest.param("Notes\n    -----", "Remarks\n    -------", "GL06", id="an unknown section"),
        pytest.param("Notes\n    -----", "Raises\n    ------", None, id="sections in order"),
        pytest.param(
            "Parameters\n    ----------\n    a : int", "Examples\n    --------\n    a", "GL07", id="wrong order"
        ),
        pytest.param("        Twice that.\n", "", "RT03", id="a value without a description"),
    ],
)
def test_a_broken_docstring_is_reported(old: str, new: str, code: str | None, tmp_path: Path) -> None:
    pytest.importorskip("numpydoc", reason="checks docstrings, which needs numpydoc: .[docs] has it")
    (tmp_path / "broken.py").write_text('"""A module."""\n\n\n' + GOOD.replace(old, new), "utf-8")
    found = [*module_at(HOME / ".ci" / "docstrings.py").structure(tmp_path / "broken.py")]
    assert any(code in each for each in found) if code else found == []


# Markdown.


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def test_nothing_of_the_markup_is_left_when_a_page_is_rendered(full: dict[str, str]) -> None:
    left = {}
    for name, text in [*PAGES.items(), *((f"full/{name}", text) for name, text in full.items())]:
        lines = re.sub(r"<code.*?</code>", "", rendered(text), flags=re.DOTALL).splitlines()
        # <ol: a sentence that begins with a number has become a list
        if found := [line for line in lines if re.search(r"`|\*\*|\\|&lt;br|<s>|<ol", line)]:
            left[name] = found
    assert left == {}


def test_the_rows_of_a_table_have_as_many_cells_as_its_head(full: dict[str, str]) -> None:
    tables = [
        drawn for text in (*PAGES.values(), *full.values()) for drawn in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    ]
    cells = [{len(re.findall(r"(?<!\\)\|", line)) for line in drawn.splitlines()} for drawn in tables]
    assert [drawn for drawn, counts in zip(tables, cells, strict=True) if len(counts) > 1] == []


@pytest.mark.parametrize("text", ["a * b_i | c < d_ > [e] \\ f", "*", "_x and x_"])
def test_plain_text_looks_the_same_when_it_is_rendered(text: str) -> None:
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert rendered(make.prose(text)) == f"<p>{escaped}</p>\n"


def test_links_lead_somewhere(full: dict[str, str]) -> None:
    """Links in git lead to files that are in git, and on pages in full also to other such pages."""
    files = [*HOME.glob("*.md"), *HOME.glob("*/README.md"), *DOCS.rglob("*.md")]
    in_git = {path: path.read_text("utf-8") for path in files if path.parent != DOCS / "full"}
    pages = in_git | {DOCS / "full" / name: text for name, text in full.items()}
    anchors = {path: [make.anchor(each) for each in headings(text)] for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for page, anchor in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", outside_of_code(text)):
            target = (path.parent / page).resolve() if page else path
            there = target in pages if target.parent == path.parent == DOCS / "full" else target.exists()
            there &= path not in in_git or target.parent != DOCS / "full"
            if not re.match("https:", page) and not (there and (not anchor or anchors[target].count(anchor[1:]) == 1)):
                dead.append((path.name, page, anchor))
    assert dead == []


def test_files_that_developers_are_sent_to_are_there() -> None:
    """Paths are below the repository or the package; a name alone is that of a file somewhere in it."""
    names = {path.name for folder in ("treceval_py", "data") for path in (HOME / folder).rglob("*")}
    missing = []
    for page in (HOME / "CONTRIBUTING.md", DOCS / "architecture.md"):
        text = page.read_text("utf-8")
        code = " ".join(re.findall(r"```text\n.*?```|`[^`\n]+`", text, re.DOTALL)).replace("`", " ")
        for word in code.replace(",", " ").replace(";", " ").replace(": ", " ").split():
            if not ("/" in word or re.search(r"\.(pyx?|js|html|json|ya?ml|cff|md)$", word)) or word in names:
                continue
            made = re.search(r"\*|(OUT|RUN|_X)\b|^docs/full/|^build/", word)
            if not made and not any((folder / word).exists() for folder in (HOME, HOME / "treceval_py")):
                missing.append((page.name, word))
    assert missing == []


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)


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
