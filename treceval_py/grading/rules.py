"""Rules of grading, read from a TOML file that a teacher writes; `rule_keys` declares its keys."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from treceval_py._types import Source
from treceval_py.data.ids import encode, quoted
from treceval_py.errors import InputError, MeasureError
from treceval_py.grading.rule_keys import (
    ARRAYS,
    DEFAULT_RULES,
    RULES,
    SECTIONS,
    USUAL_MEASURES,
    MeasureRule,
    Rules,
    Task,
    bracketed,
)
from treceval_py.io.formats import DATASET
from treceval_py.io.source import name_of, source_of, whole
from treceval_py.io.toml_file import TEXT, Form, Place, TomlFile, shown_value
from treceval_py.judging.judged import JudgedRun
from treceval_py.measures import Measure, parse_measures
from treceval_py.measures.registry import TEXT as WORDS
from treceval_py.scoring.profiles import DEFAULT_MEASURES, Profile, profile_named


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
    return _File(name_of(given), whole(given)).rules()


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
        for number, table in enumerate(self._array(self.document["task"], "task")):
            self.task, self.tables = number, _together(shared, table)
            tasks.append(self._task(number, table, tasks, common))
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
        for section in SECTIONS[1:]:
            values = self.tables.get(section, {})
            if section in ARRAYS:
                continue
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
            if fault := _fault_of(measure):
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
        usual = USUAL_MEASURES if profile.measures == DEFAULT_MEASURES else profile.measures
        names = [{"name": name} for name in (usual if listed is None else listed)]
        rows = names if tables is None else self._array(tables, "measure")
        if not rows:
            place = ("scoring", "measures") if tables is None else ("measure",)
            raise self.refusal("the list of measures is empty", "Name one, or leave it out.", *place)
        rules, measures = list[MeasureRule](), list[Measure]()
        for number, row in enumerate(rows):
            at: tuple[Place, ...] = ("scoring", "measures") if tables is None else ("measure", number)
            values = self._values(row, "measure", number)
            if "name" not in values:
                raise self.refusal("[[measure]] without a name", 'Write name = "map".', *at)
            own = self._named(values["name"], measures, *at, "name")
            measures += own
            rules += [MeasureRule(**{**values, "name": measure.name}) for measure in own]
            for key in ("weight", "none_below", "above_baseline"):
                if key in values and "full_from" not in values:
                    fault = f"{values['name']} has {key} but no full_from, so it gives no points"
                    raise self.refusal(fault, f"Add full_from, or leave {key} out.", *at, key)
            full, none = values.get("full_from", math.inf), values.get("none_below", 0.0)
            if full < none:
                fault = f"full_from of {values['name']} is {full:g}, below none_below {none:g}"
                raise self.refusal(fault, "Swap them.", *at, "full_from")
        return tuple(rules)

    def _checked(self, rules: Rules) -> Rules:
        """Return rules, after refusing those that would give other points than the file seems to intend."""
        valued = [number for number, rule in enumerate(rules.measures) if rule.full_from is not None]
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
    for name, value in own.items():
        if name not in SECTIONS and name != "title":
            continue
        both = isinstance(value, dict) and isinstance(shared.get(name), dict)
        tables[name] = {**shared[name], **value} if both else value
    scoring = own.get("scoring")
    if "measure" in own and isinstance(tables.get("scoring"), dict) and "measures" not in (scoring or {}):
        tables["scoring"] = {key: value for key, value in tables["scoring"].items() if key != "measures"}
    elif isinstance(scoring, dict) and "measures" in scoring and "measure" not in own:
        tables.pop("measure", None)
    return tables


def _fault_of(measure: Measure) -> str:
    """Return why a measure cannot be graded; empty if it can."""
    family = measure.family
    if family.kind == WORDS or not family.summary:
        return "it is not a number"
    # A measure of any kind of judgments declares a union of kinds.
    kinds = get_args(family.judged) or (family.judged,)
    return "" if JudgedRun in kinds else "it needs judgments of another kind than qrels"
