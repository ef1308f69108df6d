"""Rules of grading: what a TOML file says, what it leaves out, and what is refused at which line."""

from __future__ import annotations

import io
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError
from treceval_py.grading.rule_keys import (
    ARRAYS,
    DEFAULT_RULES,
    RULES,
    MeasureRule,
    Rules,
    Task,
    example_rules,
    fingerprint,
)
from treceval_py.grading.rules import read_rules


def rules_of(text: str | bytes) -> Rules:
    stream = io.BytesIO(text if isinstance(text, bytes) else text.encode("utf-8"))
    stream.name = "rules.toml"  # type: ignore[misc]
    return read_rules(stream)


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        rules_of(text)
    return str(caught.value)


HERE = Path(__file__).parent
WHOLE = (HERE / "grading_rules.toml").read_text("utf-8")

SAID = Rules(
    title="Exercise 3",
    profile="trec_eval-9",
    complete=False,
    level=2,
    named="run*.txt",
    feedback="full",
    claims="anywhere",
    measures=(
        MeasureRule("map", 2.0, 0.15, 0.3),
        MeasureRule("nDCG@10", 1.0, None, 0.05, above_baseline=True),
        MeasureRule("P_10"),
    ),
    points_run=30.0,
    points_measures=20.5,
    points_claims=50.0,
    pass_mark=50.0,
    credit_repaired=0.5,
    credit_rounding=0.9,
    credit_convention=0.75,
    credit_mistake=0.3,
    expected=("map", "nDCG@10"),
    tolerance=0.001,
    similarity=0.9,
    seconds=30.0,
    megabytes=10.0,
    deadline=datetime(2026, 11, 20, 23, 59, tzinfo=UTC),
    free_days=3,
    late_per_day=0.1,
    most_days=7,
    groups="Team *",
)
"""What it says."""


def test_a_file_with_all_sections_gives_what_it_says() -> None:
    rules = rules_of(WHOLE)
    assert rules == SAID
    assert [name for name in Rules._fields if getattr(SAID, name) == getattr(DEFAULT_RULES, name)] == ["tasks"]
    assert (type(rules.points_run), type(rules.free_days)) == (float, int)  # both are whole in the file
    assert rules.points == 30 + 20.5 + 50
    assert (rules.needs_baseline, DEFAULT_RULES.needs_baseline) == (True, False)
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_records_depend_on_the_rules_that_change_what_is_computed_and_on_no_others() -> None:
    depends = {
        name
        for name in Rules._fields
        if fingerprint(DEFAULT_RULES._replace(**{name: getattr(SAID, name)})) != fingerprint(DEFAULT_RULES)
    }
    assert depends == {
        *("profile", "complete", "level", "named", "feedback", "measures"),
        *("expected", "claims", "tolerance", "seconds", "megabytes"),
    }
    weighed = tuple(each._replace(weight=3.0, full_from=0.5) for each in DEFAULT_RULES.measures)
    assert fingerprint(DEFAULT_RULES._replace(measures=weighed)) == fingerprint(DEFAULT_RULES)
    reversed_order = DEFAULT_RULES._replace(measures=DEFAULT_RULES.measures[::-1])
    assert fingerprint(reversed_order) != fingerprint(DEFAULT_RULES)


def test_rules_are_read_from_a_path_with_any_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbf[points]\r\nrun = 10\r\n")
    assert read_rules(path) == DEFAULT_RULES._replace(points_run=10.0)


def test_the_example_reads_as_the_defaults_and_explains_every_key() -> None:
    assert rules_of(example_rules()) == DEFAULT_RULES
    lines = example_rules().split("\n")
    for key in RULES:
        at = lines.index(f"# {key.meaning}.")
        assert lines[at + 1].removeprefix("#:").startswith(f"{key.name} = ")


def test_the_example_can_be_read_with_its_optional_keys() -> None:
    text = example_rules().replace("#:", "").replace('measures = ["map', '# measures = ["map')
    rules = rules_of(text.replace("measures = 0", "measures = 10"))
    assert rules.measures == (MeasureRule("map", 1.0, 0.15, 0.3),)
    assert (rules.level, rules.pass_mark) == (1, 50.0)
    (task,) = rules.tasks
    assert task[:-1] == ("Exercise 1", "qrels.txt", "bm25.txt", "claims.csv", "ex1*", 1.0)
    assert task.rules == rules._replace(title="Exercise 1", tasks=())


def test_every_attribute_of_the_rules_and_every_verdict_has_a_key() -> None:
    assert {key.attribute for key in RULES if key.section not in ARRAYS} == set(Rules._fields) - {"tasks"}
    assert [key.attribute for key in RULES if key.section == "measure"] == list(MeasureRule._fields)
    assert [key.attribute for key in RULES if key.section == "task"] == list(Task._fields)[:-1]
    assert list(DEFAULT_RULES.credit.values()) == [1.0, 1.0, 0.5, 0.25, 0.0, 0.0, 0.0]
    assert list(SAID.credit.items())[:4] == [
        ("correct", 1.0),
        ("rounding", 0.9),
        ("convention", 0.75),
        ("mistake", 0.3),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('profile = "msmarco"', ["MRR@10"]),  # the profile has measures of its own
        ('profile = "trec_eval-9"', ["map", "recip_rank", "P_10", "ndcg_cut_10"]),
        ('measures = ["P.5,10", "nDCG@10"]', ["P_5", "P_10", "nDCG@10"]),
        ('profile = "msmarco"\nmeasures = ["map"]', ["map"]),
    ],
    ids=["of a profile", "the usual ones", "several in a name", "listed"],
)
def test_measures_are_those_listed_or_those_of_the_profile(text: str, names: list[str]) -> None:
    assert [each.name for each in rules_of(f"[scoring]\n{text}\n").measures] == names


def test_sections_may_be_written_as_dotted_keys_or_inline_tables() -> None:
    rules = rules_of("points.run = 10\nlimits = {seconds = 5}\n")
    assert (rules.points_run, rules.seconds) == (10.0, 5.0)


MILLION = 1_000_000
RANGES: dict[str, tuple[float, float]] = {
    "scoring.level": (0, 1000),
    **dict.fromkeys(("points.run", "points.measures", "points.claims"), (0, MILLION)),
    **dict.fromkeys(("points.pass_mark", "claims.tolerance", "task.weight"), (0, MILLION)),
    **dict.fromkeys(("points.repaired", "similarity.threshold", "late.per_day"), (0, 1)),
    **dict.fromkeys(("credit.rounding", "credit.convention", "credit.mistake"), (0, 1)),
    **dict.fromkeys(("measure.none_below", "measure.full_from"), (-MILLION, MILLION)),
    "measure.weight": (0.001, MILLION),
    "limits.seconds": (1, 86_400),  # a day
    "limits.megabytes": (0.001, MILLION),
    **dict.fromkeys(("late.free_days", "late.most_days"), (0, 1000)),
}
"""The smallest and the largest value of each number, as the page of rules has them."""


def in_range(key: str, value: float) -> bool:
    """Tell whether a value is in the range of a key; rules that contradict one another are refused for other reasons."""
    section, name = key.split(".")
    try:
        rules_of(f"{f'[[{section}]]' if section in ARRAYS else f'[{section}]'}\n{name} = {value}\n")
    except InputError as error:
        return "it must be" not in str(error)
    return True


def test_numbers_are_accepted_to_both_ends_of_their_ranges_and_no_further() -> None:
    assert set(RANGES) == {f"{key.section}.{key.name}" for key in RULES if "number" in key.form.words}
    whole = {f"{key.section}.{key.name}" for key in RULES if key.form.words.startswith("a whole number")}
    found = {}
    for key, (low, high) in RANGES.items():
        step = 1 if key in whole else 0.0001
        found[key] = [in_range(key, value) for value in (low, high, low - step, high + step)]
    assert {key: each for key, each in found.items() if each != [True, True, False, False]} == {}


REFUSED = (HERE / "grading_rules_refused.txt").read_text("utf-8").split("---\n")
"""Files of rules, of which each has a mistake."""

DAMAGED = [b'title = "x"\n# \xfcbung\n', b'\ntitle = "x', b"\x1b = 1\n"]


def test_what_makes_no_sense_is_refused_at_its_line(snapshot: SnapshotAssertion) -> None:
    assert "".join(f"{text}→ {refusal(text)}\n\n" for text in REFUSED) == snapshot
    assert "".join(f"{text!r} → {refusal(text)}\n" for text in DAMAGED) == snapshot


@pytest.mark.parametrize(
    "text",
    [
        "[points]\npass_mark = 100\n",
        '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nnone_below = 0.2\nfull_from = 0.2\n',
        '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = 0\n',
        '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nnone_below = -0.3\nfull_from = -0.2\n',
        '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = 1\n[[measure]]\nname = "P_5"\n',
        '[scoring]\nmeasures = ["map", "gm_map"]\n[claims]\nexpected = ["map", "num_q"]\n',
        '[[task]]\nname = "A"\nqrels = "q"\n[[task]]\nname = "B"\nqrels = "q"\n[late]\nfree_days = 2\n',
    ],
    ids=["pass mark", "equal limits", "from 0", "negative", "one without points", "names", "free days of the course"],
)
def test_what_is_next_to_nonsense_is_accepted(text: str) -> None:
    assert isinstance(rules_of(text), Rules)


COURSE = (HERE / "grading_course.toml").read_text("utf-8")


def test_tasks_have_what_they_say_and_else_what_is_said_for_all() -> None:
    rules = rules_of(COURSE)
    first, second = rules.tasks
    assert first[:-1] == ("Exercise 1", "ex1/qrels.txt", "", "", "", 1.0)
    assert first.rules == rules._replace(
        title="IR: Exercise 1", tasks=(), deadline=datetime(2026, 11, 20, 23, 59, tzinfo=timezone(timedelta(hours=1)))
    )
    assert second[:-1] == ("Exercise 2", "/data/qrels.txt", "bm25.txt", "claims.csv", "*/ex2", 2.0)
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
    assert listed.rules is not None
    assert listed.rules.measures == (MeasureRule("P_5"),)
    (kept,) = rules_of(f"{shared}{task.replace('measures = 0', 'measures = 2')}level = 2\n").tasks
    assert kept.rules is not None
    assert kept.rules.measures == (MeasureRule("map", full_from=1.0),)


def test_the_files_of_a_task_are_beside_the_rules_and_data_sets_are_not(tmp_path: Path) -> None:
    path = tmp_path / "course.toml"
    path.write_text(COURSE + '[[task]]\nname = "Exercise 3"\nqrels = "ir_datasets:cranfield"\n')
    first, second, third = read_rules(path).tasks
    assert (first.qrels, first.baseline) == (str(tmp_path / "ex1/qrels.txt"), "")
    assert (second.qrels, second.baseline) == ("/data/qrels.txt", str(tmp_path / "bm25.txt"))
    assert (second.claims, third.qrels) == (str(tmp_path / "claims.csv"), "ir_datasets:cranfield")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file\. Check the name\.$"):
        read_rules(tmp_path / "none.toml")


def test_lists_in_lists_without_end_are_refused() -> None:
    # Some readers of TOML run out of the stack, and some have a limit of their own; they word it differently.
    assert refusal("a = " + "[" * 5000).startswith("rules.toml:1: no TOML: ")
