"""Write the pages that are made from what the package declares, and from the score cards of other tools.

    python docs/make.py            write all of them
    python docs/make.py --check    write nothing; exit with 1 if a page in git is not up to date

`INDEXES` are in git, in docs/: one line for each measure, profile, kind of finding and option. `FULL` are the same in
full, in docs/full/, which git ignores; the site has both. Texts are in the package: this program only lays them out.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from treceval_py.checking.catalogue import CODES, Code
from treceval_py.cli.commands import USES, treceval
from treceval_py.errors import MeasureError, visible
from treceval_py.grading.rules import RULES, example_rules
from treceval_py.io.formats import FORMATS
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.measuring import FAMILIES, NICKNAMES, Family, by_section, parse_measures
from treceval_py.measuring.documentation import described, sections
from treceval_py.measuring.parameters import JUDGED_ONLY, PARAMETERS, Parameter
from treceval_py.measuring.registry import LEAST_GEOMETRIC, NOT_COMPUTED
from treceval_py.measuring.spelling import MARKS, spellings_of
from treceval_py.scoring.conventions import CONVENTIONS, Convention
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile

HERE = Path(__file__).parent

sys.path.append(str(HERE.parent / "conformance"))
import cards  # noqa: E402

MADE = "<!-- Made by make docs from what the package declares: change that, and run it again. -->"

JUDGED: Mapping[object, str] = {
    JudgedRun: "relevance judgments",
    JudgedGroups: "judgments of groups or subtopics",
    JudgedPreferences: "preference judgments",
}


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


# Measures.


def measures() -> str:
    """Return the page of the measures in full."""
    lines = [
        "# Measures in full",
        "",
        MADE,
        "",
        f"{len(FAMILIES)} measures, each with its names: trec_eval's, with what follows the dot there, then those in",
        "the notation of ir_measures, where a cutoff follows `@` and parameters are in parentheses:",
        "`nDCG(gain=exp)@10`. `treceval measures NAME` prints the same for one of them.",
        "",
        "R is the number of relevant documents of the query. The empty case is a query without retrieved documents. In",
        "examples, `ranked_labels` makes a ranking of documents with these judgments, `-` being an unjudged one, and",
        "`missed` are judgments of documents not retrieved.",
        "",
    ]
    for title, families in by_section().items():
        names = ", ".join(link(family.name) for family in families)
        lines.append(f"* **{link(title)}**: {names}")
    lines += [f"* **{link(title)}**" for title in ("Sets of measures", "Parameters", "Other programs' names")]
    for title, families in by_section().items():
        module = inspect.getmodule(families[0].function)
        lines += ["", f"## {title}", "", paragraphs(inspect.getdoc(module) or "")]
        for family in families:
            lines += ["", *_family(family)]
    lines += ["", "## Sets of measures", "", *_sets(), "", "## Parameters", "", *_parameters()]
    lines += ["", "## Other programs' names", "", *_spellings()]
    return "\n".join(lines) + "\n"


def _family(family: Family) -> list[str]:
    found, says = sections(family), described(family)
    lines = [f"### {family.name}", "", prose(found[""]), "", f"{_names(family)}", ""]
    lines += [f"> {prose(each)}\n" for each in found["Formula"].strip("\n").split("\n\n")]
    if family.parameters:
        rows = [_parameter(family, parameter, says[parameter.name]) for parameter in family.parameters]
        lines += [*table(["parameter", "range", "default", "what it is"], rows), ""]
    lines.append(f"* **Value:** {prose(value_of(family))}")
    if written := _written(family):
        lines.append(f"* **[Also written](#other-programs-names):** {written}.")
    lines.append(f"* **Over queries:** {_averaged(family)}")
    if family.cutoffs:
        lines.append(f"* **Named alone:** {', '.join(code(each.name) for each in family.measures())}.")
    lines.append(f"* **Computed from:** {_judgments(family)}.")
    lines.append(f"* **Reference:** {prose(found['References'])}")
    return [*lines, "", *_example(found["Examples"].strip("\n").split("\n\n"))]


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
        return f"`-l`, {PROFILES[DEFAULT_PROFILE].level}"
    if parameter.name == "max_rel":
        return "the highest judgment of the qrels"
    if parameter.name == "collection_size":
        return f"`-N`, {parameter.show(usual)}"
    if any(parameter.name in profile.defaults for profile in PROFILES.values()):
        return f"the profile's, {parameter.show(PROFILES[DEFAULT_PROFILE].defaults.get(parameter.name, usual))}"
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


def _sets() -> list[str]:
    rows = [[code(name), ", ".join(link(each) for each in members)] for name, members in NICKNAMES.items()]
    lines = ["Each of these names means several families.", ""]
    return lines + table(["name", "families"], rows)


def _parameter_rows() -> list[list[str]]:
    used = {name: [family.name for family in FAMILIES.values() if family.takes(name)] for name in PARAMETERS}
    return [
        [code("@" if each.key == "@" else f"{each.key}="), code(name), prose(each.range), _some(used[name])]
        for name, each in PARAMETERS.items()
        if used[name]
    ]


def _parameters() -> list[str]:
    lines = ["What a measure's parameters are called in notation, and as keywords of its Python function.", ""]
    lines += table(["in notation", "in Python", "range", "measures"], _parameter_rows())
    return [*lines, "", _on_all_measures()]


def _on_all_measures() -> str:
    what = prose(JUDGED_ONLY.meaning[0].lower() + JUDGED_ONLY.meaning[1:])
    return f"Every measure of judged documents also takes {code(f'{JUDGED_ONLY.key}=True')}: {what}"


def _spellings() -> list[str]:
    lines = [
        "Measures are also known by the names that other programs have for them: those above under *Also written*, in",
        "small or capital letters, with or without `_` and `-`, and with the cutoff written as `@10`, `_at_10`, `_10`,",
        "or as an argument (`top_k=10`); `@[5,10]` are two cutoffs. `-l2` at the end, as in ranx, is the lowest",
        "relevant judgment. `treceval measures NAME` takes them too. A name that means two things is noted, unless the",
        "profile decides.",
        "",
        "Some names mean something else if they are written as only one program writes them:",
        "",
        *table(["above", "what is written"], [[code(mark), prose(says)] for mark, says in MARKS.items()]),
        "",
        "These measures of other programs cannot be computed here:",
        "",
    ]
    return lines + table(["name", "why"], [[code(name), prose(why)] for name, why in NOT_COMPUTED.items()])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(link(name) for name in names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


# Profiles.


def profiles() -> str:
    """Return the page of the profiles in full."""
    lines = [
        "# Profiles in full",
        "",
        MADE,
        "",
        "A profile describes how a program ranks documents and averages queries, and what its measure names mean.",
        "`treceval --profile NAME` scores under one, `treceval profiles` prints the same, and",
        "[Why numbers differ](../why-numbers-differ.md) shows with an example what difference it makes.",
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
        "Names are those in [signatures](../why-numbers-differ.md#what-to-report); the last two are options of the command.",
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
        names = [link(name, "measures.md") for name in FAMILIES if name in profile.leaves_out]
        lines.append(f"Sets of measures leave out {', '.join(names)}.")
    if profile.computes:
        names = [link(name, "measures.md") for name in FAMILIES if name in profile.computes]
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
    return link(name, "measures.md") + (f" with {code(parameter)}" if parameter else "")


def _takers(name: str) -> str:
    return ", ".join(link(family.name, "measures.md") for family in FAMILIES.values() if family.takes(name))


def _meaning(name: str, text: str) -> str:
    family = FAMILIES[name]
    asked = (family.notation[0] if family.notation else name) + _at(family)
    (meant,) = parse_measures(text + ("@1" if family.at is not None else ""))
    return f"* {code(asked)} is {code(text + _at(family))}, of {link(meant.family.name, 'measures.md')}"


# Findings of `treceval check`.

ABOUT = {"F": "Any file", "R": "Runs", "Q": "Judgments", "X": "Runs beside judgments"}
"""What the first letter of a code says that the finding is about."""


def codes() -> str:
    """Return the page of the kinds of findings in full."""
    lines = [
        "# Codes in full",
        "",
        MADE,
        "",
        f"The {len(CODES)} kinds of findings of [treceval check](../check.md). Errors stop scoring, or make other",
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
    """Return the page of the commands and their options in full."""
    lines = [
        "# Commands in full",
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
    return table(["", "command", "what it does"], rows)


def _options(command: click.Command, context: click.Context) -> list[click.Option]:
    return [each for each in command.get_params(context) if isinstance(each, click.Option)]


def _settings(command: click.Command) -> list[str]:
    """Return a table of what ``--set`` sets."""
    settings = [each for option in command.params for each in getattr(option, "settings", {}).items()]
    rows = [[code(key), *_option(setting)[1:]] for key, setting in settings]
    return ["", *table(["with `--set KEY=VALUE`", "what it does"], rows)] if rows else []


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
        *_settings(command),
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


# Indexes: the pages in git.


def _in_full(what: str, page: str, site: bool) -> list[str]:
    """Return where a page in full is; the site has it in its list of pages."""
    if not site:
        return [f"`make docs` writes {what} to `docs/full/{page}.md`, as the site has them."]
    what = what[0].upper() + what[1:]
    return [f"[{what}](full/{page}.md).", "", "```{toctree}", ":hidden:", "", f"full/{page}", "```"]


def _index(title: str, *said: str, full: str, site: bool) -> list[str]:
    """Return the beginning of an index."""
    return [f"# {title}", "", *([] if site else [MADE, ""]), *said, *_in_full("all of them in full", full, site), ""]


def _entry(name: str, page: str, site: bool, heading: str = "") -> str:
    """Return a name as code, on the site as a link to its section in full."""
    return f"[{code(name)}](full/{page}.md#{anchor(heading or name)})" if site else code(name)


def measures_index(site: bool = False) -> str:
    """Return the index of the measures: their names and what each is."""
    lines = _index(
        "Measures",
        f"{len(FAMILIES)} measures with their names in trec_eval and ir_measures notation. `treceval measures NAME`",
        "explains one: formula, parameters, value in the empty case, reference and a worked example.",
        full="measures",
        site=site,
    )
    for title, families in by_section().items():
        rows = [[_entry(each.name, "measures", site), _notation(each), _title(each)] for each in families]
        lines += [f"## {title}", "", *table(["trec_eval", "ir_measures", "what it is"], rows), ""]
    lines += ["## Sets of measures", ""]
    lines += [f"* {code(name)}: {', '.join(map(code, members))}" for name, members in NICKNAMES.items()]
    rows = [row[:3] for row in _parameter_rows()]
    lines += ["", "## Parameters", "", *table(["in notation", "in Python", "range"], rows), "", _on_all_measures()]
    return "\n".join(lines) + "\n"


def _title(family: Family) -> str:
    """Return what a measure is, by its docstring, and that its average is a geometric mean."""
    geometric = " Averaged by the geometric mean." if family.average.name.startswith("geo") else ""
    return prose(sections(family)[""]) + geometric


def _notation(family: Family) -> str:
    return ", ".join(code(each + _only_with(family, each) + _at(family)) for each in family.notation)


def profiles_index(site: bool = False) -> str:
    """Return the index of the profiles: whose conventions each has."""
    lines = _index(
        "Profiles",
        "A profile describes how a program ranks documents and averages queries, and what its measure names mean.",
        "`treceval --profile NAME` scores under one, `treceval profiles` shows them side by side, and",
        "`treceval profiles NAME` explains one. [Why numbers differ](why-numbers-differ.md) shows what difference it makes.",
        full="profiles",
        site=site,
    )
    rows = [[_entry(each.name, "profiles", site), prose(each.title)] for each in PROFILES.values()]
    return "\n".join([*lines, *table(["profile", "conventions of"], rows)]) + "\n"


def codes_index(site: bool = False) -> str:
    """Return the index of the kinds of findings: what each code means."""
    lines = _index(
        "Codes",
        f"The {len(CODES)} kinds of findings of [treceval check](check.md). Errors stop scoring, or make other",
        "programs silently report wrong numbers. Warnings are probable mistakes. Notes are for information.",
        "`--fix` repairs findings with a star.",
        "`treceval check --explain CODE` explains one: why it matters, an example, and what to do.",
        full="codes",
        site=site,
    )
    for letter, title in ABOUT.items():
        rows = [
            [
                _entry(each.code, "codes", site, f"{each.code} {each.name}") + ("\\*" if each.fixed else ""),
                each.severity,
                prose(each.title),
            ]
            for each in CODES.values()
            if each.code.startswith(letter)
        ]
        lines += [f"## {title}", "", *table(["code", "severity", "meaning"], rows), ""]
    return "\n".join(lines[:-1]) + "\n"


def formats_index(site: bool = False) -> str:  # noqa: ARG001 - there is no page in full
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


def commands_index(site: bool = False) -> str:
    """Return the index of the commands: the usage of each, and what its options do."""
    lines = _index(
        "Commands and options",
        "`treceval COMMAND --help` prints the same with examples. Defaults are in square brackets.",
        full="commands",
        site=site,
    )
    options = {str(command.name): [*map(_option, _options(command, context))] for command, context in _commands()}
    shared = _shared(row for rows in options.values() for row in rows)
    lines += [*_all_commands(), ""]
    for command, context in _commands():
        rows = options[str(command.name)]
        also = ", ".join(f"`{row[0].split('`')[1]}`" for row in rows if row in shared)
        lines += [*_usage(command, context), ""]
        lines += table(["option", "what it does"], [row for row in rows if row not in shared]) + _settings(command)
        lines += ["", f"{link('Shared options')}: {also}.", ""]
    return "\n".join([*lines, "## Shared options", "", *table(["option", "what it does"], shared)]) + "\n"


def _shared(rows: Iterable[list[str]]) -> list[list[str]]:
    """Return the options that several commands have, unless the same option means something else elsewhere."""
    counts = Counter(map(tuple, rows))
    several = [row for row, count in counts.items() if count > 1]
    spelled = Counter(option for option, _ in several)
    return [list(row) for row in several if spelled[row[0]] == 1]


def conformance_index(site: bool = False) -> str:
    """Return docs/conformance.md with a current table of tools."""
    text: str = cards.page()
    what = ("all answers and a card of each tool", "conformance")
    return text.replace(*("\n".join(_in_full(*what, there)) for there in (False, True))) if site else text


INDEXES: Mapping[str, Callable[..., str]] = {
    "measures.md": measures_index,
    "profiles.md": profiles_index,
    "codes.md": codes_index,
    "commands.md": commands_index,
    "formats.md": formats_index,
    "conformance.md": conformance_index,
}

FULL: Mapping[str, Callable[[], str]] = {
    "measures.md": measures,
    "profiles.md": profiles,
    "codes.md": codes,
    "rules.md": rules,
    "commands.md": commands,
    "conformance.md": cards.full,
}


def write_full() -> None:
    """Write the pages in full."""
    (HERE / "full").mkdir(exist_ok=True)
    for name, made in FULL.items():
        (HERE / "full" / name).write_text(made(), "utf-8")


def main(arguments: Sequence[str]) -> str | None:
    """Write the pages, or check those in git; return what is wrong."""
    if arguments not in ([], ["--check"]):
        return __doc__
    stale = []
    for name, made in INDEXES.items():
        page, text = HERE / name, made()
        if arguments and (not page.exists() or page.read_text("utf-8") != text):
            stale.append(f"docs/{name}")
        elif not arguments:
            page.write_text(text, "utf-8")
    if not arguments:
        write_full()
    return f"Not up to date: {', '.join(stale)}. Run make docs." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
