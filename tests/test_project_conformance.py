"""The conformance kit: its values by their own arithmetic, by a slow twin and by the package; its runner and its cards."""

from __future__ import annotations

import ast
import itertools
import json
import math
import operator
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import twins_conformance
from modules import module_at

import treceval_py as te

pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning",
    "ignore::treceval_py.errors.SuspectRunWarning",
    "ignore:.* can differ from:treceval_py.errors.TrecevalWarning",
)

KIT = Path(__file__).parent.parent / "conformance"
sys.path.insert(0, str(KIT))  # cards.py imports run.py
RUNNER, CARDS = module_at(KIT / "run.py"), module_at(KIT / "cards.py")
sys.path.pop(0)
Probe = dict[str, Any]
PROBES: list[Probe] = json.loads((KIT / "probes.json").read_text("utf-8"))["probes"]
AGREEMENT: list[Probe] = json.loads((KIT / "agreement.json").read_text("utf-8"))["cases"]


def values() -> Iterator[tuple[Probe, str, str, dict[str, Any]]]:
    """Yield each probe, name of an answer, measure and value."""
    for probe in PROBES:
        for name, answer in probe["answers"].items():
            for row in answer["values"]:
                yield from ((probe, name, measure, row) for measure in row["of"])


# What is expected ---------------------------------------------------------------------------------

OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


def computed(node: ast.AST) -> float:
    """Return the value of arithmetic with log2."""
    match node:
        case ast.Expression(body):
            return computed(body)
        case ast.Constant(int(number)):
            return number
        case ast.BinOp(left, kind, right):
            return OPERATORS[type(kind)](computed(left), computed(right))
        case ast.UnaryOp(kind, operand):
            return OPERATORS[type(kind)](computed(operand))
        case ast.Call(ast.Name("log2"), [argument]):
            return math.log2(computed(argument))
    raise AssertionError(ast.dump(node))


def test_each_value_is_what_its_arithmetic_gives() -> None:
    rows = [row for _, _, _, row in values()]
    rows += [row for case in AGREEMENT for query in case["values"].values() for row in query.values()]
    wrong = [row for row in rows if row["value"] != computed(ast.parse(row["arithmetic"], mode="eval"))]
    assert len(rows) == 966
    assert wrong == []


def test_each_value_is_that_of_the_twin() -> None:
    wrong = []
    for probe, name, measure, row in values():
        twin = twins_conformance.mean(probe, measure, probe["answers"][name]["conventions"])
        if not math.isclose(twin, row["value"], rel_tol=1e-12, abs_tol=1e-12):
            wrong.append((probe["id"], name, measure, twin, row["value"]))
    assert wrong == []


def test_what_should_agree_is_what_the_twin_and_trec_eval_give() -> None:
    for case in AGREEMENT:
        for qid, query in case["values"].items():
            own = {
                **case,
                "qrels": [x for x in case["qrels"] if x.split()[0] == qid],
                "run": [x for x in case["run"] if x.split()[0] == qid],
            }
            for measure, row in query.items():
                assert math.isclose(twins_conformance.mean(own, measure, {}), row["value"], rel_tol=1e-12), (
                    case["id"],
                    measure,
                )
                if "trec_eval" in row:
                    # trec_eval rounds the exact binary value half to even, as format does.
                    assert f"{row['value']:.4f}" == row["trec_eval"], (case["id"], measure)


CONVENTIONS = {
    "order": ("order", {"score", "rank", "line"}),
    "width": ("score_type", {"64": "float64", "32": "float32"}),
    "ties": ("ties", {"docid-desc", "docid-asc", "line", "ranx", "worst"}),
    "self": ("self_hits", {"keep", "drop"}),
    "unjudged": ("judged_only", {"keep": False, "drop": True}),
    "depth": ("depth", {"all": None, "limited": 35}),
    "dup": ("duplicates", {"last"}),
    "missing": ("missing", {"out", "empty"}),
    "norel": ("unrelevant", {"in", "out", "one"}),
    "known": ("known", {"retrieved"}),
    "extra": ("extra", {"out", "in"}),
    "score0": ("not_positive", {"keep", "miss"}),
}
"""The kit's conventions and the package's, with the values that both have."""

PARAMETERS = {
    ("nDCG", "gain=linear"): "",
    ("nDCG", "gain=exp"): "gain=exp",
    ("nDCG", "gain=binary"): "gain=binary",
    ("nDCG", "ideal=all"): "",
    ("nDCG", "ideal=retrieved"): "ideal=retrieved",
    ("nDCG", "discount=log2"): "",
    ("nDCG", "discount=position"): "discount=position",
    ("nDCG", "ties=average"): "ties=average,ideal=retrieved",
    ("AP", "ties=together"): "ties=together,norm=retrieved",
    ("AP", "norm=R"): "",
    ("AP", "norm=capped"): "norm=capped",
    ("AP", "norm=retrieved"): "norm=retrieved",
    ("R", "norm=R"): "",
    ("P", "norm=k"): "",
    ("P", "norm=retrieved"): "norm=retrieved",
    ("IPrec", "round=up"): "round=up",
    ("IPrec", "round=nearest"): "round=nearest",
    ("ERR", "max_rel=2"): "",
    ("ERR", "max_rel=4"): "max_rel=4",
    ("Bpref", "bpref=min"): "",
    ("RR", "cutoff=kept"): "",
    **{(name, f"level={level}"): f"rel={level}" for name in ("AP", "RR", "P") for level in "012"},
    **{(name, rule): "" for name in ("AP", "RR", "nDCG") for rule in ("negative=nonrelevant", "infinity=largest", "ids=text", "scattered=joined")},
}  # fmt: skip
"""What a rule is in the package: parameters of the measure."""


def ours(probe: Probe, answer: Probe, measure: str, folder: Path) -> float | None:
    """Return the package's value under the conventions of an answer; None if it does not have them."""
    name, at, cutoff = measure.partition("@")
    given, parameters = {}, []
    for key, value in answer["conventions"].items():
        field, known = CONVENTIONS.get(key, ("", set()))
        if value in known:
            given[field] = known[value] if isinstance(known, dict) else value
        elif PARAMETERS.get((name, f"{key}={value}")) is not None:
            parameters.append(PARAMETERS[name, f"{key}={value}"])
        else:
            return None
    inside = ",".join(filter(None, parameters))
    profile = te.scoring.Profile("kit", "the kit's", te.scoring.Conventions(**given))
    for file in ("qrels", "run"):
        (folder / file).write_text("\n".join(probe[file]) + "\n", "utf-8")
    asked = name + (f"({inside})" if inside else "") + at + cutoff
    try:
        return te.evaluate(folder / "qrels", folder / "run", [asked], profile=profile).mean[asked]
    except te.errors.MeasureError:
        return None  # it has no such parameter


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")  # probes have repeated lines and the like
def test_the_package_gives_each_value_under_the_same_conventions(tmp_path: Path) -> None:
    compared, wrong = 0, []
    for probe, name, measure, row in values():
        value = ours(probe, probe["answers"][name], measure, tmp_path)
        if value is None:
            continue
        compared += 1
        if not math.isclose(value, row["value"], rel_tol=1e-9, abs_tol=1e-12):
            wrong.append((probe["id"], name, measure, value, row["value"]))
    assert wrong == []
    # What it does not have: other conventions than those of CONVENTIONS and PARAMETERS.
    assert compared == 401


# The files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["probes.json", "agreement.json"])
def test_the_files_are_as_the_schema_describes(name: str) -> None:
    schema = json.loads((KIT / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads((KIT / name).read_text("utf-8")))


def test_the_answers_of_a_probe_can_be_told_apart() -> None:
    for probe in PROBES:
        given = {
            name: {measure: row["value"] for row in answer["values"] for measure in row["of"]}
            for name, answer in probe["answers"].items()
        }
        for one, other in itertools.combinations(given, 2):
            both = given[one].keys() & given[other].keys()
            near = [measure for measure in both if abs(given[one][measure] - given[other][measure]) < 10 * RUNNER.CLOSE]
            assert given[one].keys() != given[other].keys() or set(near) != both, (probe["id"], one, other)
            # Equal, or far apart: a rounded value never fits two answers by chance.
            assert all(given[one][measure] == pytest.approx(given[other][measure], abs=1e-12) for measure in near)


def test_names_of_probes_measures_and_conventions_are_known() -> None:
    assert len({each["id"] for each in [*PROBES, *AGREEMENT]}) == len(PROBES) + len(AGREEMENT)
    described = set(json.loads((KIT / "probes.json").read_text("utf-8"))["measures"])
    used = {
        re.sub(r"@[\d.]+$", "@r" if measure.startswith("IPrec") else "@k", measure) for _, _, measure, _ in values()
    }
    used |= {
        re.sub(r"@\d+$", "@k", measure) for case in AGREEMENT for query in case["values"].values() for measure in query
    }
    assert used == described


# The runner ---------------------------------------------------------------------------------------


def program(folder: Path, body: str) -> list[str]:
    """Return the command of a scorer that answers each question with what `body` computes."""
    path = folder / "scorer.py"
    path.write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    question = json.loads(line)\n"
        "    answer = {'tool': 'mine', 'version': '1', 'call': 'mine'}\n"
        "    if 'about' not in question:\n"
        f"        {body}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    return [sys.executable, str(path)]


def run(*arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, str(KIT / "run.py"), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def card(*arguments: str, status: int = 0) -> dict[str, Any]:
    return json.loads(run("--format", "json", *arguments, status=status))


def test_a_scorer_that_ends_is_started_again_and_its_last_words_are_its_refusal(tmp_path: Path) -> None:
    ends = "answer = {'values': {}} if question['id'] != 'ties' else sys.exit('cannot sort')"
    answers = card("--protocol", "--", *program(tmp_path, ends))["answers"]
    assert answers["ties"] == "refused: cannot sort"
    assert answers["ties-long"] is None


@pytest.mark.slow
def test_a_scorer_that_hangs_or_talks_is_started_again(tmp_path: Path) -> None:
    body = """answer = {'values': {}}
        if question['id'] == 'ties':
            print('one moment', end='', flush=True)
            import time; time.sleep(60)
        if question['id'] == 'depth':
            print('hello', flush=True)"""
    answers = card("--protocol", "--seconds", "3", "--", *program(tmp_path, body))["answers"]
    assert answers["ties"].startswith("refused: ended with status -")
    assert answers["depth"] == "refused: its answer is not JSON: b'hello\\n'"
    assert answers["ties-long"] is None


@pytest.mark.slow
def test_lines_that_are_no_values_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text("print('measure query value'); print('x all 0.5')")
    assert card("--", sys.executable, str(tmp_path / "talks.py"), status=1)["agreement"]["wrong"]


def test_each_kind_of_answer_is_told_apart(tmp_path: Path) -> None:
    body = """answer = {
            'ties': {'values': {'RR': 0.2, 'AP': 1 / 3, 'nDCG': 0.1234, 'nDCG@10': 'no grades'}},
            'ties-long': {'cannot': 'lists are short'},
            'depth': {'values': {'RR': None}},
            'unjudged': {'values': {'RR': {'1': 0.5}, 'AP': {'all': 0.5, '1': 0.9}}},
            'missing-query': {'values': {'RR': {'1': 0.5, '2': 0}}},
            'ap-cutoff-divisor': {'values': {'AP@1': 1, 'AP@3': 1 / 3}},
        }.get(question['id'], {'refused': 'no'})"""
    found = card("--protocol", "--", *program(tmp_path, body), status=1)
    answers = found["answers"]
    assert answers["ties"] == {
        "RR": "id descending",
        "AP": "id ascending",
        "nDCG": "other: 0.1234",
        "nDCG@10": "refused: no grades",
    }
    assert answers["ties-long"] == "cannot be asked: lists are short"
    assert answers["depth"] == "no value"
    assert answers["unjudged"] == "not relevant"  # (1/2 + 2/4) / 2
    assert answers["missing-query"] == "0"
    assert answers["ap-cutoff-divisor"] == "relevant, at most k"  # AP@1 alone would fit three answers
    assert answers["gain"] == "refused: no"
    assert found["agreement"]["wrong"][0] == "clean-01: no"


def test_a_wrong_value_where_all_conventions_agree_is_named(tmp_path: Path) -> None:
    body = "answer = {'values': {'RR': 0.25} if question['id'] == 'clean-01' else {}}"
    found = card("--protocol", "--", *program(tmp_path, body), status=1)
    assert found["agreement"]["wrong"] == ["clean-01: RR of all is 0.25, expected 1.0"]
    assert "AP@k" in found["lacks"]
    assert "RR" not in found["lacks"]


def test_a_program_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text("raise SystemExit('no such mode')")
    done = subprocess.run(
        [sys.executable, str(KIT / "run.py"), "--protocol", "--", sys.executable, str(tmp_path / "mute.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("does not answer the first line. It said: no such mode\n")


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not here")
def test_the_example_in_javascript_is_a_scorer() -> None:
    found = card("--protocol", "--", "node", str(KIT / "adapters" / "example.js"))
    assert found["answers"]["ties"] == "line order"
    assert found["answers"]["missing-query"] == "left out"
    # One value for each query and a mean for each of the twelve cases.
    queries = sum(len(case["values"]) for case in AGREEMENT)
    assert (found["agreement"]["equal"], found["agreement"]["values"]) == (queries + 12, queries + 12)


@pytest.mark.slow
def test_a_program_that_prints_trec_evals_lines_is_asked_by_its_command() -> None:
    command = [sys.executable, "-m", "treceval_py", "-q", "-m", "{measure}", "{qrels}", "{run}"]
    found = card("--tool", "mine", "--version", "2", "--", *command)
    assert (found["tool"], found["version"]) == ("mine", "2")
    assert found["answers"]["ties"] == "id descending"
    assert found["answers"]["score-width"] == "64"
    assert found["answers"]["document-twice"].startswith("refused: ")
    assert found["lacks"] == ["RR@k", "ERR@k"]
    assert found["agreement"]["wrong"] == []


# The cards ----------------------------------------------------------------------------------------


def written(tool: Any) -> dict[str, Any]:
    return json.loads((KIT / "cards" / f"{tool.key}.json").read_text("utf-8"))


def test_the_page_is_made_of_the_cards() -> None:
    assert CARDS.PAGE.read_text("utf-8") == CARDS.page(), "run conformance/cards.py --page"
    assert {path.stem for path in (KIT / "cards").glob("*.json")} == {tool.key for tool in CARDS.TOOLS}


HERE = {
    "pytrec_eval": "pytrec-eval-terrier",
    "ir_measures": "ir-measures",
    "sklearn": "scikit-learn",
    "cwl_eval": "cwl-eval",
}
"""Adapters of packages that are in the environment of the tests, and their distributions."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "tool",
    [tool for tool in CARDS.TOOLS if tool.adapter.split(" ")[0] in {*HERE, "treceval"}],
    ids=lambda tool: tool.key,
)
def test_the_card_of_a_tool_that_is_here_is_made_again(tool: Any) -> None:
    card = written(tool)
    package = HERE.get(tool.adapter)
    if package is not None and version(package) != card["version"]:
        pytest.skip(f"{package} {version(package)} is here, and the card is of {card['version']}")
    assert CARDS.asked_by_adapter(tool.adapter, sys.executable) == card


@pytest.mark.slow
def test_profiles_answer_as_it_is_written() -> None:
    committed = json.loads((KIT / "profiles.json").read_text("utf-8"))["profiles"]
    assert list(committed) == list(te.scoring.PROFILES)
    assert CARDS.profiles(sys.executable)["profiles"] == committed


PROFILE_OF = {
    "trec_eval 10.0": "trec_eval-10",
    "trec_eval 9.0.8": "trec_eval-9",
    "pytrec_eval": "pytrec_eval",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "BEIR": "beir",
    "MTEB": "mteb",
    "FlagEmbedding": "flagembedding",
    "sentence-transformers": "sentence-transformers",
    "torchmetrics": "torchmetrics",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "scikit-learn": "sklearn",
    "treceval_py": "trec_eval-10",
    "treceval_py --profile ranx": "ranx",
}

UNDEFINED = "its order of equal scores is undefined"
GRADES = "it refuses grades"
NEGATIVE = "it refuses negative labels, or takes them as losses"
KEY_ERROR = "a query of the run without judgments is a KeyError there"
NOT_ITS_PROFILE = {
    "trec_eval 10.0": {"missing-query": "it stops, unless -c is given"},
    "pytrec_eval": {"nothing-in-common": "it returns no queries"},
    "BEIR": {
        "query-without-judgments": KEY_ERROR,
        "nothing-in-common": KEY_ERROR,
        "own-id": "evaluate takes such documents out of the results, and each metric is asked with new ones",
    },
    "MTEB": {"query-without-judgments": KEY_ERROR},
    "FlagEmbedding": {"query-without-judgments": KEY_ERROR, "nothing-in-common": KEY_ERROR},
    "torchmetrics": {
        **dict.fromkeys(("ties", "ties-long", "ties-of-numbers", "ties-beyond-ascii", "score-width"), UNDEFINED),
        "relevant-level": GRADES,
        "negative-label": NEGATIVE,
    },
    "LightGBM": {"negative-label": NEGATIVE},
    "XGBoost": {"relevant-level": GRADES, "negative-label": NEGATIVE},
    "scikit-learn": {
        "infinite-score": "it refuses infinity",
        "nothing-in-common": "there is nothing to average",
        "relevant-level": GRADES,
        "negative-label": NEGATIVE,
    },
}
"""Questions that a tool answers otherwise than its profile, and why."""


@pytest.mark.parametrize("tool", [tool for tool in CARDS.TOOLS if tool.name in PROFILE_OF], ids=lambda tool: tool.key)
def test_a_tool_answers_as_its_profile(tool: Any) -> None:
    profile = json.loads((KIT / "profiles.json").read_text("utf-8"))["profiles"][PROFILE_OF[tool.name]]
    same = RUNNER.shared(written(tool), profile)
    assert {name for name, each in same.items() if not each} == set(NOT_ITS_PROFILE.get(tool.name, {}))


def test_the_first_sentences_of_the_page_are_true() -> None:
    cards = [written(tool) for tool in CARDS.TOOLS if not tool.name.startswith("treceval_py")]
    answers = {
        probe["id"]: {
            RUNNER.kind(text)
            for card in cards
            for text in CARDS.texts(card["answers"][probe["id"]])
            if not text.startswith("cannot")
        }
        for probe in PROBES
    }
    assert all(card["agreement"]["equal"] == card["agreement"]["values"] for card in cards)
    assert len(cards) == 14
    assert (sum(len(each) > 1 for each in answers.values()), len(PROBES)) == (27, 33)
    assert sum(isinstance(card["answers"]["ties"], dict) for card in cards) == 5
    first = CARDS.TEXT[:400]
    assert all(
        words in " ".join(first.split()) for words in ("all fourteen tools", "27 of 33 questions", "In five of them")
    )
