"""The rules of grading as data: each key of a rules file, declared once with its meaning and default."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from treceval_py.errors import brief, listed
from treceval_py.grading.records import CONVENTION, CORRECT, MISTAKE, ROUNDING, VERDICTS
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


class Task(NamedTuple):
    """A task of a course.

    Attributes
    ----------
    name : str
        Its name, unique among the tasks.
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
    rules: Rules | None = None


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

    @property
    def needs_baseline(self) -> bool:
        """Whether points depend on the value of a baseline."""
        return any(rule.above_baseline for rule in self.measures)


DEFAULT_RULES = Rules()
"""The rules without a rules file."""


class Form(NamedTuple):
    """The form of a value: in words, and as a test."""

    words: str
    fits: Callable[[Any], bool]
    take: Callable[[Any], Any]


def _number(low: float, high: float) -> Form:
    # Python counts true and false as numbers; NaN is in no range.
    return Form(
        f"a number from {low:g} to {high:,.12g}",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high,
        float,
    )


def _whole(low: int, high: int) -> Form:
    return Form(
        f"a whole number from {low} to {high:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        int,
    )


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _time(value: Any) -> datetime | None:
    """Return a time with its zone, from TOML's type or from text; None if it is not one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) and value.tzinfo is not None else None


def _one_of(*names: str) -> Form:
    return Form("one of " + ", ".join(f'"{name}"' for name in names), lambda value: value in names, str)


MOST = 1_000_000
TEXT = Form("text in quotes", lambda value: isinstance(value, str), str)
YES = Form("true or false", lambda value: isinstance(value, bool), bool)
_LIST = Form("a list of names in quotes", _names, tuple)
_SHARE = _number(0, 1)
_POINTS = _number(0, MOST)
_VALUE = _number(-MOST, MOST)
_TIME = Form("a time with its zone, such as 2026-11-20T23:59:00+01:00", lambda value: _time(value) is not None, _time)


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
    example : str
        A value as written in the file, for keys without a default.
    field : str
        The attribute of `Rules`, `MeasureRule` or `Task` that it sets; empty if it has the name of the key.
    """

    section: str
    name: str
    form: Form
    meaning: str
    example: str = ""
    field: str = ""

    @property
    def attribute(self) -> str:
        """The attribute that it sets."""
        return self.field or self.name

    @property
    def default(self) -> Any:
        """The value if the key is left out; None if there is no default."""
        if self.section in ARRAYS:
            return (MeasureRule if self.section == "measure" else Task)._field_defaults.get(self.attribute)
        value = getattr(DEFAULT_RULES, self.attribute)
        return [rule.name for rule in value] if self.attribute == "measures" else value


RULES = (
    Key("", "title", TEXT, "Title of the exercise, in feedback and overview"),
    Key("scoring", "profile", TEXT, "The conventions of the assignment; 'treceval profiles' lists them"),
    Key("scoring", "complete", YES, "Whether judged queries that a run lacks count as empty rankings"),
    Key("scoring", "level", _whole(0, 1000), "Lowest judgment that counts as relevant; without it, the profile's", "1"),
    Key(
        "scoring",
        "named",
        TEXT,
        "Name of the file that counts if there are several runs, such as run*.txt; otherwise the run for which most "
        "claims are right counts, or the last one",
    ),
    Key(
        "scoring",
        "feedback",
        _one_of("own", "aggregate", "full"),
        "What students may learn about the judgments: values of their own queries (own), only means (aggregate), or "
        "also documents with their judgments (full)",
    ),
    Key("scoring", "measures", _LIST, "Measures to compute; the first one orders the overview"),
    Key("measure", "name", TEXT, "One measure", '"map"'),
    Key("measure", "weight", _number(0.001, MOST), "Its weight in the points for measures, relative to the others"),
    Key("measure", "none_below", _VALUE, "No points below this value, or below 0 without it", "0.15"),
    Key("measure", "full_from", _VALUE, "All points from this value on; linearly fewer below it", "0.3"),
    Key("measure", "above_baseline", YES, "Whether both limits are added to the baseline's value"),
    Key("points", "run", _POINTS, "Points for a run that can be scored", field="points_run"),
    Key("points", "measures", _POINTS, "Points for values of measures; needs [[measure]]", field="points_measures"),
    Key("points", "claims", _POINTS, "Points for claimed numbers, divided equally among them", field="points_claims"),
    Key("points", "repaired", _SHARE, "Share of the run's points that remains after repairs", field="credit_repaired"),
    Key("points", "pass_mark", _POINTS, "Points needed to pass; without it nobody passes or fails", "50"),
    *(
        Key("credit", verdict, _SHARE, f"Share of a claim's points if {VERDICTS[verdict]}", field=f"credit_{verdict}")
        for verdict in (ROUNDING, CONVENTION, MISTAKE)
    ),
    Key(
        "claims",
        "expected",
        _LIST,
        "Measures that must be claimed; if empty, each claimed measure of the rules has a share of the points, all "
        "others together have one more, and counts such as num_q have none",
    ),
    Key(
        "claims",
        "claims",
        _one_of("declared", ANYWHERE),
        "Which numbers give points: declared ones, or also right ones anywhere in a report; others never take any",
    ),
    Key("claims", "tolerance", _number(0, MOST), "How far off a number may be, beyond its last digit"),
    Key("similarity", "threshold", _SHARE, "Overlap from which runs are listed as alike", field="similarity"),
    Key("limits", "seconds", _number(1, 86_400), "Time for one submission"),
    Key("limits", "megabytes", _number(0.001, 1_000_000), "Largest file, unpacked"),
    Key(
        "late",
        "deadline",
        _TIME,
        "Deadline; if it or the time is unknown, a submission that the platform marks as late is one day late",
        "2026-11-20T23:59:00+01:00",
    ),
    Key("late", "free_days", _whole(0, 1000), "Days late that cost a student nothing, over all tasks of a course"),
    Key(
        "late",
        "per_day",
        _SHARE,
        "Share of all points that each further day costs; begun days count",
        field="late_per_day",
    ),
    Key("late", "most_days", _whole(0, 1000), "Days late after which a submission gets no points", "7"),
    Key("roster", "groups", TEXT, 'Groups of the roster that hand in together, such as "Team *"'),
    Key(
        "task",
        "name",
        TEXT,
        "One task of a course; its sections are [task.scoring], [[task.measure]], …",
        '"Exercise 1"',
    ),
    Key("task", "qrels", TEXT, "Its judgments; files are looked for beside the rules", '"qrels.txt"'),
    Key("task", "baseline", TEXT, "Its run to compare with", '"bm25.txt"'),
    Key("task", "claims_file", TEXT, "Its table of claims", '"claims.csv"', field="claims"),
    Key(
        "task",
        "folder",
        TEXT,
        'Its submissions: a folder or archive in SUBMISSIONS, such as "ex1*", or a folder of each student, such as '
        '"*/ex1"; by default the name of the task',
        '"ex1*"',
    ),
    Key("task", "weight", _number(0, MOST), "Factor for its points in the course"),
)
"""All keys of a rules file, in the order in which they are shown."""

SECTIONS = tuple(dict.fromkeys(key.section for key in RULES))


ARRAYS = {
    "measure": "Instead of measures in [scoring], one block per measure.",
    "task": "For a course, one block per task; settings above apply to each task that does not set its own.",
}
"""Sections that are arrays of tables, with their purpose."""


def bracketed(section: str) -> str:
    """Return a section's name in the notation of the file."""
    return f"[[{section}]]" if section in ARRAYS else f"[{section}]"


def written(value: Any) -> str:
    """Return a value in TOML's notation."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:.12g}" if isinstance(value, (int, float)) and abs(value) < 1e12 else str(value)


RECORDED = (
    *("profile", "complete", "level", "expected", "claims", "tolerance", "seconds", "megabytes", "named", "feedback"),
)
"""The rules, besides the names of measures, that a record of a graded submission depends on."""


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
    chosen = {name: getattr(rules, name) for name in RECORDED}
    chosen["measures"] = [rule.name for rule in rules.measures]
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


def example_rules() -> str:
    """Return a rules file with all keys, each explained, that reads as `DEFAULT_RULES`."""
    lines = [
        "# Rules of grading. Each value is the default: leave out what you do not change.",
        "# A line that begins with #: is a key without a default; remove the #: to use it.",
    ]
    for section in SECTIONS:
        optional = section in ARRAYS
        if section:
            lines += ["", *([f"# {ARRAYS[section]}"] if optional else [])]
            lines += [("#:" if optional else "") + bracketed(section)]
        for key in RULES:
            if key.section == section:
                value = key.example or written(key.default)
                lines += [
                    "",
                    f"# {key.meaning}.",
                    ("#:" if optional or key.default is None else "") + f"{key.name} = {value}",
                ]
    return "\n".join(lines) + "\n"
