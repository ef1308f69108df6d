"""The pages in docs/ say what the package declares, and the numbers that other tools print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from markdown_it import MarkdownIt  # which rich needs, too
from modules import module_at

import treceval_py as te
from treceval_py.checking.catalogue import CODES
from treceval_py.cli.commands import COMMANDS
from treceval_py.grading.rules import RULES
from treceval_py.measuring import FAMILIES, NICKNAMES, SECTIONS
from treceval_py.measuring.documentation import described, formula, latex, sections
from treceval_py.scoring import CONVENTIONS, PROFILES

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
    """Return the pages that only the site has."""
    every = {**make.IN_FULL, **make.ONLY_ON_SITE}
    FULL.update({name: made() for name, made in every.items() if name not in FULL})
    return FULL


def section_of(page: str, heading: str) -> str:
    """Return what stands under a heading, down to the next one of its level or above."""
    level = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^##{{1,{len(level) - 1}}} |\Z)", page, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def lacking(page: str, wanted: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return what the sections of a page lack, by heading."""
    missing = {
        heading: [part for part in parts if part not in section_of(page, heading)] for heading, parts in wanted.items()
    }
    return {heading: parts for heading, parts in missing.items() if parts}


# The generator.


def test_the_pages_in_git_are_up_to_date() -> None:
    command = [sys.executable, str(DOCS / "make.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_pages_are_written_and_stale_ones_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "HERE", tmp_path)
    assert "python docs/make.py --check" in make.main(["--chek"])
    names = ", ".join(f"docs/{name}" for name in make.INDEXES)
    assert make.main(["--check"]) == f"Not up to date: {names}. Run make docs."
    assert make.main([]) is make.main(["--check"]) is None
    make.write_for_site()
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert written == {*make.INDEXES, *make.ONLY_ON_SITE}
    (tmp_path / "profiles.md").write_text("older", "utf-8")
    assert make.main(["--check"]) == "Not up to date: docs/profiles.md. Run make docs."


@pytest.mark.parametrize("written", [".", "treceval-py"])
@pytest.mark.parametrize("declared", [".", "treceval-py"])
def test_what_pip_installs_is_written_on_every_page(
    written: str, declared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "INSTALLED", declared)
    page = "`pip install {0}`, pip install '{0}[report,grade]', pip install {0} polars\n"
    assert make.with_install(page.format(written)) == page.format(declared)
    others = "pip install ./folder, pip install polars, pip install treceval-python"
    assert make.with_install(others) == others


def test_no_page_says_that_the_package_is_on_the_index_before_it_is() -> None:
    pages = [page for page in make.by_hand() if "not on the Python Package Index" in page.read_text("utf-8")]
    assert [page.name for page in pages] == (["README.md", "install.md"] if make.INSTALLED == "." else [])


def test_what_is_made_and_in_git_is_short_and_the_rest_is_not_in_git() -> None:
    assert sum(len(PAGES[name].split()) for name in make.INDEXES) <= 9200
    ignored = (HOME / ".gitignore").read_text("utf-8").splitlines()
    left_out = (HOME / "MANIFEST.in").read_text("utf-8").split()
    for name in make.ONLY_ON_SITE:
        folder = name.rpartition("/")[0]
        assert f"docs/{folder}/" in ignored if folder else f"docs/{name}" in ignored, name
        assert f"docs/{folder or name}" in left_out, name


# Indexes.


def test_each_index_lists_everything() -> None:
    measures = re.findall(r"^\| `(.*?)` \| (.*) \| .*\. \|$", PAGES["measures.md"], re.MULTILINE)
    notation = {name: re.findall(r"`([^(@`]*)", names)[::2] for name, names in measures}
    assert notation == {name: list(family.notation) for name, family in DECLARED.items()}
    sets = re.findall(r"^\* `(.*?)`: `(.*)`$", PAGES["measures.md"], re.MULTILINE)
    assert {name: members.split("`, `") for name, members in sets} == {
        name: [*each] for name, each in NICKNAMES.items()
    }
    profiles = re.findall(r"^\| `(.*?)` \| (.*) \|$", PAGES["profiles.md"], re.MULTILINE)
    assert profiles == [(name, make.prose(profile.title)) for name, profile in PROFILES.items()]
    codes = re.findall(r"^\| `(.*?)`(\\\*|) \| (.*?) \| (.*) \|$", PAGES["codes.md"], re.MULTILINE)
    declared = [(each.code, "\\*" * each.fixed, each.severity, make.prose(each.title)) for each in CODES.values()]
    assert sorted(codes) == sorted(declared)


def options_of(name: str) -> list[list[str]]:
    """Return the spellings of each option that the help of a command prints."""
    printed = treceval([name, "--help"]).out.decode().partition("\nOptions")[2]
    options = re.findall(r"^  (-.*?)(?:  |$)", printed, re.MULTILINE)
    return sorted(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", each) for each in options)


def rows_of(section: str) -> list[list[str]]:
    """Return the spellings of each option that has a row in a section, but for trec_eval's long ones."""
    return [re.findall(r"`(--?[A-Za-z][^_`]*)`", row) for row in re.findall(r"^\| (`-.*?) \| ", section, re.MULTILINE)]


def test_a_command_has_a_row_for_each_option(full: dict[str, str]) -> None:
    shared = {row[0]: row for row in rows_of(section_of(PAGES["commands.md"], "## Shared options"))}
    for name in COMMANDS:
        section = section_of(PAGES["commands.md"], f"## treceval {name}")
        also = [shared[each] for each in re.findall(r"`(.*?)`", section.partition("[Shared options]")[2])]
        assert sorted(rows_of(section) + also) == options_of(name), name
        in_full = section_of(full["commands.md"], f"## treceval {name}")
        assert sorted(rows_of(in_full)) == options_of(name), name
        printed = "".join(treceval([name, "--help"]).out.decode().split())
        for choices in re.findall(r"\[((?:[\w.-]+\|)+[\w.-]+)\]", printed):
            assert ", ".join(f"`{each}`" for each in choices.split("|")) in in_full, name


def test_the_site_s_index_of_measures_leads_to_each_and_has_its_names(full: dict[str, str]) -> None:
    rows = re.findall(r"^\| \[`.*?`\]\(measures/(.*?)\.md\)(.*?) \| `(.*?)` \|", full["measures.md"], re.MULTILINE)
    assert sorted((page, name) for page, _, name in rows) == sorted((name, name) for name in DECLARED)
    spans = {name: span for name, span, _ in rows}
    assert all(name in spans[family] for family, names in DECLARED.items() for name in names.notation[1:])
    assert "hit_rate" in spans["success"]  # as ranx and others have it
    assert not any("](measures/" in text for text in PAGES.values())


# Pages in full.


def test_a_page_of_a_measure_has_everything(full: dict[str, str]) -> None:
    missing = {}
    for name, family in DECLARED.items():
        found, parameters = sections(family), described(family)
        assert set(found) | {"Parameters"} == {"", "Formula", "Parameters", "Returns", "References", "Examples"}, name
        assert all(text.strip() for text in (*found.values(), *parameters.values())), name
        texts = [found[""], make.value_of(family), found["References"], *parameters.values()]
        texts += [] if latex(family) else [formula(family)]
        parts = [*map(make.prose, texts), "Empty case:", "\n>>> ", *(f"`{each}" for each in family.notation)]
        parts += [f"`{name}`", "\n$$\n"] if name != "runid" else []  # which is a text
        if lacks := [part for part in parts if part not in full[f"measures/{name}.md"]]:
            missing[name] = lacks
    assert missing == {}
    assert re.findall(r"^## (.*)$", full["measures.md"], re.MULTILINE)[: len(SECTIONS)] == list(SECTIONS.values())


def test_a_formula_in_latex_is_that_of_the_form_with_or_without_a_cutoff() -> None:
    assert latex(FAMILIES["recip_rank"]) == r"\mathrm{RR} = \frac{1}{\min\{i : r_i = 1\}}"
    assert latex(FAMILIES["recip_rank_cut"]).startswith(r"\mathrm{RR}@k = ")
    for name, family in DECLARED.items():
        text = latex(family)
        assert ("@" in text.partition("=")[0]) == (family.at is not None), name
        assert text.count("{") == text.count("}"), name


def test_a_code_in_full_has_everything(full: dict[str, str]) -> None:
    parts = {}
    for each in CODES.values():
        texts = map(make.prose, (each.title, each.todo, *each.why.split("\n\n")))
        parts[f"### {each.code} {each.name}"] = [each.severity.capitalize(), *texts]
    assert lacking(full["codes.md"], parts) == {}


def test_a_profile_in_full_has_everything(full: dict[str, str]) -> None:
    parts = {}
    for name, profile in PROFILES.items():
        rules = [(each, getattr(profile.conventions, each.name)) for each in CONVENTIONS.values()]
        usual = [each.rare and value == getattr(te.scoring.Conventions(), each.name) for each, value in rules]
        said = [f"* `{each.key}:{each.show(value)}` {each.question} {each.says(value)}" for each, value in rules]
        section = section_of(full["profiles.md"], f"## {name}")
        assert [rule not in section.partition("\nFor ")[0] for rule in said] == usual, name
        assert section.count("](measures/") >= len(profile.exceptions) + len(profile.meanings), name
        parts[f"## {name}"] = [*map(make.prose, (profile.title, *profile.remarks)), *profile.meanings.values()]
    assert lacking(full["profiles.md"], parts) == {}


def test_rules_and_score_cards_in_full_have_everything(full: dict[str, str]) -> None:
    rows = [f"| `{key.name}` | {make.prose(key.meaning)} |" for key in RULES]
    assert [row for row in rows if row not in full["rules.md"]] == []
    rows = re.findall(r"^\| (.*?) \|", full["score-cards.md"], re.MULTILINE)
    assert {each["question"] for each in make.cards.run.cases()[0]} <= set(rows)
    assert len(make.cards.cards_there()) == full["score-cards.md"].count("\n### ") == 16


# Docstrings.

GOOD = '''def f(a):
    """Do it.

    Parameters
    ----------
    a : int
        A number.

    Notes
    -----
    None.
    """
'''


@pytest.mark.filterwarnings("ignore:Unknown section")
def test_broken_docstrings_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("numpydoc", reason="checks docstrings, which needs numpydoc: .[docs] has it")
    broken = {
        ("Notes\n    -----\n    None.", "Notes ----- None."): "the heading Notes is within a line",
        ("Do it.", ""): "SS01",  # no summary
        ("a : int", "A number, or none."): "PR02",  # a sentence for a name
        ("f(a)", "f(b)"): "PR02",  # another name
        ("        A number.\n", ""): "PR07",
        ("Notes\n    -----", "Remarks\n    -------"): "GL06",
        ("Parameters\n    ----------\n    a : int", "Examples\n    --------\n    a"): "GL07",
    }
    check = module_at(HOME / ".ci" / "docstrings.py").structure
    for (old, new), code in {("", ""): "", ("Notes\n    -----", "Raises\n    ------"): "", **broken}.items():
        (tmp_path / "module.py").write_text(f'"""A module."""\n\n\n{GOOD.replace(old, new)}', "utf-8")
        found = "\n".join(check(tmp_path / "module.py"))
        assert (code in found, not found) == (True, not code), (new, found)


# Markdown.


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def test_nothing_of_the_markup_is_left_when_a_page_is_rendered(full: dict[str, str]) -> None:
    left = {}
    for name, text in [*PAGES.items(), *((f"site: {name}", text) for name, text in full.items())]:
        text = re.sub(r"\$\$.*?\$\$|(?<![`$])\$[^$\n`]+\$", "", text, flags=re.DOTALL)  # formulas
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


ONLY = {f"docs/{name}" for name in make.ONLY_ON_SITE}


def test_links_lead_somewhere(full: dict[str, str]) -> None:
    """Links in git lead to files that are in git; the site has more pages, and others in place of indexes."""
    site = {DOCS / name: text for name, text in full.items()}
    files = [*HOME.glob("*.md"), *HOME.glob("*/README.md"), *DOCS.rglob("*.md")]
    in_git = {path: path.read_text("utf-8") for path in files if path.relative_to(DOCS.parent).as_posix() not in ONLY}
    dead = []
    for pages in (in_git, in_git | site):
        anchors = {path: [make.anchor(each) for each in headings(text)] for path, text in pages.items()}
        for path, text in pages.items():
            for page, anchor in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", outside_of_code(text)):
                target = (path.parent / page).resolve() if page else path
                there = target in pages if target.suffix == ".md" else target.exists()
                if not re.match("https:", page) and not (
                    there and (not anchor or anchors[target].count(anchor[1:]) == 1)
                ):
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
            made = re.search(r"\*|(OUT|RUN|_X)\b|^build/", word)
            if not made and not any((folder / word).exists() for folder in (HOME, HOME / "treceval_py")):
                missing.append((page.name, word))
    assert missing == []


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)


# The table of tools in why-numbers-differ.md. Its numbers are those that the tools printed, of data/messy/tools.json.

COLUMNS = {"MRR@10": ("RR@10",), "nDCG@10": ("nDCG@10",), "MAP": ("AP", "AP@1000")}
OF_GDEVAL = ("nDCG(dcg='exp-log2')@10",)

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| tool .*\n\|-.*\n((?:\|.*\n)+)", PAGES["why-numbers-differ.md"], re.MULTILINE)[
        0
    ].splitlines()
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
        and ("only the lines with a label of 1 or more" in record["how"]) == ("without the lines judged 0" in tool)
    )


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_has_what_a_tool_printed_and_its_profile_prints_the_same(row: list[str]) -> None:
    tool, *cells, profile = row
    (name,) = re.findall(r"^`([^`]*)`", profile)
    qrels: Any = te.read_qrels(MESSY / "qrels.txt")
    if "awk '$4 > 0'" in profile:
        labels = {qid: {docid: rel for docid, rel in qrels[qid].items() if rel >= 1} for qid in qrels}
        qrels = {qid: documents for qid, documents in labels.items() if documents}
    scored = te.evaluate(qrels, MESSY / "run.txt", list(COLUMNS), profile=name, complete="`-c`" in profile)
    for column, cell in zip(COLUMNS, cells, strict=True):
        printed = [each for each in TOOLS if belongs(each, tool) and each["measure"] in names_in_tools(tool, column)]
        if cell == "–":
            assert printed == []
            continue
        number, queries = cell.split(" ")[0], scored.signatures[column].queries
        assert {(f"{each['value']:.4f}", each["queries"]) for each in printed} == {(number, queries)}, column
        assert f"{scored.mean[column]:.4f}" == number


def test_no_tool_is_missing_in_the_table() -> None:
    for record in TOOLS:
        columns = [column for column, names in COLUMNS.items() if record["measure"] in names]
        assert not columns or any(belongs(record, tool) for tool, *_ in ROWS), record


def test_the_messy_run_is_what_it_is_said_to_be() -> None:
    qrels, run = te.read_qrels(MESSY / "qrels.txt"), te.read_run(MESSY / "run.txt")
    tied = [list(run[qid].values()).count(score) > 1 for qid in run for score in run[qid].values()]
    judged = [docid in qrels[qid] for qid in run if qid in qrels for docid in run[qid]]
    counts = [sum(map(len, qrels.values())), sum(map(len, run.values())), sum(tied), len(judged), judged.count(False)]
    # as docs/why-numbers-differ.md and data/README.md say
    assert counts == [151, 162, 129, 150, 54]
    assert all(re.search(rf"\b{number}\b", PAGES["why-numbers-differ.md"]) for number in counts)
    nothing_relevant = {qid for qid in qrels if not any(qrels[qid].values())}
    assert (set(qrels) - set(run), set(run) - set(qrels), nothing_relevant) == ({"8"}, {"13"}, {"5"})


def test_the_readme_of_the_data_counts_the_tools() -> None:
    text = " ".join((HOME / "data" / "README.md").read_text("utf-8").split())
    assert len({(record["tool"], record["version"]) for record in TOOLS}) == 10
    assert "what ten tools printed" in text
    for record in TOOLS:
        assert record["tool"].split(" (")[0] in text
        assert re.findall(r"[\d.]+[\d]a?", record["version"])[0] in text


def test_a_claim_that_two_ways_meet_is_met_by_both() -> None:
    # 0.5030 is what the MS MARCO script printed (data/messy/tools.json); why-numbers-differ.md says who else would have
    found = te.explain(MESSY / "qrels.txt", MESSY / "run.txt", claims=["MRR@10=0.5030"]).measures[0]
    changes = [match for match in found.matches if not match.variant.profile]
    ties = next(match for match in changes if match.variant.ids == ("ties-line",))
    assert ties.outcome.queries == 11
    counted = dict(zip(ties.outcome.qids, ties.outcome.counted, strict=True))
    assert (counted["5"], counted.get("8", False)) == (True, False)
