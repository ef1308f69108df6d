"""Profiles: the conventions of a program, and the meaning of its measure names.

A profile describes one version of a program. If a program treats measures differently (ir_measures delegates to
several packages, BEIR ranks twice), the profile has exceptions for families of measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from treceval_py.data.ids import shown
from treceval_py.data.ranking import FLOAT32
from treceval_py.errors import MeasureError, brief
from treceval_py.measuring import Measure, parse_measures
from treceval_py.scoring.conventions import Conventions

DEFAULT_MEASURES = ("official", "ndcg", "ndcg_cut.10")
"""The default measures: trec_eval's official measures, nDCG and nDCG@10."""

USUAL_MEASURES = ("AP", "nDCG@10", "RR", "P@10")
"""The default measures of everything but scoring: comparisons, boards, gates, explanations, ranges. They are few, as
every further one makes the correction for several tests stricter.
"""

_NONE: Mapping[str, Any] = MappingProxyType({})


NEGATIVE, EXTRA, UNRELEVANT = "negative labels", "extra queries", "queries without relevant documents"
TWICE = "a document twice in a query"
"""When a program's values can differ: what the judgments or the run have."""


class Difference(NamedTuple):
    """What a program does that a profile does not, so that values of a measure can differ.

    Attributes
    ----------
    text : str
        What the program does.
    when : str
        What the input must have: `NEGATIVE`, `EXTRA`, `UNRELEVANT` or `TWICE`; empty if that is not known.
    """

    text: str
    when: str = ""


class Profile(NamedTuple):
    """How a program ranks and averages, and the meaning of its measure names.

    Attributes
    ----------
    name : str
        The profile's name.
    title : str
        The program that the profile describes.
    conventions : Conventions
        How the program ranks and averages.
    exceptions : mapping of str to mapping
        The conventions that differ for some families of measures, or for measures with a certain parameter
        (``"ndcg_cut:gain=exp"``).
    when_complete : {"empty", "zero"}
        How to count a judged query that the run lacks when all judged queries are averaged (``-c``).
    meanings : mapping of str to str
        The meaning of a family of measures that is named without parameters, in notation: ``{"ndcg":
        "nDCG(gain=exp)"}``. A cutoff is kept.
    names : mapping of str to str
        Bare names with another meaning in this profile than elsewhere, in notation: ``{"accuracy": "Success"}``. A
        cutoff is kept; notation with a cutoff, such as ``{"ndcg": "nDCG@32"}``, gives the meaning of the name without
        one. Meanings and exceptions apply to the result.
    defaults : mapping
        Values for parameters of measures that were not given.
    level : int
        Lowest relevant judgment.
    measures : tuple of str
        Default measures.
    leaves_out : frozenset of str
        Measures that nicknames omit under this profile.
    computes : frozenset of str
        The families of measures that the program has, if these are few; empty if it has most of them. Other measures
        can be computed under the profile too, but are not attributed to the program.
    differs : mapping of str to Difference
        Where the program's values differ from these, by family of measures, as for `exceptions`. Results say so.
    remarks : tuple of str
        Remarks, such as bugs of the program that are not reproduced.
    """

    name: str
    title: str
    conventions: Conventions = Conventions()
    exceptions: Mapping[str, Mapping[str, Any]] = _NONE
    when_complete: str = "empty"
    meanings: Mapping[str, str] = _NONE
    names: Mapping[str, str] = _NONE
    defaults: Mapping[str, Any] = _NONE
    level: int = 1
    measures: tuple[str, ...] = DEFAULT_MEASURES
    leaves_out: frozenset[str] = frozenset()
    computes: frozenset[str] = frozenset()
    differs: Mapping[str, Difference] = _NONE
    remarks: tuple[str, ...] = ()

    def parse(self, names: str | Measure | Iterable[str | Measure]) -> list[Measure]:
        """Return the measures that `names` mean under this profile; errors as for `parse_measures`."""
        return parse_measures(names, leaves_out=self.leaves_out, names_here=self.names)

    @property
    def default_measures(self) -> list[Measure]:
        """Its default measures, by the names it has for them; trec_eval's names are shown in its own format only."""
        return [each.untyped if each.asked == each.trec_name else each for each in self.parse(self.measures)]

    @property
    def usual_measures(self) -> list[Measure]:
        """The default measures of everything but scoring: ``USUAL_MEASURES``, or its own if it has some."""
        if self.measures != DEFAULT_MEASURES:
            return self.default_measures
        return [each.untyped for each in parse_measures(USUAL_MEASURES)]

    def __repr__(self) -> str:
        return f"<Profile {brief(self.name)}: {brief(self.title, 100)}>"

    def conventions_of(self, measure: Measure) -> Conventions:
        """Return the conventions for `measure`."""
        changes: dict[str, Any] = {}
        for exception in _of(self.exceptions, measure):
            changes.update(exception)
        return self.conventions._replace(**changes)

    def differences_of(self, measure: Measure) -> list[Difference]:
        """Return what can make the program's values of `measure` differ."""
        return _of(self.differs, measure)

    @property
    def kinds_of_differences(self) -> dict[Difference, list[str]]:
        """The differences from the program, with the families of measures that share each."""
        families: dict[Difference, list[str]] = {}
        for family, difference in self.differs.items():
            families.setdefault(difference, []).append(family)
        return families

    @property
    def kinds_of_exceptions(self) -> list[tuple[list[str], Mapping[str, Any]]]:
        """The exceptions, with families that share the same one grouped."""
        families: dict[frozenset[tuple[str, Any]], list[str]] = {}
        for family, changes in self.exceptions.items():
            families.setdefault(frozenset(changes.items()), []).append(family)
        return [(names, self.exceptions[names[0]]) for names in families.values()]

    def meaning_of(self, measure: Measure) -> Measure:
        """Return the meaning of `measure` if it is named without parameters; with parameters it means itself."""
        text = self.meanings.get(measure.family.name)
        at = measure.family.at
        if text is None or any(at is None or name != at.name for name, _ in measure.parameters):
            return measure
        cutoff = dict(measure.parameters).get(at.name) if at is not None else None
        (meant,) = parse_measures(text if cutoff is None else f"{text}@{cutoff}")
        return Measure(meant.family, meant.parameters, asked=measure.name)

    @property
    def complete(self) -> Profile:
        """The profile with all judged queries averaged, as ``-c`` selects."""

        def completed(conventions: Mapping[str, Any]) -> Mapping[str, Any]:
            return {name: value for name, value in conventions.items() if name != "missing"}

        exceptions = {key: completed(changes) for key, changes in self.exceptions.items()}
        missing = self.when_complete if self.conventions.missing == "out" else self.conventions.missing
        return self._replace(conventions=self.conventions._replace(missing=missing), exceptions=exceptions)

    def __reduce__(self) -> tuple[object, ...]:
        if PROFILES.get(self.name) is self:
            return (profile_named, (self.name,))
        plain: dict[str, Any] = {
            key: dict(value) if isinstance(value, Mapping) else value for key, value in self._asdict().items()
        }
        return partial(Profile, **plain), ()


Fact = TypeVar("Fact")


def _of(facts: Mapping[str, Fact], measure: Measure) -> list[Fact]:
    """Return the facts of a measure's family, and of it with one of its parameters (``"ndcg_cut:gain=exp"``)."""
    name = measure.family.name
    keys = [name, *(f"{name}:{parameter}={value}" for parameter, value in measure.parameters)]
    return [facts[key] for key in keys if key in facts]


_USUAL = Conventions()


def _profile(name: str, title: str, conventions: Conventions = _USUAL, **facts: Any) -> Profile:
    """Return a profile. Each key of its mappings by family is several families, separated by blanks."""
    for fact in ("exceptions", "meanings", "names", "differs"):
        values = {
            keys: MappingProxyType(value) if isinstance(value, dict) else value
            for keys, value in facts.get(fact, {}).items()
        }
        facts[fact] = MappingProxyType({family: value for keys, value in values.items() for family in keys.split()})
    computes = frozenset(facts.pop("computes", "").split())
    return Profile(name, title, conventions, computes=computes, **facts)


_NEAREST = MappingProxyType({"rounding": "nearest"})
_UP = MappingProxyType({"rounding": "up"})
_NOT_IN_9 = frozenset({"rbp", "rbp_resid", "unj"})

_OWN_ORDER = "recip_rank recip_rank_cut recall_cap success judged hole"
"""Measures that BEIR and FlagEmbedding compute themselves; they leave the others to pytrec_eval."""

_OWN_WAYS = MappingProxyType({"score_type": "float64", "ties": "line", "missing": "empty", "bare": "judged"})

_SUBTOPICS = "alpha_dcg_cut alpha_ndcg_cut err_ia_cut nerr_ia_cut nrbp nnrbp ap_ia p_ia_cut strec_cut"
_BY_SMALLER_ID = "judged set_judged compat"
_BY_SMALLER_ID_OF_LINES = f"recip_rank_cut {_SUBTOPICS}"
_BY_LINE = "rbp_binary rbp_binary_cut insq inst sdcg_cut bpm_cut nerr8_cut nerr9_cut nerr10 nerr11"
"""Measures that other packages than trec_eval compute for ir_measures, by their order of equal scores.

All but the first packages are given lines, which name no query without documents.
"""

_LISTS = Conventions(ties="line", known="retrieved", extra="in")
"""Conventions of programs that score lists of labels, one per retrieved document, without other judgments or ids."""

_ITS_LISTS = "it scores lists of labels: other judgments, and judged queries without a list, are not used"

_NEGATIVE_GAINS = Difference("it counts negative labels as negative gains, which are 0 here", NEGATIVE)

_TORCHMETRICS = _profile(
    "torchmetrics",
    "torchmetrics 1.9, torchmetrics.retrieval with empty_target_action=neg, the default",
    _LISTS._replace(score_type=FLOAT32),
    exceptions={
        "map map_cut recip_rank recip_rank_cut P set_P recall set_recall": {"not_positive": "miss"},
        "fallout fallout_cut": {"unrelevant": "one"},
    },
    meanings={"map map_cut": "AP(norm=retrieved)", "ndcg ndcg_cut": "nDCG(ties=average)"},
    measures=("AP", "RR", "nDCG", "nDCG@10"),
    computes=(
        "map map_cut recip_rank recip_rank_cut P set_P recall set_recall success Rprec fallout fallout_cut auc auc_cut "
        "ndcg ndcg_cut"
    ),
    differs={"ndcg ndcg_cut": _NEGATIVE_GAINS},
    remarks=(
        _ITS_LISTS,
        "it leaves the order of equal scores undefined, except in nDCG and AUC; here line order decides",
        "only its nDCG accepts grades and negative labels",
        "its AUC puts scores outside 0 to 1 through a float32 sigmoid, which makes many of them equal",
    ),
)


def _of_sample_eval(*cutoffs: int) -> tuple[str, ...]:
    return "infAP", "infNDCG", *(f"iP@{cutoff}" for cutoff in cutoffs), "INumRelRet", "INumRel", "NumRet"


def _of_statap(*cutoffs: int) -> tuple[str, ...]:
    at = (f"{name}@{cutoff}" for name in ("statPC", "statNDCG") for cutoff in cutoffs)
    return "statAP", "varAP", "statRprec", *at


_SAMPLE_EVAL = _profile(
    "sample_eval",
    "NIST's sample_eval.pl of 10 October 2011",
    Conventions(depth=100, duplicates="last"),
    exceptions={"inum_rel": {"missing": "empty"}},
    names={"infAP": "xinfAP"},
    measures=_of_sample_eval(10, 50, 100),
    computes="xinfAP infNDCG iP inum_rel_ret inum_rel num_ret",
    remarks=(
        "it scores 100 documents of each query; some copies score 1,000, as -M 1000 does here",
        "in the lines of queries its num_ret is not cut at that depth",
        "python -m treceval_py.sample_eval prints what it prints, also precision at 11 levels of recall",
    ),
)

_STATAP = _profile(
    "statap-3",
    "statAP_MQ_eval v3 of September 2007",
    Conventions(unrelevant="out", duplicates="last"),
    measures=_of_statap(30),
    computes="statAP varAP statRprec statPC statNDCG",
    remarks=(
        "it leaves the order of equal scores undefined; here the larger id is first",
        "python -m treceval_py.statap prints what it prints, also the counts of each topic",
        "for a topic without relevant documents it prints nDCG and variance of the topic before",
    ),
)

_ALL = (
    _profile(
        "trec_eval-10",
        "NIST trec_eval 10.0",
        defaults=_NEAREST,
        remarks=(
            "recall levels of iprec_at_recall and 11pt_avg are rounded to the nearest document",
            "trec_eval 10.0 stops when the run lacks a judged query, unless -c is given; here the query is left out",
        ),
    ),
    _profile(
        "trec_eval-9",
        "NIST trec_eval 9.0.8, as most packages ship it",
        Conventions(score_type=FLOAT32),
        when_complete="zero",
        defaults=_UP,
        leaves_out=_NOT_IN_9,
        remarks=(
            "recall levels of iprec_at_recall and 11pt_avg are rounded up; with -c a missing query counts 0, unlisted",
        ),
    ),
    _profile(
        "pytrec_eval",
        "pytrec_eval and pytrec_eval-terrier 0.5, averaged by the caller",
        Conventions(score_type=FLOAT32, bare="answered"),
        when_complete="zero",
        defaults=_UP,
        leaves_out=_NOT_IN_9,
        remarks=("the package returns per-query values only; here they are averaged over the queries that it returns",),
    ),
    _profile(
        "ir_measures",
        "ir_measures 0.4",
        Conventions(score_type=FLOAT32, missing="empty", duplicates="last", bare="judged"),
        exceptions={
            _BY_SMALLER_ID: {"score_type": "float64", "ties": "docid-asc"},
            _BY_SMALLER_ID_OF_LINES: {"score_type": "float64", "ties": "docid-asc", "bare": "out"},
            "accuracy accuracy_cut": {
                "score_type": "float64",
                "ties": "line",
                "missing": "out",
                "unrelevant": "out",
                "bare": "out",
            },
            "num_q num_rel": {"missing": "out", "bare": "answered"},
            "num_ret": {"bare": "out"},
            _BY_LINE: {"score_type": "float64", "ties": "line", "bare": "out"},
            "err_cut nerr_cut ndcg_cut:gain=exp": {"score_type": "float64", "bare": "out"},
        },
        meanings={"err_cut": "ERR(max_rel=4)", "judged set_judged": "Judged(negative=nonrelevant)"},
        names={"accuracy": "Accuracy"},
        defaults=MappingProxyType({**_UP, "until": "longer"}),
        differs={
            "compat": Difference(
                "in its ideal ranking, equal scores of equal grades are in the order of the judgments, and documents "
                "that were not retrieved come before negative scores"
            ),
            f"{_BY_LINE} {_SUBTOPICS} accuracy accuracy_cut err_cut ndcg_cut:gain=exp": Difference(
                "the package that computes it counts both lines", TWICE
            ),
            "recip_rank_cut": Difference("it takes the higher of a document's judgments", TWICE),
        },
        remarks=("each measure is ranked by the package that computes it: RR and RR@10 differ for ties",),
    ),
    _profile(
        "ranx",
        "ranx 0.3, after make_comparable",
        Conventions(ties="ranx", missing="empty", duplicates="last", bare="judged"),
        defaults=MappingProxyType({"negative": "nonrelevant"}),
        names={"hits": "Hits", "recall": "SetR"},
        differs={
            "bpref": Difference(
                "after a query without relevant documents, it can give later queries 0, depending on threads",
                UNRELEVANT,
            )
        },
        remarks=(
            "ranx refuses different sets of queries until make_comparable gives the run the judged ones",
            "its sort moves equal scores among more than 15 documents, and make_comparable sorts a second time",
            "each further call of make_comparable sorts once more, which is not reproduced here",
            "it sorts plain dictionaries (instead of Qrels and Run) differently, and pairs them by position, not by id",
            "its Bpref is NaN for a query without documents judged not relevant",
        ),
    ),
    _profile(
        "beir",
        "BEIR 2.2, EvaluateRetrieval.evaluate and evaluate_custom",
        Conventions(score_type=FLOAT32, self_hits="drop", duplicates="last", bare="answered"),
        exceptions={_OWN_ORDER: _OWN_WAYS},
        when_complete="zero",
        defaults=_UP,
        names={"accuracy": "Success"},
        leaves_out=_NOT_IN_9,
        differs={
            "hole": Difference(
                "it adds the holes of queries without judgments, and divides by the number of judged queries", EXTRA
            )
        },
        remarks=("an extra query in the run, or a query without relevant documents, stops BEIR's own measures",),
    ),
    _profile(
        "flagembedding",
        "FlagEmbedding 1.4, its evaluation package",
        Conventions(score_type=FLOAT32, duplicates="last", bare="answered"),
        exceptions={_OWN_ORDER: _OWN_WAYS},
        when_complete="zero",
        defaults=_UP,
        names={"accuracy": "Success"},
        leaves_out=_NOT_IN_9,
        remarks=("every label above 0 is relevant, also for TREC Deep Learning",),
    ),
    _profile(
        "flagembedding-tutorial",
        "FlagEmbedding's tutorials: BGE over MS MARCO with Faiss, nDCG by scikit-learn",
        Conventions(ties="line", missing="empty"),
        meanings={
            "recall": "R_cap",
            "ndcg ndcg_cut": "nDCG(gain=binary,ideal=retrieved,ties=average)",
            "map_cut": "AP(norm=retrieved)",
        },
        measures=("R@1", "R@10", "MRR@1", "MRR@10", "nDCG@1", "nDCG@10"),
        computes="recall recip_rank_cut P map_cut ndcg_cut",
        remarks=("recall is capped: divided by min(k, R)", "nDCG's ideal is made from what was retrieved"),
    ),
    _profile(
        "msmarco",
        "MS MARCO's ms_marco_eval.py",
        Conventions(order="rank", depth=1000, missing="empty"),
        level=0,
        measures=("MRR@10",),
        computes="recip_rank_cut",
        remarks=(
            "every document judged 0 or more is relevant: the script reads no labels, and counts negative ones too",
            "the script fills missing ranks with passage 0 and moves rank 0 to the end; here rank 0 is refused",
        ),
    ),
    _profile(
        "sklearn",
        "scikit-learn's ndcg_score, dcg_score and average_precision_score over the retrieved documents of each query",
        meanings={
            "ndcg ndcg_cut": "nDCG(ideal=retrieved,ties=average)",
            "dcg dcg_cut": "DCG(ties=average)",
            "map": "AP(norm=retrieved,ties=together)",
        },
        measures=("nDCG", "nDCG@10", "AP"),
        computes="ndcg ndcg_cut dcg dcg_cut map",
        differs={"dcg dcg_cut": _NEGATIVE_GAINS},
    ),
    _profile(
        "gdeval",
        "TREC Web track's gdeval.pl",
        Conventions(unrelevant="out"),
        meanings={"ndcg ndcg_cut": "nDCG(gain=exp)", "err err_cut": "ERR(max_rel=4)"},
        measures=("nDCG@20", "ERR@20"),
        computes="ndcg_cut err_cut",
        remarks=("grades above 4 are outside its scale",),
    ),
    _profile(
        "coursework",
        "a coursework scorer: ranks are the order of lines, and one file is ranking and judgments",
        Conventions(order="line", missing="empty"),
        meanings={"ndcg ndcg_cut": "nDCG(discount=jk,base=2)"},
        measures=("MAP", "MRR", "NDCG"),
        computes="map recip_rank ndcg",
        remarks=("--judged-ranking reads such a file",),
    ),
    _profile(
        "lightgbm",
        "LightGBM 4, its metrics ndcg and map",
        _LISTS._replace(unrelevant="one"),
        meanings={"ndcg ndcg_cut": "nDCG(gain=exp)", "map map_cut": "AP(norm=capped)"},
        measures=("nDCG@1", "nDCG@2", "nDCG@3", "nDCG@4", "nDCG@5"),
        computes="ndcg_cut map_cut",
        remarks=(
            _ITS_LISTS,
            "without eval_at it prints cutoffs 1 to 5; here nDCG and AP without a cutoff use the whole list",
            "it refuses negative labels, and labels of 31 or more unless label_gain has entries for them",
            "gains are the default label_gain, 2^rel - 1; write another as gains=, such as nDCG(gains={1:1,2:2})@10",
            "query weights are not supported here",
        ),
        names={"lambdarank": "nDCG(gain=exp)", "mean_average_precision": "AP(norm=capped)"},
    ),
    *(
        _profile(
            name,
            f"XGBoost 3, its metrics ndcg, map and pre{minus}",
            _LISTS._replace(score_type=FLOAT32),
            exceptions={} if minus else {"ndcg ndcg_cut map map_cut": {"unrelevant": "one"}},
            meanings={
                "ndcg": "nDCG(gain=exp)@32",
                "ndcg_cut": "nDCG(gain=exp)",
                "map": "AP(norm=capped)@32",
                "map_cut": "AP(norm=capped)",
                "P": "P(norm=retrieved)",
                "set_P": "P(norm=retrieved)@32",
            },
            measures=("nDCG",),
            computes="ndcg ndcg_cut map map_cut P set_P",
            differs={"ndcg:gain=linear ndcg_cut:gain=linear": _NEGATIVE_GAINS},
            remarks=(
                _ITS_LISTS,
                "a metric without a cutoff has the cutoff 32, not the whole list",
                "its map and pre refuse grades and negative labels, and ndcg labels below 0 or above 31",
                "with ndcg_exp_gain=false, its nDCG is nDCG(gain=linear), and any label is accepted",
                "group weights are not supported here",
            ),
            names={"pre": "P(norm=retrieved)"},
        )
        for name, minus in (("xgboost", ""), ("xgboost-minus", " with a trailing minus, such as ndcg@10-"))
    ),
    _profile(
        "catboost",
        "CatBoost 1.2, utils.eval_metric of its ranking metrics",
        _LISTS._replace(ties="worst"),
        exceptions={"ndcg ndcg_cut recall set_recall": {"unrelevant": "one"}},
        meanings={"map map_cut": "AP(norm=capped)", "P": "P(norm=retrieved)", "err err_cut": "ERR(stop=label)"},
        measures=("nDCG", "nDCG@10"),
        computes=(
            "ndcg ndcg_cut dcg dcg_cut map map_cut recip_rank recip_rank_cut P set_P recall set_recall err err_cut "
            "pfound pfound_cut average_gain auc opa"
        ),
        remarks=(
            _ITS_LISTS,
            "type=Exp is gain=exp, denominator=Position is discount=position, border=0.5 is rel=1",
        ),
        differs={"ndcg ndcg_cut dcg dcg_cut average_gain": _NEGATIVE_GAINS},
        names={"precisionat": "P(norm=retrieved)", "recallat": "R"},
    ),
    _TORCHMETRICS,
    _TORCHMETRICS._replace(
        name="torchmetrics-pos",
        title="torchmetrics 1.9, torchmetrics.retrieval with empty_target_action=pos",
        conventions=_TORCHMETRICS.conventions._replace(unrelevant="one"),
    ),
    _TORCHMETRICS._replace(
        name="torchmetrics-skip",
        title="torchmetrics 1.9, torchmetrics.retrieval with empty_target_action=skip",
        conventions=_TORCHMETRICS.conventions._replace(unrelevant="out"),
        exceptions={key: value for key, value in _TORCHMETRICS.exceptions.items() if "not_positive" in value},
    ),
    _profile(
        "pytorch-ignite",
        "pytorch-ignite 0.5, its NDCG and HitRate",
        _LISTS._replace(score_type=FLOAT32, unrelevant="out"),
        meanings={"ndcg_cut": "nDCG(gain=exp)"},
        measures=("nDCG@10", "Success@10"),
        computes="ndcg_cut success",
        remarks=(
            _ITS_LISTS,
            "with ignore_zero_hits=False, a query without relevant documents counts 0",
            "with gain_function=linear_rank, nDCG is nDCG(gain=linear)",
            "HitRate refuses a list shorter than the cutoff; it leaves the order of equal scores undefined",
        ),
    ),
    _profile(
        "sentence-transformers",
        "sentence-transformers 6, InformationRetrievalEvaluator",
        Conventions(ties="docid-asc", missing="empty", unrelevant="out"),
        meanings={"ndcg ndcg_cut": "nDCG(gain=binary)", "map map_cut": "AP(norm=capped)"},
        measures=(
            *(f"{name}@{k}" for name in ("Success", "P", "R") for k in (1, 3, 5, 10)),
            *("RR@10", "nDCG@10", "AP@100"),
        ),
        computes="success P recall recip_rank_cut ndcg_cut map_cut",
        remarks=(
            "relevant documents are a set: all documents judged 1 or more count alike",
            "a model's scores are 32-bit floats; here the scores of a run are compared as 64-bit floats",
        ),
        names={"accuracy": "Success"},
    ),
    _profile(
        "mteb",
        "MTEB 2.26, its retrieval tasks",
        Conventions(score_type=FLOAT32, duplicates="last", bare="answered"),
        exceptions={
            "recip_rank_cut": {"score_type": "float64"},
            "recall_cap": {"score_type": "float64", "unrelevant": "out"},
        },
        when_complete="zero",
        defaults=_UP,
        measures=(
            *(
                f"{name}@{k}"
                for name in ("nDCG", "AP", "R", "P", "RR", "Success")
                for k in (1, 3, 5, 10, 20, 100, 1000)
            ),
        ),
        leaves_out=_NOT_IN_9,
        remarks=(
            "it rounds means to 5 decimals, except that of RR",
            "it compares scores as 32-bit floats, except as 64-bit floats in RR: RR may contradict the other measures",
            "accuracy is R@1; before 2026, RR left equal scores in the order of the lines",
            "a task may remove documents with the query's own id (ignore_identical_ids); profile beir does",
        ),
        names={"accuracy": "R@1"},
    ),
    _profile(
        "recbole",
        "RecBole 1.2, its metrics of top-k lists",
        Conventions(score_type=FLOAT32, ties="line", missing="empty", unrelevant="out"),
        meanings={"ndcg_cut": "nDCG(gain=binary)", "map_cut": "AP(norm=capped)"},
        measures=("R@10", "RR@10", "nDCG@10", "Success@10", "P@10"),
        computes="recall recip_rank_cut ndcg_cut success P map_cut",
        remarks=(
            "it rounds values to metric_decimal_place, 4 decimals by default",
            "it leaves the order of equal scores undefined; here line order decides",
        ),
        names={"hit": "Success"},
    ),
    _SAMPLE_EVAL,
    _SAMPLE_EVAL._replace(
        name="sample_eval-trecvid",
        title="sample_eval.pl of TRECVID, of 2012 and 2016",
        conventions=_SAMPLE_EVAL.conventions._replace(depth=1000),
        defaults=MappingProxyType({"divide_by": "capped", "counts": "exact"}),
        measures=_of_sample_eval(5, 10, 15, 20, 30, 100, 200, 500, 1000),
        remarks=_SAMPLE_EVAL.remarks[1:],
    ),
    _STATAP,
    _STATAP._replace(
        name="statap-4",
        title="statAP_MQ_eval v4, as a user changed it in 2018",
        defaults=MappingProxyType({"version": "v4"}),
        measures=_of_statap(10, 20, 50, 100),
        remarks=_STATAP.remarks[:-1],
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _ALL})
"""All profiles by name."""

DEFAULT_PROFILE = "trec_eval-10"

_OTHER_NAMES = {"trec_eval": DEFAULT_PROFILE}
"""Profiles by names without a version."""


def profile_named(name: str) -> Profile:
    """Return the profile with a given name.

    Raises
    ------
    MeasureError
        There is no such profile.
    """
    if not isinstance(name, str):
        raise MeasureError(
            f"profile must be a name or a te.scoring.Profile, not {shown(name)}", f"Use '{DEFAULT_PROFILE}'."
        )
    name = _OTHER_NAMES.get(name, name)
    if name in PROFILES:
        return PROFILES[name]
    import difflib

    near = difflib.get_close_matches(name, [*_OTHER_NAMES, *PROFILES], n=1)
    raise MeasureError(
        f"unknown profile '{name}'", f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(PROFILES)}."
    )


def profile_of(given: str | Profile | None) -> Profile:
    """Return a profile given as such or by name; the default one for None. Errors as for `profile_named`."""
    if isinstance(given, Profile):
        return given
    return PROFILES[DEFAULT_PROFILE] if given is None else profile_named(given)
