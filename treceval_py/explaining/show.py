"""Why numbers differ, as tables: claims, values by profile, walks, and arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treceval_py.errors import listed, visible
from treceval_py.explaining.explanation import Explained, Explanation, Match, Row, Walk
from treceval_py.explaining.terms import Arithmetic
from treceval_py.explaining.variants import CHANGE, MISTAKE, PAIR
from treceval_py.explaining.walking import Step
from treceval_py.measuring import Measure
from treceval_py.plots.images import Plot
from treceval_py.plots.specs import means_plot
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.results import place_of


def _head(explanation: Explanation) -> str:
    judged, retrieved, both = explanation.queries
    return (
        f"{visible(explanation.run_name)} against {visible(explanation.judgments_name)}: {judged} judged "
        f"{'query' if judged == 1 else 'queries'}, "
        f"{retrieved} in the run, {both} in both"
    )


def _way(walk: Walk, profile: str) -> str:
    return f"From {profile} to {walk.to}" if walk.to in PROFILES else f"From {profile}, step by step"


def _by_chance(each: Explained) -> str:
    return (
        f"This may be a coincidence: of the {each.tried} ways tried, those at least as plausible give "
        f"{100 * each.chance:.0f} % of the numbers near it."
    )


def _way_of(match: Match) -> str:
    how = "" if match.how in ("exactly", "nearly") else f" ({match.how})"
    kinds = {CHANGE: "one change: ", MISTAKE: "a mistake: ", PAIR: "two changes: "}
    before = match.variant.before
    kind = "three changes: " if before and before.cost == PAIR else kinds.get(match.variant.cost, "")
    return f"{kind}{match.variant.name}{how}"


class Given(NamedTuple):
    """A printed value, the number of queries averaged, and the profiles that give it."""

    value: str
    queries: int
    names: list[str]

    @property
    def mean(self) -> float:
        """The number."""
        return float(self.value)


def by_value(rows: Sequence[Row]) -> list[Given]:
    """Return each distinct value with the profiles that give it, the highest first."""
    groups: dict[tuple[str, int], list[str]] = {}
    for variant, outcome in rows:
        if outcome is not None:
            key = (f"{outcome.mean:.4f}", outcome.queries)
            groups.setdefault(key, []).append(variant.name.replace(" with all judged queries (-c)", " -c"))
    given = []
    for (value, queries), names in sorted(groups.items(), key=lambda item: float(item[0][0]), reverse=True):
        # Where no judged query is missing, -c changes nothing and need not be said.
        said = [name for name in names if name.removesuffix(" -c") == name or name.removesuffix(" -c") not in names]
        given.append(Given(value, queries, said))
    return given


def _moved(step: Step) -> str:
    moved = ", ".join(f"{visible(move.qid)} {_shown(move.before)} → {_shown(move.after)}" for move in step.moves)
    return moved + (f" and {step.touched - len(step.moves)} more" if step.touched > len(step.moves) else "")


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _closing(arithmetic: Arithmetic) -> str:
    if arithmetic.apart:
        return f"{arithmetic.closing} = {arithmetic.value:.6f}"
    return "The value of this measure is not taken apart; 'treceval measures' has a worked example."


def _label(label: int | None) -> str:
    return "–" if label is None else str(label)


def plot_of(explanation: Explanation, measure: str | Measure | None) -> Plot:
    """Return the bars of a measure's values by profile; parameters and errors as of `Explanation.plot`."""
    names = [each.measure.name for each in explanation.measures]
    each = explanation.measures[0 if measure is None else place_of(names, str(measure))]
    given = by_value(each.rows)
    runs = [{"name": listed(row.names, 1)} for row in given]
    nothing = [None] * len(given)
    shown = {"label": each.measure.heading, "means": [row.mean for row in given], "low": nothing, "high": nothing}
    spec = means_plot({"measures": [shown], "runs": runs, "baseline": None}, 0)
    return Plot(spec | {"description": f"{each.measure.heading} by profile"}, len(given))


def document_of(shown: Explanation | Arithmetic | Sequence[Arithmetic], _: Style) -> Document:
    """Return an explanation, or the arithmetic of a query, as tables for people."""
    if isinstance(shown, Explanation):
        tables = [
            table
            for each in shown.measures
            for table in (*_claim(each), *_code(each), _profiles(each), *_walks(each, shown.profile))
        ]
        tables[0] = tables[0]._replace(notes=(_head(shown), *tables[0].notes))
        return Document("explanation", tables, lambda _: _made(shown))
    several = [shown] if isinstance(shown, Arithmetic) else shown
    payload = {"arithmetic": [each._replace(measure=each.measure.name) for each in several]}  # type: ignore[arg-type]
    return Document("arithmetic", [_terms(each) for each in several], lambda _: Made(payload=payload))


def _made(explanation: Explanation) -> Made:
    """Return an explanation for programs."""

    def shown(matches: Sequence[Match]) -> list[dict[str, object]]:
        return [
            {
                "value": match.outcome.mean, "queries": match.outcome.queries, "way": match.variant.name,
                "changes": match.variant.ids, "profile": match.variant.profile or None, "how": match.how,
                "likely": match.likely,
            }
            for match in matches
        ]  # fmt: skip

    measures = [
        {
            "measure": each.measure.name, "claim": None if each.claim is None else each.claim.text,
            "tried": each.tried, "chance": each.chance, "ways": shown(each.matches), "nearest": shown(each.nearest),
            "values": [
                {"profile": variant.name, "value": outcome.mean, "queries": outcome.queries}
                for variant, outcome in each.rows if outcome is not None
            ],
            "walks": each.walks, "code": [] if each.code is None else each.code.sentences,
        }
        for each in explanation.measures
    ]  # fmt: skip
    name = explanation.profile.removesuffix(" -c")
    payload = {"run": explanation.run_name, "measures": measures}
    return Made(explanation.judgments_name, name, complete=name != explanation.profile, payload=payload)


def _claim(each: Explained) -> Iterator[Table]:
    """Lay out the variants that give a claimed value, or come nearest to it."""
    if each.claim is None:
        return
    likely = [match for match in each.matches if match.likely]
    less = [match for match in each.matches if not match.likely]
    by = "given by" if likely else f"not reproduced by any of the {each.tried} ways tried; nearest"
    heading = f"{each.measure.heading} = {each.claim.text} is {by}"
    notes = (_by_chance(each),) if each.by_chance else ()
    for matches, head in ((likely or each.nearest, heading), (less, f"Less likely ways to {each.claim.text}")):
        if matches:
            columns = (
                Column("value", [match.outcome.mean for match in matches], digits=6),
                Column("queries", [match.outcome.queries for match in matches]),
                Column("way", [_way_of(match) for match in matches], text=True),
            )
            yield Table(columns, "ways", title=head, notes=notes * (head == heading))


def _code(each: Explained) -> Iterator[Table]:
    """Lay out how a user's own function computes the measure."""
    if each.code is not None:
        heading = f"{each.measure.heading} by {each.code.name}"
        yield Table((Column("your function", list(each.code.sentences), text=True),), "code", heading=heading)


def _profiles(each: Explained) -> Table:
    """Lay out the values by profile."""
    given = by_value(each.rows)
    columns = (
        Column("value", [row.mean for row in given]),
        Column("queries", [row.queries for row in given]),
        Column("given by", [", ".join(row.names) for row in given], text=True),
    )
    return Table(columns, "values", title=f"{each.measure.heading} by profile")


def _walks(each: Explained, profile: str) -> Iterator[Table]:
    for walk in each.walks:
        steps = [step for step in walk.steps if step.touched or not step.what]
        columns = (
            Column("value", [step.mean for step in steps]),
            Column("change", [step.delta if step.what else None for step in steps], signed=True),
            Column("queries", [step.queries for step in steps]),
            Column("step", [step.what for step in steps], text=True),
            Column("moves", [_moved(step) if step.what else "" for step in steps], text=True),
        )
        without = [step.what for step in walk.steps if step.what and not step.touched]
        notes = ["Nothing differs."] if len(walk.steps) == 1 else [f"No effect: {', '.join(without)}."] * bool(without)
        heading = f"{each.measure.heading}: {_way(walk, profile)}"
        yield Table(columns, "steps", title=heading, notes=tuple(notes))


def _terms(arithmetic: Arithmetic) -> Table:
    """Lay out the documents behind a query's value."""
    terms = arithmetic.terms
    columns = (
        Column("rank", [term.rank for term in terms]),
        Column("docid", [term.docid for term in terms], text=True, head=True),
        Column("score", [repr(term.score) for term in terms]),
        Column("judged", [_label(term.label) for term in terms]),
        Column("adds", [term.value for term in terms], digits=6, people=arithmetic.apart),
        Column("sum", [term.total for term in terms], digits=6, people=arithmetic.apart),
        Column("calculation", [term.how for term in terms], text=True, people=arithmetic.apart),
    )
    nothing = "No document adds anything." if arithmetic.apart else "No judged document was retrieved."
    title = f"{arithmetic.measure.notation} of query {visible(arithmetic.qid)} = {arithmetic.value:.6f}"
    notes = (arithmetic.formula, *([] if terms else [nothing]), _closing(arithmetic))
    return Table(columns, "terms", title=title, notes=notes)
