"""Rules of grading: every key with its example, its range and its refusals; tasks of a course."""

from __future__ import annotations

import io
import pickle
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError, OutputError
from treceval_py.grading.rules import (
    ARRAYS,
    DEFAULT_RULES,
    RULES,
    Key,
    MeasureRule,
    Rules,
    Task,
    example_rules,
    fingerprint,
    read_rules,
    write_template,
)
from treceval_py.io.toml_file import written


def rules_of(text: str | bytes) -> Rules:
    stream = io.BytesIO(text if isinstance(text, bytes) else text.encode("utf-8"))
    stream.name = "rules.toml"  # type: ignore[misc]
    return read_rules(stream)


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        rules_of(text)
    return str(caught.value)


HERE = Path(__file__).parent
CET = timezone(timedelta(hours=1))

NEEDED = {"measure": {"name": '"P_5"', "full_from": "0.5"}, "task": {"name": '"A"', "qrels": '"q"'}}


def name_of(key: Key) -> str:
    return f"{key.section}.{key.name}".lstrip(".")


def file_with(section: str, name: str, value: str) -> str:
    """Return a file that sets one key, with those that it needs."""
    keys = {**NEEDED.get(section, {}), name: value}
    more = "[points]\nmeasures = 40\n" if section == "measure" else ""
    more += '[[measure]]\nname = "P_5"\nfull_from = 0.5\n' if (section, name) == ("points", "measures") else ""
    head = "" if not section else f"[[{section}]]\n" if section in ARRAYS else f"[{section}]\n"
    return head + "".join(f"{name} = {value}\n" for name, value in keys.items()) + more


def test_the_example_of_each_key_sets_its_attribute_and_is_not_the_default() -> None:
    for key in RULES:
        rules = rules_of(file_with(key.section, key.name, written(key.example)))
        owner = {"measure": rules.measures, "task": rules.tasks}.get(key.section, (rules,))[0]
        value = getattr(owner, key.attribute)
        read = [rule.name for rule in value] if key.attribute == "measures" else value
        assert read == (tuple(key.example) if key.attribute == "expected" else key.example), key
        assert value != type(owner)._field_defaults.get(key.attribute), key
    assert {key.attribute for key in RULES if key.section not in ARRAYS} == {*Rules._fields} - {"tasks"}
    assert [key.attribute for key in RULES if key.section == "measure"] == [*MeasureRule._fields]
    assert [key.attribute for key in RULES if key.section == "task"] == [*Task._fields][:-1]
    rules = rules_of(
        "[points]\nrun = 1\nmeasures = 2\nclaims = 4\nrepaired = 0.5\n[[measure]]\nname = 'map'\nfull_from = 1"
    )
    assert (rules.points_run, rules.points_measures, rules.points_claims, rules.points) == (1.0, 2.0, 4.0, 7.0)
    assert (type(rules.points_run), type(rules_of("[late]\nfree_days = 2\n").free_days)) == (float, int)


def test_the_template_reads_as_the_defaults_and_shows_each_key_with_its_meaning_and_example() -> None:
    text = example_rules()
    assert rules_of(text) == DEFAULT_RULES
    # As docs/grade.md has them: 100 points, three quarters after repairs, credits, overlap of 0.95, no penalty.
    numbers = [key.default for key in RULES if key.section in ("points", "credit", "similarity", "limits", "late")]
    assert numbers == [40, 0, 60, 0.75, None, 1, 0.5, 0.25, 0.95, 120, 64, None, 0, 0, None]
    weights = (MeasureRule("map").weight, Task("", "").weight)
    assert (DEFAULT_RULES.points, DEFAULT_RULES.tolerance, *weights) == (100, 0, 1, 1)
    for key in RULES:
        example = re.escape(written(key.example))
        shown = rf"(\. For example: {example}\n{key.name} = .+|\.\n#:{key.name} = {example})\n"
        assert re.search(f"\n# {re.escape(key.meaning)}{shown}", text), key
    # Without the marks of optional keys, but with one of the two ways to name measures.
    text = text.replace("#:", "").replace('measures = ["AP', '# measures = ["AP')
    rules = rules_of(text.replace("measures = 0", "measures = 10"))
    assert rules.measures == (MeasureRule("map", 2.0, 0.15, 0.3, above_baseline=True),)
    assert (rules.level, rules.pass_mark) == (1, 50.0)
    (task,) = rules.tasks
    assert task[:-1] == ("Exercise 1", "qrels.txt", "bm25.txt", "claims.csv", "ex1*", 2.0)
    assert task.rules == rules._replace(title="Exercise 1", tasks=())
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_credits_are_by_verdict() -> None:
    assert list(DEFAULT_RULES.credit.values()) == [1.0, 1.0, 0.5, 0.25, 0.0, 0.0, 0.0]
    own = DEFAULT_RULES._replace(credit_rounding=0.9, credit_convention=0.8, credit_mistake=0.7).credit
    assert [own[verdict] for verdict in ("correct", "rounding", "convention", "mistake")] == [1.0, 0.9, 0.8, 0.7]


def test_records_depend_on_the_rules_that_change_what_is_computed_and_on_no_others() -> None:
    prints = {
        name_of(key): fingerprint(rules_of(file_with(key.section, key.name, written(key.example))))
        for key in RULES
        if key.section not in ARRAYS and key.attribute != "points_measures"
    }
    assert {name for name, own in prints.items() if own != fingerprint(DEFAULT_RULES)} == {
        *(f"scoring.{name}" for name in ("profile", "complete", "level", "named", "feedback", "measures")),
        *(f"claims.{name}" for name in ("expected", "claims", "tolerance")),
        *("limits.seconds", "limits.megabytes"),
    }
    assert len({*prints.values()}) == 12
    weighed = tuple(rule._replace(weight=3.0, full_from=0.5) for rule in DEFAULT_RULES.measures)
    assert fingerprint(DEFAULT_RULES._replace(measures=weighed)) == fingerprint(DEFAULT_RULES)


MEASURES = {
    'profile = "msmarco"': ["MRR@10"],  # the profile has measures of its own
    'profile = "trec_eval-9"': ["AP", "nDCG@10", "RR", "P@10"],
    'measures = ["P.5,10", "nDCG@10"]': ["P_5", "P_10", "nDCG@10"],
    'profile = "msmarco"\nmeasures = ["map"]': ["map"],
    '[[measure]]\nname = "P.5,10"\n[[measure]]\nname = "P_20"': ["P_5", "P_10", "P_20"],
}


def test_measures_are_those_listed_or_those_of_the_profile() -> None:
    read = {text: rules_of(f"[scoring]\n{text}\n").measures for text in MEASURES}
    assert {text: [rule.name for rule in rules] for text, rules in read.items()} == MEASURES


def test_files_may_have_a_path_other_line_ends_dotted_keys_and_inline_tables(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbf[points]\r\nrun = 10\r\n")
    assert read_rules(path) == DEFAULT_RULES._replace(points_run=10.0)
    rules = rules_of("points.run = 10\nlimits = {seconds = 5}\n")
    assert (rules.points_run, rules.seconds) == (10.0, 5.0)
    with pytest.raises(InputError, match=r"none\.toml: no such file\. Check the name\.$"):
        read_rules(tmp_path / "none.toml")


# The smallest and the largest value of each number.
MILLION = 1_000_000
RANGES: dict[str, tuple[float, float]] = {
    "scoring.level": (0, 1000),
    **dict.fromkeys(("points.run", "points.measures", "points.claims", "points.pass_mark"), (0, MILLION)),
    **dict.fromkeys(("claims.tolerance", "task.weight"), (0, MILLION)),
    **dict.fromkeys(("points.repaired", "similarity.threshold", "late.per_day"), (0, 1)),
    **dict.fromkeys(("credit.rounding", "credit.convention", "credit.mistake"), (0, 1)),
    **dict.fromkeys(("measure.none_below", "measure.full_from"), (-MILLION, MILLION)),
    "measure.weight": (0.001, MILLION),
    "limits.seconds": (1, 86_400),  # a day
    "limits.megabytes": (0.001, MILLION),
    **dict.fromkeys(("late.free_days", "late.most_days"), (0, 1000)),
}


def in_range(key: str, value: float) -> bool:
    """Tell whether a value is in the range of a key; rules that contradict one another are refused for other reasons."""
    try:
        rules_of(file_with(*key.split("."), str(value)))
    except InputError as error:
        return "it must be" not in str(error)
    return True


def test_numbers_are_accepted_to_both_ends_of_their_ranges_and_no_further() -> None:
    assert {*RANGES} == {name_of(key) for key in RULES if "number" in key.form.words}
    whole = {name_of(key) for key in RULES if key.form.words.startswith("a whole number")}
    for key, (low, high) in RANGES.items():
        step = 1 if key in whole else 0.0001
        ends = [in_range(key, value) for value in (low, high, low - step, high + step)]
        assert ends == [True, True, False, False], key


REFUSED = (HERE / "grading_rules_refused.txt").read_text("utf-8").split("---\n")
"""Files of rules, of which each has a mistake."""

DAMAGED = [b'title = "x"\n# \xfcbung\n', b'\ntitle = "x', b"\x1b = 1\n"]


def test_what_makes_no_sense_is_refused_at_its_line(snapshot: SnapshotAssertion) -> None:
    assert "".join(f"{text}→ {refusal(text)}\n\n" for text in REFUSED) == snapshot
    assert "".join(f"{text!r} → {refusal(text)}\n" for text in DAMAGED) == snapshot
    # Some readers of TOML run out of the stack, and some have a limit of their own; they word it differently.
    assert refusal("a = " + "[" * 5000).startswith("rules.toml:1: is not TOML: ")


ACCEPTED = {
    "pass mark": "[points]\npass_mark = 100\n",
    "equal limits": '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nnone_below = 0.2\nfull_from = 0.2\n',
    "from 0": '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = 0\n',
    "negative": '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nnone_below = -0.3\nfull_from = -0.2\n',
    "one without points": '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = 1\n[[measure]]\nname = "P_5"\n',
    "names": '[scoring]\nmeasures = ["map", "gm_map"]\n[claims]\nexpected = ["map", "num_q"]\n',
    "free days": '[[task]]\nname = "A"\nqrels = "q"\n[[task]]\nname = "B"\nqrels = "q"\n[late]\nfree_days = 2\n',
}


def test_what_is_next_to_nonsense_is_accepted() -> None:
    assert all(isinstance(rules_of(text), Rules) for text in ACCEPTED.values())


COURSE = (HERE / "grading_course.toml").read_text("utf-8")


def test_tasks_have_what_they_say_and_else_what_is_said_for_all(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text(COURSE + '[[task]]\nname = "Exercise 3"\nqrels = "ir_datasets:cranfield"\n')
    rules = read_rules(path)
    first, second, third = rules.tasks
    own = {"title": "IR: Exercise 1", "tasks": (), "deadline": datetime(2026, 11, 20, 23, 59, tzinfo=CET)}
    assert first == ("Exercise 1", str(tmp_path / "ex1/qrels.txt"), "", "", "", 1.0, rules._replace(**own))
    # Files are beside the rules, unless their path is absolute; data sets are no files.
    files = ("/data/qrels.txt", str(tmp_path / "bm25.txt"), str(tmp_path / "claims.csv"))
    assert (second[:-1], third.qrels) == (("Exercise 2", *files, "*/ex2", 2.0), "ir_datasets:cranfield")
    assert second.rules == Rules(
        title="The second one",
        profile="trec_eval-9",
        measures=(MeasureRule("nDCG@10", full_from=0.5),),
        points_run=10.0,
        points_measures=20.0,
        points_claims=0.0,
        late_per_day=0.1,
        free_days=3,
        deadline=datetime(2026, 12, 20, 12, tzinfo=UTC),
    )


def test_a_list_of_measures_of_a_task_replaces_the_measures_of_all_tasks() -> None:
    shared = '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = 1\n'
    task = '[[task]]\nname = "A"\nqrels = "q"\n[task.points]\nmeasures = 0\n[task.scoring]\n'
    (listed,) = rules_of(f'{shared}{task}measures = ["P_5"]\n').tasks
    assert listed.rules.measures == (MeasureRule("P_5"),)
    (kept,) = rules_of(f"{shared}{task.replace('measures = 0', 'measures = 2')}level = 2\n").tasks
    assert kept.rules.measures == (MeasureRule("map", full_from=1.0),)


def test_the_folder_of_a_new_exercise_may_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "new", tmp_path / "empty"):
        write_template(str(folder))
        with pytest.raises(OutputError, match=r"the folder is not empty\. Name a new one\.$"):
            write_template(str(folder))
