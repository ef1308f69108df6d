"""The measures, as ``treceval measures`` and `measures` list and explain them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import accumulate

from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measuring import NICKNAMES, Family, by_section, parse_measures
from treceval_py.measuring.documentation import documentation
from treceval_py.measuring.spelling import spellings_of
from treceval_py.rendering.tables import Column, Table


def tables() -> list[Table]:
    """Return the list of measures and that of sets of measures."""
    sections = by_section()
    families = [family for each in sections.values() for family in each]
    starts = accumulate([len(each) for each in sections.values()], initial=0)
    return [table_of(families)._replace(breaks=dict(zip(starts, sections, strict=False))), _sets()]


def table_of(families: Sequence[Family]) -> Table:
    """Return some measures as a table."""
    section_of = {family.name: title for title, each in by_section().items() for family in each}
    written = [f"{family.notation[0]}{'@k' if family.at else ''}" if family.notation else "" for family in families]
    return Table(
        (
            Column("measure", [family.name for family in families], text=True, head=True),
            Column("also written", written, text=True),
            Column("what it is", [family.title for family in families], text=True),
            Column("section", [section_of[family.name] for family in families], text=True, people=False),
        ),
        "measures",
        naming=3,
    )


def _sets() -> Table:
    return Table(
        (
            Column("set", list(NICKNAMES), text=True, head=True),
            Column("measures", [", ".join(members) for members in NICKNAMES.values()], text=True),
        ),
        "sets",
        "Sets of measures",
        naming=2,
        notes=("'treceval measures NAME' explains one.",),
    )


def explained(name: str, width: int | None = None) -> str:
    """Return the explanation of a measure or of a set of measures, for a terminal with a width."""
    if name in NICKNAMES:
        return f"{name}: {', '.join(NICKNAMES[name])}\n"
    family = families_of(name)[0]
    head = [family.name, *(f"{each}@k" if family.at else each for each in family.notation)]
    lines = [" = ".join(dict.fromkeys(head))]
    if family.average.name != "none":
        lines.append(f"averaged by {family.average.name}")
    named = [f"{each.key}= {each.range}" for each in family.parameters if each.key != "@"]
    if named:
        lines.append(f"parameters in parentheses: {'; '.join(named)}")
    if spellings := spellings_of(family):
        shown = (name + (f" (with {given})" if given else "") for name, given in spellings.items())
        lines.append(f"also written: {'; '.join(shown)}")
    if family.cutoffs:
        lines.append(f"cutoffs unless given: {', '.join(map(str, family.cutoffs))}")
    return "\n".join([*lines, "", documentation(family, width), ""])


def families_of(name: str) -> list[Family]:
    """Return the families that a name means: several for a set of measures. It may lack its cutoff.

    Raises
    ------
    MeasureError
        There is no such measure; the message has the nearest.
    """
    try:
        meant = parse_measures(name)
    except UnknownMeasureError:
        raise
    except MeasureError:
        with contextlib.suppress(MeasureError):
            return [parse_measures(f"{name}@1")[0].family]
        raise
    return list({measure.family.name: measure.family for measure in meant}.values())
