"""Rules of grading: the keys of a rules file as data, reading such a file, and the folder of a new exercise."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any, NamedTuple, get_args

from treceval_py._types import Source
from treceval_py.data.ids import encode, quoted
from treceval_py.errors import InputError, MeasureError, OutputError, brief, listed
from treceval_py.grading.records import CONVENTION, CORRECT, MISTAKE, ROUNDING, VERDICTS
from treceval_py.io import toml_file
from treceval_py.io.formats import DATASET
from treceval_py.io.source import name_of, source_of, whole
from treceval_py.io.target import written_whole
from treceval_py.io.toml_file import TEXT, Form, Place, TomlFile, shown_value, written
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.registry import TEXT as WORDS
from treceval_py.scoring.profiles import DEFAULT_PROFILE, USUAL_MEASURES, Profile, profile_named


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
    "true or false": lambda: toml_file.YES,
    "number": toml_file.number,
    "whole number": toml_file.whole_number,
    "one of": toml_file.one_of,
    "names": lambda: toml_file.NAMES,
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
    attribute : str
        The attribute of `Rules`, `MeasureRule` or `Task` that it sets.
    """

    section: str
    name: str
    form: Form
    meaning: str
    example: Any
    attribute: str

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
            attribute = facts.pop("field", name)
            yield Key("" if section == "top" else section, name, _FORMS[form](*limits), **facts, attribute=attribute)


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


def read_rules(source: Source | None = None, *, text: str | None = None) -> Rules:
    """Read rules from a TOML file.

    Parameters
    ----------
    source : str, path or binary file
        The file. Keys that it leaves out are as in ``Rules()``.
    text : str, optional
        The text of a file, in place of ``source``.

    Returns
    -------
    Rules
        The rules. Those of a course have `Rules.tasks`, each with rules of its own; keys outside a task apply to all
        tasks.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, has an unknown key, or an invalid value.

    References
    ----------
    Tom Preston-Werner, Pradyun Gedam and others. TOML v1.0.0, https://toml.io/en/v1.0.0.
    """
    given = source_of(source, text)
    return _File(name_of(given), whole(given, toml_file.LARGEST)).rules()


class _File(TomlFile):
    """A rules file.

    Attributes
    ----------
    tables : dict
        The tables to read: the document, or those that apply to one task.
    task : int or None
        Number of this task.
    """

    def __init__(self, name: str, raw: bytes) -> None:
        super().__init__(name, raw)
        self.tables: dict[str, Any] = self.document
        self.task: int | None = None

    def refusal(self, fault: str, todo: str, *place: Place) -> InputError:
        """Return an error about the value at a place: in the task, or in what is for all tasks."""
        if self.task is not None and place[:1] != ("task",):
            own: Any = self.document["task"][self.task]
            for step in place:
                own = own.get(step) if isinstance(own, dict) else own and own[int(step)]
            place = ("task", self.task, *place) if own is not None else place
        return super().refusal(fault, todo, *place)

    def suggestion(self, name: str, forms: Mapping[str, Form], *place: Place) -> str:
        """Suggest the key or section that may have been meant."""
        section = place[0] if place else ""
        elsewhere = [key.section for key in RULES if key.name == name and key.section != section]
        if elsewhere:
            return f"It belongs in {bracketed(elsewhere[0])}." if elsewhere[0] else "It belongs at the top."
        sections = {} if section else dict.fromkeys(SECTIONS[1:], TEXT)
        return super().suggestion(name, {**forms, **sections})

    def rules(self) -> Rules:
        """Return the rules of the file."""
        if "task" not in self.document:
            return self._checked(self._rules())
        shared = self.tables = {name: value for name, value in self.document.items() if name != "task"}
        common, tasks = self._rules(), list[Task]()
        for task, table in enumerate(self._array(self.document["task"], "task")):
            self.task, self.tables = task, _together(shared, table)
            tasks.append(self._task(task, table, tasks, common))
        return common._replace(tasks=tuple(tasks))

    def _array(self, tables: Any, section: str) -> list[dict[str, Any]]:
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            fault = f"{section} is not an array of tables"
            raise self.refusal(fault, f"Write [[{section}]] with two brackets.", section)
        return tables

    def _task(self, number: int, table: Mapping[str, Any], before: list[Task], common: Rules) -> Task:
        """Return a task; its files are in the folder of the rules, unless their paths say otherwise."""
        own = {name: value for name, value in table.items() if name not in SECTIONS and name != "title"}
        values = self._values(own, "task", number)
        for key, example in (("name", '"Exercise 1"'), ("qrels", '"qrels.txt"')):
            if not values.get(key):
                raise self.refusal(f"[[task]] without {key}", f"Write {key} = {example}.", "task", number, key)
        if any(values["name"].casefold() == other.name.casefold() for other in before):
            fault = f"there is another task {quoted(encode(values['name']))}"
            raise self.refusal(fault, "Give each task a name of its own.", "task", number, "name")
        for key in ("qrels", "baseline", "claims"):
            if values.get(key) and not values[key].startswith(DATASET):
                values[key] = os.path.join(os.path.dirname(self.name), values[key])
        rules = self._checked(self._rules())
        if rules.free_days != common.free_days:
            todo = "Write it in [late], above the tasks."
            raise self.refusal("free_days counts over all tasks, not for one of them", todo, "late", "free_days")
        if "title" not in table:
            rules = rules._replace(title=": ".join(filter(None, (common.title, values["name"]))))
        return Task(**values, rules=rules)

    def _rules(self) -> Rules:
        given = self._values({name: value for name, value in self.tables.items() if name not in SECTIONS}, "")
        for section in (section for section in SECTIONS[1:] if section not in ARRAYS):
            values = self.tables.get(section, {})
            if not isinstance(values, dict):
                fault = f"{section} is {shown_value(values)}, not a section"
                raise self.refusal(fault, f"Write [{section}] on a line, and its keys below.", section)
            given |= self._values(values, section)
        try:
            profile = profile_named(given.get("profile", DEFAULT_RULES.profile))
        except MeasureError as error:
            raise self.refusal(error.what, error.todo, "scoring", "profile") from None
        expected: list[Measure] = []
        for name in given.pop("expected", ()):
            expected += self._named(name, expected, "claims", "expected")
        measures = self._measures(profile, given.pop("measures", None))
        return Rules(**given, measures=measures, expected=tuple(measure.name for measure in expected))

    def _values(self, table: Mapping[str, Any], section: str, *number: int) -> dict[str, Any]:
        """Return the attributes that the keys of a table set, after checking their form."""
        keys = {key.name: key for key in RULES if key.section == section}
        place = [section] if section else []
        values = self.values(table, {name: key.form for name, key in keys.items()}, *place, *number)
        return {keys[name].attribute: value for name, value in values.items()}

    def _named(self, name: str, before: Sequence[Measure], *place: Place) -> list[Measure]:
        """Return the measures of a name, none of which may be among those before it."""
        try:
            measures = parse_measures(name)
        except MeasureError as error:
            raise self.refusal(error.what, error.todo, *place) from None
        for measure in measures:
            # A measure of any kind of judgments declares a union of kinds.
            kinds = get_args(measure.family.judged) or (measure.family.judged,)
            fault = "" if JudgedRun in kinds else "it needs judgments of another kind than qrels"
            if measure.family.kind == WORDS or not measure.family.summary:
                fault = "it is not a number"
            if fault:
                of = f", one of {quoted(encode(name))}," if len(measures) > 1 else ""
                todo = "Name other measures, such as map."
                raise self.refusal(f"{measure.name}{of} cannot be graded: {fault}", todo, *place)
            if measure in before:
                first = before[before.index(measure)].name
                again = f", as {first}" if first != measure.name else ""
                raise self.refusal(f"{measure.name} is named twice{again}", "Keep one.", *place)
        return measures

    def _measures(self, profile: Profile, listed: tuple[str, ...] | None) -> tuple[MeasureRule, ...]:
        """Return the measures to compute: from the list of names, the tables of measures, or the defaults."""
        tables = self.tables.get("measure")
        if tables is not None and listed is not None:
            fault = "measures are listed in [scoring], and there is [[measure]]"
            raise self.refusal(fault, "Keep one of the two.", "measure")
        usual = [measure.name for measure in profile.usual_measures]
        names = [{"name": name} for name in (usual if listed is None else listed)]
        rows = names if tables is None else self._array(tables, "measure")
        if not rows:
            place = ("scoring", "measures") if tables is None else ("measure",)
            raise self.refusal("the list of measures is empty", "Name one, or leave it out.", *place)
        rules, measures = list[MeasureRule](), list[Measure]()
        for block, row in enumerate(rows):
            at: tuple[Place, ...] = ("scoring", "measures") if tables is None else ("measure", block)
            values = self._values(row, "measure", block)
            if "name" not in values:
                raise self.refusal("[[measure]] without a name", 'Write name = "map".', *at)
            own = self._named(values["name"], measures, *at, "name")
            measures += own
            rules += [MeasureRule(**{**values, "name": measure.name}) for measure in own]
            for key in () if "full_from" in values else sorted(values.keys() - {"name"}):
                fault = f"{values['name']} has {key} but no full_from, so it gives no points"
                raise self.refusal(fault, f"Add full_from, or leave {key} out.", *at, key)
            full, none = values.get("full_from", math.inf), values.get("none_below", 0.0)
            if full < none:
                fault = f"full_from of {values['name']} is {full:g}, below none_below {none:g}"
                raise self.refusal(fault, "Swap them.", *at, "full_from")
        return tuple(rules)

    def _checked(self, rules: Rules) -> Rules:
        """Return rules, after refusing those that would give other points than the file seems to intend."""
        valued = [at for at, rule in enumerate(rules.measures) if rule.full_from is not None]
        if rules.points_measures and not valued:
            fault = f"there are {rules.points_measures:g} points for measures, but no measure has full_from"
            raise self.refusal(fault, "Add [[measure]] with name and full_from.", "points", "measures")
        if valued and not rules.points_measures:
            fault = f"{rules.measures[valued[0]].name} has full_from, but there are no points for measures"
            todo = "Write measures = 20, for example, in [points], or leave full_from out."
            raise self.refusal(fault, todo, "measure", valued[0], "full_from")
        if rules.pass_mark is not None and rules.pass_mark > rules.points:
            fault = f"pass_mark is {rules.pass_mark:g}, but there are only {rules.points:g} points"
            raise self.refusal(fault, "Nobody could pass.", "points", "pass_mark")
        return rules


def _together(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables that apply to a task: its own, and those for all tasks that it does not set."""
    tables = dict(shared)
    for name in own.keys() & {*SECTIONS, "title"}:
        both = isinstance(own[name], dict) and isinstance(shared.get(name), dict)
        tables[name] = shared[name] | own[name] if both else own[name]
    scoring = own.get("scoring")
    if "measure" in own and isinstance(tables.get("scoring"), dict) and "measures" not in (scoring or {}):
        tables["scoring"] = {key: value for key, value in tables["scoring"].items() if key != "measures"}
    elif isinstance(scoring, dict) and "measures" in scoring and "measure" not in own:
        tables.pop("measure", None)
    return tables


def write_template(folder: str) -> None:
    """Write the folder of a new exercise; nothing that is there is replaced.

    Parameters
    ----------
    folder : str
        The folder, which must be new or empty.

    Raises
    ------
    OutputError
        The folder has files, or cannot be written.
    """
    try:
        if os.path.isdir(folder) and os.listdir(folder):
            raise OutputError("the folder is not empty", "Name a new one.", file=folder)
        for name in ("submissions", "for-students"):
            os.makedirs(os.path.join(folder, name))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", file=folder) from None
    texts = files(__package__)
    for name, text in {
        "README.md": (texts / "for_teachers.md").read_text("utf-8"),
        "rules.toml": example_rules(),
        "for-students/README.md": (texts / "for_students.md").read_text("utf-8"),
        "for-students/claims.csv": "measure,value\n" + "".join(f"{name},\n" for name in USUAL_MEASURES),
    }.items():
        with written_whole(os.path.join(folder, name)) as stream:
            stream.write(text.encode())
