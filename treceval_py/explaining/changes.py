"""What people change, knowingly or by mistake: each change is declared in `changes.toml`, and up to three combine."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from treceval_py.explaining.variants import CHANGE, MISTAKE, PAIR, Situation, Variant
from treceval_py.measuring import FAMILIES, Family, Measure
from treceval_py.measuring.formulas import kind_of, parts_of
from treceval_py.measuring.registry import GEOMETRIC, folded
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.planning import Task

REPORTS = 500
"""The number of reports that were counted in `changes.toml`."""

RAREST = 1e-6
"""Combinations that are seen less often are not tried."""

OF_MEASURE = 0.003
"""How often another measure with a similar name was computed."""

DEPTHS = (10, 20, 50, 100, 200, 500, 1000)
FIRST_QUERIES = (10, 20, 50, 100, 200, 500, 1000)
"""Depths, and numbers of queries that people use for a trial. If any were tried, some would give almost any value."""


class Change(NamedTuple):
    """A change of a way of scoring.

    Attributes
    ----------
    ids : tuple of str
        Its names.
    words : str
        Description.
    prior : float
        How often it is seen.
    mistake : bool
        Whether it is a mistake; otherwise it is a choice.
    settings : mapping of str to value
        What it sets.
    """

    ids: tuple[str, ...]
    words: str
    prior: float
    mistake: bool
    settings: Mapping[str, Any]


@cache
def _declared() -> Mapping[str, Mapping[str, Any]]:
    """Return the changes as declared, by their names, with whether each is a mistake."""
    table = tomllib.loads(files(__package__).joinpath("changes.toml").read_text("utf-8"))
    return {name: {**change, "mistake": kind == "mistakes"} for kind in table for name, change in table[kind].items()}


def ways(task: Task, situation: Situation, most: int = 3) -> list[Variant]:
    """Return the variants up to `most` changes away from a task, those seen most often first; the first has none."""
    start = {"run": "as it is", "average": "usual", **task.conventions._asdict(), **parts_of(task.resolved)}
    changes = sorted(_changes(task, start, situation), key=lambda change: -change.prior)

    def combined(before: Variant, at: int, count: int) -> Iterator[Variant]:
        for number, (ids, words, prior, mistake, settings) in enumerate(changes[at:], at):
            if count and before.prior * prior < RAREST:
                break  # all others are rarer still
            known = before.settings or {}
            if any(known[key] != start.get(key) for key in settings if key in known):
                continue  # they set the same
            way = Variant(
                f"{before.name}; {words}" if count else words,
                task,
                cost=PAIR if count else MISTAKE if mistake else CHANGE,
                ids=before.ids + ids,
                prior=before.prior * prior,
                mistake=before.mistake or mistake,
                settings={**known, **settings},
                before=before,
            )
            yield way
            if count + 1 < most:
                yield from combined(way, number + 1, count + 1)

    unchanged = Variant("", task, settings=start)
    by_ids: dict[frozenset[str], Variant] = {}
    for way in [unchanged, *sorted(combined(unchanged, 0, 0), key=lambda way: -way.prior)]:
        by_ids.setdefault(frozenset(way.ids), way)
    return list(by_ids.values())


def _changes(task: Task, start: Mapping[str, Any], situation: Situation) -> Iterator[Change]:
    """Yield the changes that apply to a task, and would change it."""
    measure, k, queries = task.resolved, start["k"], situation.lists.get("run", 0)
    kind, cut = kind_of(measure), "@" if start["k"] else "-"
    kinds = {kind, kind + cut, "gm" if measure.family.average is GEOMETRIC else ""}
    kinds |= {"level" if measure.family.takes("level") else ""}
    kinds |= {cut if measure.family.takes("cutoff") or start["formula"] != "measure" else ""}
    lists = {
        "levels": sorted(
            {0, 1, start["level"] - 1, *situation.grades, min(start["level"] + 1, situation.max_rel)} - {-1}
        ),
        "depths": [depth for depth in DEPTHS if depth < situation.longest],
        "before": [k - 1] if k and k > 1 else [],
        "after": [k + 1] if k else [],
        "first": [count for count in FIRST_QUERIES if count < queries - 1],
        "first judged": [count for count in FIRST_QUERIES if count < situation.lists.get("judgments", 0) - 1],
        "all but one": [queries - 1] if queries > 1 else [],
        "queries": [queries] if k and queries < k else [],
    }
    for name, change in _declared().items():
        holds = all(getattr(situation, fact) for fact in change.get("when", "").split())
        if kinds.isdisjoint(change.get("of", kind).split()) or not holds:
            continue
        over, odd = change.get("over", [""]), change.get("odd", [])
        for x in [*(lists[over] if isinstance(over, str) else over), *odd]:
            given = {"x": x, "k": k, "level": start["level"], "instead": f" instead of {k}" if k else ""}
            settings = {key: _read(key, value, given) for key, value in change["set"].items()}
            if any(start.get(key) != value for key, value in settings.items()):
                convention = CONVENTIONS.get(next(iter(settings)))
                usual = convention and f"{convention.question} {convention.says(*settings.values()).partition(';')[0]}"
                prior = change["n"] / REPORTS / (10 if x in odd else 1)
                ids = tuple(name.replace("-x", f"-{x}").split())
                yield Change(ids, change.get("words", usual).format(**given), prior, change["mistake"], settings)
    for other in _near(measure):
        whole = other.with_defaults({"max_rel": situation.max_rel, "level": start["level"]})
        yield Change((other.family.name,), f"it is {other.notation}", OF_MEASURE, False, parts_of(whole))


def _read(key: str, value: Any, given: Mapping[str, Any]) -> Any:
    """Return the value of a setting: of a convention as in a signature, or a number, or none."""
    if not isinstance(value, str):
        return value
    text = value.format(**given)
    if key in CONVENTIONS:
        return CONVENTIONS[key].parse(text)
    if key in ("cutoff", "k", "level", "max_rel") and not text.isalpha():
        return int(text) if text else None
    return text


def _near(measure: Measure) -> Iterator[Measure]:
    """Yield the measures with a name like a measure's, one of which contains the other."""
    cutoff = dict(measure.parameters).get("cutoff")

    def names(family: Family) -> set[str]:
        return {folded(name.removesuffix("_cut")) for name in (family.name, *family.notation)}

    ours = names(measure.family)
    for family in FAMILIES.values():
        taken = {"cutoff": cutoff} if family.takes("cutoff") and cutoff else {}
        given = {*family.defaults, *taken, "max_rel", "level"}
        if not family.from_relevance or family.kind != "real" or family.needs or family.average.over is not None:
            continue
        alike = any(a in b or b in a for a in ours for b in names(family) if min(len(a), len(b)) > 2)
        alike |= any(len(a) < 3 and a in family.name.lower().split("_") for a in ours)
        same = (family.function, family.average) == (measure.family.function, measure.family.average)
        if alike and not same and all(each.name in given for each in family.parameters):
            yield Measure(family, tuple(taken.items()))
