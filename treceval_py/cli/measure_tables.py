"""The measures, as ``treceval measures`` lists and explains them."""

from __future__ import annotations

import contextlib
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
    written = [f"{family.notation[0]}{'@k' if family.at else ''}" if family.notation else "" for family in families]
    measures = Table(
        (
            Column("measure", [family.name for family in families], text=True, head=True),
            Column("also written", written, text=True),
            Column("what it is", [family.title for family in families], text=True),
            Column("section", [title for title, each in sections.items() for _ in each], text=True, people=False),
        ),
        "measures",
        naming=3,
        breaks=dict(zip(starts, sections, strict=False)),
    )
    sets = Table(
        (
            Column("set", list(NICKNAMES), text=True, head=True),
            Column("measures", [", ".join(members) for members in NICKNAMES.values()], text=True),
        ),
        "sets",
        "Sets of measures",
        naming=2,
        notes=("'treceval measures NAME' explains one.",),
    )
    return [measures, sets]


def explained(name: str) -> str:
    """Return the explanation of a measure or of a set of measures."""
    if name in NICKNAMES:
        return f"{name}: {', '.join(NICKNAMES[name])}\n"
    family = _family_of(name)
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
    return "\n".join([*lines, "", documentation(family), ""])


def _family_of(name: str) -> Family:
    """Return the family of a name, which may lack its cutoff."""
    try:
        return parse_measures(name)[0].family
    except UnknownMeasureError:
        raise
    except MeasureError:
        with contextlib.suppress(MeasureError):
            return parse_measures(f"{name}@1")[0].family
        raise
