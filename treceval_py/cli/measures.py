"""``treceval measures [NAME]``."""

from __future__ import annotations

import click

from treceval_py.cli.printing import put
from treceval_py.measures import FAMILIES, NICKNAMES, Family, by_section, parse_measures
from treceval_py.measures.documentation import documentation

__all__ = ["measures"]


@click.command("measures", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[NAME]…", nargs=-1)
@click.option("--plugin", "plugins", multiple=True, metavar="MODULE", help="Import measures from a Python module.")
def measures(names: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """List the measures, or explain those that are named: formula, parameters, value of the empty case, reference."""
    for plugin in plugins:
        from treceval_py.measures.plugins import load_plugin

        load_plugin(plugin)
    put(_listing() if not names else "\n".join(_explained(name) for name in names), None)


def _listing() -> str:
    width = max(map(len, FAMILIES))
    lines = [f"{'measure':{width}}  {'also written':16}  what it is"]
    for title, families in by_section().items():
        lines += ["", f"{title}:"]
        lines += [f"{family.name:{width}}  {_written(family):16}  {family.title}" for family in families]
    sets = [f"{name:{width}}  {', '.join(members)}" for name, members in NICKNAMES.items()]
    return "\n".join(
        [
            *lines,
            "",
            "Sets of measures:",
            *sets,
            "",
            "'treceval measures NAME' explains one.",
            "",
        ]
    )


def _written(family: Family) -> str:
    if not family.notation:
        return ""
    return family.notation[0] + ("@k" if family.at is not None else "")


def _explained(name: str) -> str:
    if name in NICKNAMES:
        return f"{name}: {', '.join(NICKNAMES[name])}\n"
    family = parse_measures(name)[0].family
    head = [family.name, *(f"{each}@k" if family.at else each for each in family.notation)]
    lines = [" = ".join(dict.fromkeys(head)), *_usage(family), "", documentation(family), ""]
    return "\n".join(lines)


def _usage(family: Family) -> list[str]:
    lines = [f"averaged by {family.average.name}"] if family.average.name != "none" else []
    named = [f"{each.key}= {each.range}" for each in family.parameters if each.key != "@"]
    if named:
        lines.append(f"parameters in parentheses: {'; '.join(named)}")
    if family.cutoffs:
        lines.append(f"cutoffs unless given: {', '.join(map(str, family.cutoffs))}")
    return lines
