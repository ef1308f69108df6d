"""Rules of grading, read from a TOML file that a teacher writes; `rule_keys` declares its keys."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import Any, get_args

from treceval_py._types import Source
from treceval_py.data.ids import beginning_of, encode, quoted
from treceval_py.errors import InputError, MeasureError
from treceval_py.grading.rule_keys import (
    ARRAYS,
    DEFAULT_RULES,
    RULES,
    SECTIONS,
    USUAL_MEASURES,
    Key,
    MeasureRule,
    Rules,
    Task,
    bracketed,
    written,
)
from treceval_py.grading.toml_file import Place, TomlFile
from treceval_py.io.formats import DATASET
from treceval_py.io.source import name_of, source_of, whole
from treceval_py.judging.judged import JudgedRun
from treceval_py.measures import Measure, parse_measures
from treceval_py.measures.registry import TEXT
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
    return _File(name_of(given), whole(given), "rules").rules()


class _File(TomlFile):
    """A rules file.

    Attributes
    ----------
    tables : dict
        The tables to read: the document, or those that apply to one task.
    task : int or None
        Number of this task.
    """

    def __init__(self, name: str, raw: bytes, content: str) -> None:
        super().__init__(name, raw, content)
        self.tables: dict[str, Any] = self.document
        self.task: int | None = None

    def refusal(self, fault: str, todo: str, *place: Place, number: int = 0) -> InputError:
        """Return an error about a section, or a key of it; ``number`` is that of a table in an array of tables."""
        section, *keys = place
        steps = [step for step in ([section, number, *keys] if section in ARRAYS else [*place]) if step != ""]
        if self.task is not None and section != "task" and self._is_own(*keys, section=section):
            steps = ["task", self.task, *steps]
        return super().refusal(fault, todo, *steps)

    def _is_own(self, *keys: Place, section: Place) -> bool:
        """Tell whether a key or section is in the table of the task itself."""
        own = self.document["task"][self.task] if section == "" else self.document["task"][self.task].get(section)
        return own is not None and all(not isinstance(own, dict) or key in own for key in keys)

    def rules(self) -> Rules:
        """Return the rules of the file."""
        if "task" not in self.document:
            return self._checked(self._rules())
        tables = self.document["task"]
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.refusal("task is not an array of tables", "Write [[task]] with two brackets.", "task")
        shared = self.tables = {name: value for name, value in self.document.items() if name != "task"}
        common = self._rules()
        tasks: list[Task] = []
        for number, table in enumerate(tables):
            self.task = number
            self.tables = _together(shared, table)
            tasks.append(self._task(number, table, tasks, common))
        return common._replace(tasks=tuple(tasks))

    def _task(self, number: int, table: Mapping[str, Any], before: list[Task], common: Rules) -> Task:
        """Return a task; its files are in the folder of the rules, unless their paths say otherwise."""
        own = {name: value for name, value in table.items() if name not in SECTIONS and name != "title"}
        values = {key.attribute: value for key, value in self._values("task", own, number)}
        for key, example in (("name", '"Exercise 1"'), ("qrels", '"qrels.txt"')):
            if not values.get(key):
                raise self.refusal(f"[[task]] without {key}", f"Write {key} = {example}.", "task", key, number=number)
        if any(values["name"].casefold() == other.name.casefold() for other in before):
            fault = f"there is another task {quoted(encode(values['name']))}"
            raise self.refusal(fault, "Give each task a name of its own.", "task", "name", number=number)
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
        given: dict[str, Any] = {}
        for section, values in self._sections():
            given.update((key.attribute, value) for key, value in self._values(section, values))
        profile = self._profile(given.get("profile", DEFAULT_RULES.profile))
        given["measures"] = self._measures(profile, given.pop("measures", None))
        names = given.get("expected", ())
        measures = [self._measure(name, "claims", "expected") for name in names]
        self._check_repeated(measures, "claims", "expected")
        return Rules(**{**given, "expected": tuple(measure.name for measure in measures)})

    def _sections(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the tables of the file, including its top, without those in arrays."""
        top = {name: value for name, value in self.tables.items() if name not in SECTIONS}
        sections = [("", top)]
        for section in SECTIONS:
            if section == "" or section in ARRAYS or section not in self.tables:
                continue
            values = self.tables[section]
            if not isinstance(values, dict):
                fault = f"{section} is {_shown(values)}, not a section"
                raise self.refusal(fault, f"Write [{section}] on a line, and its keys below.", section)
            sections.append((section, values))
        return sections

    def _values(self, section: str, values: Mapping[str, Any], number: int = 0) -> list[tuple[Key, Any]]:
        """Return the keys of a table with their values, after checking their form."""
        known = {key.name: key for key in RULES if key.section == section}
        where = f" in {bracketed(section)}" if section else ""
        pairs = []
        for name, value in values.items():
            if name not in known:
                kind = "section" if isinstance(value, (dict, list)) and not section else "key"
                fault = f"unknown {kind} {quoted(encode(name))}{where}"
                raise self.refusal(fault, _suggestion(name, section, known), section, name, number=number)
            form = known[name].form
            if not form.fits(value):
                fault = f"{name}{where} is {_shown(value)}; it must be {form.words}"
                raise self.refusal(fault, "", section, name, number=number)
            pairs.append((known[name], form.take(value)))
        return pairs

    def _profile(self, name: str) -> Profile:
        try:
            return profile_named(name)
        except MeasureError as error:
            raise self.refusal(error.what, error.todo, "scoring", "profile") from None

    def _measure(self, name: str, *place: Place, number: int = 0) -> Measure:
        """Return the single measure of a name."""
        measures = self._parse(name, *place, number=number)
        if len(measures) != 1:
            fault = f"{quoted(encode(name))} stands for {len(measures)} measures, but must be one here"
            raise self.refusal(fault, f"Write one of them, such as {measures[0].name}.", *place, number=number)
        return measures[0]

    def _parse(self, name: str, *place: Place, number: int = 0) -> list[Measure]:
        try:
            measures = parse_measures(name)
        except MeasureError as error:
            raise self.refusal(error.what, error.todo, *place, number=number) from None
        for measure in measures:
            fault = _fault_of(measure)
            if fault and len(measures) == 1:
                raise self.refusal(f"{measure.name} cannot be graded: {fault}", "Leave it out.", *place, number=number)
            if fault:
                several = f"{quoted(encode(name))} stands for {len(measures)} measures"
                problem = f"{several}, of which {measure.name} cannot be graded: {fault}"
                raise self.refusal(problem, "Name each measure that you want, such as map.", *place, number=number)
        return measures

    def _measures(self, profile: Profile, listed: tuple[str, ...] | None) -> tuple[MeasureRule, ...]:
        """Return the measures to compute: from the list of names, the tables of measures, or the defaults."""
        tables = self.tables.get("measure")
        if tables is None:
            if listed == ():
                raise self.refusal("the list of measures is empty", "Name one, or leave it out.", "scoring", "measures")
            names = listed or (USUAL_MEASURES if profile.measures == DEFAULT_MEASURES else profile.measures)
            measures = [measure for name in names for measure in self._parse(name, "scoring", "measures")]
            self._check_repeated(measures, "scoring", "measures")
            return tuple(MeasureRule(measure.name) for measure in measures)
        if listed is not None:
            todo = "Keep one of the two."
            raise self.refusal("measures are listed in [scoring], and there is [[measure]]", todo, "measure")
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.refusal("measure is not an array of tables", "Write [[measure]] with two brackets.", "measure")
        if not tables:
            raise self.refusal("the list of measures is empty", "Name one, or leave it out.", "measure")
        rules, measures = [], []
        for number, table in enumerate(tables):
            rule, measure = self._measure_rule(number, table)
            measures.append(measure)
            self._check_repeated(measures, "measure", "name", number=number)
            rules.append(rule)
        return tuple(rules)

    def _measure_rule(self, number: int, table: Mapping[str, Any]) -> tuple[MeasureRule, Measure]:
        values = {key.attribute: value for key, value in self._values("measure", table, number)}
        if "name" not in values:
            raise self.refusal("[[measure]] without a name", 'Write name = "map".', "measure", number=number)
        measure = self._measure(values.pop("name"), "measure", "name", number=number)
        rule = MeasureRule(measure.name, **values)
        for key in ("weight", "none_below", "above_baseline"):
            if key in values and rule.full_from is None:
                fault = f"{measure.name} has {key} but no full_from, so it gives no points"
                raise self.refusal(fault, f"Add full_from, or leave {key} out.", "measure", key, number=number)
        if rule.full_from is not None and rule.full_from < (rule.none_below or 0.0):
            fault = f"full_from of {measure.name} is {rule.full_from:g}, below none_below {rule.none_below or 0:g}"
            raise self.refusal(fault, "Swap them.", "measure", "full_from", number=number)
        return rule, measure

    def _check_repeated(self, measures: list[Measure], *place: Place, number: int = 0) -> None:
        for at, measure in enumerate(measures):
            if measure in measures[:at]:
                first = measures[measures.index(measure)].name
                again = f", as {first}" if first != measure.name else ""
                raise self.refusal(f"{measure.name} is named twice{again}", "Keep one.", *place, number=number)

    def _checked(self, rules: Rules) -> Rules:
        """Return rules, after refusing those that would give other points than the file seems to intend."""
        valued = [rule for rule in rules.measures if rule.full_from is not None]
        if rules.points_measures and not valued:
            fault = f"there are {rules.points_measures:g} points for measures, but no measure has full_from"
            raise self.refusal(fault, "Add [[measure]] with name and full_from.", "points", "measures")
        if valued and not rules.points_measures:
            number = rules.measures.index(valued[0])
            fault = f"{valued[0].name} has full_from, but there are no points for measures"
            todo = "Write measures = 20, for example, in [points], or leave full_from out."
            raise self.refusal(fault, todo, "measure", "full_from", number=number)
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
    if family.kind == TEXT or not family.summary:
        return "it is not a number"
    # A measure of any kind of judgments declares a union of kinds.
    kinds = get_args(family.judged) or (family.judged,)
    return "" if JudgedRun in kinds else "it needs judgments of another kind than qrels"


def _shown(value: Any) -> str:
    """Return a value in TOML's notation, shortened if it is long."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    # As written: 2.0 is not a whole number, but 2 would look like one.
    return beginning_of(encode(repr(value) if isinstance(value, float) else written(value)))


def _suggestion(name: str, section: str, known: Mapping[str, Key]) -> str:
    """Suggest the key or section that may have been meant."""
    sections = {} if section else dict.fromkeys(SECTIONS[1:])
    elsewhere = [key for key in RULES if key.name == name and key.section != section]
    if elsewhere:
        return f"It belongs in {bracketed(elsewhere[0].section)}." if elsewhere[0].section else "It belongs at the top."
    near = difflib.get_close_matches(name.lower(), [*known, *sections], n=1)
    if near:
        return f"Did you mean {near[0] if near[0] in known else bracketed(near[0])}?"
    return f"Known are {', '.join([*known, *map(bracketed, sections)])}."
