"""The rules of grading as data: each key of a rules file, declared once with its meaning and default."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any, NamedTuple

from treceval_py.errors import brief, listed
from treceval_py.grading.records import CONVENTION, CORRECT, MISTAKE, ROUNDING, VERDICTS
from treceval_py.io.toml_file import NAMES, TEXT, YES, Form, number, one_of, whole_number, written
from treceval_py.scoring.profiles import DEFAULT_PROFILE


class MeasureRule(NamedTuple):
    """A measure that is computed, and the points for its value.

    Attributes
    ----------
    name : str
        The measure, under the name of its values.
    weight : float
        Its weight in the points for measures, relative to the other measures that give points.
    none_below : float or None
        Below this value there are no points; None means 0. Above it, points grow linearly.
    full_from : float or None
        From this value there are all points; None if the measure is only shown and gives no points.
    above_baseline : bool
        Whether both limits are relative to the baseline's value.
    """

    name: str
    weight: float = 1.0
    none_below: float | None = None
    full_from: float | None = None
    above_baseline: bool = False


USUAL_MEASURES = ("map", "recip_rank", "P_10", "ndcg_cut_10")
"""Measures that are computed unless the rules or the profile name others."""

ANYWHERE = "anywhere"
"""The rule that right numbers give points wherever they stand."""


class Rules(NamedTuple):
    """The rules by which submissions are graded; ``treceval grade --template`` writes them with a comment on each.

    Attributes
    ----------
    level : int or None
        Lowest relevant judgment; None for the profile's.
    expected : tuple of str
        The measures that must be claimed. If empty, each claimed measure of ``measures`` has an equal share, all other
        measures together have one more, and counts have none.
    claims : str
        ``declared``, or ``anywhere`` if right numbers in sentences and tables give points too.
    feedback : str
        ``own``, ``aggregate`` or ``full``.
    pass_mark : float or None
        Points needed to pass; None if nobody passes or fails.
    deadline : datetime or None
        Deadline, with its zone; None if only the platform says what is late.
    groups : str
        A pattern for the groups of the roster that hand in together: the submission of one member counts for those who
        handed in nothing; empty for none.
    most_days : int or None
        Most days late with which a submission still gets points; None for no limit.
    tasks : tuple of Task
        The tasks of a course; empty for a single exercise.
    """

    title: str = ""
    profile: str = DEFAULT_PROFILE
    complete: bool = True
    level: int | None = None
    named: str = ""
    feedback: str = "own"
    measures: tuple[MeasureRule, ...] = tuple(map(MeasureRule, USUAL_MEASURES))
    points_run: float = 40.0
    points_measures: float = 0.0
    points_claims: float = 60.0
    pass_mark: float | None = None
    credit_repaired: float = 0.75
    credit_rounding: float = 1.0
    credit_convention: float = 0.5
    credit_mistake: float = 0.25
    expected: tuple[str, ...] = ()
    claims: str = "declared"
    tolerance: float = 0.0
    similarity: float = 0.95
    seconds: float = 120.0
    megabytes: float = 64.0
    deadline: datetime | None = None
    free_days: int = 0
    late_per_day: float = 0.0
    most_days: int | None = None
    groups: str = ""
    tasks: tuple[Task, ...] = ()

    def __repr__(self) -> str:
        measures = listed([rule.name for rule in self.measures])
        return f"<Rules {brief(self.title)!r}: {self.points:g} points; {measures}; {brief(self.profile)}>"

    @property
    def points(self) -> float:
        """The most points that can be reached."""
        return self.points_run + self.points_measures + self.points_claims

    @property
    def credit(self) -> dict[str, float]:
        """For each verdict, the share of a claim's points, 0 to 1."""
        own = {ROUNDING: self.credit_rounding, CONVENTION: self.credit_convention, MISTAKE: self.credit_mistake}
        return {**dict.fromkeys(VERDICTS, 0.0), CORRECT: 1.0, **own}


DEFAULT_RULES = Rules()
"""The rules without a rules file."""


class Task(NamedTuple):
    """A task of a course, or a single exercise.

    Attributes
    ----------
    name : str
        Its name, unique among the tasks; empty for a single exercise.
    qrels : str
        The judgments.
    baseline, claims : str
        A run to compare with, and a table of claims; empty if there is none.
    folder : str
        The submissions of this task: a pattern for names of files and folders or, if it has a slash, for paths within
        those of the students; empty for the task's name.
    weight : float
        Factor for its points in the course.
    rules : Rules
        The rules by which it is graded.
    """

    name: str
    qrels: str
    baseline: str = ""
    claims: str = ""
    folder: str = ""
    weight: float = 1.0
    rules: Rules = DEFAULT_RULES


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


_FORMS: Mapping[str, Callable[..., Form]] = {
    "text": lambda: TEXT,
    "true or false": lambda: YES,
    "number": number,
    "whole number": whole_number,
    "one of": one_of,
    "names": lambda: NAMES,
    "time": lambda: Form("a time with its zone, such as 2026-11-20T23:59:00+01:00", _is_time, lambda time: time),
}

ARRAYS = {
    "measure": "Instead of measures in [scoring], one block per measure.",
    "task": "For a course, one block per task; settings above apply to each task that does not set its own.",
}
"""Sections that are arrays of tables, with their purpose."""


class Key(NamedTuple):
    """A key of a rules file.

    Attributes
    ----------
    section : str
        The table that it belongs to; empty for the top of the file. `ARRAYS` are arrays of tables.
    name : str
        Its name.
    form : Form
        The form of its value.
    meaning : str
        What it decides, a sentence without a full stop.
    example : object
        A value.
    field : str
        The attribute of `Rules`, `MeasureRule` or `Task` that it sets; empty if it has the name of the key.
    """

    section: str
    name: str
    form: Form
    meaning: str
    example: Any
    field: str = ""

    @property
    def attribute(self) -> str:
        """The attribute that it sets."""
        return self.field or self.name

    @property
    def default(self) -> Any:
        """The value if the key is left out; None if there is no default."""
        owners = {"measure": MeasureRule._field_defaults, "task": Task._field_defaults}
        value = owners.get(self.section, Rules._field_defaults).get(self.attribute)
        return list(USUAL_MEASURES) if self.attribute == "measures" else value


def _declared() -> Iterator[Key]:
    for section, keys in tomllib.loads((files(__package__) / "rule_keys.toml").read_text("utf-8")).items():
        for name, facts in keys.items():
            form, *limits = facts.pop("form")
            yield Key("" if section == "top" else section, name, _FORMS[form](*limits), **facts)


RULES = tuple(_declared())
"""All keys of a rules file, in the order in which they are shown."""

SECTIONS = tuple(dict.fromkeys(key.section for key in RULES))


def bracketed(section: str) -> str:
    """Return a section's name in the notation of the file."""
    return f"[[{section}]]" if section in ARRAYS else f"[{section}]"


def fingerprint(rules: Rules) -> str:
    """Return a hash of all rules that a record of a graded submission depends on; rules for points are left out.

    Parameters
    ----------
    rules : Rules
        The rules.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    measures = tuple(rule.name for rule in rules.measures)
    scoring = (rules.profile, rules.complete, rules.level, measures, rules.named, rules.feedback)
    chosen = (*scoring, rules.expected, rules.claims, rules.tolerance, rules.seconds, rules.megabytes)
    return hashlib.sha256(json.dumps(chosen).encode()).hexdigest()


def example_rules() -> str:
    """Return a rules file with all keys, each explained and with an example, that reads as `DEFAULT_RULES`."""
    lines = [
        "# Rules of grading. Each value is the default: leave out what you do not change.",
        "# A line that begins with #: is an example of a key without a default; remove the #: to use it.",
    ]
    for section in SECTIONS:
        head = [f"# {ARRAYS[section]}", f"#:[[{section}]]"] if section in ARRAYS else [f"[{section}]"]
        lines += ["", *head] if section else []
        for key in (key for key in RULES if key.section == section):
            if section in ARRAYS or key.default is None:
                lines += ["", f"# {key.meaning}.", f"#:{key.name} = {written(key.example)}"]
            else:
                example = f"# {key.meaning}. For example: {written(key.example)}"
                lines += ["", example, f"{key.name} = {written(key.default)}"]
    return "\n".join(lines) + "\n"
