"""What is declared of measures is true: each fact of each family, by brute force; and no fact lies anywhere else."""

from __future__ import annotations

import ast
import csv
import functools
import io
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from command import treceval
from modules import module_at
from random_runs import random_pair
from rankings import Batch, batch, closed, computed, near, random_measure, random_ranking
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.explaining import terms
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.measuring import FAMILIES, Family, Measure, declare
from treceval_py.measuring.facts import _NEEDS, Labels, Promotes, Sums
from treceval_py.measuring.registry import TEXT
from treceval_py.ranges import expected, tie_ranges, unjudged, unjudged_ranges

PACKAGE = Path(te.__file__).parent
ALLOWED = module_at(Path(__file__).parent.parent / ".ci" / "layers.py").ALLOWED

OF_ALL_QUERIES = [family for family in FAMILIES.values() if family.average.over is not None]
"""One value for all queries, to which documents of a query add nothing."""

NUMBERS = [
    family
    for family in FAMILIES.values()
    if family.judged is JudgedRun and family.kind != TEXT and family not in OF_ALL_QUERIES
]
NUMBERS.insert(0, FAMILIES["num_q"])  # of judgments of any kind
OTHERS = [family for family in FAMILIES.values() if family not in [*NUMBERS, *OF_ALL_QUERIES]]
ORDERED = [family for family in NUMBERS if family.promotes is not Promotes.UNKNOWN]
CLOSED = [family for family in NUMBERS if family.sums in expected._CLOSED]
SUMMED = [family for family in NUMBERS if family.sums in terms._TAKEN_APART]
LABELLED = [family for family in NUMBERS if family.labels is not Labels.UNKNOWN]

ALONE = {Sums.EACH, Sums.SHARE_OF_CUTOFF, Sums.SHARE_OF_RELEVANT, Sums.SHARE_OF_BEST, Sums.GAINS, Sums.GAINS_OF_IDEAL,
         Sums.POWERS, Sums.EACH_WITHIN, Sums.EACH_UNCUT}  # fmt: skip
"""What a document adds does not depend on the others."""


def failing(wrong: Callable[[Family], Any], families: Iterable[Family]) -> dict[str, Any]:
    """Return what is wrong with each family with which something is."""
    found = {family.name: wrong(family) for family in families}
    return {name: said for name, said in found.items() if said}


# Nothing is left out --------------------------------------------------------------------------------


def test_facts_are_declared_of_numbers_over_relevance_judgments_and_of_nothing_else() -> None:
    def facts(family: Family) -> tuple[Any, ...]:
        return family.promotes, family.sums, family.labels

    unknown = (Promotes.UNKNOWN, Sums.UNKNOWN, Labels.UNKNOWN)
    assert failing(lambda family: facts(family) != unknown or family.per_query, OF_ALL_QUERIES) == {}
    nothing = (*unknown, (), False)
    assert failing(lambda each: (*facts(each), each.kin, each.of_judgments) != nothing, OTHERS) == {}
    assert {each.uncut for each in OTHERS} == {None, FAMILIES["estap"], FAMILIES["estndcg"]}


def test_every_kind_has_an_algorithm_and_is_declared_by_some_measure() -> None:
    assert set(expected._CLOSED) == {*Sums} - {Sums.UNKNOWN}
    assert ALONE < set(terms._TAKEN_APART) < set(expected._CLOSED)
    assert set(unjudged._SEARCHES) == {*Labels} - {Labels.UNKNOWN}
    assert {family.promotes for family in NUMBERS} == {*Promotes}
    assert {family.sums for family in NUMBERS} == {*Sums}
    assert {family.labels for family in NUMBERS} == {*Labels}


# Ties -----------------------------------------------------------------------------------------------

DEPTHS = [None, None, 2, 4]


@functools.cache
def orders_of(number: int) -> Batch:
    rng = random.Random(f"orders {number}")
    rankings = [random_ranking(rng, 7) for _ in range(70)]
    return batch(rankings, [ranking.orders() for ranking in rankings], DEPTHS[number])


@functools.cache
def values_over(function: Any, parameters: tuple[tuple[str, Any], ...], of_batch: Any, number: int) -> Any:
    """Return the values of a measure in all that a batch could be."""
    return np.asarray(function(of_batch(number)[1], **dict(parameters)), dtype=np.float64)


def holds(wrong: Any, family: Family, **fact: Any) -> bool:
    """Tell whether a fact would be true of a family; one that needs what the family lacks is not."""
    try:
        return wrong(Family(**vars(family) | fact)) == ""
    except (TypeError, IndexError, AttributeError, te.errors.TrecevalError):
        return False


def wrong_orders(family: Family, draw: int = 0) -> str:
    """Return the first measure of a family of which a range over orders is wrong, and which part of it."""
    rng = random.Random(family.name + "'" * draw)
    for number, depth in enumerate(DEPTHS):
        judged, _, starts = orders_of(number)
        measure = random_measure(family, rng)
        while depth is not None and dict(measure.parameters).get("ideal") == "retrieved":
            measure = random_measure(family, rng)
        values = values_over(family.function, measure.parameters, orders_of, number)
        (found,) = tie_ranges(judged, [measure], depth)
        lowest, highest = np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])
        if not (near(found.lowest, lowest) and near(found.highest, highest)):
            return f"{measure.notation}: extremes"
        if not near(found.expected, np.add.reduceat(values, starts[:-1]) / np.diff(starts)):
            return f"{measure.notation}: average"
        if not (found.touched == (highest - lowest > 1e-11)).all():
            return f"{measure.notation}: touched"
    return ""


def test_lowest_expected_and_highest_value_are_those_over_all_orders() -> None:
    assert failing(wrong_orders, ORDERED) == {}


def test_closed_forms_do_without_trying_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "MOST_ORDERS", 0)
    measures = [family.measures()[0].with_defaults({"max_rel": 4}) for family in CLOSED]
    found = tie_ranges(orders_of(0)[0], measures)
    assert [str(m) for m, each in zip(measures, found, strict=True) if np.isnan(each.expected).any()] == []


NOT_SHOWN_TO_PROMOTE = {"inst": {Promotes.GAIN, Promotes.BOTH}}
"""No counterexample is known of these, and no proof either."""


def believable(family: Family) -> list[Promotes]:
    """Return what is not shown to be wrong of a family."""
    # It may be true for some values of the parameters: a few are drawn before it is believed.
    draws = {
        kind: (wrong_orders(Family(**vars(family) | {"promotes": kind}), draw) for draw in range(12))
        for kind in {*Promotes} - {Promotes.UNKNOWN} - NOT_SHOWN_TO_PROMOTE.get(family.name, set())
    }
    return [kind for kind, found in draws.items() if not any(each.endswith("extremes") for each in found)]


def test_what_is_promoted_is_unknown_only_where_nothing_known_is() -> None:
    assert failing(believable, [family for family in NUMBERS if family.promotes is Promotes.UNKNOWN]) == {}


NOTHING_TO_AVERAGE = {"fallout": [Sums.EACH_UNCUT]}
"""Without a depth the order is of no account."""


def test_a_sum_is_unknown_only_where_it_is_none_that_is_known() -> None:
    def wrong(family: Family) -> list[Sums]:
        known = [kind for kind in expected._CLOSED if holds(wrong_orders, family, sums=kind)]
        # Where the order is of no account, there is nothing to average.
        every = [*expected._CLOSED] * (family.promotes is Promotes.NOTHING)
        return known if known != NOTHING_TO_AVERAGE.get(family.name, every) else []

    assert failing(wrong, [family for family in ORDERED if family.sums is Sums.UNKNOWN]) == {}


# Sums -----------------------------------------------------------------------------------------------


def other_measure(family: Family, rng: random.Random) -> Measure:
    """Return a measure that does not average ties."""
    while True:
        measure = random_measure(family, rng)
        if dict(measure.parameters).get("ties") != "average":
            return measure


LISTS = [[2, 0, 1, None], [1, None, 3], [1, 1, None]]
MISSED = {"m": 1, "n": 0, "o": 2}


def wrong_terms(family: Family) -> str:
    """Return the first measure of which the terms do not add up to the value in some order."""
    rng = random.Random(family.name)
    for labels in LISTS:
        docids = [f"d{number}" for number in range(len(labels))]
        qrels = {"1": {docid: label for docid, label in zip(docids, labels, strict=True) if label is not None} | MISSED}
        measure = other_measure(family, rng)
        unknown = te.explaining.arithmetic(qrels, {"1": {f"u{docid}": 1.0 for docid in docids}}, measure, "1")
        added: dict[tuple[str, int], float] = {}
        for order in itertools.permutations(docids):
            found = te.explaining.arithmetic(
                qrels, {"1": {docid: -float(rank) for rank, docid in enumerate(order)}}, measure, "1"
            )
            # A value that starts from something else than 0 is not a sum of what documents add.
            right = found.apart == (unknown.value == 0)
            if found.apart:
                total = math.fsum(term.value for term in found.terms)
                right = right and closed(found.closing, total) == pytest.approx(found.value, rel=2e-5, abs=1e-12)
                for term in found.terms if family.sums in ALONE else []:
                    right = right and term.value == pytest.approx(added.setdefault((term.docid, term.rank), term.value))
            if not right:
                return f"{measure.notation} of {order}"
    return ""


def test_terms_add_up_to_the_value_in_all_orders() -> None:
    assert failing(wrong_terms, SUMMED) == {}


# Labels of unjudged documents -----------------------------------------------------------------------


@functools.cache
def fillings_of(top: int) -> Batch:
    rng = random.Random(f"labels {top}")
    rankings = [random_ranking(rng, 8, {1: 7, 2: 5, 3: 4, 4: 3}[top]) for _ in range(200)]
    return batch(rankings, [ranking.fillings(top) for ranking in rankings])


def wrong_labels(family: Family) -> str:
    """Return the first measure of a family of which a range over labels is wrong."""
    rng = random.Random(family.name)
    for top in (1, 2, 3, 4) if not family.takes("max_rel") else (4, 4, 4, 4):
        judged, _, starts = fillings_of(top)
        measure = other_measure(family, rng)
        values = values_over(family.function, measure.parameters, fillings_of, top)
        (found,) = unjudged_ranges(judged, [measure], top)
        lowest, highest = np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])
        if not (near(found.lowest, lowest) and near(found.highest, highest)):
            return measure.notation
    return ""


def test_lowest_and_highest_value_are_those_over_all_labels() -> None:
    assert failing(wrong_labels, LABELLED) == {}


COUNTS = {"num_q", "num_ret", "num_rel", "ideal_dcg", "num_nonrel_judged_ret", "rbp_resid", "rbp_residual", "unj",
          "judged", "set_judged", "hole"}  # fmt: skip
"""Declined: they count what is judged or could be found, so labels for all that is unjudged say nothing of the run."""

NOT_SHOWN_TO_RISE = {"inst", "nerr8_cut", "nerr9_cut", "nerr10", "nerr11"}
"""Declined: no counterexample is known, and no proof either."""


def test_labels_are_unknown_only_where_they_are_none_that_are_known() -> None:
    known = {
        family.name
        for family in NUMBERS
        if family.labels is Labels.UNKNOWN
        and any(holds(wrong_labels, family, labels=kind) for kind in unjudged._SEARCHES)
    }
    assert known == COUNTS | NOT_SHOWN_TO_RISE


# Kin ------------------------------------------------------------------------------------------------

UNCUT = [(family, family.uncut) for family in FAMILIES.values() if family.uncut and family.from_relevance]


def test_a_measure_without_a_cutoff_is_found_by_its_notation() -> None:
    assert [(cut.name, whole.name) for cut, whole in UNCUT] == [
        ("ndcg_cut", "ndcg"), ("map_cut", "map"), ("success", "set_success"), ("recip_rank_cut", "recip_rank"),
        ("judged", "set_judged"), ("err_cut", "err"), ("nerr_cut", "nerr"), ("rbp_binary_cut", "rbp_binary"),
        ("rbp_graded_cut", "rbp_graded"), ("accuracy_cut", "accuracy"), ("dcg_cut", "dcg"), ("hits_cut", "hits"),
        ("fallout_cut", "fallout"), ("auc_cut", "auc"), ("pfound_cut", "pfound"),
    ]  # fmt: skip


def test_a_cutoff_beyond_the_end_is_none() -> None:
    wrong = {}
    for cut, whole in [*UNCUT, (FAMILIES["recall"], FAMILIES["set_recall"])]:
        rng = random.Random(cut.name)
        for number in range(3):
            given = dict(random_measure(cut, rng).parameters)
            common = {name: value for name, value in given.items() if whole.takes(name)}
            far = Measure(cut, tuple({**given, "cutoff": 5000}.items()))
            judged = orders_of(number)[0]
            if (computed(far, judged) != computed(Measure(whole, tuple(common.items())), judged)).any():
                wrong[cut.name] = common
    assert wrong == {}


def test_kin_are_measures_with_the_same_cutoff() -> None:
    kin = [(family, FAMILIES[name]) for family in FAMILIES.values() for name, _ in family.kin]
    assert kin
    assert all(family.at is other.at and family is not other for family, other in kin)


# Judgments alone ------------------------------------------------------------------------------------

KEPT_AT_ZERO = {"ideal_dcg"}
"""It depends on judgments alone, and trec_eval 9 adds 0 for a query that the run lacks all the same."""


def test_what_is_counted_from_judgments_does_not_change_with_the_run() -> None:
    same = {family.name for family in NUMBERS}
    rng = random.Random(1)
    for _ in range(12):
        qrels, run = random_pair(rng)
        others = {qid: {f"x{docid}": score for docid, score in row.items()} for qid, row in run.items()}
        every = [judge(te.Qrels(qrels), te.Run(each), tied=True, complete=True) for each in (run, others, {})]
        for family in NUMBERS:
            measure = random_measure(family, rng)
            first, *rest = (computed(measure, judged) for judged in every)
            same -= {family.name} if any((first != each).any() for each in rest) else set()
    assert same == {family.name for family in NUMBERS if family.of_judgments} | KEPT_AT_ZERO


# Facts are declared, and nowhere else ----------------------------------------------------------------

CHOICES = {
    "grading/claims/naming.py": {"_IN_FULL", "_ORDINARY"},
    "comparing/saved/trec.py": {"TAG"},
}
"""Measures that a command asks for by name, as a user does: they are parsed, and say nothing about a measure."""

HOMONYMS = {"judged", "recall", "unj"}
"""Words for columns, curves and values of parameters, too."""


def outside() -> Iterator[Path]:
    """Yield the modules that could know a measure by its name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        package = path.relative_to(PACKAGE).parts[0]
        # In integrations the names are keys of other packages; programs print theirs.
        known = package in ("measuring", "integrations") or path.stem in ("profiles", "programs")
        if "measuring" in ALLOWED.get(package, set()) and not known:
            yield path


def named(tree: ast.AST) -> set[str]:
    """Return the names of families in strings: alone, or in a list with spaces."""
    strings = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    lists = (text.split() for text in strings)
    return {name for names in lists if set(names) <= set(FAMILIES) for name in names} - HOMONYMS


def is_choice(node: ast.stmt, names: set[str]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)


def test_no_family_is_named_outside() -> None:
    found, chosen = {}, {}
    for path in outside():
        where = path.relative_to(PACKAGE).as_posix()
        choices = CHOICES.get(where, set())
        tree = ast.parse(path.read_text("utf-8"))
        found[where] = {name for node in tree.body if not is_choice(node, choices) for name in named(node)}
        chosen[where] = {name for name in choices if any(is_choice(node, {name}) for node in tree.body)}
    assert {where: names for where, names in found.items() if names} == {}
    assert {where: names for where, names in chosen.items() if names} == CHOICES


def test_profiles_name_measures_that_there_are() -> None:
    for name, profile in te.scoring.PROFILES.items():
        exceptions = {name.partition(":")[0].partition("@")[0] for name in profile.exceptions}
        assert {*exceptions, *profile.meanings, *profile.leaves_out, *profile.computes} <= set(FAMILIES), name
        assert te.measuring.parse_measures(profile.measures), name


def test_names_are_found_in_tables() -> None:
    assert named(ast.parse("KIN = {'map': ('err', 'x')}\nMANY = 'P success'\nx.name == 'num_q'")) == {
        "map", "err", "P", "success", "num_q",
    }  # fmt: skip


# Measures from outside ------------------------------------------------------------------------------

PLUGIN = '''
from treceval_py.judging import JudgedRun
from treceval_py.measuring import declare


def dice(run: JudgedRun, *, level: int = 1, cutoff: int):
    """Dice: the overlap of the first k documents and the relevant ones.

    Formula
    -------
    Dice@k = 2·(relevant documents at ranks 1..k) / (k + R).

    Parameters
    ----------
    level : int
        Lowest relevant judgment.
    cutoff : int
        k, from 1.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Dice, L. R. Measures of the Amount of Ecologic Association Between Species. Ecology 26(3), 1945.

    Examples
    --------
    One of two relevant documents: 2·1 / (2 + 2).
    """
    found = run.found(level)
    return 2 * run.count(found.query[found.rank <= cutoff]) / (cutoff + run.num_rel(level))


declare(dice, "dice", notation=["Dice"], at="cutoff", cutoffs=(2, 5), promotes="relevance", sums="each", labels="above cutoff")


def silent(run: JudgedRun, *, level: int = 1):
    """Says nothing."""
    return run.num_rel_ret(level)


declare(silent, "silent")


def ordered(run: JudgedRun, *, level: int = 1):
    """Half of it is said."""
    found = run.found(level)
    return run.sum(found.query, 1.0 / (found.rank * found.nth))


declare(ordered, "ordered", promotes="relevance")
'''

FILES = {
    "own.py": PLUGIN,
    "qrels": "1 0 a 1\n1 0 b 0\n1 0 c 2\n",
    "run": "1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n1 Q0 x 3 2 t\n1 Q0 c 4 1 t\n",
    "sure": "1 Q0 a 1 4 t\n1 Q0 x 2 3 t\n1 Q0 b 3 2 t\n1 Q0 c 4 1 t\n",
}
# In the run a, b and x are tied, and c stands below them; of equal scores the larger id stands first: x b a c. R = 2.


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a plugin, whose measures are forgotten."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with patch.dict(FAMILIES):
        yield tmp_path


def command(folder: Path, *arguments: str, status: int = 0) -> str:
    done = treceval([*arguments], folder=folder)
    assert done.status == status, done.err
    return (done.out or done.err).decode()


def row(text: str) -> dict[str, float]:
    (found,) = csv.DictReader(io.StringIO(text))
    return {name: float(value) for name, value in found.items() if name in ("value", "lowest", "expected", "highest")}


def test_a_plugin_s_measure_has_ranges(folder: Path) -> None:
    # a is among the first two in two of three orders, with 2·1 / (2 + 2).
    found = row(command(folder, "--plugin", "own.py", "--ties", "--format", "csv", "-m", "Dice@2", "qrels", "run"))
    assert found == pytest.approx({"value": 0, "lowest": 0, "expected": 1 / 3, "highest": 1 / 2})
    # Is x relevant, it is found, and R = 3: 2·1 / (2 + 3).
    found = row(command(folder, "--plugin", "own.py", "--unjudged", "--format", "csv", "-m", "Dice@2", "qrels", "run"))
    assert found == pytest.approx({"value": 0, "lowest": 0, "highest": 2 / 5})
    # In `sure` a is found already; with x it is 2·2 / (2 + 3).
    found = row(command(folder, "--plugin", "own.py", "--unjudged", "--format", "csv", "-m", "Dice@2", "qrels", "sure"))
    assert found == pytest.approx({"value": 1 / 2, "lowest": 1 / 2, "highest": 4 / 5})


def test_a_plugin_s_measure_has_arithmetic_and_a_page(folder: Path, snapshot: SnapshotAssertion) -> None:
    # Both relevant documents are within the first five, each with 2 / (5 + 2).
    text = command(folder, "explain", "qrels", "sure", "--plugin", "own.py", "-m", "Dice@5", "--query", "1")
    assert text.splitlines()[0] == f"Dice(rel=1)@5 of query 1 = {4 / 7:.6f}"
    assert [text, command(folder, "measures", "--plugin", "own.py", "dice")] == snapshot
    made = module_at(PACKAGE.parent / "docs" / "make.py").measure(FAMILIES["dice"])
    assert "> Dice@k = 2·(relevant documents at ranks 1..k) / (k + R)." in made


def test_documents_that_moved_are_known_of_a_plugin_s_measure(folder: Path) -> None:
    text = command(
        folder,
        "compare",
        "qrels",
        "sure",
        "run",
        "--plugin",
        "own.py",
        "-m",
        "Dice@2",
        "--per-query",
        "1",
        "--test",
        "t",
    )
    # Among the first two a stands in one run alone: 2·1 / (2 + 2).
    assert "\n    a           1  1 → 3  0.5000 → 0.0000  -0.5000\n" in f"{text}\n"


def test_a_plugin_that_declares_no_facts_is_refused_where_they_are_needed(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    refused = [
        command(folder, "--plugin", "own.py", option, "-m", "silent", "qrels", "run", status=2)
        for option in ("--ties", "--unjudged")
    ]
    text = command(folder, "explain", "qrels", "run", "--plugin", "own.py", "-m", "silent", "--query", "1")
    assert [*refused, text] == snapshot


def test_of_a_plugin_without_a_sum_all_orders_are_tried(folder: Path) -> None:
    # a at rank 1, 2 or 3 and c at rank 4: 1 + 1/8, 1/2 + 1/8, 1/3 + 1/8.
    found = row(command(folder, "--plugin", "own.py", "--ties", "--format", "csv", "-m", "ordered", "qrels", "run"))
    mean = (1 + 1 / 2 + 1 / 3) / 3 + 1 / 8
    assert found == pytest.approx({"value": 11 / 24, "lowest": 11 / 24, "expected": mean, "highest": 9 / 8})


def test_a_fact_that_cannot_be_is_refused(snapshot: SnapshotAssertion) -> None:
    def function(run: JudgedRun, *, level: int = 1) -> Any:
        """Never declared."""
        return run.num_rel(level)

    needed = [kind for kind in Sums if kind.value in _NEEDS]
    facts: list[dict[str, Any]] = [{"sums": "none"}, {"labels": "x"}, {"promotes": Sums.EACH}]
    facts += [{"sums": kind.value} for kind in needed] + [{"labels": Labels.ABOVE_CUTOFF}]
    assert [refusal(declare, function, "x", **fact) for fact in facts] == snapshot
    assert "x" not in FAMILIES
