"""Names of measures as other programs write them: what they mean here; test_scoring_ml_stack has values."""

from __future__ import annotations

import json
import math
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import treceval
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.errors import MeasureError, TrecevalWarning, UnknownMeasureError
from treceval_py.explaining.explanation import read_claim
from treceval_py.measuring import FAMILIES, NICKNAMES, declare, parse_measures
from treceval_py.measuring.registry import NOT_COMPUTED, Measure
from treceval_py.measuring.spelling import folded

with Path(__file__).with_name("spellings.toml").open("rb") as file:
    SPELLINGS: dict[str, str] = {name: ours for names in tomllib.load(file).values() for name, ours in names.items()}
"""How programs write measures, and the same in our notation."""

meant = parse_measures


def test_a_name_of_another_program_is_the_measure_that_it_means() -> None:
    found = {written: meant(written) for written in SPELLINGS}
    assert {written: of for written, of in found.items() if of != meant(SPELLINGS[written])} == {}
    assert [measure.name for (measure,) in found.values()] == list(found)  # printed as it was asked for


def test_a_list_of_cutoffs_is_several_measures() -> None:
    assert [each.name for each in meant("P@[5,10]")] == ["P@5", "P@10"]
    assert [each.name for each in meant("ndcg_burges@[5, 10,20]")] == [
        "ndcg_burges@5", "ndcg_burges@10", "ndcg_burges@20",
    ]  # fmt: skip
    assert meant("nDCG(gain=exp)@[5, 10]") == meant("nDCG(gain=exp)@5") + meant("nDCG(gain=exp)@10")


WRITTEN_OUT = {
    "NDCG10": "nDCG@10",
    "P5": "P@5",
    "recall10": "R@10",
    "Mean Average Precision": "AP",
    "NDCG at 10": "nDCG@10",
    "mAP": "AP",
    "mAP@5": "AP@5",
    "mrr_cut_2": "RR@2",
    "mrr_cut.2": "RR@2",
    "IPrec(recall=0.1)": "IPrec@0.1",
    "nDCG(cutoff=5)": "nDCG@5",
    "nerr10": "NERR10",  # the name of a measure of its own, not nERR@10
}
"""Names as people write them, in no program's notation."""


def test_a_name_in_words_or_with_its_cutoff_glued_to_it_is_read() -> None:
    assert {written: meant(written) for written in WRITTEN_OUT} == {
        written: meant(ours) for written, ours in WRITTEN_OUT.items()
    }
    # rbp.95 has no cutoff there; nothing is called F@2; nothing is called Mean Average.
    for wrong in ("rbp95", "F2", "Mean Average"):
        assert "unknown measure" in refusal(meant, wrong)


def test_several_names_in_one_text_are_a_list() -> None:
    for text in ("map,nDCG@10", "map nDCG@10", " map , nDCG@10 "):
        assert meant(text) == meant(["map", "nDCG@10"])
    assert meant("P.5,10,map") == meant(["P.5,10", "map"])
    assert meant("official,P.3") == meant(["official", "P.3"])
    assert meant("nDCG(gain=exp,base=2)@10,AP") == meant(["nDCG(gain=exp,base=2)@10", "AP"])
    # Commas of cutoffs and parameters separate nothing.
    assert [each.name for each in meant("utility.1,-1,0,0")] == ["utility_1,-1,0,0"]
    assert "'5,10' is not a whole number" in refusal(meant, "P@5,10")
    assert "unknown measure 'ndgc'. Did you mean ndcg?" in refusal(meant, "map,ndgc")


REFUSED = [
    "p-MRR", "robustness_at_10", "max_over_subqueries_map_at_10", "main_score", "mrt", "RetrievalPrecisionRecallCurve",
    "base_map", "Rprec@5", "nDCG(judged_only=yes)@10", "P@[5,10", "r-precision@5", "IPrec", "ndcg@0", "map@-1", "P@5,10",
    "Rbp@95", "ndcg_burges@10-l2", "ndcg@10-l1001", "HitRate(relevance_threshold=x)@1", "ndcg(top_k=5)@10", "NDCG:type=Foo",
    "NDCG:top", "NDCG:top=5;top=6", "MRR:border=x", "nDCG(dcg='log3')@5", "dcg_burges@[5,0]", "P@[]", "rbp.1x", "rbp.", "rbp@",
    "prefs_simp(judged_only=True)",
]  # fmt: skip


def test_a_name_that_cannot_be_computed_is_refused_with_the_reason(snapshot: SnapshotAssertion) -> None:
    assert {name: refusal(meant, name) for name in REFUSED} == snapshot
    # 1000 is the highest level.
    assert dict(meant("ndcg@10-l1000")[0].parameters)["gains"] == dict.fromkeys(range(1, 1000), 0)


def test_what_is_not_computed_is_no_measure() -> None:
    spelled = {folded(spelling) for family in FAMILIES.values() for spelling, _ in family.written}
    names = {folded(name) for family in FAMILIES.values() for name in (family.name, *family.notation)}
    for name in NOT_COMPUTED:
        assert folded(name) not in spelled | names
        with pytest.raises(UnknownMeasureError, match="cannot be computed here"):
            meant(name.replace("*", "map"))


# --- case ---


def bare_names() -> Iterator[tuple[str, str]]:
    """Yield all names without the marks of programs, with a cutoff and without one."""
    for family in FAMILIES.values():
        spelled = [spelling for spelling, _ in family.written if spelling.isidentifier()]
        for name in (family.name, *family.notation, *spelled):
            yield name, ""
            yield name, "@5" if family.at is None or family.at.name != "recall" else "@0.5"


def found(name: str) -> list[Measure] | None:
    try:
        return meant(name)
    except MeasureError:
        return None


def test_case_does_not_matter_where_no_two_measures_differ_by_it() -> None:
    exact = {name for family in FAMILIES.values() for name in (family.name, *family.notation)}
    accepted = refused = 0
    for name, cutoff in bare_names():
        asked = found(name + cutoff)
        if asked is None:
            continue
        for variant in {name.lower(), name.upper(), name.title(), name.swapcase()} - exact:
            again = found(variant + cutoff)
            if again is None:
                # Names of families alone, and the few that two measures share.
                alike = [each for each in exact if each.lower() == name.lower()]
                alone = not cutoff and any(each in FAMILIES for each in alike)
                assert alone or len({str(found(each + cutoff)) for each in alike}) > 1, variant + cutoff
                refused += 1
            else:
                assert again == asked, variant + cutoff
                accepted += 1
    assert accepted > refused > 0


# --- hints ---

LETTERS = "abeglmnprtuxz_"


def damaged(text: str, rng: random.Random) -> str:
    """Return a text with one letter of its name left out, added, replaced or swapped, or of another case."""
    end = re.search(r"[(@:.\[\d]|-(l\d+)?$", text[1:])
    length = len(text) if end is None else 1 + end.start()
    at = rng.randrange(length)
    other = rng.choice(LETTERS)
    kind = rng.randrange(5)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + other + text[at:]
    if kind == 2:
        return text[:at] + other + text[at + 1 :]
    if kind == 3 and at + 1 < length:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + text[at].swapcase() + text[at + 1 :]


def all_names() -> list[str]:
    """Return every name that is written anywhere, with its cutoff."""
    ours = [measure.name for family in FAMILIES.values() for measure in family.measures()[:1]]
    notation = [measure.notation for family in FAMILIES.values() for measure in family.measures()[:1]]
    return [*FAMILIES, *NICKNAMES, *ours, *notation, *SPELLINGS]


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_hint_never_names_what_computes_something_else(times: int) -> None:
    rng = random.Random(times)
    hints = refusals = 0
    for name in all_names() * times:
        wrong = damaged(name, rng)
        try:
            meant(wrong)
        except MeasureError as error:
            refusals += 1
            hint = error.todo.partition("Did you mean ")[2].partition("?")[0]
            if hint:
                hints += 1
                said = error.what.partition("'")[2].rpartition("'")[0]  # the measure within nAUC, or the whole name
                assert meant(wrong.replace(said, hint)) == meant(name), f"{name}: {wrong} -> {hint}"
    assert hints > refusals / 4  # they are of use


def test_the_hint_keeps_what_follows_the_name() -> None:
    for wrong, hint in {
        "ndgc@10": "ndcg@10",
        "nDGC@10": "nDCG@10",
        "ndcgg_at_10": "ndcg_at_10",
        "NDGC:top=5;type=Exp": "NDCG:top=5;type=Exp",
        "RetrievalHitRat(top_k=5)": "retrieval_hit_rate(top_k=5)",
        "metric/ndgc_10": "metric/ndcg_10",
        "oficial": "official",
        "Map": "map",
        # Two letters may differ in a name of eight, one in a name of seven.
        "accuxxcy": "accuracy",
        "hxtrate": "hit_rate",
    }.items():
        assert f"Did you mean {hint}?" in refusal(meant, wrong)
    # Two letters of seven, three of eight; map or gap; another cutoff is another measure.
    for wrong in ("hixxate", "acxxxacy", "MAp", "rexxll@5", "success_at"):
        assert "Did you mean" not in refusal(meant, wrong)


# --- names that mean two things ---

QRELS = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"d": 2, "e": 0, "f": 1}}
RUN = {"1": {"b": 3.0, "x": 2.5, "a": 2.0, "c": 1.0}, "2": {"y": 4.0, "d": 3.0, "e": 2.0, "f": 1.0}}

OWN = te.scoring.Profile(
    "own", "a program of somebody's own", names={"accuracy": "Success", "hits": "Success", "ndcg": "nDCG@3"}
)


def test_a_name_that_means_two_things_has_a_note(snapshot: SnapshotAssertion) -> None:
    said = {}
    for name in ("auc", "Accuracy@1", "accuracy", "accuracy_at_5", "hits@5", "HITS@5", "mean_average_precision"):
        (measure,) = meant(name)
        with pytest.warns(TrecevalWarning) as warned:
            te.evaluate(QRELS, RUN, [name])
        assert [str(each.message) for each in warned] == [measure.note]
        assert warned[0].filename == __file__
        said[name] = measure.note
    assert said == snapshot
    assert [meant(name)[0].note for name in ("MAP", "Mean Average Precision")] == ["", ""]
    assert [one.name for one in parse_measures("Mean Average Precision, nDCG@10")] == ["AP", "nDCG@10"]


@pytest.mark.filterwarnings("error")
def test_a_profile_decides_what_a_name_means() -> None:
    results = te.evaluate(QRELS, RUN, ["Accuracy@3", "hits@1", "accuracy_at_2", "P_1", "map"], profile=OWN)
    plain = te.evaluate(QRELS, RUN, ["Success@3", "Success@1", "Success@2", "P_1", "map"])
    assert list(results.mean.values()) == list(plain.mean.values())
    assert list(results.mean) == ["Accuracy@3", "hits@1", "accuracy_at_2", "P_1", "map"]


def test_a_profile_may_give_a_bare_name_a_cutoff() -> None:
    results = te.evaluate(QRELS, RUN, ["NDCG", "ndcg@2"], profile=OWN)
    wanted = te.evaluate(QRELS, RUN, ["nDCG@3", "nDCG@2"])
    assert list(results.mean.items()) == [("NDCG", wanted.mean["nDCG@3"]), ("ndcg@2", wanted.mean["nDCG@2"])]


def test_a_profile_that_says_nothing_of_a_form_leaves_it_as_it_is() -> None:
    whole = te.scoring.Profile("whole", "one that recalls of the whole list", names={"recall": "SetR"})
    (alone,) = whole.parse("recall")
    (cut,) = whole.parse("recall@5")
    assert (alone.notation, cut.notation) == ("SetR", "R@5")
    assert whole.parse("recall_5") == parse_measures("recall_5")


def test_the_profile_decides_in_claims_too() -> None:
    assert read_claim("accuracy@1=0.5", OWN.names).measure == meant("Success@1")[0]
    explained = te.explain(QRELS, RUN, claims=["ndcg_at_10=0.5", "Accuracy@1=0.0"], profile=OWN)
    assert [each.measure.notation for each in explained.measures] == ["nDCG@10", "Success@1"]


def test_ir_measures_profile_takes_its_own_accuracy() -> None:
    (measure,) = te.scoring.PROFILES["ir_measures"].parse("Accuracy@5")
    assert (measure.notation, measure.note) == ("Accuracy@5", "")


# --- in every place where a measure is named ---


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {rel}\n" for q, judged in QRELS.items() for d, rel in judged.items()))
    run.write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, docs in RUN.items() for d, score in docs.items()))
    return qrels, run


NOTE = (
    "note: Accuracy@1 is the share of pairs in the right order; in BEIR and sentence-transformers it is Success@k, and in "
    "MTEB R@1. Other profiles may define it differently.\n"
)


def test_commands_take_other_programs_names_and_note_what_means_two_things(files: tuple[Path, Path]) -> None:
    qrels, run = map(str, files)
    done = treceval(["-m", "ndcg_at_10", "-m", "Accuracy@1", "-m", "P@[1,2]", qrels, run])
    assert done.status == 0
    assert [line.split()[0].decode() for line in done.out.splitlines()] == ["P@1", "P@2", "ndcg_at_10", "Accuracy@1"]
    assert done.err.decode() == NOTE
    done = treceval(["-m", "Accuracy@1", "--format", "csv", qrels, run, run])
    assert done.err.decode() == NOTE
    done = treceval(["explain", "--claim", "Accuracy@1=0.5", qrels, run])
    assert done.err.decode() == NOTE
    done = treceval(["explain", "--query", "1", "-m", "mrr", qrels, run])
    assert done.out.startswith(b"RR(rel=1) of query 1 = 0.333333")
    # 1/log2(4) of 1, and (2/log2(3) + 1/log2(5)) / (2 + 1/log2(3)): the documents that are relevant, by rank.
    first, second = 1 / math.log2(4), (2 / math.log2(3) + 1 / math.log2(5)) / (2 + 1 / math.log2(3))
    done = treceval(["-m", "cosine-NDCG@10", "-m", "NDCG@10", qrels, run])
    assert done.out.splitlines()[1].split()[-1].decode() == f"{(first + second) / 2:.4f}"


def test_a_measure_is_explained_by_any_of_its_names() -> None:
    for name in ("hit_rate", "hit_rate@10", "cosine_accuracy@1", "Success@1"):
        done = treceval(["measures", name])
        assert done.status == 0
        assert b"also written: hit_rate" in done.out


def test_the_json_has_the_name_that_was_asked_for_as_its_key(files: tuple[Path, Path]) -> None:
    qrels, run = map(str, files)
    done = treceval(["-m", "NDCG:top=10;type=Exp", "-m", "map@2-l2", "--format", "json", qrels, run])
    (scored,) = json.loads(done.out)["runs"]
    assert set(scored["mean"]) == {"map@2-l2", "NDCG:top=10;type=Exp"}


def test_trec_evals_names_are_read_without_the_grammar_of_others() -> None:
    import subprocess
    import sys

    code = (
        "import sys, treceval_py as te\n"
        "te.measuring.parse_measures(['official', 'map', 'P.5,10', 'ndcg_cut_10', 'nDCG@10', 'AP(rel=2)@100', 'set_F.0.5'])\n"
        "sys.exit('treceval_py.measuring.spelling' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_declared_measure_may_have_other_names() -> None:
    def twice(run: te.judging.JudgedRun, *, cutoff: int) -> te._types.IntArray:
        """Twice the documents retrieved, up to a cutoff."""
        return 2 * run.num_ret.clip(max=cutoff)

    declare(twice, "twice", notation=["Twice"], at="cutoff", written={"double": "", "double:": ""})
    try:
        assert meant("double_at_3") == meant("Double@3") == meant("Double:top=3") == meant("Twice@3")
    finally:
        del FAMILIES["twice"]


# --- ir_measures ---


def test_ir_measures_own_measures_are_taken() -> None:
    pytest.importorskip("ir_measures")
    from ir_measures import AP, RR, P, SetP, nDCG

    asked = [nDCG @ 10, AP(rel=2) @ 100, P @ [5, 10], nDCG(judged_only=True) @ 5, SetP(relative=True), RR]
    texts = ["nDCG@10", "AP(rel=2)@100", "P@5", "P@10", "nDCG(judged_only=True)@5", "SetRelP", "RR"]
    assert parse_measures(asked) == parse_measures(texts)
    assert te.evaluate(QRELS, RUN, nDCG @ 10).mean == te.evaluate(QRELS, RUN, "nDCG@10").mean


JUDGED_ONLY = ["nDCG@5", "AP", "AP@3", "RR", "P@3", "Rprec", "Success@1", "SetP", "SetAP", "SetF", "IPrec@0.5"]


def only_judged(name: str) -> str:
    head, at, cutoff = name.partition("@")
    return f"{head}(judged_only=True){at}{cutoff}"


def random_pair(rng: random.Random) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    documents = [f"d{number}" for number in range(30)]
    qrels = {str(q): {d: rng.choice([0, 0, 1, 2]) for d in rng.sample(documents, 12)} for q in range(4)}
    run = {str(q): {d: rng.random() for d in rng.sample(documents, rng.randrange(1, 25))} for q in range(4)}
    return qrels, run


def test_unjudged_documents_are_taken_out_for_one_measure_as_in_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    rng = random.Random(7)
    names = [only_judged(name) for name in JUDGED_ONLY]
    differ = 0
    for _ in range(10):
        qrels, run = random_pair(rng)
        measures = [ir_measures.parse_measure(name) for name in names]
        theirs = {
            (each.query_id, str(each.measure)): each.value for each in ir_measures.iter_calc(measures, qrels, run)
        }
        results = te.evaluate(qrels, run, [*names, *JUDGED_ONLY], profile="ir_measures")
        for qid, values in results.items():
            for name, measure in zip(names, measures, strict=True):
                assert values[name] == pytest.approx(theirs[qid, str(measure)], abs=1e-6), name
        differ += sum(results.mean[name] != results.mean[only_judged(name)] for name in JUDGED_ONLY)
    assert differ > 50


def test_it_is_what_the_option_does_for_all_measures() -> None:
    rng = random.Random(8)
    names = [*JUDGED_ONLY, "ndcg", "bpref", "infAP", "num_ret", "ERR@5", "Judged@5", "rbp", "Q"]
    for _ in range(5):
        qrels, run = random_pair(rng)
        asked = [f"{name}(judged_only=True)" if "@" not in name else only_judged(name) for name in names]
        results = te.evaluate(qrels, run, asked)
        option = te.evaluate(qrels, run, names, judged_only=True)
        assert results.matrix.tolist() == option.matrix.tolist()
        kept = te.evaluate(qrels, run, ["map(judged_only=False)"], judged_only=True)
        assert kept.mean["map(judged_only=False)"] == te.evaluate(qrels, run, "map").mean["map"]


def test_it_stands_beside_the_measure_itself_and_in_signatures(files: tuple[Path, Path]) -> None:
    qrels, run = map(str, files)
    done = treceval(["-m", "nDCG(judged_only=True)@10", "-m", "nDCG@10", "--signature", qrels, run])
    option = treceval(["-J", "-m", "nDCG@10", "--signature", qrels, run])
    only, plain, *signatures = done.out.decode().splitlines()
    assert only.split()[0] == "nDCG(judged_only=True)@10"
    assert only.split()[-1] != plain.split()[-1]
    assert only.split()[-1] == option.out.decode().splitlines()[0].split()[-1]
    texts = [line.partition(": ")[2] for line in signatures]
    assert texts[0] == option.out.decode().splitlines()[1].partition(": ")[2]
    assert "unjudged:drop" in texts[0]
    assert "unjudged" not in texts[1]
    written = te.scoring.Signature.parse(
        texts[0].replace("nDCG", "nDCG(judged_only=True)").replace("|unjudged:drop", "")
    )
    assert written == te.scoring.Signature.parse(texts[0])
    again = treceval(["--repeat", texts[0], "--repeat", texts[1], qrels, run])
    assert again.out.decode().splitlines() == [only, plain]


def test_the_meaning_of_a_name_in_a_profile_does_not_depend_on_it() -> None:
    rng = random.Random(9)
    qrels, run = random_pair(rng)
    for profile in ("sklearn", "gdeval", "coursework"):
        only = te.evaluate(qrels, run, ["nDCG(judged_only=True)@5"], profile=profile)
        option = te.evaluate(qrels, run, ["nDCG@5"], profile=profile, judged_only=True)
        assert only.matrix.tolist() == option.matrix.tolist()
        assert only.resolved == option.resolved


def test_it_is_for_subtopics_too(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 1 a 1\n1 1 b 0\n1 2 c 1\n")
    run = {"1": {"x": 4.0, "a": 3.0, "y": 2.0, "c": 1.0}}
    only = te.evaluate(tmp_path / "qrels", run, ["P_IA(judged_only=True)@2", "P_IA@2"])
    # Without x and y there are a for one subtopic and c for the other; with them a is the only one among the first two.
    assert list(only.mean.values()) == [0.5, 0.25]


def test_it_belongs_to_the_ranking_and_not_to_a_ranking_that_was_judged() -> None:
    (measure,) = meant("AP(judged_only=True)")
    judged = te.judging.judge(te.Qrels(QRELS), te.Run(RUN))
    assert "also decides how documents are ranked" in refusal(measure, judged)
