#!/usr/bin/env python3
"""Ask tools the kit's questions, and write their score cards and the table in docs/conformance.md.

Each group of tools gets an environment of its own, with pinned versions, in the folder that --environments names. It is
used again as long as the versions are the same. trec_eval is cloned and compiled there. A tool that cannot be installed
keeps its card. --page only makes the table again. The site has all answers, on a page of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import run

HERE = Path(__file__).resolve().parent
HOME = HERE.parent
PAGE = HOME / "docs" / "conformance.md"
TREC_EVAL_SOURCE = "https://github.com/usnistgov/trec_eval"

GROUPS = {
    "retrieval": [
        [
            "pytrec-eval-terrier==0.5.11",
            "ir-measures==0.4.3",
            "scikit-learn==1.9.1",
            "cwl-eval==1.0.12",
            "--editable",
            str(HOME),
        ]
    ],
    "ranx": [["ranx==0.3.21"]],
    "learning": [
        [
            "torch==2.13.0",
            "lightgbm==4.7.0",
            "torchmetrics==1.9.0",
            "sentence-transformers==6.2.0",
            "mteb==2.26.24",
            "beir==2.2.0",
        ],
        ["--no-deps", "xgboost==3.2.0"],  # it brings what it needs for GPUs
    ],
    "flagembedding": [["torch==2.13.0"], ["FlagEmbedding==1.4.2", "faiss-cpu"]],
}
"""What is installed for each group, one call of pip after the other."""


class Tool(NamedTuple):
    """A tool and how it is asked."""

    name: str
    group: str
    """A group of packages, or a tag of trec_eval."""
    adapter: str = ""
    """A program in adapters/, with its arguments; none: a command line as trec_eval's."""
    note: str = ""

    @property
    def key(self):
        """The name as that of a file."""
        return re.sub(r"[ _-]+", "-", self.name.lower())


CUTOFFS = "All its measures have a cutoff; means are rounded to five decimals."
LISTS = "It scores lists of labels, and knows nothing of judged documents that were not retrieved."
TOOLS = [
    Tool("trec_eval 10.0", "v10.0", note="Tag v10.0, which calls itself 10.0-rc3."),
    Tool("trec_eval 9.0.8", "v9.0.8", note="Tag v9.0.8, which calls itself 9.0.7."),
    Tool("pytrec_eval", "retrieval", "pytrec_eval", "The adapter averages over the queries that it gives values of."),
    Tool(
        "ir_measures",
        "retrieval",
        "ir_measures",
        "It hands measures to other packages, each of which ranks in its own way.",
    ),
    Tool("ranx", "ranx", "ranx"),
    Tool("BEIR", "learning", "beir", CUTOFFS),
    Tool("MTEB", "learning", "mteb", CUTOFFS),
    Tool("FlagEmbedding", "flagembedding", "flagembedding", CUTOFFS),
    Tool(
        "sentence-transformers", "learning", "sentence_transformers", "It takes a set of relevant documents: no grades."
    ),
    Tool(
        "torchmetrics",
        "learning",
        "torchmetrics",
        f"{LISTS} Its sort is not stable: but for nDCG, the order of equal scores varies with the machine.",
    ),
    Tool("LightGBM", "learning", "lightgbm", LISTS),
    Tool("XGBoost", "learning", "xgboost", f"{LISTS} Without a cutoff it takes 32 documents."),
    Tool(
        "scikit-learn",
        "retrieval",
        "sklearn",
        "It gets the documents retrieved for each query; the adapter averages.",
    ),
    Tool(
        "cwl_eval",
        "retrieval",
        "cwl_eval",
        "Values are the expected utility (EU). Its nDCG is not normalised, so not asked for.",
    ),
    Tool("treceval_py", "retrieval", "treceval"),
    Tool("treceval_py --profile ranx", "retrieval", "treceval ranx"),
]


# Cards --------------------------------------------------------------------------------------------


def environment(group, folder):
    """Return the folder of an environment, made if it is not there."""
    place = folder / group
    # written last, so that an installation that broke off is done again
    complete, packages_of = place / "complete.json", json.dumps(GROUPS.get(group))
    if group.startswith("v"):
        if not (place / "trec_eval").exists():
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run(
                ["git", "clone", "--quiet", "--depth", "1", "--branch", group, TREC_EVAL_SOURCE, place], check=True
            )
            subprocess.run(["make", "--silent", "trec_eval"], cwd=place, check=True, stderr=subprocess.DEVNULL)
    elif not complete.exists() or complete.read_text("utf-8") != packages_of:
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        for packages in GROUPS[group]:
            pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *packages], check=True)
        complete.write_text(packages_of, "utf-8")
    return place


def card_of(tool, place):
    """Ask a tool, and return its card."""
    if not tool.adapter:
        version = tool.name.split()[1]
        scorer = run.Command([str(place / "trec_eval"), "-q", "-m", "{measure}", "{qrels}", "{run}"], run.TREC_EVAL)
        call = "trec_eval -q -m {measure} {qrels} {run}"
        return {
            **run.card(scorer, {"tool": "trec_eval", "version": version, "call": call}),
            "command": f"run.py -- {call}",
        }
    return asked_by_adapter(tool.adapter, place / "bin" / "python")


def asked_by_adapter(adapter, python):
    """Ask a tool by its adapter under a Python, and return its card."""
    name, *arguments = adapter.split()
    program = f"adapters/{name}_adapter.py"
    scorer = run.Protocol([str(python), str(HERE / program), *arguments], seconds=1800)
    found = run.card(scorer, scorer.about)
    scorer.close()
    return {**found, "command": f"run.py --protocol -- {' '.join(['python', program, *arguments])}"}


def profiles(python):
    """Return what each profile of treceval_py answers."""
    import treceval_py

    cards = {name: asked_by_adapter(f"treceval {name}", python) for name in treceval_py.scoring.PROFILES}
    return {
        "what": "answers of the profiles of treceval_py",
        "profiles": {name: found["answers"] for name, found in cards.items()},
    }


def written(value):
    """Return a value as the JSON of a committed file."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


# The page -----------------------------------------------------------------------------------------

BEGINS, ENDS = "<!-- Made from the cards by make docs. -->\n", "<!-- Until here. -->\n"
"""What stands around the table of tools in the page; all else there is written by hand."""

TEXT = PAGE.read_text("utf-8").partition("\n\n")[2]
"""The page without its title."""

SHOWN = ("ties", "missing-query", "query-without-relevant")
"""Questions on which tools disagree most, with a column in the page."""


def cards_there():
    """Return each tool that has a card, and the card."""
    paths = [(tool, HERE / "cards" / f"{tool.key}.json") for tool in TOOLS]
    return [(tool, json.loads(path.read_text("utf-8"))) for tool, path in paths if path.exists()]


def page():
    """Return the page with a table of the tools, made from their cards."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGINS)
    return f"{before}{BEGINS}\n{summary(cards_there())}\n\n{ENDS}{rest.partition(ENDS)[2]}"


def summary(there):
    """Return a row for each tool: its answers to `SHOWN`, and the nearest profile."""
    questions = {probe["id"]: probe["question"] for probe in run.cases()[0]}
    lines = [f"| tool | {' | '.join(questions[each] for each in SHOWN)} | nearest profile |", "| --- " * 5 + "|"]
    for tool, found in there:
        answers = [short(found["answers"][each]) for each in SHOWN]
        lines.append(f"| {titled(tool, found)} | {' | '.join(answers)} | {nearest(found)} |")
    return "\n".join(lines)


def titled(tool, found):
    """Return a tool's name with its version."""
    return tool.name if tool.name.endswith(found["version"]) else f"{tool.name} {found['version']}"


def nearest(found):
    """Return the profiles that give most of a card's answers, and how many these are."""
    ranked = run.alike(found, run.load("profiles.json")["profiles"])
    best = [f"`{name}`" for name, same, _ in ranked if same == ranked[0][1]]
    return f"{', '.join(best)} ({ranked[0][1]} of {ranked[0][2]})"


def full():
    """Return the page in full: all answers of all tools, and their cards."""
    there = cards_there()
    sections = "\n".join(section(tool, found) for tool, found in there)
    return f"""\
# Score cards

All answers of the tools in [Which conventions does a scorer follow?](conformance.md).

## Questions and answers

“–” means that a tool lacks the measures of a question, and “·” that its input cannot hold the case. A cell has the
answer of most measures first, then each measure that differs. [probes.json](../conformance/probes.json)
explains the answers.

{table(there)}

## Cards

Each card has the command that made it, for the folder `conformance/`. A name and a value such as `ties=docid-desc` is a
convention that all measures of a tool share; [profiles](profiles.md) explain most of them.

{sections}"""


def table(there):
    """Return tools × questions."""
    names = [tool.name for tool, _ in there]
    lines = [f"| question | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    group = None
    for probe in run.cases()[0]:
        if probe["group"] != group:
            group = probe["group"]
            lines.append(f"| **{group}** |{' |' * len(names)}")
        lines.append(
            f"| {probe['question']} | {' | '.join(short(found['answers'][probe['id']]) for _, found in there)} |"
        )
    counts = [found["agreement"] for _, found in there]
    right = [f"{each['equal']} of {each['values']}" for each in counts]
    lines.append(f"| **right where all agree** | {' | '.join(right)} |")
    return "\n".join(lines)


def short(answer):
    """Return an answer for a cell: the one of most measures, then those of others."""
    if isinstance(answer, dict):
        rows = sorted(answer.items(), key=lambda row: -len(row[0].split(", ")))
        first, rest = rows[0], rows[1:]
        return "; ".join([short(first[1]), *(f"{measures}: {short(text)}" for measures, text in rest)])
    if not answer:
        return "–"
    return {"refused": "refused", "cannot be asked": "·"}.get(answer.partition(":")[0], answer)


def section(tool, found):
    """Return a tool's card."""
    lines = [f"### {titled(tool, found)}", "", f"`{found['command']}`", ""]
    lines += [f"* Asked by `{found['call']}`. {tool.note}".rstrip()]
    lines += [f"* Follows {', '.join(f'`{each}`' for each in run.follows(found))}."]
    lines += [f"* Nearest profile: {nearest(found)}; in brackets, how many answers are the same."]
    lines += [f"* Lacks {', '.join(found['lacks'])}."] if found["lacks"] else []
    agreement = found["agreement"]
    within = f", within {agreement['largest_difference']:.0e}" if agreement["largest_difference"] else ""
    lines += [f"* Where all conventions agree, {agreement['equal']} of {agreement['values']} values are right{within}."]
    lines += [f"* Wrong: {each}" for each in agreement["wrong"]]
    messages = {
        probe: text
        for probe, answer in found["answers"].items()
        for text in texts(answer)
        if text.startswith("refused")
    }
    lines += [f"* Message for `{probe}`: {text.partition(': ')[2]}" for probe, text in messages.items()]
    return "\n".join(lines) + "\n"


def texts(answer):
    """Return the texts of an answer."""
    return list(answer.values()) if isinstance(answer, dict) else [answer] if answer else []


def main():
    """Write cards, the profiles' answers and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", default=[], help="names of tools, as those of files in cards/, or profiles"
    )
    parser.add_argument("--environments", type=Path, default=HOME / "build" / "conformance", metavar="FOLDER")
    parser.add_argument("--page", action="store_true", help="make the page only")
    options = parser.parse_args()
    folder = options.environments.resolve()
    failed = []
    for tool in [] if options.page else TOOLS:
        if options.only and tool.key not in options.only:
            continue
        print(f"{tool.name} …", file=sys.stderr)
        try:
            found = card_of(tool, environment(tool.group, folder))
        except (OSError, subprocess.CalledProcessError, SystemExit) as error:
            failed.append(f"{tool.name}: {error}")
            continue
        (HERE / "cards" / f"{tool.key}.json").write_text(written(found), "utf-8")
    if not options.page and (not options.only or "profiles" in options.only):
        (HERE / "profiles.json").write_text(
            written(profiles(environment("retrieval", folder) / "bin" / "python")), "utf-8"
        )
    PAGE.write_text(page(), "utf-8")
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
