"""Signatures: what they say, that what they say gives the same number again, and what they refuse."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import pickle
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import Done, treceval
from random_runs import random_pair

import treceval_py as te
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.measures import FAMILIES, Family
from treceval_py.measures.parameters import Gains
from treceval_py.measures.registry import TEXT
from treceval_py.rendering.tables import Style
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.show import RESULT_FORMATS, Options, results_text
from treceval_py.scoring.signatures import Fingerprint, explicit

# The run lacks a query, so that conventions about missing queries change a number.
pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"a": 1.0}, "9": {"a": 1.0}}
QRELS_TEXT = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 z 1\n"
RUN_TEXT = "1 Q0 b 1 3.0 mine\n1 Q0 a 2 2.0 mine\n1 Q0 x 3 1.0 mine\n2 Q0 a 1 1.0 mine\n9 Q0 a 1 1.0 mine\n"

HASH = "331f269e"
"""printf '1 a 1\\n1 b 0\\n1 c 2\\n2 a 1\\n3 z 1\\n' | sha256sum (coreutils 9.1)"""

AP = f"AP(rel=1)|p:trec_eval-10|#:2|q:{HASH}|v:{te.__version__}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS_TEXT)
    (tmp_path / "run").write_text(RUN_TEXT)
    (tmp_path / "tied").write_text("1 Q0 c 1 1 other\n1 Q0 a 2 1 other\n1 Q0 b 3 1 other\n2 Q0 a 1 1.0 other\n")
    return tmp_path


def signed(*arguments: Any, **options: Any) -> te.Signature:
    return te.evaluate(*arguments, **options).signature(0)


# Repeating ------------------------------------------------------------------------------------------

CHOICES: dict[str, list[Any]] = {
    "level": [0, 1, 2, 3],
    "cutoff": [1, 2, 5, 1000],
    "recall": [0.0, 0.1, 0.25, 1.0],
    "multiple": [0.2, 1.0, 1.75],
    "rounding": ["nearest", "up"],
    "recalls": [(0.0, 0.5, 1.0), (0.123,)],
    "coefficients": [(1.0, -1.0, 0.0, 0.0), (0.3, -0.1, 0.25, 1e-7)],
    "collection_size": [0, 100],
    "beta_squared": [0.0, 0.5, 4.0],
    "length": [0, 3],
    "p": [0.0, 0.5, 0.8, 0.123456789],
    "gains": [{1: 3.0, 2: 9.0}, {0: 1.0}, {1: 1 / 3, 2: 0.1 + 0.2}],
    "gain": ["linear", "exp", "binary"],
    "discount": ["log2", "jk", "position"],
    "base": [1.1, 2.0, 10.0],
    "ideal": ["judged", "retrieved"],
    "ties": ["ordered", "average"],
    "steps": ["ordered", "together"],
    "norm": ["relevant", "capped", "retrieved"],
    "max_rel": [4, 5],
    "min_rel": [0, 1],
    "weights": [(0.5, 0.0, 0.25, 0.25)],
    "beta": [0.0, 1.0, 2.5],
    "patience": [0.5, 0.9],
    "alpha": [0.0, 0.5, 0.9],
    "target": [0.5, 1.0, 2.5],
    "deepest": [10, 1000],
    "until": ["depth", "longer"],
    "normalised": ["yes", "no"],
    "divisor": ["cutoff", "retrieved"],
    "credit": ["half", "wrong"],
    "max_fpr": [1.0, 0.3],
    "negative": ["unjudged", "nonrelevant"],
    "stop": ["grade", "label"],
    "scale": ["max_rel", "none"],
    "decay": [0.85, 0.5],
    "of": te.parse_measures(["nDCG(gain=exp,ideal=retrieved)@5", "AP(rel=2)", "ERR@3", "gRBP(p=0.5)"]),
    "by": ["max", "std", "diff1"],
}


def random_measure(family: Family, rng: random.Random) -> te.Measure:
    """Give some parameters of a family values; one with a cutoff always has it."""
    given: dict[str, Any] = {}
    for parameter in family.parameters:
        if rng.random() < 0.6 or parameter is family.at:
            value = rng.choice(CHOICES[parameter.name])
            given[parameter.name] = Gains(value) if isinstance(value, dict) else value
    if "base" in given:
        given["discount"] = "jk"  # the base of log2 is 2
    if given.get("gains") is not None and "gain" in given:
        given["gain"] = "linear"  # exponential gains are gains of their own
    return te.Measure(family, tuple(given.items()))


def families(kind: object) -> list[Family]:
    return [family for family in FAMILIES.values() if family.kind != TEXT and family.judged is kind]


def with_ranks(run: dict[str, dict[str, float]]) -> te.Run:
    """Make a run whose rank column is the order of its items."""
    rows = [(qid, *item) for qid, scores in run.items() for item in enumerate(scores.items(), 1)]
    text = "".join(f"{qid} Q0 {docid} {rank} {score!r} t\n" for qid, rank, (docid, score) in rows)
    return te.read_run(io.BytesIO(text.encode()))


def check_repeated(qrels: Any, run: Any, results: te.Results) -> None:
    """Check that both forms give the same bits, and are themselves what the repetition is signed with."""
    signature = results.signature(0)
    for form in ("short", "long"):
        text = getattr(signature, form)
        again = te.evaluate(qrels, run, signature=text)
        assert again.matrix.tobytes() == results.matrix.tobytes(), text
        assert again.averages.tobytes() == results.averages.tobytes(), text
        assert again.counted.tobytes() == results.counted.tobytes(), text
        assert (again.qids, again.listed.tolist()) == (results.qids, results.listed.tolist()), text
        assert getattr(again.signature(0), form) == text
        assert again.signature(0).long == signature.long
        assert repr(again.mean[again.names[0]]) == repr(results.mean[results.names[0]])


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_signature_gives_the_same_bits_again(profile: str) -> None:
    rng = random.Random(profile)
    repeated = 0
    for _ in range(4):
        nested, run = random_pair(rng)
        qrels, table = te.Qrels(nested), with_ranks(run)
        for family in families(JudgedRun):
            options: dict[str, Any] = {
                "level": rng.choice([None, 0, 1, 2, 3]),
                "complete": rng.random() < 0.5,
                "depth": rng.choice([None, None, 0, 1, 3]),
                "judged_only": rng.random() < 0.3,
                "collection_size": rng.choice([0, 0, 50]),
            }
            try:
                results = te.evaluate(qrels, table, [random_measure(family, rng)], profile=profile, **options)
            except (
                te.MeasureError,
                te.EvaluationError,
            ):  # parameters that do not go together, or not with these judgments
                continue
            check_repeated(qrels, table, results)
            repeated += 1
    assert repeated > 3 * len(families(JudgedRun))


GROUPS = te.read_judgment_groups(
    io.BytesIO(b"1 A a 1\n1 A b 0\n1 B b 2\n1 B c 1\n1 B a 0\n2 A d 1\n2 C e -1\n3 A f 1\n")
)
PREFERENCES = te.read_preferences(io.BytesIO(b"1 g s a 2\n1 g s b 1.5\n1 g t c 1\n1 h s a 0\n1 h s c 3\n2 g s d 1\n"))
TIED = {"1": {"b": 2.0, "a": 2.0, "x": 1.5, "c": 1.0}, "2": {"e": 1.0, "d": 1.0}, "9": {"a": 1.0}}


def needs_qrels(profile: str) -> bool:
    """Tell whether a profile has conventions that are of relevance judgments."""
    of = PROFILES[profile].conventions
    return (of.unrelevant, of.known, of.extra) != ("in", "all", "out")


@pytest.mark.parametrize("judged", [JudgedGroups, JudgedPreferences])
@pytest.mark.parametrize("profile", [name for name in PROFILES if needs_qrels(name)])
def test_a_profile_that_needs_relevance_judgments_refuses_others(profile: str, judged: object) -> None:
    judgments, measure = (GROUPS, "alpha_nDCG@10") if judged is JudgedGroups else (PREFERENCES, "prefs_simp")
    with pytest.raises(te.EvaluationError, match="need relevance judgments"):
        te.evaluate(judgments, with_ranks(TIED), [measure], profile=profile)


@pytest.mark.parametrize("judged", [JudgedGroups, JudgedPreferences])
@pytest.mark.parametrize("profile", [name for name in PROFILES if not needs_qrels(name)])
def test_a_signature_over_groups_or_preferences_gives_the_same_bits_again(profile: str, judged: object) -> None:
    judgments = GROUPS if judged is JudgedGroups else PREFERENCES
    rng = random.Random(profile)
    run = with_ranks(TIED)
    for family in families(judged):
        for complete in (False, True):
            measure = random_measure(family, rng)
            options: dict[str, Any] = {"level": rng.choice([None, 0, 2]), "depth": rng.choice([None, 2])}
            results = te.evaluate(judgments, run, [measure], profile=profile, complete=complete, **options)
            check_repeated(judgments, run, results)


@pytest.mark.parametrize(
    "measure",
    [
        te.Measure(FAMILIES["rbp"], (("p", 1 / 3),)),
        te.Measure(FAMILIES["rbp_binary"], (("p", 0.1 + 0.2),)),
        te.Measure(FAMILIES["compat"], (("p", 2 / 3),)),
        te.Measure(FAMILIES["set_F"], (("beta_squared", 1 / 3),)),
        te.Measure(FAMILIES["utility"], (("coefficients", (1 / 3, -1.0, 0.0, 0.0)),)),
        te.Measure(FAMILIES["dcg"], (("discount", "jk"), ("base", 4 / 3))),
    ],
    ids=lambda measure: measure.family.name,
)
def test_a_parameter_keeps_all_its_digits(measure: te.Measure) -> None:
    results = te.evaluate(QRELS, RUN, [measure])
    assert te.Signature.parse(results.signature(0).short).measure == explicit(results.resolved[0])
    check_repeated(QRELS, RUN, results)


def test_measures_are_repeated_in_the_order_of_their_signatures() -> None:
    results = te.evaluate(QRELS, RUN, ["nDCG@10", "map", "P@5"])
    texts = [signature.short for signature in results.signatures.values()]
    again = te.evaluate(QRELS, RUN, signature=texts)
    assert again.names == ["nDCG@10", "AP(rel=1)", "P(rel=1)@5"]
    assert again.matrix.tobytes() == results.matrix.tobytes()
    assert [signature.short for signature in again.signatures.values()] == texts


def test_a_parsed_signature_is_taken_too() -> None:
    parsed = te.Signature.parse(AP)
    assert te.evaluate(QRELS, RUN, signature=parsed).mean["AP(rel=1)"] == te.evaluate(QRELS, RUN, "AP").mean["AP"]


def test_signatures_of_several_profiles_are_repeated_under_their_own() -> None:
    texts = [signed(QRELS, RUN, ["P@5"], profile=profile).short for profile in ("trec_eval-10", "ranx")]
    texts[1] = texts[1].replace("@5", "@1")
    again = te.evaluate(QRELS, RUN, signature=texts)
    assert again.signature(0).short == texts[0]
    assert te.Signature.parse(again.signature(1).short).profile == "ranx"


def test_judgments_whose_last_line_counts_are_repeated(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", {"1": {"a": 1.0, "b": 0.5}}
    qrels.write_text("1 0 a 1\n1 0 a 2\n1 0 b 1\n")
    results = te.evaluate(str(qrels), run, ["nDCG"], profile="ranx")
    again = te.evaluate(str(qrels), run, signature=results.signature(0).short)
    assert again.mean["nDCG"] == results.mean["nDCG"]


def test_the_top_of_the_scale_that_judgments_have_is_repeated_or_refused_at_once() -> None:
    # A grade above the highest max_rel that can be written.
    qrels, run = {"1": {"a": 2000, "b": 1}}, {"1": {"b": 1.0, "a": 0.5}}
    try:
        results = te.evaluate(qrels, run, ["ERR@20"])
    except te.TrecevalError:
        return
    check_repeated(qrels, run, results)


# On the command line --------------------------------------------------------------------------------

MEASURES = ["map", "nDCG(gains={1:3,2:9})@10", "utility.1,-1,0.5,0", "num_rel_ret", "gm_map", "11pt_avg.0.25,0.5"]


def after(text: str, start: str, end: str = "") -> list[str]:
    """Return what stands after the name in lines like ``# NAME: SIGNATURE``."""
    lines = [line for line in text.splitlines() if line.startswith(start) and re.search(r"\|q(rels)?:", line)]
    return [line.partition(": ")[2].removesuffix(end) for line in lines]


def in_columns(text: str, delimiter: str) -> list[str]:
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    return [row["signature"] for row in rows if row["query"] == "all"]


def in_json(text: str, form: str) -> list[str]:
    (run,) = json.loads(text)["runs"]
    return [signature[form] for signature in run["signatures"].values()]


FOUND = {
    "trec": lambda text, form: after(text, "# "),
    "table": lambda text, form: after(text, ""),
    "csv": lambda text, form: in_columns(text, ","),
    "tsv": lambda text, form: in_columns(text, "\t"),
    "json": in_json,
    "markdown": lambda text, form: after(text, "* `", "`"),
    "latex": lambda text, form: after(text, "% "),
    "html": lambda text, form: after(html.unescape(text), "<li><code>", "</code></li>"),
    "coursework": lambda text, form: after(text, "# "),
}


def test_every_format_is_looked_at() -> None:
    assert list(FOUND) == list(RESULT_FORMATS)


def values_of(done: Done) -> list[str]:
    assert done.status == 0, done.err
    rows = csv.DictReader(io.StringIO(done.out.decode()))
    return [row["mine"] for row in rows if row["query"] == "all"]


@pytest.mark.parametrize("form", ["short", "long"])
@pytest.mark.parametrize("name", FOUND)
def test_what_is_printed_can_be_repeated(folder: Path, name: str, form: str) -> None:
    asked = [word for measure in MEASURES for word in ("-m", measure)]
    options = ["--profile", "ir_measures", "-l", "2", "-M", "2", *asked]
    option = "--signature" if form == "short" else "--long-signature"
    done = treceval([option, "--format", name, *options, "qrels", "run"], folder=folder)
    found = FOUND[name](done.out.decode(), form)
    wanted = te.evaluate(
        str(folder / "qrels"), str(folder / "run"), MEASURES, profile="ir_measures", level=2, depth=2
    ).signatures
    assert sorted(found) == sorted(getattr(signature, form) for signature in wanted.values())
    repeat = [word for text in found for word in ("--repeat", text)]
    again = treceval(["--format", "csv", *repeat, "qrels", "run"], folder=folder)
    assert values_of(again) == values_of(treceval(["--format", "csv", *options, "qrels", "run"], folder=folder))


def test_signatures_stand_below_trec_evals_lines(folder: Path) -> None:
    done = treceval(["--signature", "-m", "map", "qrels", "run"], folder=folder)
    assert done.out.decode() == f"map                   \tall\t0.6250\n# map: {AP}\n"


def test_json_has_signatures_without_being_asked(folder: Path) -> None:
    done = treceval(["--format", "json", "-m", "map", "qrels", "run"], folder=folder)
    (run,) = json.loads(done.out)["runs"]
    assert run["signatures"] == {"map": {"short": AP, "long": signed(QRELS, RUN, "map").long}}


def test_of_runs_with_other_queries_each_has_a_signature(folder: Path) -> None:
    (folder / "fewer").write_text("1 Q0 a 1 1.0 fewer\n")
    options = ["--signature", "-m", "map", "qrels", "run", "fewer"]
    below = treceval(options, folder=folder).out.decode().split("\n\n")[1]
    one = AP.replace("#:2", "#:1")
    assert below == f"map of mine: {AP}\nmap of fewer: {one}\n"
    rows = csv.reader(io.StringIO(treceval(["--format", "csv", *options], folder=folder).out.decode()))
    assert list(rows) == [
        ["query", "measure", "mine", "fewer", "signature mine", "signature fewer"],
        ["all", "map", "0.625", "0.5", AP, one],
    ]


def test_of_runs_made_alike_there_is_one_signature(folder: Path) -> None:
    done = treceval(["--signature", "-m", "map", "qrels", "run", "tied"], folder=folder)
    assert done.out.decode().split("\n\n")[1] == f"map: {AP}\n"


def test_text_has_no_signature(folder: Path) -> None:
    options = ["--signature", "--format", "csv", "-q", "-m", "relstring", "-m", "runid", "qrels", "run"]
    rows = csv.reader(io.StringIO(treceval(options, folder=folder).out.decode()))
    assert [row[3] for row in rows] == ["signature", "", "", ""]


def test_a_repetition_takes_the_options_of_printing(folder: Path) -> None:
    done = treceval(["-q", "--digits", "2", "--repeat", AP, "qrels", "run"], folder=folder)
    assert done.out.decode() == (
        "AP(rel=1)             \t1\t0.25\nAP(rel=1)             \t2\t1.00\nAP(rel=1)             \tall\t0.62\n"
    )


def test_a_repetition_reads_groups_by_what_it_computes(folder: Path) -> None:
    (folder / "groups").write_text("1 A a 1\n1 B b 1\n2 A a 1\n")
    asked = treceval(["--signature", "-m", "StRecall@5", "groups", "run"], folder=folder).out.decode()
    (text,) = after(asked, "# ")
    assert text == f"StRecall(rel=1)@5|p:trec_eval-10|#:2|q:{sha('1 A a 1', '1 B b 1', '2 A a 1')}|v:{te.__version__}"
    done = treceval(["--repeat", text, "groups", "run"], folder=folder)
    assert done.out.decode() == "StRecall(rel=1)@5     \tall\t1.0000\n"


# The text -------------------------------------------------------------------------------------------


def test_a_short_signature_names_the_profile() -> None:
    assert signed(QRELS, RUN, "map").short == AP
    assert str(signed(QRELS, RUN, "map")) == AP


def test_a_short_signature_has_what_differs_from_the_profile() -> None:
    found = signed(QRELS, RUN, "nDCG@10", profile="ranx", depth=5, judged_only=True)
    assert found.short == f"nDCG@10|p:ranx|unjudged:drop|depth:5|#:3|q:{HASH}|v:{te.__version__}"
    found = signed(QRELS, RUN, "map", complete=True)
    assert found.short == f"AP(rel=1)|p:trec_eval-10|missing:empty|#:3|q:{HASH}|v:{te.__version__}"


def test_an_exception_of_the_profile_is_no_difference_from_it() -> None:
    found = signed(QRELS, RUN, "RR@10", profile="ir_measures")
    assert found.short == f"RR(rel=1)@10|p:ir_measures|#:3|q:{HASH}|v:{te.__version__}"
    assert found.conventions.ties == "docid-asc"


LONG = (
    "nDCG(base=2,discount=log2,gain=linear,ideal=judged,ties=ordered)@10|order:score|width:32|ties:docid-desc|self:keep|"
    f"unjudged:keep|depth:all|dup:last|missing:empty|norel:in|queries:3|set:14c5e74c|qrels:{HASH}|"
    f"version:{te.__version__}|profile:ir_measures"
)
"""printf '1\\n2\\n3\\n' | sha256sum begins with 14c5e74c."""


def test_a_long_signature_names_everything() -> None:
    found = signed(QRELS, RUN, "nDCG@10", profile="ir_measures")
    assert found.long == LONG
    assert found.to_dict() == dict(
        [("measure", LONG.partition("|")[0]), *(part.split(":", 1) for part in LONG.split("|")[1:])],
        queries=3,
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_a_long_signature_has_every_convention_but_the_usual_value_of_a_rare_one(profile: str) -> None:
    qrels, run = te.Qrels(QRELS), with_ranks(RUN)
    parts = dict(part.split(":", 1) for part in signed(qrels, run, "map", profile=profile).long.split("|")[1:])
    for convention in CONVENTIONS.values():
        conventions = PROFILES[profile].conventions_of(te.parse_measures("map")[0])
        value, usual = (getattr(each, convention.name) for each in (conventions, te.Conventions()))
        assert (convention.key in parts) != (convention.rare and value == usual)
        assert convention.parse(parts.get(convention.key, convention.show(usual))) == value


@pytest.mark.parametrize("family", families(JudgedRun), ids=lambda family: family.name)
def test_a_long_signature_has_every_parameter(family: Family) -> None:
    measure = te.Measure(family, (("cutoff", 5),) if family.takes("cutoff") else ())
    if family.at is not None and not family.takes("cutoff"):
        measure = te.Measure(family, ((family.at.name, 0.5),))
    head = signed(QRELS, RUN, [measure]).long.partition("|")[0]
    left_out = {parameter.key for parameter in family.parameters if f"{parameter.key}=" not in head}
    # A cutoff is written @; gains and weights are those of the measure itself unless they are given.
    assert left_out <= {"@", "gains", "weights"}
    if family.at is not None:
        assert "@" in head


def test_how_many_queries_were_averaged_and_which() -> None:
    found = signed(QRELS, RUN, "map")
    assert (found.queries, found.query_set) == (2, "a6e2b7a0")  # printf '1\n2\n' | sha256sum
    found = signed(QRELS, RUN, "map", complete=True)
    assert (found.queries, found.query_set) == (3, "14c5e74c")  # printf '1\n2\n3\n' | sha256sum
    # 9.0.8 counts a missing query as 0 without listing it.
    assert signed(QRELS, RUN, "map", complete=True, profile="trec_eval-9").queries == 3
    # Query 3 has relevant documents but no ranking, query 4 a ranking but no relevant document.
    qrels, run = {**QRELS, "4": {"a": 0}}, {**RUN, "4": {"a": 1.0}}
    assert signed(qrels, run, "map", profile="gdeval").queries == 2
    assert signed(qrels, run, "map").queries == 3


def test_the_ids_of_queries_are_hashed_in_the_order_of_their_bytes() -> None:
    qids = ["é", "10", "9", "Z", "\udcff"]
    qrels, run = {qid: {"a": 1} for qid in qids}, {qid: {"a": 1.0} for qid in reversed(qids)}
    text = b"10\n9\nZ\n\xc3\xa9\n\xff\n"
    assert signed(qrels, run, "map").query_set == hashlib.sha256(text).hexdigest()[:8]


def sha(*lines: str) -> str:
    """Hash lines by hand."""
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:8]


def test_judgments_are_hashed_as_lines_in_the_order_of_their_bytes() -> None:
    assert str(Fingerprint(te.Qrels(QRELS))) == HASH == sha("1 a 1", "1 b 0", "1 c 2", "2 a 1", "3 z 1")
    qrels = {"10": {"d2": -1, "d10": 3}, "9": {"é": 0, "\udcff": 1}}
    assert str(Fingerprint(te.Qrels(qrels))) == sha("10 d10 3", "10 d2 -1", "9 é 0", "9 \udcff 1")


def test_groups_are_hashed_with_their_names() -> None:
    lines = ["1 A a 1", "1 A b 0", "1 B a 0", "1 B b 2", "1 B c 1", "2 A d 1", "2 C e -1", "3 A f 1"]
    assert str(Fingerprint(GROUPS)) == sha(*lines)


def test_preferences_are_hashed_with_group_and_subgroup() -> None:
    lines = ["1 g s a 2.0", "1 g s b 1.5", "1 g t c 1.0", "1 h s a 0.0", "1 h s c 3.0", "2 g s d 1.0"]
    assert str(Fingerprint(PREFERENCES)) == sha(*lines)


def test_the_hash_does_not_depend_on_the_order_of_lines_or_on_the_format(tmp_path: Path) -> None:
    qrels = te.Qrels(QRELS)
    for name in ("q.txt", "q.txt.gz", "q.tsv", "q.json", "q.jsonl"):
        te.write_qrels(qrels, str(tmp_path / name), format=te_format(name))
        assert str(Fingerprint(te.read_qrels(str(tmp_path / name)))) == HASH, name
    lines = QRELS_TEXT.splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    (tmp_path / "shuffled").write_text("# comment\n" + "\n".join(line.replace(" ", "\t") for line in lines))
    assert str(Fingerprint(te.read_qrels(str(tmp_path / "shuffled")))) == HASH
    groups = te.read_judgment_groups(
        io.BytesIO(b"3 A f 1\n2 C e -1\n2 A d 1\n1 B a 0\n1 B c 1\n1 B b 2\n1 A b 0\n1 A a 1\n")
    )
    assert str(Fingerprint(groups)) == str(Fingerprint(GROUPS))


def te_format(name: str) -> str:
    return {"txt": "qrels", "gz": "qrels", "tsv": "beir", "json": "json", "jsonl": "jsonl"}[name.rpartition(".")[2]]


@pytest.mark.parametrize("change", [{"a": 2}, {"b": -1}, {"d": 0}], ids=str)
def test_any_other_judgment_has_another_hash(change: dict[str, int]) -> None:
    assert str(Fingerprint(te.Qrels({**QRELS, "1": {**QRELS["1"], **change}}))) != HASH


# Refused --------------------------------------------------------------------------------------------

NOT_CLEAR = [
    ("", "'' is not a signature: it has no profile. Copy the whole signature."),
    ("AP(rel=1)", "'AP(rel=1)' is not a signature: it has no profile. Copy the whole signature."),
    (AP[:17], "'AP(rel=1)|p:trec_' is not a signature: it has no queries. Copy the whole signature."),
    (AP.rpartition("|")[0], f"'AP(rel=1)|p:trec_eval-10|#:2|q:{HASH}' is not a signature: it has no version. Copy the whole signature."),
    (f"{AP}|", f"'{AP}|' is not a signature: '' is not of the form key:value, or occurs twice."),
    (f"{AP}|depth", f"'{AP}|depth' is not a signature: 'depth' is not of the form key:value, or occurs twice."),
    (f"{AP}|#:3", f"'{AP}|#:3' is not a signature: '#:3' is not of the form key:value, or occurs twice."),
    (f"{AP}|topics:3", f"signature '{AP}|topics:3' has the unknown part 'topics'. Was it made by a later version?"),
    (f"{AP}|queries:2", f"signature '{AP}|queries:2' has the unknown part '#'. Was it made by a later version?"),
    (f"{AP}|ties:up", "ties:up is not a convention. Choose one of docid-desc, docid-asc, line, ranx, worst."),
    (f"{AP}|depth:-1", "depth:-1 is not a convention. Choose all, or a whole number."),
    (f"{AP}|width:16", "width:16 is not a convention. Choose one of 64, 32."),
    (AP.replace("-10", "-8"), "unknown profile 'trec_eval-8'. Did you mean trec_eval-9?"),
    (AP.replace("AP", "APP"), "unknown measure 'APP(rel=1)'. Did you mean AP(rel=1)? 'treceval measures' lists them all."),
    (AP.replace("AP(rel=1)", "P"), f"'{AP.replace('AP(rel=1)', 'P')}' is not a signature: 'P' is not one measure."),
    (AP.replace("#:2", "#:two"), f"'{AP.replace('#:2', '#:two')}' is not a signature: 'two' is not a number of queries."),
    (AP.replace("rel=1", "rel=x"), "measure 'AP(rel=x)': 'x' is not a whole number. See 'treceval measures' for its parameters."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), NOT_CLEAR, ids=[message[-40:] for _, message in NOT_CLEAR])
def test_what_is_no_signature_is_refused(folder: Path, text: str, message: str) -> None:
    with pytest.raises(te.MeasureError) as caught:
        te.evaluate(QRELS, RUN, signature=text)
    assert str(caught.value) == message
    done = treceval(["--repeat", text, "qrels", "run"], folder=folder)
    assert (done.status, done.out, done.err.decode()) == (2, b"", f"treceval: {message}\n")


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(te.MeasureError):
        te.Signature.parse(AP.replace("#:2", "#:" + "9" * 5000))


def test_other_judgments_are_refused(folder: Path) -> None:
    message = (
        f"signature '{AP}' was made with judgments {HASH}, but these are {sha('1 a 1')}. "
        "Use the judgments that it was made with."
    )
    with pytest.raises(te.EvaluationError) as caught:
        te.evaluate({"1": {"a": 1}}, RUN, signature=AP)
    assert str(caught.value) == message
    (folder / "others").write_text("1 0 a 1\n")
    done = treceval(["--repeat", AP, "others", "run"], folder=folder)
    assert (done.status, done.out, done.err.decode()) == (1, b"", f"treceval: {message}\n")


@pytest.mark.parametrize("other", [AP, AP.replace("trec_eval-10", "ranx")])
def test_two_signatures_of_one_measure_are_refused(folder: Path, other: str) -> None:
    message = "two signatures describe the same measure. Repeat them in separate calls or commands."
    with pytest.raises(te.MeasureError) as caught:
        te.evaluate(QRELS, RUN, signature=[AP, other])
    assert str(caught.value) == message
    done = treceval(["--repeat", AP, "--repeat", other, "qrels", "run"], folder=folder)
    assert (done.status, done.err.decode()) == (2, f"treceval: {message}\n")


def test_no_signature_at_all_is_refused() -> None:
    with pytest.raises(te.MeasureError) as caught:
        te.evaluate(QRELS, RUN, signature=[])
    assert str(caught.value) == "signatures must not be empty. Give at least one."


OPTIONS: list[dict[str, Any]] = [
    {"measures": ["map"]}, {"level": 1}, {"complete": True}, {"depth": 0}, {"judged_only": True},
    {"collection_size": 5}, {"profile": "ranx"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_beside_a_signature_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(te.MeasureError) as caught:
        te.evaluate(QRELS, RUN, signature=AP, **options)
    assert str(caught.value) == "a signature already fixes every scoring option. Remove the measures and other options."


@pytest.mark.parametrize(
    "options",
    [["-m", "map"], ["-c"], ["-l", "0"], ["-M", "0"], ["-J"], ["-N", "5"], ["--profile", "ranx"]],
    ids=" ".join,
)
def test_options_beside_a_signature_are_a_usage_error(folder: Path, options: list[str]) -> None:
    done = treceval([*options, "--repeat", AP, "qrels", "run"], folder=folder)
    message = f"treceval: --repeat already fixes how to score; remove {options[0]}. See 'treceval --help'.\n"
    assert (done.status, done.out, done.err.decode()) == (2, b"", message)


def test_control_characters_of_a_signature_are_shown(folder: Path) -> None:
    done = treceval(["--repeat", "a\nb\x1b[31m", "qrels", "run"], folder=folder)
    assert (
        done.err.decode()
        == "treceval: 'a\\nb\\x1b[31m' is not a signature: it has no profile. Copy the whole signature.\n"
    )


# What can be compared -------------------------------------------------------------------------------


def results_of(qrels: Any = QRELS, measure: str = "nDCG@10", **options: Any) -> te.Results:
    return replace(te.Evaluator(qrels, te.Scoring([measure], **options)).scored(RUN), run_name="mine", _rows={})


DIFFERENT: list[tuple[str, te.Results, te.Results, str]] = [
    ("level", results_of(measure="map"), results_of(measure="map", level=2), "AP(rel=1,norm=relevant,ties=ordered) and AP(rel=2,norm=relevant,ties=ordered)"),
    ("profile", results_of(), results_of(profile="ranx"), "ties docid-desc and ranx; dup refuse and last; missing out and empty"),
    ("width", results_of(), results_of(profile="trec_eval-9"), "width 64 and 32"),
    ("depth", results_of(depth=5), results_of(), "depth 5 and all"),
    ("qrels", results_of(), results_of({**QRELS, "3": {"z": 2}}), f"judgments {HASH} and {sha('1 a 1', '1 b 0', '1 c 2', '2 a 1', '3 z 2')}"),
    ("version", results_of(), replace(results_of(), version="0.0.9", _rows={}), f"version {te.__version__} and 0.0.9"),
    (
        "gain", results_of(), results_of(profile="gdeval"),
        LONG.partition("|")[0] + " and " + LONG.partition("|")[0].replace("linear", "exp") + "; norel in and out",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("what", "one", "other", "said"), DIFFERENT, ids=[case[0] for case in DIFFERENT])
def test_what_was_made_differently_is_not_compared(what: str, one: te.Results, other: te.Results, said: str) -> None:
    (name,) = one.names
    message = f"{name} of mine and of mine were made differently: {said}. Score both in the same way, or allow it with --force (force=True)."
    with pytest.raises(te.EvaluationError) as caught:
        te.check_comparable([one, other])
    assert str(caught.value) == message
    te.check_comparable([one, other], force=True)
    with pytest.raises(te.EvaluationError):
        te.check_comparable([one, one, other])


@pytest.mark.parametrize("name", [name for name in RESULT_FORMATS if name not in ("trec", "coursework", "json")])
def test_no_format_sets_side_by_side_what_was_made_differently(name: str) -> None:
    runs = [te.evaluate(QRELS, RUN, "nDCG@10"), te.evaluate(QRELS, RUN, "nDCG@10", profile="ranx")]
    with pytest.raises(te.EvaluationError, match="were made differently: ties docid-desc and ranx"):
        results_text(runs, name, Options(), Style())
    forced = results_text(runs, name, Options(force=True), Style(digits=4))
    assert [f"{run.mean['nDCG@10']:.4f}" in forced for run in runs] == [True, True]


def test_other_queries_other_names_and_other_tables_are_no_difference() -> None:
    fewer = te.evaluate(dict(QRELS), {"1": {"a": 1.0}}, "nDCG@10")
    te.check_comparable([te.evaluate(QRELS, RUN, "nDCG@10"), fewer])
    # 9.0.8 and pytrec_eval rank alike.
    te.check_comparable([results_of(profile="trec_eval-9"), results_of(profile="pytrec_eval")])


def test_measures_that_only_one_has_are_not_compared() -> None:
    te.check_comparable([results_of(measure="map"), results_of(measure="RR", level=2)])


def test_results_with_measures_in_another_order_are_not_mixed_up() -> None:
    one, other = te.evaluate(QRELS, RUN, ["map", "P@5"]), te.evaluate(QRELS, RUN, ["P@5", "map"])
    try:
        text = results_text([one, other], "csv", Options(), Style())
    except te.TrecevalError:
        return
    rows = {row[1]: row[2:] for row in csv.reader(io.StringIO(text))}
    assert rows["map"] == [repr(one.mean["map"])] * 2


def test_pickled_results_keep_their_signatures_and_leave_the_judgments_behind() -> None:
    qrels = {qid: {**judged, f"only-in-the-judgments-{qid}": 0} for qid, judged in QRELS.items()}
    results = te.evaluate(qrels, RUN, ["official", "nDCG(gains={1:0.1,2:0.30000000000000004})@10", "rbp"])
    data = pickle.dumps(results)
    again = pickle.loads(data)
    assert b"only-in-the-judgments" not in data
    assert again.signatures == results.signatures
    assert [each.long for each in again.signatures.values()] == [each.long for each in results.signatures.values()]
    assert again.matrix.tobytes() == results.matrix.tobytes()
    te.check_comparable([results, again])
    repeated = te.evaluate(qrels, RUN, signature=[each.short for each in again.signatures.values()])
    assert repeated.averages.tobytes() == results.averages[1:].tobytes()  # the first is runid, a text


# Both forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_both_forms_say_the_same_but_for_the_set_of_queries(profile: str) -> None:
    rng = random.Random(profile)
    qrels, run = te.Qrels(QRELS), with_ranks(RUN)
    for family in families(JudgedRun):
        try:
            signature = signed(qrels, run, [random_measure(family, rng)], profile=profile, complete=rng.random() < 0.5)
        except (te.MeasureError, te.EvaluationError):
            continue
        short, long = te.Signature.parse(signature.short), te.Signature.parse(signature.long)
        assert short.query_set == ""
        assert long.query_set == signature.query_set
        assert short._replace(measure=long.measure, query_set=long.query_set) == long
        assert short.long == long._replace(query_set="").long
        assert short.differences(long) == []
        assert te.Signature.parse(f"  {signature.short}\n") == short


@pytest.mark.parametrize(
    "names",
    [
        ("map", "AP", "MAP", "AP(rel=1)", "AP( rel = 1 )"),
        ("ndcg_cut.10", "nDCG@10", "ndcg_cut_10", "NDCG@10", "ndcg_cut(dcg='log2')@10", "nDCG(gain=linear)@10"),
        ("recip_rank", "RR", "MRR"),
        ("P.5", "P@5", "P_5", "Precision(rel=1)@5"),
        ("nDCG(dcg='exp-log2')@5", "nDCG(gain=exp)@5"),
    ],
    ids=lambda names: names[0],
)
def test_one_measure_has_one_signature_in_every_notation(names: tuple[str, ...]) -> None:
    assert len({signed(QRELS, RUN, [name]).long for name in names}) == 1
