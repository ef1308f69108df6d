"""Write the pages that are made from what the package declares, and from the score cards of other tools.

    python docs/make.py            write all of them
    python docs/make.py --check    write nothing; exit with 1 if a page in git is not up to date

`INDEXES` are in git, in docs/: one line for each measure, profile, kind of finding and option. The site has them in
full, `IN_FULL`, and pages that git ignores: one for each measure, the rules of grading, and the score cards. Texts are
in the package: this program only lays them out.
In the README and the pages written by hand, it writes what pip installs: `INSTALLED`, which a release changes.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import treceval_py
from treceval_py.checking.catalogue import CODES, Code
from treceval_py.cli.commands import USES, treceval
from treceval_py.errors import MeasureError, visible
from treceval_py.grading.rules import RULES, example_rules
from treceval_py.io.formats import FORMATS
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.judging.sampled import JudgedSample
from treceval_py.measuring import FAMILIES, NICKNAMES, Family, by_section, parse_measures
from treceval_py.measuring.documentation import described, formula, latex, sections
from treceval_py.measuring.parameters import JUDGED_ONLY, PARAMETERS, Parameter
from treceval_py.measuring.registry import LEAST_GEOMETRIC, NOT_COMPUTED
from treceval_py.measuring.spelling import MARKS, spellings_of
from treceval_py.scoring.conventions import CONVENTIONS, Convention
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile
from treceval_py.version import INSTALLED

HERE = Path(__file__).parent

sys.path.append(str(HERE.parent / "conformance"))
import cards  # noqa: E402

MADE = "<!-- Made by make docs from what the package declares: change that, and run it again. -->"

JUDGED: Mapping[object, str] = {
    JudgedRun: "relevance judgments",
    JudgedGroups: "judgments of groups or subtopics",
    JudgedPreferences: "preference judgments",
    JudgedSample: "judgments of a sample",
}

EXAMPLES: Mapping[str, str] = {
    "ranked_labels": "treceval_py.judging.judged",
    "drawn_labels": "treceval_py.judging.sampled",
    "preferred": "treceval_py.judging.preferences",
    "judge_groups": "treceval_py.judging.locating",
    "JudgmentGroups": "treceval_py.data",
    "Run": "treceval_py",
    "ABSTENTION": "treceval_py.measuring.abstention",
}
"""Where names in examples of measures are from, beside their functions."""


# From text to Markdown.


def joined(text: str) -> str:
    """Return a wrapped paragraph as one line, so that none of its lines can be taken for a list or a heading."""
    return " ".join(text.split())


def prose(text: str) -> str:
    """Return a paragraph of a docstring as Markdown: code stays code, ``*words*`` stay emphasis, all else is plain."""
    plain, marked = r"[\\*\[\]<>|]|(?<!\w)_|_(?!\w)", r"``.+?``|`[^`]+`|(?<![\w*])\*\w[^*]*\*(?![\w*])"

    def written(found: re.Match[str]) -> str:
        piece = found[0]
        if piece.startswith("`"):
            return code(piece.strip("`"))
        return piece if len(piece) > 1 else "\\" + piece

    return re.sub(f"{marked}|{plain}", written, joined(text))


def code(text: object) -> str:
    """Return text as a code span, also fit for a table."""
    return "`" + str(text).replace("|", "\\|") + "`"


def paragraphs(text: str) -> str:
    """Return the paragraphs of a docstring as Markdown."""
    return "\n\n".join(prose(each) for each in text.strip().split("\n\n"))


def anchor(title: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def link(title: str, page: str = "") -> str:
    """Return a link to a heading."""
    return f"[{title}]({page}#{anchor(title)})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table."""
    cells = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(row) + " |" for row in cells]


def stacked(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table for the site whose last cells are below the others on a narrow screen."""
    return ['<div class="stacked">', "", *table(header, rows), "", "</div>"]


# Measures.


SYMBOLS: Mapping[str, str] = {
    r"r_[ijk]": "$r_i$ is 1 if the document at rank $i$ is relevant, else 0",
    r"R(?![\w(])": "$R$ is the number of relevant documents of the query",
    r"P\}@i": r"$\mathrm{P}@i$ is the precision at rank $i$",
    r"rel\}_[ix]": r"$\mathrm{rel}_i$ is the judgment of the document at rank $i$",
    r"g_i": "$g_i$ is the judgment of the document at rank $i$",
    r"gain\}\(": r"$\mathrm{gain}(i)$ is the gain of the document at rank $i$",
    r"gain\}\^": r"$\mathrm{gain}^*(i)$ is that at rank $i$ of the ideal ranking",
    r"DCG\}@i": r"$\mathrm{DCG}@i$ and $\mathrm{IDCG}@i$ are sums of discounted gains down to rank $i$",
    r"W\(i\)": "$W(i)$ is the share of attention at rank $i$",
    r"S_i": "$S_i$ are the subtopics of the document at rank $i$",
    r"c_s": "$c_s(i)$ is the number of documents above it that are relevant to subtopic $s$",
    r"J": "$J$ is the number of groups of judgments",
    r"\\cap|\|\\text": r"$|\dots|$ is a number of documents",
}
"""What symbols of formulas mean, by how LaTeX has them."""


def measure(family: Family) -> str:
    """Return the page of a measure."""
    found, says = sections(family), described(family)
    lines = [f"# {_display(family)}", "", prose(found[""]), "", f"{_names(family)}", ""]
    if drawn := latex(family):
        meant = [said for symbol, said in SYMBOLS.items() if re.search(rf"(?<![A-Za-z]){symbol}", drawn)]
        parts = r" \\[1ex] & ".join(re.split(r",? \\q?quad ", drawn))
        lines += [
            "$$",
            rf"\begin{{aligned}} & {parts} \end{{aligned}}",
            "$$",
            "",
            *([f"Here {', '.join(meant)}.", ""] if meant else []),
        ]
    else:
        lines += [f"> {prose(formula(family))}", ""]
    if family.parameters:
        rows = [_parameter(family, parameter, says[parameter.name]) for parameter in family.parameters]
        lines += [*stacked(["parameter", "range", "default", "what it is"], rows), ""]
    lines.append(f"* **Value:** {prose(value_of(family))}")
    if written := _written(family):
        lines.append(f"* **[Also written](../measures.md#other-programs-names):** {written}.")
    lines.append(f"* **Over queries:** {_averaged(family)}")
    if family.cutoffs:
        lines.append(f"* **Named alone:** {', '.join(code(each.name) for each in family.measures())}.")
    lines.append(f"* **Computed from:** {_judgments(family)}.")
    lines += [f"* **Reference:** {prose(found['References'])}", "", "## Example", ""]
    lines += _example(_importing(family, found["Examples"].strip("\n")).split("\n\n"))
    for title, families in by_section().items():
        if family.name in [each.name for each in families]:
            about = paragraphs(inspect.getdoc(inspect.getmodule(family.function)) or "")
            others = ", ".join(_to(each.name, "") for each in families)
            lines += ["", f"## {title}", "", about, "", f"{others}."]
    return "\n".join(lines) + "\n"


def _display(family: Family) -> str:
    """Return what tables call a measure."""
    return (family.notation[0] if family.notation else family.name) + (_at(family) if family.notation else "")


def _to(name: str, folder: str = "measures/") -> str:
    """Return a link to the page of a measure."""
    return f"[{code(_display(FAMILIES[name]))}]({folder}{name}.md)"


def value_of(family: Family) -> str:
    """Return what a measure's docstring says of its value, below the type."""
    return sections(family)["Returns"].partition("\n")[2]


def _names(family: Family) -> str:
    notation = [each + _only_with(family, each) + _at(family) for each in family.notation]
    return " · ".join(map(code, [family.name, *_with_dot(family), *notation]))


def _written(family: Family) -> str:
    """Return how other programs write a family, with the parameters that come with a spelling."""
    found = spellings_of(family).items()
    return ", ".join(code(name) + (f" (with {code(given)})" if given else "") for name, given in found)


def _at(family: Family) -> str:
    """Return what follows a name, with the letter that its docstring has for it: ``@k``, or ``@x``."""
    if family.at is None:
        return ""
    return "@" + described(family)[family.at.name].split(",")[0].rstrip(".")


def _only_with(family: Family, notation: str) -> str:
    """Return the parameter with which a name means this family, where alone it means one declared before."""
    for other in FAMILIES.values():
        if other is family:
            return ""
        if notation in other.notation and (other.at is None) == (family.at is None):
            (key, *_) = [each.key for each in family.parameters if not other.takes(each.name)]
            return f"({key}=…)"
    raise AssertionError(f"{family.name} is not declared")


def _with_dot(family: Family) -> list[str]:
    """Return how trec_eval's notation gives parameters."""
    if family.at is not None:
        return [f"{family.name}.{','.join(family.at.show(each) for each in family.cutoffs[:2])}"]
    if family.tail is None:
        return []
    pairs = [f"{each.key}={each.show(family.defaults[each.name])}" for each in family.parameters]
    shown = []
    for sample in ("1=3,2=9", *pairs, "1", "1,2,3,4", "ndcg_cut_10_max"):
        try:
            name, *more = family.tail(sample)
        except MeasureError:
            continue
        shown.append(f"{family.name}.{sample if '=' in sample or more else f'<{PARAMETERS[name].key}>'}")
    if not shown:
        raise AssertionError(f"{family.name} reads its parameters in a way that is not described here")
    return list(dict.fromkeys(shown))


def _parameter(family: Family, parameter: Parameter, what: str) -> list[str]:
    at = family.at is not None and parameter.name == family.at.name
    key = "@" if at else f"{parameter.key}="
    return [code(key), prose(parameter.range), prose(_default(family, parameter)), prose(what)]


def _default(family: Family, parameter: Parameter) -> str:
    usual = family.defaults.get(parameter.name)
    if family.at is not None and parameter.name == family.at.name:
        return "those named below"
    if parameter.name == "level":
        return f"{PROFILES[DEFAULT_PROFILE].level}, or `-l`"
    if parameter.name == "max_rel":
        return "the highest judgment of the qrels"
    if parameter.name == "collection_size":
        return f"{parameter.show(usual)}, or `-N`"
    if any(parameter.name in profile.defaults for profile in PROFILES.values()):
        return f"{parameter.show(PROFILES[DEFAULT_PROFILE].defaults.get(parameter.name, usual))}, or the profile's"
    return "none" if usual is None else parameter.show(usual)


def _averaged(family: Family) -> str:
    if family.average.name == "none":
        return "not averaged." if family.summary else "not averaged, and not printed for all queries."
    least = f", values below {LEAST_GEOMETRIC:.5f} counting as that" if family.average.name.startswith("geo") else ""
    where = "" if family.per_query else "; printed for all queries only"
    return f"{family.average.name}{least}{where}."


def _judgments(family: Family) -> str:
    kinds = [words for kind, words in JUDGED.items() if family.judged == kind]
    return kinds[0] if kinds else "any judgments"


def _example(blocks: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        lines += ["```pycon", block, "```", ""] if block.startswith(">>>") else [prose(block), ""]
    return lines[:-1]


def _importing(family: Family, examples: str) -> str:
    """Return examples that begin with the imports that they need."""
    home = {name: f"from {module} import {name}" for name, module in EXAMPLES.items()}
    home |= {family.function.__name__: f"from {family.function.__module__} import {family.function.__name__}"}
    home |= {"np": "import numpy as np"}
    needed = [f">>> {line}\n" for name, line in home.items() if re.search(rf"\b{name}\b[(.]", examples)]
    return re.sub("^>>> ", "".join(needed) + ">>> ", examples, count=1, flags=re.MULTILINE)


def _parameter_rows(site: bool) -> list[list[str]]:
    used = {name: [family.name for family in FAMILIES.values() if family.takes(name)] for name in PARAMETERS}
    rows = [
        [code("@" if each.key == "@" else f"{each.key}="), code(name), prose(each.range), _some(used[name])]
        for name, each in PARAMETERS.items()
        if used[name]
    ]
    return rows if site else [row[:3] for row in rows]


def _on_all_measures() -> str:
    what = prose(JUDGED_ONLY.meaning[0].lower() + JUDGED_ONLY.meaning[1:])
    return f"Every measure of judged documents also takes {code(f'{JUDGED_ONLY.key}=True')}: {what}"


def _spellings() -> list[str]:
    lines = [
        "Measures are also known by the names that other programs have for them. A measure's page lists them, under",
        "*Also written*. They may be in small or capital letters, with or without `_` and `-`, and have the cutoff as",
        "`@10`, `_at_10`, `_10` or an argument (`top_k=10`); `@[5,10]` are two cutoffs. `-l2` at the end, as in ranx,",
        "is the lowest relevant judgment. `treceval measures NAME` takes them too. A name that means two things is",
        "noted, unless the profile decides.",
        "",
        "Some names mean something else if they are written as only one program writes them:",
        "",
        *table(["there", "what is written"], [[code(mark), prose(says)] for mark, says in MARKS.items()]),
        "",
        "These measures of other programs cannot be computed here:",
        "",
    ]
    return lines + table(["name", "why"], [[code(name), prose(why)] for name, why in NOT_COMPUTED.items()])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(_to, names[:4]))
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


# Profiles.


def profiles() -> str:
    """Return the site's page of the profiles."""
    lines = [
        "# Profiles",
        "",
        MADE,
        "",
        "A profile describes how a program ranks documents and averages queries, and what its measure names mean.",
        "`treceval --profile NAME` scores under one, `treceval profiles` prints the same, and",
        "[Why numbers differ](why-numbers-differ.md) shows with an example what difference it makes.",
        "",
        *_side_by_side(),
        "",
        f"**Bold** is what differs from `{DEFAULT_PROFILE}`, the default. In italics, below a profile, are the",
        "measures that its program treats differently, and what differs for them.",
        "",
        *[f"* {link(each.name)}: {prose(each.title)}" for each in PROFILES.values()],
        "",
        "## What each convention decides",
        "",
        "Names are those in [signatures](why-numbers-differ.md#what-to-report); the last two are options of the",
        "command.",
        "",
        *_decided(),
    ]
    for profile in PROFILES.values():
        lines += ["", *_profile(profile)]
    return "\n".join(lines) + "\n"


def _side_by_side() -> list[str]:
    usual = _cells(PROFILES[DEFAULT_PROFILE])
    rows = []
    for profile in PROFILES.values():
        cells = [value if value == here else f"**{value}**" for value, here in zip(_cells(profile), usual, strict=True)]
        rows.append([link(profile.name), *cells])
        for families, changes in profile.kinds_of_exceptions:
            changed = [
                f"**{each.show(changes[each.name])}**" if each.name in changes else "" for each in CONVENTIONS.values()
            ]
            rows.append([f"*{', '.join(map(prose, families))}*", *changed, "", ""])
    return table(["profile", *(code(each.key) for each in CONVENTIONS.values()), code("-c"), code("-l")], rows)


def _cells(profile: Profile) -> list[str]:
    return [*profile.conventions.texts().values(), profile.when_complete, str(profile.level)]


def _decided() -> list[str]:
    rows = []
    for each in CONVENTIONS.values():
        values = [f"{code(value)}: {prose(meaning)}" for value, meaning in each.meanings.items()]
        if not values:
            values = [f"{code(each.show(value))}: {prose(each.says(value))}" for value in _in_use(each)]
        rows.append([code(each.key), f"{prose(each.question)} …", "<br>".join(values)])
    missing = CONVENTIONS["missing"].meanings
    values = [f"{code(value)}: {prose(says)}" for value, says in missing.items() if value != "out"]
    rows.append([code("-c"), f"with `-c`, {prose(CONVENTIONS['missing'].question)} …", "<br>".join(values)])
    rows.append(
        [
            code("-l"),
            "relevant are documents judged at least …",
            "a whole number from 0, unless `-l` or `rel=` says otherwise",
        ]
    )
    return table(["name", "what it decides", "values"], rows)


def _in_use(convention: Convention) -> list[Any]:
    """Return the values of a convention that profiles have."""
    return list(dict.fromkeys(getattr(profile.conventions, convention.name) for profile in PROFILES.values()))


def _rule(convention: Convention, value: Any) -> str:
    mark = code(f"{convention.key}:{convention.show(value)}")
    return f"* {mark} {prose(convention.question)} {prose(convention.says(value))}"


def _profile(profile: Profile) -> list[str]:
    lines = [f"## {profile.name}", "", f"The conventions of {prose(profile.title)}.", ""]
    written = profile.conventions.written()
    lines += [
        _rule(each, getattr(profile.conventions, each.name)) for each in CONVENTIONS.values() if each.key in written
    ]
    if profile.conventions.missing == "out":
        says = CONVENTIONS["missing"].says(profile.when_complete)
        mark = code(f"-c:{profile.when_complete}")
        lines.append(f"* {mark} with `-c`, {prose(CONVENTIONS['missing'].question)} {prose(says)}")
    lines.append(f"* {code(f'-l:{profile.level}')} documents judged {profile.level} or more are relevant")
    for families, changes in profile.kinds_of_exceptions:
        lines += ["", f"For {', '.join(map(_treated, families))}:", ""]
        lines += [_rule(CONVENTIONS[name], value) for name, value in changes.items()]
    if profile.meanings:
        meant = [_meaning(*pair) for pair in profile.meanings.items()]
        lines += ["", "What names mean here without parameters:", "", *meant]
    if profile.names:
        meant = [f"{code(name)} is {code(notation)}" for name, notation in profile.names.items()]
        lines += ["", f"Names that mean something else elsewhere: {', '.join(meant)}."]
    if profile.defaults:
        given = [
            f"{code(f'{PARAMETERS[name].key}={PARAMETERS[name].show(value)}')} for {_takers(name)}"
            for name, value in profile.defaults.items()
        ]
        lines += ["", f"Parameters unless given: {'; '.join(given)}."]
    lines += ["", f"Computed unless measures are named: {', '.join(map(code, profile.measures))}."]
    if profile.leaves_out:
        names = [_to(name) for name in FAMILIES if name in profile.leaves_out]
        lines.append(f"Sets of measures leave out {', '.join(names)}.")
    if profile.computes:
        names = [_to(name) for name in FAMILIES if name in profile.computes]
        lines.append(f"The program has {', '.join(names)}; other measures are computed under these rules all the same.")
    return [*lines, *_remarks(profile)]


def _remarks(profile: Profile) -> list[str]:
    """Return the lines of a profile's remarks, and of where the program's values differ."""
    lines = ["", *(f"* Note: {prose(remark)}." for remark in profile.remarks)] if profile.remarks else []
    if profile.differs:
        lines += ["", "Values can differ from the program's, and a note with the value says so:", ""]
    for difference, keys in profile.kinds_of_differences.items():
        having = f", with {difference.when}" if difference.when else ""
        lines.append(f"* {', '.join(map(_treated, keys))}{having}: {prose(difference.text)}.")
    return lines


def _treated(key: str) -> str:
    name, _, parameter = key.partition(":")
    return _to(name) + (f" with {code(parameter)}" if parameter else "")


def _takers(name: str) -> str:
    return ", ".join(_to(family.name) for family in FAMILIES.values() if family.takes(name))


def _meaning(name: str, text: str) -> str:
    family = FAMILIES[name]
    asked = (family.notation[0] if family.notation else name) + _at(family)
    (meant,) = parse_measures(text + ("@1" if family.at is not None else ""))
    return f"* {code(asked)} is {code(text + _at(family))}, of {_to(meant.family.name)}"


# Findings of `treceval check`.

ABOUT = {"F": "Any file", "R": "Runs", "Q": "Judgments", "X": "Runs beside judgments"}
"""What the first letter of a code says that the finding is about."""


def codes() -> str:
    """Return the site's page of the kinds of findings."""
    lines = [
        "# Codes",
        "",
        MADE,
        "",
        f"The {len(CODES)} kinds of findings of [treceval check](check.md). Errors stop scoring, or make other",
        "programs silently report wrong numbers. Warnings are probable mistakes. Notes are for information. The last",
        "column shows which findings `--fix` repairs. `treceval check --explain CODE` prints the entry of one code.",
    ]
    for letter, title in ABOUT.items():
        found = [code for code in CODES.values() if code.code.startswith(letter)]
        rows = [
            [link_to_code(each), prose(each.severity), prose(each.title), "yes" if each.fixed else ""] for each in found
        ]
        lines += ["", f"## {title}", "", *table(["code", "severity", "what was found", "`--fix`"], rows)]
        for each in found:
            lines += ["", *_of_code(each)]
    return "\n".join(lines) + "\n"


def link_to_code(found: Code) -> str:
    """Return a link to the section of a kind of findings."""
    return link(f"{found.code} {found.name}")


def _of_code(found: Code) -> list[str]:
    todo = found.todo + (" `--fix` does it." if found.fixed and "--fix" not in found.todo else "")
    lines = [f"### {found.code} {found.name}", "", f"{prose(found.title)}. ({found.severity.capitalize()})", ""]
    lines += [paragraphs(found.why), ""]
    if found.example:
        lines += ["```text", *map(visible, found.example.splitlines()), "```", ""]
    return [*lines, f"**What to do:** {prose(todo)}"]


# Rules of `treceval grade`.


def rules() -> str:
    """Return the page of the rules of grading."""
    rows = [[code(key.section or "top"), code(key.name), prose(key.meaning)] for key in RULES]
    lines = [
        "# Rules of grading",
        "",
        MADE,
        "",
        "The keys of a file for `treceval grade --rules`. Keys that the file leaves out have the defaults of the file",
        "below; `treceval grade --template -o FOLDER` writes it.",
        "",
        *table(["section", "key", "meaning"], rows),
        "",
        "```toml",
        example_rules().rstrip(),
        "```",
    ]
    return "\n".join(lines) + "\n"


# Commands.


def commands() -> str:
    """Return the site's page of the commands and their options."""
    lines = [
        "# Commands and options",
        "",
        MADE,
        "",
        "`treceval COMMAND --help` prints the same. Defaults are in square brackets.",
        "",
        *_all_commands(),
    ]
    for command, context in _commands():
        lines += ["", *_command(command, context)]
    return "\n".join(lines) + "\n"


def _commands() -> list[tuple[click.Command, click.Context]]:
    """Return each command, and the context in which it has its options."""
    above = click.Context(treceval, info_name="treceval")
    found = [(name, treceval.get_command(above, name) or treceval) for name in treceval.list_commands(above)]
    return [(command, click.Context(command, above, name, **command.context_settings)) for name, command in found]


def _all_commands() -> list[str]:
    rows = [
        [use if name == next(iter(commands)) else "", link(f"treceval {name}"), prose(title)]
        for use, commands in USES.items()
        for name, title in commands.items()
    ]
    return table(["for", "command", "what it does"], rows)


def _options(command: click.Command, context: click.Context) -> list[click.Option]:
    return [each for each in command.get_params(context) if isinstance(each, click.Option)]


def _usage(command: click.Command, context: click.Context) -> list[str]:
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    return [f"## treceval {command.name}", "", "```text", usage, "```"]


def _command(command: click.Command, context: click.Context) -> list[str]:
    lines = _usage(command, context)
    for block in inspect.cleandoc(command.help or "").replace("\b\n", "\n\b").split("\n\n"):
        lines += ["", *(_kept(block.strip("\n\b").splitlines()) if "\b" in block else [_said(block)])]
    return [
        *lines,
        "",
        *table(["option", "what it does"], map(_option, _options(command, context))),
    ]


def _said(text: str) -> str:
    """Return a paragraph of help as Markdown; options and names of commands in it are code."""
    return re.sub(r"(?<![\w`-])(--?[A-Za-z][\w-]*)(?![\w`-])", r"`\1`", prose(text))


def _kept(lines: Sequence[str]) -> list[str]:
    """Return lines of help as a block: examples with what follows each as its comment, or a list as it is."""
    if not all(line.startswith("treceval ") for line in lines):
        return ["```text", *lines, "```"]
    return ["```sh", *(re.sub(r" {2,}(?=\S)", r"\g<0># ", line, count=1) for line in lines), "```"]


def _option(option: click.Option) -> list[str]:
    kind, value, says = (
        option.type,
        option.metavar or "",
        _said(option.help or "").replace("Repeatable.", "*Repeatable.*"),
    )
    if isinstance(kind, click.Choice):
        value, says = "", f"{says} One of {', '.join(map(code, kind.choices))}."
    elif isinstance(kind, click.FloatRange):
        most = "" if kind.max is None else f" to {kind.max:g}"
        value, says = "X", f"{says} From {kind.min:g}{most}."
    elif not option.is_flag and not value:
        value = kind.name.upper()
    spellings = " ".join(map(code, (*option.opts, *option.secondary_opts)))
    return [f"{spellings} {prose(value)}".strip(), says]


# The Python reference, by the map in the docstring of the package: `treceval_py` itself, then its packages.


def reference() -> dict[str, str]:
    """Return the pages of the first tier, of each package, and of pytrec_eval's names."""
    *tier, _ = _tiers()
    lines = ["# treceval_py", "", "What a notebook needs, after `import treceval_py as te`."]
    for title, text in tier:
        named = dict.fromkeys(re.findall(r"\w+", " ".join(re.findall(r"^ {4}(.*?)(?: {2}|$)", text, re.MULTILINE))))
        lines += ["", f"## {title}", *_members("treceval_py", [name for name in named if name in treceval_py.__all__])]
    lines += _members("treceval_py", ["__version__"])
    pages = {"treceval_py": [*lines, "", "## Everything else", "", *packages_table("")]}
    for name, _ in _packages():
        module = import_module(f"treceval_py.{name}")
        lines = [f"# treceval_py.{name}", "", *_example((module.__doc__ or "").split("\n\n"))]
        if name == "integrations":
            for each in module.__all__:
                other, path = f"{module.__name__}.{each}", Path(module.__path__[0], f"{each}.py")
                lines += ["", f"## {each}", "", "```{eval-rst}", f".. automodule:: {other}", "```"]
                # Read: what it imports may be missing.
                lines += _members(
                    other, re.findall(r"^(?:def|class) ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE)
                )
        else:
            lines += _members(module.__name__, getattr(module, "__all__", None) or _errors(module))
        pages[name] = lines
    of_pytrec = [name for name, home in treceval_py.MODULES["treceval_py"].items() if home == "scoring.pytrec"]
    pages["pytrec_eval"] = ["# In place of pytrec_eval", "", "These names work as in pytrec_eval."]
    pages["pytrec_eval"] += _members("treceval_py", of_pytrec)
    return {f"reference/{name}.md": "\n".join([*lines, ""]) for name, lines in pages.items()}


def _tiers() -> list[tuple[str, str]]:
    return re.findall(r"^(\w.*)\n((?: {4}.*(?:\n|$))+)", inspect.getdoc(treceval_py) or "", re.MULTILINE)


def _packages() -> list[tuple[str, str]]:
    return re.findall(r"^ {4}(\w+) +(.*)$", _tiers()[-1][1], re.MULTILINE)


def packages_table(folder: str = "reference/") -> list[str]:
    """Return what each package has, with a link to its page; on the page above them, `te` itself too."""
    rows = [[f"[{code(f'te.{name}')}]({folder}{name}.md)", prose(about)] for name, about in _packages()]
    rows.append([f"[pytrec\\_eval]({folder}pytrec_eval.md)", "names that work as in pytrec\\_eval"])
    if folder:
        rows.insert(0, [f"[{code('te')}]({folder}treceval_py.md)", "what a notebook needs"])
    return table(["package", "what it has"], rows)


def _errors(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, Exception)]


def _members(module: str, names: Iterable[str]) -> list[str]:
    return ["", f"```{{described}} {module}", *names, "```"]


# Indexes: the pages in git.


def _index(title: str, *said: str) -> list[str]:
    """Return the beginning of an index."""
    return [f"# {title}", "", MADE, "", *said, ""]


def measures_index(site: bool = False) -> str:
    """Return the index of the measures: their names and what each is; on the site, it leads to their pages."""
    lines = _index(
        "Measures",
        f"{len(FAMILIES)} measures with their names in trec_eval and ir_measures notation. `treceval measures NAME`",
        "explains one: formula, parameters, value in the empty case, reference and a worked example.",
        "The site has a page for each." if not site else "Names of other programs find them, too.",
    )
    lines += [FINDER, ""] if site else []
    for title, families in by_section().items():
        if site:
            rows = [[_known(each), code(each.name), _title(each)] for each in families]
            drawn = stacked(["measure", "trec_eval", "what it is"], rows)
        else:
            rows = [[code(each.name), _notation(each), _title(each)] for each in families]
            drawn = table(["trec_eval", "ir_measures", "what it is"], rows)
        lines += [f"## {title}", "", *drawn, ""]
    lines += ["## Sets of measures", ""]
    lines += [f"* {code(name)}: {', '.join(map(_to if site else code, each))}" for name, each in NICKNAMES.items()]
    header = ["in notation", "in Python", "range", "measures"] if site else ["in notation", "in Python", "range"]
    lines += ["", "## Parameters", "", *table(header, _parameter_rows(site)), "", _on_all_measures()]
    if site:
        pages = [f"measures/{each.name}" for families in by_section().values() for each in families]
        lines += ["", "## Other programs' names", "", *_spellings(), "", "```{toctree}", ":hidden:", "", *pages, "```"]
    return "\n".join(lines) + "\n"


FINDER = '<input id="finder" type="search" placeholder="ndcg, MRR@10, hit_rate, recall …" aria-label="Find a measure">'
"""Where site.js reads what the rows must have."""


def _known(family: Family) -> str:
    """Return a link to a measure's page, with its other names for the finder."""
    names = " ".join([*family.notation[1:], *spellings_of(family)])
    return f"{_to(family.name)}<span hidden> {names}</span>"


def _title(family: Family) -> str:
    """Return what a measure is, by its docstring, and that its average is a geometric mean."""
    geometric = " Averaged by the geometric mean." if family.average.name.startswith("geo") else ""
    return prose(sections(family)[""]) + geometric


def _notation(family: Family) -> str:
    return ", ".join(code(each + _only_with(family, each) + _at(family)) for each in family.notation)


def profiles_index() -> str:
    """Return the index of the profiles: whose conventions each has."""
    lines = _index(
        "Profiles",
        "A profile describes how a program ranks documents and averages queries, and what its measure names mean.",
        "`treceval --profile NAME` scores under one, `treceval profiles` shows them side by side, and",
        "`treceval profiles NAME` explains one. [Why numbers differ](why-numbers-differ.md) shows what difference it",
        "makes.",
    )
    rows = [[code(each.name), prose(each.title)] for each in PROFILES.values()]
    return "\n".join([*lines, *table(["profile", "conventions of"], rows)]) + "\n"


def codes_index() -> str:
    """Return the index of the kinds of findings: what each code means."""
    lines = _index(
        "Codes",
        f"The {len(CODES)} kinds of findings of [treceval check](check.md). Errors stop scoring, or make other",
        "programs silently report wrong numbers. Warnings are probable mistakes. Notes are for information.",
        "`--fix` repairs findings with a star.",
        "`treceval check --explain CODE` explains one: why it matters, an example, and what to do.",
    )
    for letter, title in ABOUT.items():
        rows = [
            [
                code(each.code) + ("\\*" if each.fixed else ""),
                each.severity,
                prose(each.title),
            ]
            for each in CODES.values()
            if each.code.startswith(letter)
        ]
        lines += [f"## {title}", "", *table(["code", "severity", "meaning"], rows), ""]
    return "\n".join(lines[:-1]) + "\n"


def formats_index() -> str:
    """Return the page of the formats: what each holds, its layout, and what is lost in it."""
    rows = []
    for form in FORMATS:
        holds = ", ".join(HELD[kind] for kind in form.holds)
        lacks = ", ".join(form.lacks) if form.write else "not written"
        rows.append([code(form.name), holds, code(form.layout), ", ".join(map(code, form.endings)), lacks])
    return "\n".join(
        [
            *["# Formats", "", MADE, ""],
            "Formats are recognised by content, except those without a mark of their own: name `qrels_jg`, `prefs` and",
            "`qrels_prefs`. `-T` names the format of runs and `-R` that of judgments; `te.read_run`, `te.read_qrels`,",
            "`te.write_run` and `te.io.write_qrels` take the same names. Columns with a header may have the names that",
            "[data frames](python.md) have.",
            "",
            *table(["name", "holds", "layout", "written to", "lacks"], rows),
            "",
        ]
    )


HELD = {"run": "runs", "qrels": "judgments", "judgments": "judgments of groups, or preferences"}


def commands_index() -> str:
    """Return the index of the commands: the usage of each, and what its options do."""
    lines = _index(
        "Commands and options",
        "`treceval COMMAND --help` prints the same with examples. Defaults are in square brackets.",
    )
    options = {str(command.name): [*map(_option, _options(command, context))] for command, context in _commands()}
    shared = _shared(row for rows in options.values() for row in rows)
    lines += [*_all_commands(), ""]
    for command, context in _commands():
        rows = options[str(command.name)]
        also = ", ".join(f"`{row[0].split('`')[1]}`" for row in rows if row in shared)
        lines += [*_usage(command, context), ""]
        lines += table(["option", "what it does"], [row for row in rows if row not in shared])
        lines += ["", f"{link('Shared options')}: {also}.", ""]
    return "\n".join([*lines, "## Shared options", "", *table(["option", "what it does"], shared)]) + "\n"


def _shared(rows: Iterable[list[str]]) -> list[list[str]]:
    """Return the options that several commands have, unless the same option means something else elsewhere."""
    counts = Counter(map(tuple, rows))
    several = [row for row, count in counts.items() if count > 1]
    spelled = Counter(option for option, _ in several)
    return [list(row) for row in several if spelled[row[0]] == 1]


INDEXES: Mapping[str, Callable[[], str]] = {
    "measures.md": measures_index,
    "profiles.md": profiles_index,
    "codes.md": codes_index,
    "commands.md": commands_index,
    "formats.md": formats_index,
    "conformance.md": cards.page,
}

IN_FULL: Mapping[str, Callable[[], str]] = {
    "measures.md": lambda: measures_index(site=True),
    "profiles.md": profiles,
    "codes.md": codes,
    "commands.md": commands,
}
"""What the site has in place of an index."""

ONLY_ON_SITE: Mapping[str, Callable[[], str]] = {
    "rules.md": rules,
    "score-cards.md": cards.full,
    **{name: functools.partial(str, text) for name, text in reference().items()},
    **{f"measures/{name}.md": functools.partial(measure, family) for name, family in FAMILIES.items()},
}
"""Pages that git ignores."""


def with_install(text: str) -> str:
    """Return a page whose commands with pip install `INSTALLED`, with the extras that they name."""
    target = r"(?<=pip install )(?:\.|treceval-py|'(?:\.|treceval-py)(\[[\w,-]+\])')(?![\w/-])"
    return re.sub(target, lambda found: f"'{INSTALLED}{found[1]}'" if found[1] else INSTALLED, text)


def by_hand() -> list[Path]:
    """Return the README and the pages that are written by hand."""
    pages = [HERE.parent / "README.md", *HERE.rglob("*.md")]
    made = {HERE / name for name in (*INDEXES, *ONLY_ON_SITE)}
    return sorted(path for path in pages if path.exists() and path not in made)


def write_for_site() -> None:
    """Write the pages that git ignores."""
    for name, made in ONLY_ON_SITE.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(made(), "utf-8")


def main(arguments: Sequence[str]) -> str | None:
    """Write the pages, or check those in git; return what is wrong."""
    if arguments not in ([], ["--check"]):
        return __doc__
    stale = []
    pages = {HERE / name: made() for name, made in INDEXES.items()}
    pages |= {page: with_install(page.read_text("utf-8")) for page in by_hand()}
    for page, text in pages.items():
        if page.exists() and page.read_text("utf-8") == text:
            continue
        if arguments:
            stale.append(os.path.normpath(os.path.join("docs", os.path.relpath(page, HERE))).replace(os.sep, "/"))
        else:
            page.write_text(text, "utf-8")
    return f"Not up to date: {', '.join(stale)}. Run make docs." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
