"""Every option of scoring and reading, in all its spellings, in every command that scores, and from Python."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pytest
from command import Done, treceval

import treceval_py as te
from treceval_py import reporting
from treceval_py.boards import board
from treceval_py.cli import commands
from treceval_py.cli.options import PLUGIN, READING_OPTIONS, SCORING_OPTIONS
from treceval_py.comparing import comparing, paired
from treceval_py.errors import InputError, MeasureError, TrecevalError
from treceval_py.io import source
from treceval_py.measuring import plugins
from treceval_py.scan import scanner
from treceval_py.scoring.opening import load_run
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.results import Results

# Runs here lack a query, so that --complete changes a number.
pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

JUDGED = {
    "1": "f2 b1 d0 a0 e1",
    "2": "f2 e1 a0 g0 b1",
    "3": "b2 d1 g0 a0 h1",
    "4": "g2 a1 e0 h0 b1",
    "5": "g2 a2 b1 h0",
}
QRELS = {qid: {each[0]: int(each[1:]) for each in documents.split()} for qid, documents in JUDGED.items()}
RETRIEVED = {  # documents with their scores; each run lacks a query
    "r0": {"1": "g9 c8 x5 b5 e4 y3", "2": "y9 d9 f8 b6 e5 x5", "3": "z8 x8 g7 f7 d6 e3", "4": "d9 b9 e7 h6 c5 f5"},
    "r1": {"1": "g9 c9 f5 y5 d4 z3", "2": "f9 z9 y7 h6 e4 d3", "3": "z7 b6 a6 e4 f4 h3", "5": "z9 f9 a8 h6 c5 b3"},
    "r2": {"1": "e9 c8 d7 g6 x6 h5", "2": "c9 g8 x8 e7 f6 d4", "3": "c9 z8 d7 x7 a5 h3", "4": "c8 g7 x5 f5 e4 y3"},
}
RUNS = {
    name: {qid: {each[0]: float(each[1:]) for each in documents.split()} for qid, documents in run.items()}
    for name, run in RETRIEVED.items()
}

Numbers = Mapping[str, float]


def _few_resamples(test: Callable[..., Any], values: Any, **options: Any) -> Any:
    return test(values, **{**options, "resamples": 19})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out statistics that take long and have tests of their own."""
    for module, name in ((board, "simultaneous"), (comparing, "simultaneous_each")):
        monkeypatch.setattr(module, name, functools.partial(_few_resamples, getattr(module, name)))
    without = np.full(6, np.nan)
    monkeypatch.setattr(paired, "effect_size", lambda columns, _: paired.Effect(*[without[: columns.shape[1]]] * 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options")
    judged = "".join(f"{q} 0 {d} {rel}\n" for q, docs in QRELS.items() for d, rel in docs.items())
    (path / "qrels").write_text(judged)
    (path / "again").write_text(judged)
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in run.items() for d, score in docs.items()]
        (path / name).write_text("".join(lines))
    return path


# The ways in which commands print numbers, and what these are -----------------------------------------


def tau(one: list[float], other: list[float]) -> float:
    """Kendall's tau-b."""
    pairs = list(itertools.combinations(range(len(one)), 2))
    first, second = ([(v[i] > v[j]) - (v[i] < v[j]) for i, j in pairs] for v in (one, other))
    size = sum(map(abs, first)) * sum(map(abs, second))
    return float(sum(a * b for a, b in zip(first, second, strict=True)) / size**0.5)


def rows(name: str) -> Callable[[str], Numbers]:
    return lambda text: {row["measure"]: row["value"] for row in json.loads(text)[name]}


def in_scores(text: str) -> Numbers:
    found: Numbers = json.loads(text)["runs"][0]["mean"]
    return found


def in_comparison(text: str) -> Numbers:
    measures = json.loads(text)["measures"]
    return {f"{each['measure']} {run['name']}": run["mean"] for each in measures for run in each["runs"]}


def in_queries(text: str) -> Numbers:
    found = {}
    for row in json.loads(text)["rows"]:
        found[f"{row['measure']} {row['run']} {row['query']}"] = row["value"]
        found[f"{row['measure']} {row['other']} {row['query']}"] = row["other_value"]
    return found


def in_agreement(text: str) -> Numbers:
    return {" ".join((each["first"], each["second"])): each["tau"] for each in json.loads(text)["rows"] if
            each["kind"] == "measures"}  # fmt: skip


def in_board(text: str) -> Numbers:
    return {f"{name} {run['name']}": mean for run in json.loads(text)["runs"] for name, mean in run["mean"].items()}


def in_gate(text: str) -> Numbers:
    names = [run["name"] for run in json.loads(text)["runs"]]
    rows = json.loads(text)["measures"]
    return {
        f"{row['measure']} {n}": row[key]
        for row in rows
        for n, key in zip(names, ("baseline", "candidate"), strict=True)
    }


def in_orders(text: str) -> Numbers:
    orders = json.loads(text)["orders"]
    return {f"{each['measure']} {run}": mean for each in orders for run, mean in each["means"][0].items()}


def in_walks(text: str) -> Numbers:
    """Return where the walks begin, which is at the number of the chosen profile."""
    return {each["measure"]: each["walks"][0]["steps"][0]["mean"] for each in json.loads(text)["measures"]}


def in_arithmetic(text: str) -> Numbers:
    return {str(number): each["value"] for number, each in enumerate(json.loads(text)["arithmetic"])}


def in_payload(text: str) -> Numbers:
    payload = json.loads(text)
    names = [run["name"] for run in payload["runs"]]
    return {
        f"{m['name']} {run}": mean for m in payload["measures"] for run, mean in zip(names, m["means"], strict=True)
    }


def of_first(results: Mapping[str, Results]) -> Numbers:
    return results["r0"].mean


def of_means(results: Mapping[str, Results]) -> Numbers:
    return {f"{name} {run}": mean for run, each in results.items() for name, mean in each.mean.items()}


def of_common(results: Mapping[str, Results]) -> Numbers:
    """Return means over the queries that all runs have."""
    common = set.intersection(*(set(each.qids) for each in results.values()))
    return {
        f"{name} {run}": sum(each[qid][name] for qid in common) / len(common)  # type: ignore[misc]
        for run, each in results.items()
        for name in each.names
    }


def of_orders(results: Mapping[str, Results]) -> Numbers:
    means, names = of_common(results), results["r0"].names
    orders = {name: [round(means[f"{name} {run}"], 12) for run in results] for name in names}
    return {f"{one} {other}": tau(orders[one], orders[other]) for one, other in itertools.combinations(names, 2)}


def of_queries(results: Mapping[str, Results]) -> Numbers:
    return {f"{n} {run} {q}": each[q][n] for run, each in results.items() for q in each.qids for n in each.names}  # type: ignore[misc]


def of_query(results: Mapping[str, Results]) -> Numbers:
    return {str(number): results["r0"]["1"][name] for number, name in enumerate(results["r0"].names)}  # type: ignore[misc]


class Form(NamedTuple):
    """A way of calling a command: where its numbers stand, what they are, and to how many decimals."""

    line: str
    found: Callable[[str], Numbers]
    expected: Callable[[Mapping[str, Results]], Numbers]
    decimals: int = 12
    usual: Mapping[str, Any] = {}  # what the command chooses where `evaluate` chooses otherwise


FORMS = {
    "score": Form("score qrels r0 --format json", in_scores, of_first),
    "score --ties": Form("qrels r0 --ties --format json", rows("ties"), of_first),
    "score --unjudged": Form("qrels r0 --unjudged --format json", rows("unjudged"), of_first),
    "compare": Form("compare qrels r0 r1 r2 --format json", in_comparison, of_common),
    "compare --per-query": Form("compare qrels r0 r1 r2 --per-query 50 --format json", in_queries, of_queries),
    "compare --agreement": Form("compare qrels r0 r1 r2 --agreement --format json", in_agreement, of_orders),
    "gate": Form("gate qrels r0 r2 --margin 100 --format json", in_gate, of_means, usual={"complete": True}),
    "board": Form("board qrels r0 r1 r2 --no-cache --format json", in_board, of_means, usual={"complete": True}),
    "agree": Form("agree qrels again r0 r1 r2 --bootstrap 100 --format json", in_orders, of_common),
    "explain": Form("explain qrels r0 --against trec_eval-9 --format json", in_walks, of_first, 4),
    "explain --query": Form("explain qrels r0 --query 1 --format json", in_arithmetic, of_query, 6),
    "report": Form("report qrels r0 r1 r2 -o page.html", in_payload, of_common),
}


class Case(NamedTuple):
    """An option: what it is given, as text; the measures that show its effect; and the same in Python."""

    value: str | None
    keywords: Mapping[str, Any]
    measures: tuple[str, ...] = ("map", "ndcg")


def signature(measure: str, **options: Any) -> str:
    evaluator = te.Evaluator(QRELS, te.Scoring(measure, **options))
    (found,) = evaluator.scored(RUNS["r0"]).signatures.values()
    return found.short


SIGNATURES = [signature("P.3", level=2), signature("map", level=2)]

CASES = {
    "measures": Case("P.1", {"measures": ["ndcg", "P.1"]}, ("ndcg",)),
    "profile": Case("gdeval", {"profile": "gdeval"}),
    "level": Case("2", {"level": 2}),
    "complete": Case(None, {"complete": True}),
    "depth": Case("3", {"depth": 3}),
    "judged_only": Case(None, {"judged_only": True}),
    "collection_size": Case("20", {"collection_size": 20}, ("utility.1,-1,0,1", "map")),
    "signatures": Case(SIGNATURES[1], {"signature": SIGNATURES}, ()),
}

ALIKE = {
    ("board", "complete"),  # which is usual there: a test of its own
    ("gate", "complete"),  # likewise
    ("compare --agreement", "collection_size"),  # which adds the same to every run
    ("explain --query", "complete"),  # a query has a value whether it counts or not: a test of its own
}
"""Where an option changes nothing."""

REFUSED = {
    ("board", "signatures"): "boards are scored by a profile, not by signatures. Give measures and a profile.",
    ("explain", "signatures"): "an explanation starts from a profile, not from a signature. With a signature, "
    "explain one query (--query).",
}
"""Where an option, or the only measure that has it, is refused."""


def results_of(keywords: Mapping[str, Any]) -> dict[str, Results]:
    return {name: te.evaluate(QRELS, run, **keywords) for name, run in RUNS.items()}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Take the payload of a report in place of its page."""
    pages: list[str] = []
    monkeypatch.setattr(reporting, "write_report", lambda _, payload: pages.append(json.dumps(payload)))
    return pages


def numbers(form: Form, options: list[str], folder: Path, pages: list[str]) -> Numbers:
    pages.clear()
    done = treceval([*form.line.split(), *options], folder=folder)
    assert done.status == 0, done.err.decode()
    return form.found(pages[0] if pages else done.out.decode())


def given(spelling: str, value: str | None) -> list[str]:
    return [spelling] if value is None else [spelling, value]


def spellings_of(name: str) -> tuple[str, ...]:
    """Return the spellings of a shared option, whose value has the name of its field."""
    (option,) = {**SCORING_OPTIONS, **READING_OPTIONS}[name](lambda: None).__click_params__
    assert option.name == name
    return tuple(option.opts)


def error_of(done: Done) -> str:
    assert done.status in (1, 2)
    return done.err.decode()


# From the command line ------------------------------------------------------------------------------


def test_every_field_has_an_option_and_every_option_a_field() -> None:
    assert tuple(SCORING_OPTIONS) == tuple(each.name for each in dataclasses.fields(Scoring)) == tuple(CASES)
    assert sorted(READING_OPTIONS) == sorted(Reading._fields)
    spellings = [each for option in {**SCORING_OPTIONS, **READING_OPTIONS} for each in spellings_of(option)]
    assert len(set(spellings)) == len(spellings)


def test_every_command_that_scores_has_every_option_in_every_spelling() -> None:
    group = commands.treceval
    context = click.Context(group)
    scoring = set()
    (plugin,) = PLUGIN(lambda: None).__click_params__
    options = {name: spellings_of(name) for name in {**SCORING_OPTIONS, **READING_OPTIONS}}
    options[plugin.name] = tuple(plugin.opts)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        module = importlib.import_module(f"treceval_py.cli.{name}")
        if hasattr(module, "scoring_options"):
            scoring.add(name)
            there = {each.name: tuple(each.opts) for each in command.params}
            assert {option: there.get(option) for option in options} == options
    assert scoring == {name.split()[0] for name in FORMS}


@functools.cache
def results_of_case(option: str, complete: bool | None = None) -> dict[str, Results]:
    usual: dict[str, Any] = {} if complete is None else {"complete": complete}
    if option != "signatures":
        usual["measures"] = CASES[option].measures
    return results_of({**usual, **CASES[option].keywords})


@pytest.mark.parametrize("name", FORMS)
def test_each_option_has_its_effect(name: str, folder: Path, written: list[str]) -> None:
    form = FORMS[name]
    for number, (option, case) in enumerate(CASES.items()):
        asked = [word for measure in case.measures for word in ("-m", measure)]
        without = ["-m", "P.3", "-m", "map"] if option == "signatures" else asked
        if option == "signatures":
            asked = ["--repeat", SIGNATURES[0]]
        # That each command knows every spelling is a test of its own.
        spellings = spellings_of(option)
        options = [*asked, *given(spellings[number % len(spellings)], case.value)]
        if (name, option) in REFUSED:
            said = error_of(treceval([*form.line.split(), *options], folder=folder))
            assert said == f"treceval: {REFUSED[name, option]}\n"
            continue
        expected = form.expected(
            results_of_case(option, None if option == "signatures" else form.usual.get("complete"))
        )
        found = numbers(form, options, folder, written)
        assert found
        assert found == pytest.approx({key: expected[key] for key in found}, abs=0.51 * 10**-form.decimals), option
        plain = numbers(form, without, folder, written)
        assert (list(found.values()) == list(plain.values())) is ((name, option) in ALIKE), option


def test_a_board_counts_all_judged_queries_unless_it_is_told_otherwise(folder: Path, written: list[str]) -> None:
    form = FORMS["board"]
    found = [numbers(form, ["-m", "map", *more], folder, written) for more in ([], ["-c"], ["--common"])]
    assert found[0] == found[1] == pytest.approx(of_means(results_of({"measures": "map", "complete": True})))
    assert found[2] == pytest.approx(of_common(results_of({"measures": "map"})))


def test_the_arithmetic_of_a_missing_query_is_that_of_all_judged_queries_too(folder: Path) -> None:
    # One point for each of the 3 relevant documents of query 5 that are missed; BEIR with -c makes of that 0.
    options = ["explain", "qrels", "r0", "--query", "5", "-m", "utility.0,0,1,0", "--profile", "beir"]
    for more, value in (([], 3), (["-c"], 0)):
        done = treceval([*options, *more], folder=folder)
        assert f" of query 5 = {value}.000000\n" in done.out.decode()


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("written")
def test_files_are_read_in_the_format_that_is_given(name: str, folder: Path) -> None:
    for option, file, usual in (("judgment_format", "qrels", "qrels"), ("run_format", "r0", "trec_results")):
        with pytest.raises(TrecevalError) as caught:
            te.evaluate(folder / "qrels", folder / "r0", **{option: "jsonl"})
        message = str(caught.value).removeprefix(str(folder) + os.sep)
        assert message.startswith(file)
        spelling = spellings_of(option)[0]
        assert message in error_of(treceval([*FORMS[name].line.split(), spelling, "jsonl"], folder=folder))
        assert treceval([*FORMS[name].line.split(), spelling, usual], folder=folder).status == 0


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Take down how many threads work at once; each line is a block, and there are 2 cores."""
    found: list[int] = []

    class Watched(futures.ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            found.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(futures, "ThreadPoolExecutor", Watched)
    monkeypatch.setattr(source, "BLOCK_SIZE", 20)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    return found


@pytest.mark.skipif(scanner() is None, reason="the Python reader has one thread")
@pytest.mark.parametrize("name", [*FORMS, "score --judged-ranking"])
def test_so_many_threads_read_runs(name: str, folder: Path, crews: list[int], written: list[str]) -> None:
    form = FORMS.get(name, FORMS["score"])
    line = "--judged-ranking qrels --format json" if name not in FORMS else form.line
    found = []
    for options, expected in (([], {2}), (["--threads", "3"], {3}), (["--threads", "1"], set())):
        crews.clear()
        found.append(numbers(form._replace(line=line), ["-m", "map", *options], folder, written))
        assert set(crews) == expected
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("crews")
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_wrong_with_a_line_is_said_of_the_first_one(threads: int, tmp_path: Path) -> None:
    lines = [f"1 Q0 d{number} 1 {100 - number} t" for number in range(40)]
    lines[19], lines[29] = "1 Q0 d19 1 x t", "1 Q0"
    (tmp_path / "run").write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        load_run(str(tmp_path / "run"), Reading(threads=threads))
    assert caught.value.line == 20


def test_a_judged_ranking_has_a_format_of_its_own(folder: Path) -> None:
    for option, value in (("-T", "trec_results"), ("-R", "qrels")):
        done = treceval(["--judged-ranking", "qrels", option, value], folder=folder)
        assert f"--judged-ranking has its own format; remove {option}." in error_of(done)


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("name", FORMS)
def test_plug_ins_are_imported(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(plugins, "load_plugin", imported.append)
    done = treceval([*FORMS[name].line.split(), "--plugin", "one", "--plugin", "two.py"], folder=folder)
    assert (done.status, imported) == (0, ["one", "two.py"])


@pytest.mark.parametrize("name", ["./notes.txt", ".notes", "folder/notes"])
def test_a_plug_in_is_a_module_or_a_python_file(name: str) -> None:
    hint = "Give the name of a module or the path of a .py file that calls treceval_py.measuring.declare."
    for line in (["--plugin", name, "qrels", "run"], ["measures", "--plugin", name]):
        assert error_of(treceval(line)) == f"treceval: plugin '{name}' is not a .py file. {hint}\n"


# From Python ----------------------------------------------------------------------------------------

RUN = RUNS["r0"]

CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "evaluate": (te.evaluate, lambda **options: te.evaluate(QRELS, RUN, **options).mean),
    "assess": (
        te.ranges.assess,
        lambda **options: te.ranges.assess(QRELS, RUN, unjudged=False, **options).results.mean,
    ),
    "board": (
        te.board,
        lambda **options: [[r.name, list(r.means)] for r in te.board("qrels", [*RUNS], **options).runs],
    ),
    "compare": (
        te.compare,
        lambda **options: [m.means.tolist() for m in te.compare(QRELS, [*RUNS.values()], **options).measures],
    ),
    "gate": (
        te.gating.gate,
        lambda **options: [
            (each.baseline, each.candidate) for each in te.gating.gate(QRELS, RUN, RUNS["r2"], **options).decisions
        ],
    ),
    "explain": (
        te.explain,
        lambda **options: [
            each.walks[0].steps[0].mean for each in te.explain(QRELS, RUN, against=["ranx"], **options).measures
        ],
    ),
    "arithmetic": (
        te.explaining.arithmetic,
        lambda measures=None, **options: te.explaining.arithmetic(QRELS, RUN, measures, "1", **options).value,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_takes_every_field(name: str) -> None:
    names = {"measures": "measure" if name == "arithmetic" else "measures", "signatures": "signature"}
    wanted = {
        names.get(field, field) for field in (*(each.name for each in dataclasses.fields(Scoring)), *Reading._fields)
    }
    assert wanted | {"scoring"} <= set(inspect.signature(CALLS[name][0]).parameters)


@pytest.mark.parametrize("option", CASES)
@pytest.mark.parametrize("name", CALLS)
def test_an_option_is_the_same_one_by_one_and_in_a_scoring(
    name: str, option: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    call, case = CALLS[name][1], CASES[option]
    keywords = {"measures": case.measures, **case.keywords}
    if name == "arithmetic":
        keywords["measures"] = {"measures": "P.1", "profile": "ndcg"}.get(
            option, case.measures[0] if case.measures else None
        )
    if option == "signatures":
        keywords = {"signature": SIGNATURES[1] if name == "arithmetic" else SIGNATURES}
    fields = {{"signature": "signatures"}.get(each, each): value for each, value in keywords.items()}
    if (name, option) in REFUSED:
        for options in (keywords, {"scoring": Scoring(**fields)}):
            with pytest.raises(MeasureError, match=re.escape(REFUSED[name, option])):
                call(**options)
    else:
        found = call(**keywords)
        assert found == call(scoring=Scoring(**fields))
        without = {"measures": "ndcg" if name == "arithmetic" else case.measures or ["P.3", "map"]}
        if option not in ("measures", "signatures") and name == "arithmetic":
            without["measures"] = keywords["measures"]
        alike = option == "complete" and name in ("arithmetic", "board", "gate")
        assert (found == call(**without)) is alike
        if name in ("evaluate", "assess"):
            scored = te.Evaluator(QRELS, Scoring(**fields)).score(RUN)
            assert found == scored.mean
    with pytest.raises(MeasureError) as caught:
        call(**keywords, scoring=Scoring(["map"]))
    assert (
        str(caught.value)
        == "scoring= already has every scoring option. Remove the other options, or put them into scoring."
    )


# Segments as documents ------------------------------------------------------------------------------


def segments_of(run: Mapping[str, Mapping[str, float]], separator: str = "#") -> dict[str, dict[str, float]]:
    """Return a run of two segments for each document; the second has its score, and the first one far less."""
    return {
        qid: {
            f"{docid}{separator}{part}": score - 20 * (part == 0) for part in (0, 1) for docid, score in list_.items()
        }
        for qid, list_ in run.items()
    }


@pytest.fixture(scope="module")
def segmented(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("segments")
    for name in ("qrels", "again"):
        (path / name).write_bytes((folder / name).read_bytes())
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in segments_of(run).items() for d, score in docs.items()]
        (path / name).write_text("".join(lines))
    return path


@pytest.mark.parametrize("name", FORMS)
def test_segments_count_as_documents_in_every_command(
    name: str, folder: Path, segmented: Path, written: list[str]
) -> None:
    of_documents = numbers(FORMS[name], ["-m", "map"], folder, written)
    assert numbers(FORMS[name], ["-m", "map", "--max-passage"], segmented, written) == of_documents
    assert numbers(FORMS[name], ["-m", "map", "--max-passage=#"], segmented, written) == of_documents
    without = numbers(FORMS[name], ["-m", "map"], segmented, written)
    assert without != of_documents or name == "compare --agreement"  # of one measure


def test_a_board_does_not_take_documents_for_segments_from_its_cache(folder: Path, segmented: Path) -> None:
    line = ["board", "qrels", "r0", "r1", "--format", "json", "-m", "map", "--cache", "board.gz"]
    found = [in_board(treceval([*line, *more], folder=segmented).out.decode()) for more in ([], ["--max-passage"], [])]
    expected = of_means(results_of({"measures": "map", "complete": True}))
    assert found[1] == pytest.approx({name: expected[name] for name in found[1]})
    assert found[0] == found[2] != found[1]


def test_the_separator_needs_an_equals_sign_and_the_file_after_the_option_is_a_file(segmented: Path) -> None:
    for line in ("--max-passage qrels r0", "qrels --max-passage r0", "qrels r0 --max-passage", "qrels --max-p=# r0"):
        assert treceval([*line.split(), "-m", "num_ret"], folder=segmented).out.split()[-1] == b"24"  # of 48 segments
    assert treceval(["--max-passage=_", "qrels", "r0", "-m", "num_ret"], folder=segmented).out.split()[-1] == b"48"
    said = error_of(treceval(["--max-passage=", "qrels", "r0"], folder=segmented))
    assert "max_passage must be text between document and segment, not ''. Give '#' for ids such as d1#3." in said
    said = error_of(treceval(["--max-passage", "--judged-ranking", "qrels"], folder=segmented))
    assert "--judged-ranking has its own format; remove --max-passage." in said


# Given twice ----------------------------------------------------------------------------------------


SINGLE_VALUED = [
    pytest.param(name, option, id=f"{name} {option.opts[0]}")
    for name in commands.treceval.names
    for option in commands.treceval.get_command(click.Context(commands.treceval), name).params  # type: ignore[union-attr]
    if isinstance(option, click.Option) and not option.is_flag and not option.multiple
]


@pytest.mark.parametrize(("name", "option"), SINGLE_VALUED)
def test_an_option_that_takes_one_value_is_not_given_twice(name: str, option: click.Option) -> None:
    once, again = ([spelling, *["1"] * option.nargs] for spelling in (option.opts[0], option.opts[-1]))
    assert treceval([name, *once, "--help"]).status == 0
    refused = treceval([name, *once, "--help", *again])
    assert (refused.status, refused.out) == (2, b"")
    assert f"treceval: {option.opts[0]} is given more than once; keep one. See" in refused.err.decode()


def test_flags_and_repeatable_options_may_be_given_twice(folder: Path) -> None:
    line = "-q -q -c -c -m map -m RR qrels r0 --format json"
    once = line.replace("-q -q -c -c", "-q -c")
    assert treceval(line.split(), folder=folder) == treceval(once.split(), folder=folder)
