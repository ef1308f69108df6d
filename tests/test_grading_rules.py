"""Rules of grading: what a TOML file says, what it leaves out, and what is refused at which line."""

from __future__ import annotations

import io
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from treceval_py.errors import InputError
from treceval_py.grading.records import VERDICTS
from treceval_py.grading.rule_keys import ARRAYS
from treceval_py.grading.rules import (
    DEFAULT_RULES,
    RULES,
    MeasureRule,
    Rules,
    Task,
    example_rules,
    fingerprint,
    read_rules,
)


def rules_of(text: str) -> Rules:
    return read_rules(named(text))


def named(text: str | bytes) -> io.BytesIO:
    stream = io.BytesIO(text if isinstance(text, bytes) else text.encode("utf-8"))
    stream.name = "rules.toml"  # type: ignore[misc]
    return stream


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_rules(named(text))
    return str(caught.value)


WHOLE = """\
title = "Exercise 3"

[scoring]
profile = "trec_eval-9"
complete = false
level = 2
repair = false

[[measure]]
name = "map"
weight = 2
none_below = 0.15
full_from = 0.3

[[measure]]
name = "nDCG@10"
full_from = 0.05
above_baseline = true

[[measure]]
name = "P_10"

[points]
run = 30
measures = 20.5
claims = 50
repaired = 0.5
per_warning = 1
pass_mark = 50

[credit]
convention = 0.75
not_reproduced = 0.1

[claims]
expected = ["map", "nDCG@10"]
tolerance = 0.001

[similarity]
threshold = 0.9
depth = 20

[limits]
seconds = 30
megabytes = 10
memory_megabytes = 512
"""


def test_a_file_with_all_sections_gives_what_it_says() -> None:
    assert rules_of(WHOLE) == Rules(
        title="Exercise 3",
        profile="trec_eval-9",
        complete=False,
        level=2,
        repair=False,
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
        deduction_per_warning=1.0,
        credit={
            "correct": 1.0,
            "rounding": 1.0,
            "convention": 0.75,
            "mistake": 0.25,
            "not reproduced": 0.1,
            "unchecked": 0.0,
            "no claim": 0.0,
        },
        expected=("map", "nDCG@10"),
        tolerance=0.001,
        similarity=0.9,
        similarity_depth=20,
        seconds=30.0,
        megabytes=10.0,
        memory_megabytes=512,
    )


def test_whole_numbers_of_a_file_become_numbers_of_the_kind_that_is_declared() -> None:
    rules = rules_of("[points]\nrun = 30\n[similarity]\ndepth = 5\n")
    assert (type(rules.points_run), type(rules.similarity_depth)) == (float, int)


def test_rules_are_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[points]\nrun = 10\n")
    assert read_rules(path).points_run == 10


def test_line_ends_of_windows_and_a_byte_order_mark_are_no_matter() -> None:
    assert read_rules(named(b"\xef\xbb\xbf[points]\r\nrun = 10\r\n")).points_run == 10


def test_what_is_left_out_is_as_without_a_file() -> None:
    assert rules_of('title = "x"\n') == DEFAULT_RULES._replace(title="x")


def test_the_example_reads_as_the_defaults() -> None:
    assert rules_of(example_rules()) == DEFAULT_RULES


def test_the_example_shows_and_explains_every_key() -> None:
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


def test_every_attribute_of_the_rules_has_a_key() -> None:
    assert {key.attribute for key in RULES if key.section not in ARRAYS} == set(Rules._fields) - {"tasks"}
    assert [key.attribute for key in RULES if key.section == "measure"] == list(MeasureRule._fields)
    assert [key.attribute for key in RULES if key.section == "task"] == list(Task._fields)[:-1]


def test_every_verdict_has_credit() -> None:
    assert list(DEFAULT_RULES.credit) == list(VERDICTS)
    assert [key.name for key in RULES if key.section == "credit"] == [
        "correct", "rounding", "convention", "mistake", "not_reproduced", "unchecked", "no_claim",
    ]  # fmt: skip


def test_rules_cross_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(DEFAULT_RULES)) == DEFAULT_RULES


def test_the_points_of_all_parts_are_added() -> None:
    assert rules_of("[points]\nrun = 10\nclaims = 20.5\n").points == 30.5


def test_a_profile_with_measures_of_its_own_has_them() -> None:
    rules = rules_of('[scoring]\nprofile = "msmarco"\n')
    assert [each.name for each in rules.measures] == ["MRR@10"]


def test_a_list_of_names_may_hold_names_of_several_measures() -> None:
    rules = rules_of('[scoring]\nmeasures = ["P.5,10", "nDCG@10"]\n')
    assert [each.name for each in rules.measures] == ["P_5", "P_10", "nDCG@10"]


def test_a_count_of_queries_may_be_expected() -> None:
    assert rules_of('[claims]\nexpected = ["num_q"]\n').expected == ("num_q",)


def test_sections_may_be_written_as_dotted_keys_or_inline_tables() -> None:
    rules = rules_of("points.run = 10\nlimits = {seconds = 5}\n")
    assert (rules.points_run, rules.seconds) == (10.0, 5.0)


REFUSALS = {
    "points = 4\n": "rules.toml:1: points is 4, not a section. Write [points] on a line, and its keys below.",
    "[scoring\n": (
        "rules.toml:1: no TOML: expected ']' at the end of a table declaration. Write key = value, text in double "
        "quotes, and each key once."
    ),
    "[similarity]\nthreshold = 0,95\n": (
        "rules.toml:2: no TOML: expected newline or end of document after a statement. Write decimals with a point: "
        "0.95."
    ),
    '\ntitle = "x': (
        "rules.toml:2: no TOML: unterminated string. Write key = value, text in double quotes, and each key once."
    ),
    "[points]\nrun = 1\nrun = 2\n": (
        "rules.toml:3: no TOML: cannot overwrite a value. Write key = value, text in double quotes, and each key once."
    ),
    "colour = 1\n": (
        "rules.toml:1: unknown key 'colour'. Known are title, [scoring], [[measure]], [points], [credit], "
        "[claims], [similarity], [board], [limits], [late], [roster], [[task]]."
    ),
    "\x1b = 1\n": (
        "rules.toml:1: no TOML: invalid statement. Write key = value, text in double quotes, and each key once."
    ),
    "# rules\n[score]\nprofile = 1\n": "rules.toml:2: unknown section 'score'. Did you mean [scoring]?",
    '[scoring]\n\nprofil = "x"\n': "rules.toml:3: unknown key 'profil' in [scoring]. Did you mean profile?",
    "[scoring]\nrepaired = 1\n": "rules.toml:2: unknown key 'repaired' in [scoring]. It belongs in [points].",
    "tolerance = 0\n": "rules.toml:1: unknown key 'tolerance'. It belongs in [claims].",
    '[points]\ntitle = "x"\n': "rules.toml:2: unknown key 'title' in [points]. It belongs at the top.",
    '[credit]\n"not-reproduced" = 1\n': (
        "rules.toml:2: unknown key 'not-reproduced' in [credit]. Did you mean not_reproduced?"
    ),
    "[points]\nclaims = 50\n\n[points2]\nrun = 1\n": "rules.toml:4: unknown section 'points2'. Did you mean [points]?",
    "[points]\nrun = true\n": "rules.toml:2: run in [points] is true; it must be a number from 0 to 1,000,000.",
    "[points]\nrun = -1\n": "rules.toml:2: run in [points] is -1; it must be a number from 0 to 1,000,000.",
    "points = {run = -1}\n": "rules.toml:1: run in [points] is -1; it must be a number from 0 to 1,000,000.",
    "points.run = -1\n": "rules.toml:1: run in [points] is -1; it must be a number from 0 to 1,000,000.",
    "[points]\nrun = 2026-01-01\n": (
        "rules.toml:2: run in [points] is 2026-01-01; it must be a number from 0 to 1,000,000."
    ),
    "[points.run]\nx = 1\n": "rules.toml:1: run in [points] is a table; it must be a number from 0 to 1,000,000.",
    "[limits]\nseconds = nan\n": "rules.toml:2: seconds in [limits] is nan; it must be a number from 1 to 86,400.",
    "[limits]\nmegabytes = inf\n": (
        "rules.toml:2: megabytes in [limits] is inf; it must be a number from 0.001 to 1,000,000."
    ),
    "[similarity]\nthreshold = 95\n": "rules.toml:2: threshold in [similarity] is 95; it must be a number from 0 to 1.",
    "[similarity]\ndepth = 10.0\n": (
        "rules.toml:2: depth in [similarity] is 10.0; it must be a whole number from 1 to 1,000."
    ),
    "[scoring]\ncomplete = 1\n": "rules.toml:2: complete in [scoring] is 1; it must be true or false.",
    '[scoring]\nmeasures = "map"\n': (
        'rules.toml:2: measures in [scoring] is "map"; it must be a list of names in quotes.'
    ),
    "[scoring]\nmeasures = [1]\n": "rules.toml:2: measures in [scoring] is a list; it must be a list of names in quotes.",
    "title = 3\n": "rules.toml:1: title is 3; it must be text in quotes.",
    '[scoring]\nprofile = "trec_eval-11"\n': (
        "rules.toml:2: unknown profile 'trec_eval-11'. Did you mean trec_eval-10?"
    ),
    '[scoring]\nmeasures = ["qqq"]\n': (
        "rules.toml:2: unknown measure 'qqq'. 'treceval measures' lists them all."
    ),
    '[scoring]\nmeasures = ["AP(rel=-1)"]\n': (
        "rules.toml:2: measure 'AP(rel=-1)': rel must be 0 or more, not -1. See 'treceval measures' for its parameters."
    ),
    "[scoring]\nmeasures = []\n": "rules.toml:2: the list of measures is empty. Name one, or leave it out.",
    'measure = []\n': "rules.toml:1: the list of measures is empty. Name one, or leave it out.",
    '[scoring]\nmeasures = ["map", "AP"]\n': "rules.toml:2: AP is named twice, as map. Keep one.",
    '[scoring]\nmeasures = ["alpha_nDCG@10"]\n': (
        "rules.toml:2: alpha_nDCG@10 cannot be graded: it needs judgments of another kind than qrels. Leave it out."
    ),
    '[scoring]\nmeasures = ["runid"]\n': (
        "rules.toml:2: runid cannot be graded: it is not a number. Leave it out."
    ),
    '[scoring]\nmeasures = ["map", "all_trec"]\n': (
        "rules.toml:2: 'all_trec' stands for 100 measures, of which runid cannot be graded: it is not a "
        "number. Name each measure that you want, such as map."
    ),
    "[scoring]\nlevel = 2.0\n": "rules.toml:2: level in [scoring] is 2.0; it must be a whole number from 0 to 1,000.",
    '[scoring]\nmeasures = ["map"]\n[[measure]]\nname = "map"\n': (
        "rules.toml:3: measures are listed in [scoring], and there is [[measure]]. Keep one of the two."
    ),
    '[measure]\nname = "map"\n': "rules.toml:1: measure is not an array of tables. Write [[measure]] with two brackets.",
    "[[measure]]\nweight = 1\n": '''rules.toml:1: [[measure]] without a name. Write name = "map".''',
    '[[measure]]\nname = "map"\n[[measure]]\nname = "MAP"\n': "rules.toml:4: MAP is named twice, as map. Keep one.",
    '[[measure]]\nname = "map"\n\n[[measure]]\nname = "P"\n': (
        "rules.toml:5: 'P' stands for 9 measures, but must be one here. Write one of them, such as P_5."
    ),
    '[[measure]]\nname = "map"\n[[measure]]\nname = "P_5"\nful_from = 1\n': (
        "rules.toml:5: unknown key 'ful_from' in [[measure]]. Did you mean full_from?"
    ),
    '[[measure]]\nname = "map"\nweight = 2\n': (
        "rules.toml:3: map has weight but no full_from, so it gives no points. Add full_from, or leave weight out."
    ),
    '[[measure]]\nname = "map"\nweight = 0\nfull_from = 1\n': (
        "rules.toml:3: weight in [[measure]] is 0; it must be a number from 0.001 to 1,000,000."
    ),
    '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nnone_below = 0.3\nfull_from = 0.2\n': (
        "rules.toml:6: full_from of map is 0.2, below none_below 0.3. Swap them."
    ),
    '[points]\nmeasures = 3\n[[measure]]\nname = "map"\nfull_from = -0.2\n': (
        "rules.toml:5: full_from of map is -0.2, below none_below 0. Swap them."
    ),
    "[points]\nmeasures = 20\n": (
        "rules.toml:2: there are 20 points for measures, but no measure has full_from. Add [[measure]] with "
        "name and full_from."
    ),
    '[[measure]]\nname = "P_5"\n[[measure]]\nname = "map"\nfull_from = 0.2\n': (
        "rules.toml:5: map has full_from, but there are no points for measures. Write measures = 20, for example, in "
        "[points], or leave full_from out."
    ),
    "[points]\npass_mark = 101\n": (
        "rules.toml:2: pass_mark is 101, but there are only 100 points. Nobody could pass."
    ),
    '[claims]\nexpected = ["P"]\n': (
        "rules.toml:2: 'P' stands for 9 measures, but must be one here. Write one of them, such as P_5."
    ),
    '[claims]\nexpected = ["map", "MAP"]\n': "rules.toml:2: MAP is named twice, as map. Keep one.",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS, ids=[" ".join(text.split())[:50] for text in REFUSALS])
def test_what_makes_no_sense_is_refused_at_its_line(text: str) -> None:
    assert refusal(text) == REFUSALS[text]


COURSE = """\
title = "IR"
[scoring]
profile = "trec_eval-9"
measures = ["map", "P_5"]
[points]
run = 10
claims = 0
[late]
per_day = 0.1
free_days = 3

[[task]]
name = "Exercise 1"
qrels = "ex1/qrels.txt"
[task.late]
deadline = 2026-11-20T23:59:00+01:00

[[task]]
name = "Exercise 2"
qrels = "/data/qrels.txt"
baseline = "bm25.txt"
folder = "*/ex2"
weight = 2
title = "The second one"
[[task.measure]]
name = "nDCG@10"
full_from = 0.5
[task.points]
measures = 20
[task.late]
deadline = "2026-12-20T12:00Z"
"""


def test_tasks_have_what_they_say_and_else_what_is_said_for_all() -> None:
    rules = rules_of(COURSE)
    first, second = rules.tasks
    assert (first.name, first.qrels, first.baseline, first.folder, first.weight) == (
        *("Exercise 1", "ex1/qrels.txt", "", "", 1.0),
    )
    assert first.rules == rules._replace(
        title="IR: Exercise 1", tasks=(), deadline=datetime(2026, 11, 20, 23, 59, tzinfo=timezone(timedelta(hours=1)))
    )
    assert (second.qrels, second.baseline, second.folder, second.weight) == (
        *("/data/qrels.txt", "bm25.txt", "*/ex2", 2.0),
    )
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


def test_the_files_of_a_task_are_beside_the_rules(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(COURSE)
    first, second = read_rules(tmp_path / "course.toml").tasks
    assert (first.qrels, first.baseline) == (str(tmp_path / "ex1/qrels.txt"), "")
    assert (second.qrels, second.baseline) == ("/data/qrels.txt", str(tmp_path / "bm25.txt"))


TASK = '[[task]]\nname = "A"\nqrels = "q"\n'

WRONG_TASKS = {
    "task = 1\n": "rules.toml:1: task is not an array of tables. Write [[task]] with two brackets.",
    '[task]\nname = "A"\n': "rules.toml:1: task is not an array of tables. Write [[task]] with two brackets.",
    '[[task]]\nname = "A"\n': 'rules.toml:1: [[task]] without qrels. Write qrels = "qrels.txt".',
    f'{TASK}[[task]]\nname = "a"\nqrels = "r"\n': (
        "rules.toml:5: there is another task 'a'. Give each task a name of its own."
    ),
    f"{TASK}folders = 1\n": "rules.toml:4: unknown key 'folders' in [[task]]. Did you mean folder?",
    f"{TASK}{TASK.replace('A', 'B')}[task.points]\nrun = -1\n": (
        "rules.toml:8: run in [points] is -1; it must be a number from 0 to 1,000,000."
    ),
    f"[points]\nrun = -1\n{TASK}": (
        "rules.toml:2: run in [points] is -1; it must be a number from 0 to 1,000,000."
    ),
    f"{TASK}[task.points]\nmeasures = 5\n": (
        "rules.toml:5: there are 5 points for measures, but no measure has full_from. Add [[measure]] with "
        "name and full_from."
    ),
    f'{TASK}[task.late]\ndeadline = "2026-11-20 23:59"\n': (
        'rules.toml:5: deadline in [late] is "2026-11-20 23:59"; it must be a time with its zone, such as '
        "2026-11-20T23:59:00+01:00."
    ),
    f"{TASK}[task.late]\nfree_days = 1\n": (
        "rules.toml:5: free_days counts over all tasks, not for one of them. Write it in [late], above the tasks."
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG_TASKS, ids=[" ".join(text.split())[-50:] for text in WRONG_TASKS])
def test_what_makes_no_sense_in_a_task_is_refused_at_its_line(text: str) -> None:
    assert refusal(text) == WRONG_TASKS[text]


def test_text_that_is_not_utf_8_is_refused_at_its_line() -> None:
    assert refusal(b'title = "x"\n# \xfcbung\n') == "rules.toml:2: the rules are not UTF-8 text. Save them as UTF-8."


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file\. Check the name\.$"):
        read_rules(tmp_path / "none.toml")


def test_control_characters_of_a_key_are_made_visible() -> None:
    assert refusal('"\\u001b[31m" = 1\n') == (
        "rules.toml:1: unknown key '\\x1b[31m'. Known are title, [scoring], [[measure]], [points], [credit], "
        "[claims], [similarity], [board], [limits], [late], [roster], [[task]]."
    )


def test_lists_in_lists_without_end_are_refused() -> None:
    # Some readers of TOML run out of the stack, and some have a limit of their own; they word it differently.
    assert refusal("a = " + "[" * 5000).startswith("rules.toml:1: no TOML: ")


def test_rules_that_only_give_other_points_have_the_same_fingerprint() -> None:
    other = DEFAULT_RULES._replace(
        title="x", points_run=1.0, pass_mark=50.0, credit={}, credit_repaired=0.0, deduction_per_warning=1.0,
        points_claims=1.0, points_measures=1.0, similarity=0.5,
        measures=tuple(each._replace(weight=3.0, full_from=0.5) for each in DEFAULT_RULES.measures),
    )  # fmt: skip
    assert fingerprint(other) == fingerprint(DEFAULT_RULES)


@pytest.mark.parametrize(
    "changes",
    [
        {"profile": "msmarco"}, {"complete": False}, {"level": 2}, {"repair": False}, {"expected": ("map",)},
        {"tolerance": 0.1}, {"similarity_depth": 5}, {"seconds": 1.0}, {"megabytes": 1.0}, {"memory_megabytes": 128},
        {"measures": DEFAULT_RULES.measures[::-1]},
    ],
    ids=str,
)  # fmt: skip
def test_rules_that_change_what_is_computed_have_another_fingerprint(changes: dict[str, object]) -> None:
    assert fingerprint(DEFAULT_RULES._replace(**changes)) != fingerprint(DEFAULT_RULES)


def test_rules_know_whether_they_need_a_baseline() -> None:
    assert rules_of(WHOLE).needs_baseline
    assert not DEFAULT_RULES.needs_baseline
