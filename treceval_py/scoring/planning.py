"""A plan: which measures are computed, with which parameters, under which conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from treceval_py.data.ranking import Rules
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.measures import Measure
from treceval_py.measures.parameters import PARAMETERS
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.profiles import Profile
from treceval_py.scoring.signatures import Fingerprint, Signature, concise

__all__ = ["Plan", "Task", "plan_of_measures", "plan_of_signatures"]


class Task(NamedTuple):
    """One measure to compute.

    Attributes
    ----------
    asked : Measure
        As it was asked for.
    resolved : Measure
        With all its parameters.
    conventions : Conventions
        How its list is ranked and its values are averaged.
    profile : str
        The profile under which it is asked for.
    """

    asked: Measure
    resolved: Measure
    conventions: Conventions
    profile: str = ""

    @property
    def rules(self) -> Rules:
        """How documents are ranked for it."""
        needed = {("ties", "average"), ("steps", "together")} & set(self.resolved.parameters)
        return self.conventions.rules(tied=bool(needed))


class Plan(NamedTuple):
    """What is to be computed.

    Attributes
    ----------
    tasks : tuple of Task, length M
        The measures.
    profile : str
        The profile's name.
    """

    tasks: tuple[Task, ...]
    profile: str

    @property
    def rankings(self) -> dict[Rules, list[int]]:
        """The numbers of the tasks that share a ranking."""
        groups: dict[Rules, list[int]] = {}
        for number, task in enumerate(self.tasks):
            groups.setdefault(task.rules, []).append(number)
        return groups

    @property
    def duplicates(self) -> str:
        """What a document that comes twice in a query does."""
        values = {task.conventions.duplicates for task in self.tasks}
        return "last" if values == {"last"} else "refuse"


def plan_of_measures(
    asked: Sequence[Measure],
    profile: Profile,
    *,
    max_rel: int,
    level: int | None,
    complete: bool,
    depth: int | None,
    judged_only: bool,
    collection_size: int,
) -> Plan:
    """Plan measures under a profile; parameters as those of `evaluation.evaluate`.

    Raises
    ------
    MeasureError
        A parameter is out of range.
    """
    rules = profile.complete if complete else profile
    defaults: dict[str, Any] = {
        "level": PARAMETERS["level"].check(rules.level if level is None else level, "level"),
        "max_rel": max_rel,
        "collection_size": PARAMETERS["collection_size"].check(collection_size, "collection_size"),
        **rules.defaults,
    }
    changes: dict[str, Any] = {}
    if depth is not None:
        changes["depth"] = depth
    if judged_only:
        changes["judged_only"] = True
    tasks = []
    for measure in asked:
        resolved = rules.meaning_of(measure).with_defaults(defaults)
        if "max_rel" in dict(resolved.parameters):
            PARAMETERS["max_rel"].check(dict(resolved.parameters)["max_rel"])
        tasks.append(Task(measure, resolved, rules.conventions_of(resolved).changed(changes), rules.name))
    return Plan(tuple(tasks), rules.name)


def plan_of_signatures(
    signatures: Sequence[Signature], fingerprint: Fingerprint, *, defaults: Mapping[str, Any]
) -> Plan:
    """Plan what signatures say.

    Parameters
    ----------
    signatures : sequence of Signature
        What is to be repeated.
    fingerprint : Fingerprint
        That of the judgments at hand.
    defaults : mapping
        Values for parameters that a hand-written signature left out.

    Raises
    ------
    MeasureError
        There is none, or two have one measure.
    EvaluationError
        One is of other judgments.
    """
    if not signatures:
        raise MeasureError("no signature to repeat")
    tasks: list[Task] = []
    for signature in signatures:
        if signature.judgments != str(fingerprint):
            raise EvaluationError(
                f"signature '{signature.short}' is of other judgments: theirs are {signature.judgments}, these are "
                f"{fingerprint}",
                "Give the judgments that it was made with.",
            )
        resolved = signature.measure.with_defaults(defaults)
        measure = concise(signature.measure)
        asked = Measure(measure.family, measure.parameters, asked=measure.notation)
        tasks.append(Task(asked, resolved, signature.conventions, signature.profile))
    if len({task.asked.name for task in tasks}) < len(tasks):
        raise MeasureError("two signatures have the same measure", "Repeat them one after the other.")
    profiles = list(dict.fromkeys(signature.profile for signature in signatures))
    return Plan(tuple(tasks), ", ".join(profiles))
