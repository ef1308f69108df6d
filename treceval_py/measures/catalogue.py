"""Declarations of all measures, in print order: trec_eval's order, then the measures that it lacks.

To add a measure, write its function with a docstring like the others and declare it here, with every fact that commands
need (`facts`) as far as it is known.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from treceval_py.measures import (
    abstention,
    agreement,
    cascade,
    counts,
    diversity,
    gains,
    graded,
    groups,
    incomplete,
    precision,
    preferences,
    registry,
    sets,
    user_models,
)
from treceval_py.measures.parameters import pairs, whole
from treceval_py.measures.registry import COUNT, FAMILIES, GEOMETRIC, NICKNAMES, NO_AVERAGE, NOT_COMPUTED, SUM, TEXT

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
GAINS = pairs()
GAINS_AND_P = pairs("p")

FROM_0, ANY = (0.0, math.inf), (-math.inf, math.inf)

declare = functools.partial(registry.declare, bounds=(0.0, 1.0))
"""Declares a measure with values from 0 to 1, unless it says otherwise."""

count = functools.partial(registry.declare, kind=COUNT, average=SUM, bounds=FROM_0)
"""Declares a measure that counts."""

cut = functools.partial(declare, at="cutoff", cutoffs=CUTOFFS)
"""Declares a measure of the first k documents."""


def with_cutoff(name: str, **other: Any) -> None:
    """Declare NAME_cut, a measure of the first k documents, like the measure of the whole ranking that it cuts."""
    whole = FAMILIES[name]
    alike = ("notation", "bounds", "promotes", "sums", "labels", "needs", "undefined_without", "paper")
    facts = {fact: getattr(whole, fact) for fact in alike} | {"elsewhere": dict(whole.elsewhere)}
    cut(whole.function, f"{name}_cut", **(facts | other))


# A declaration is a paragraph.
# fmt: off

declare(counts.run_id, "runid", kind=TEXT, average=NO_AVERAGE, per_query=False, bounds=ANY)
count(counts.number_of_queries, "num_q", notation=["NumQ"], per_query=False, promotes="nothing", of_judgments=True)
count(counts.number_retrieved, "num_ret", notation=["NumRet"], promotes="nothing")
count(counts.number_relevant, "num_rel", notation=["NumRel"], promotes="nothing", of_judgments=True)
count(counts.number_relevant_retrieved, "num_rel_ret", notation=["NumRelRet", "NumRet"], promotes="relevance",
    sums="each", labels="alike")
declare(precision.average_precision, "map", notation=["AP", "MAP"], promotes="relevance", sums="precisions",
    labels="precisions", written={"average_precision": "", "mean_average_precision": "", "cosine_map": "norm=capped",
    "retrieval_map": "norm=retrieved", "retrieval_average_precision": "norm=retrieved", "map:": "norm=capped",
    "map-": "norm=capped,@=32"}, elsewhere={"mean_average_precision": "AP; in LightGBM it is AP(norm=capped)"},
    paper="MAP")
declare(precision.average_precision, "gm_map", notation=["GMAP"], average=GEOMETRIC, per_query=False,
    promotes="relevance", sums="precisions", labels="precisions")
declare(precision.r_precision, "Rprec", notation=["Rprec", "RPrec"], promotes="relevance", sums="each within",
    labels="within R", written=["r_precision"], paper="R-Prec")
declare(incomplete.binary_preference, "bpref", notation=["Bpref", "BPref"], promotes="preference", sums="judged above",
    paper="bpref")
declare(precision.reciprocal_rank, "recip_rank", notation=["RR", "MRR"], promotes="relevance", sums="first",
    labels="alike", written=["reciprocal_rank", "mean_reciprocal_rank"], paper="MRR")
declare(precision.interpolated_precision, "iprec_at_recall", notation=["IPrec"], at="recall", cutoffs=RECALLS,
    promotes="relevance")
cut(precision.precision, "P", notation=["P", "Precision"], promotes="relevance", sums="share of cutoff", labels="alike",
    kin={"relative_P": "divided by min(k, R)"}, written={"pre": "norm=retrieved,@=32",
    "precision_at:": "norm=retrieved", "retrieval_precision(adaptive_k=True)": "norm=retrieved",
    "metric/precision": "norm=retrieved"})
declare(counts.relevance_string, "relstring", kind=TEXT, average=NO_AVERAGE, summary=False, tail=whole("length"),
    bounds=ANY)
cut(precision.recall, "recall", notation=["R", "Recall"], promotes="relevance", sums="share of relevant",
    labels="above cutoff", kin={"recall_cap": "divided by min(k, R)"}, written=["recall_at:"])
declare(incomplete.inferred_average_precision, "infAP", notation=["infAP"], bounds=FROM_0)
declare(incomplete.binary_preference, "gm_bpref", average=GEOMETRIC, per_query=False, promotes="preference",
    sums="judged above", paper="GM-bpref")
declare(precision.r_precision_multiple, "Rprec_mult", at="multiple", cutoffs=MULTIPLES, promotes="relevance",
    sums="each within")
declare(counts.utility, "utility", tail=whole("coefficients"), promotes="relevance", sums="each", labels="alike",
    bounds=ANY)
declare(precision.eleven_point_average, "11pt_avg", tail=whole("recalls"), promotes="relevance", paper="11-pt AP")
declare(gains.binary_g, "binG", promotes="relevance", sums="others above")
declare(gains.normalized_g, "G", tail=GAINS)
declare(gains.discounted_cumulated_gain, "dcg", notation=["DCG"], tail=GAINS, promotes="gain", sums="gains",
    labels="alike", written={"dcg_burges": "gain=exp", "metric/dcg": "gain=exp"}, bounds=FROM_0)
declare(gains.ideal_discounted_cumulated_gain, "ideal_dcg", notation=["IDCG"], tail=GAINS, promotes="nothing",
    bounds=FROM_0)
declare(gains.normalized_discounted_cumulated_gain, "ndcg", notation=["nDCG", "NDCG"], tail=GAINS, promotes="gain",
    sums="gains of ideal", labels="gains of ideal", written={"normalized_dcg": "", "ndcg_burges": "gain=exp",
    "cosine_ndcg": "gain=binary", "ndcg_rendle2020": "gain=binary",
    "retrieval_normalized_dcg": "ideal=retrieved,ties=average", "lambdarank": "gain=exp,ideal=retrieved",
    "ndcg:": "ideal=retrieved", "ndcg-": "gain=exp,ideal=retrieved,@=32", "metric/ndcg": "gain=exp,ideal=retrieved",
    "ndcg(top_k)": "gain=exp,ideal=retrieved", "ncrr": "discount=position,gain=binary"})
declare(gains.ndcg_averaged_over_relevant, "ndcg_rel", tail=GAINS, promotes="gain")
declare(gains.ndcg_averaged_over_levels, "Rndcg", tail=GAINS, promotes="gain", bounds=FROM_0)
with_cutoff("ndcg")
with_cutoff("map", later=["steps"], elsewhere={})
cut(precision.relative_precision, "relative_P", notation=["RelP"], promotes="relevance", sums="share of best",
    labels="above cutoff")
cut(precision.success, "success", notation=["Success"], cutoffs=(1, 5, 10), promotes="relevance", sums="any",
    labels="alike", written=["hit_rate", "hit_ratio", "hit", "hr", "cosine_accuracy", "metric/hits"])
declare(sets.set_precision, "set_P", notation=["SetP"], promotes="relevance", sums="each", labels="alike",
    written=["precision", "precision_at"])
declare(sets.set_relative_precision, "set_relative_P", notation=["SetRelP"], promotes="relevance", sums="each",
    labels="alike", written=["SetP(relative=True)"])
declare(sets.set_recall, "set_recall", notation=["SetR"], promotes="relevance", sums="share of relevant",
    labels="alike", written=["retrieval_recall", "recall_at"])
declare(sets.set_average_precision, "set_map", notation=["SetAP"], promotes="relevance", sums="square", labels="alike",
    paper="SetMAP")
declare(sets.set_f, "set_F", notation=["SetF"], tail=whole("beta_squared"), promotes="relevance", sums="each",
    labels="alike", written=["f1"])
count(counts.number_nonrelevant_judged_retrieved, "num_nonrel_judged_ret", promotes="preference", sums="each")
count(preferences.preferences_possible, "prefs_num_prefs_poss")
count(preferences.preferences_fulfilled, "prefs_num_prefs_ful")
count(preferences.preferences_fulfilled_retrieved, "prefs_num_prefs_ful_ret")
declare(preferences.preference_share, "prefs_simp")
declare(preferences.preference_mean_over_pairs, "prefs_pair")
declare(preferences.preference_mean_over_groups, "prefs_avgjg")
declare(preferences.preference_balanced, "prefs_avgjg_Rnonrel")
declare(preferences.preference_share_retrieved, "prefs_simp_ret")
declare(preferences.preference_mean_over_pairs_retrieved, "prefs_pair_ret")
declare(preferences.preference_mean_over_groups_retrieved, "prefs_avgjg_ret")
declare(preferences.preference_balanced_retrieved, "prefs_avgjg_Rnonrel_ret")
declare(preferences.preference_share_implied, "prefs_simp_imp")
declare(preferences.preference_mean_over_pairs_implied, "prefs_pair_imp")
declare(preferences.preference_mean_over_groups_implied, "prefs_avgjg_imp")
declare(groups.average_precision_over_groups, "map_avgjg")
cut(groups.precision_over_groups, "P_avgjg")
declare(groups.r_precision_multiple_over_groups, "Rprec_mult_avgjg", at="multiple", cutoffs=MULTIPLES)
declare(precision.yaap, "yaap", promotes="relevance", labels="odds", bounds=ANY)
declare(gains.rank_biased_precision, "rbp", tail=GAINS_AND_P, promotes="gain", sums="each", labels="share of highest",
    paper="RBP")
declare(gains.rank_biased_precision_residual, "rbp_resid", tail=GAINS_AND_P, promotes="judgment", sums="each uncut",
    paper="RBP residual")
cut(counts.share_unjudged, "unj", cutoffs=(5, 10, 20), promotes="judgment", sums="each")
# Beyond trec_eval.
with_cutoff("recip_rank", cutoffs=(10,))
cut(counts.share_judged, "judged", notation=["Judged"], cutoffs=(10,), promotes="judgment", sums="each")
# Graded and user-model measures.
cut(precision.capped_recall, "recall_cap", notation=["R_cap", "RCap"], promotes="relevance", sums="share of best",
    labels="above cutoff", kin={"recall": "divided by R"}, paper="R_cap")
declare(cascade.expected_reciprocal_rank, "err", notation=["ERR"], promotes="gain", sums="cascade", labels="alike",
    kin={"nerr": "divided by the ideal's"}, written={"err:": "stop=label"}, bounds=ANY)
with_cutoff("err", cutoffs=(20,), kin={"nerr_cut": "divided by the ideal's"})
declare(cascade.normalized_expected_reciprocal_rank, "nerr", notation=["nERR"], promotes="gain",
    sums="cascade of ideal")
with_cutoff("nerr", cutoffs=(20,))
declare(cascade.rank_biased_precision_binary, "rbp_binary", notation=["RBP"], promotes="relevance", sums="powers",
    labels="alike")
with_cutoff("rbp_binary", cutoffs=(10,))
declare(cascade.rank_biased_precision_graded, "rbp_graded", notation=["gRBP", "RBP"], promotes="gain", sums="each",
    labels="alike", written={"rbp.": "p={},scale=none", "rbp@": "p={},scale=none"}, bounds=FROM_0)
with_cutoff("rbp_graded", cutoffs=(10,))
declare(cascade.rank_biased_residual, "rbp_residual", notation=["RBPResidual"], promotes="judgment", sums="each",
    paper="RBP residual")
declare(graded.graded_average_precision, "gap", notation=["GAP"], promotes="gain", sums="graded precisions")
declare(graded.q_measure, "q_measure", notation=["Q"], promotes="both", sums="blended ratios", paper="Q-measure")
# C/W/L measures, Compatibility and Accuracy.
declare(user_models.inst, "inst", notation=["INST"])
declare(user_models.insq, "insq", notation=["INSQ"], promotes="gain", sums="each", labels="alike")
cut(user_models.scaled_discounted_cumulated_gain, "sdcg_cut", notation=["SDCG"], cutoffs=(10,), promotes="gain",
    sums="each", labels="alike", paper="sDCG")
cut(user_models.bejeweled_player_model, "bpm_cut", notation=["BPM"], cutoffs=(10,))
cut(user_models.nearly_expected_reciprocal_rank_8, "nerr8_cut", notation=["NERR8"], cutoffs=(10,), promotes="gain")
cut(user_models.nearly_expected_reciprocal_rank_9, "nerr9_cut", notation=["NERR9"], cutoffs=(10,), promotes="gain")
declare(user_models.nearly_expected_reciprocal_rank_10, "nerr10", notation=["NERR10"], promotes="gain")
declare(user_models.nearly_expected_reciprocal_rank_11, "nerr11", notation=["NERR11"], promotes="gain")
declare(agreement.compatibility, "compat", notation=["Compat"], promotes="gain")
declare(agreement.accuracy, "accuracy", notation=["Accuracy"], undefined_without="found",
    elsewhere={"accuracy": "the share of pairs in the right order; in BEIR and sentence-transformers it is Success@k, "
        "and in MTEB R@1"})
with_cutoff("accuracy", cutoffs=(10,))
# Lists as learning to rank and recommendation score them.
with_cutoff("dcg")
cut(gains.average_gain, "average_gain", notation=["AverageGain"], cutoffs=(10,), promotes="gain", sums="each",
    labels="alike", written=["query_average"], bounds=FROM_0)
declare(gains.average_relevance_position, "arp", notation=["ARP"], written=["average_relevance_position"],
    bounds=FROM_0)
cut(precision.f1, "F1_cut", notation=["F1"], promotes="relevance", sums="each", labels="above cutoff")
declare(precision.hits, "hits", notation=["Hits"], promotes="relevance", sums="each", labels="alike",
    elsewhere={"hits": "the number of relevant documents found; in TF-Ranking it is Success@k"}, bounds=FROM_0)
with_cutoff("hits")
declare(sets.set_success, "set_success", notation=["Success"], promotes="relevance", sums="any", labels="alike")
declare(sets.set_judged, "set_judged", notation=["Judged"], promotes="judgment", sums="each")
cut(counts.holes, "hole", notation=["Hole"], cutoffs=(10,), promotes="label", sums="each", needs="pooled")
cut(precision.mean_precision, "mean_P", notation=["MeanP"], cutoffs=(10,), promotes="relevance", sums="each",
    labels="alike")
declare(precision.fallout, "fallout", notation=["Fallout"], promotes="preference", labels="alike",
    undefined_without="nonrelevant")
with_cutoff("fallout", promotes="unknown", labels="above cutoff")
declare(agreement.area_under_curve, "auc", notation=["AUC"], needs="tied",
    written=["auroc", "query_auc", "query_auc(type=Classic)"])
with_cutoff("auc", cutoffs=(10,))
declare(agreement.ordered_pair_accuracy, "opa", notation=["OPA"], needs="tied", written={"ordered_pair_accuracy": "",
    "query_auc(type=Ranking)": "ties=half"})
declare(cascade.pfound, "pfound", notation=["PFound"], bounds=ANY)
with_cutoff("pfound", cutoffs=(10,))
declare(abstention.normalized_area_under_abstention, "nauc", notation=["nAUC"], tail=abstention.key,
    average=abstention.ABSTENTION, per_query=False, needs="confidence", bounds=ANY)
# Subtopics.
cut(diversity.alpha_discounted_cumulated_gain, "alpha_dcg_cut", notation=["alpha_DCG", "α_DCG"], cutoffs=(5, 10, 20),
    paper="α-DCG")
cut(diversity.alpha_normalized_discounted_cumulated_gain, "alpha_ndcg_cut", notation=["alpha_nDCG", "α_nDCG"],
    cutoffs=(5, 10, 20), paper="α-nDCG", bounds=FROM_0)
cut(diversity.intent_aware_expected_reciprocal_rank, "err_ia_cut", notation=["ERR_IA"], cutoffs=(5, 10, 20),
    paper="ERR-IA")
cut(diversity.normalized_intent_aware_expected_reciprocal_rank, "nerr_ia_cut", notation=["nERR_IA"],
    cutoffs=(5, 10, 20), paper="nERR-IA", bounds=FROM_0)
declare(diversity.novelty_and_rank_biased_precision, "nrbp", notation=["NRBP"])
declare(diversity.normalized_novelty_and_rank_biased_precision, "nnrbp", notation=["nNRBP"], bounds=FROM_0)
declare(diversity.intent_aware_average_precision, "ap_ia", notation=["AP_IA", "MAP_IA"], paper="MAP-IA")
cut(diversity.intent_aware_precision, "p_ia_cut", notation=["P_IA"], cutoffs=(5, 10, 20), written=["precision_ia"],
    paper="P-IA")
cut(diversity.subtopic_recall, "strec_cut", notation=["StRecall"], cutoffs=(5, 10, 20), written=["strec"],
    paper="S-recall")

# fmt: on

NOT_COMPUTED.update(
    {
        "p_mrr": "it compares the ranks of a document under two instructions, so it needs two runs",
        "robustness": "it takes the worst of several phrasings of a query",
        "max_over_subqueries*": "it takes the best of several queries that belong together",
        "main_score": "each task chooses a measure for it, which is named beside it",
        "mrt": "it is a time, which run files do not record",
        "retrieval_precision_recall_curve": "it is a curve, not one value for each query",
        "retrieval_recall_at_fixed_precision": "it is a point of a curve over all cutoffs",
        "pwa": "only TF-Ranking defines it",
        "filtered_dcg": "it needs scores with a sign",
        "gauc": "it needs the scores of all items for each user",
        **dict.fromkeys(
            ("item_coverage", "average_popularity", "gini_index", "shannon_entropy", "tail_percentage"),
            "it describes the items that are recommended, not whether they are relevant",
        ),
        "base_map": "it is AP of the list before it was reranked, which is another run",
        "base_mrr": "it is RR of the list before it was reranked, which is another run",
        "base_ndcg": "it is nDCG of the list before it was reranked, which is another run",
    }
)

_BASIC = "runid num_q num_ret num_rel"
_PREFERENCES = "prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair prefs_avgjg"

NICKNAMES.update(
    {
        name: tuple(members.split())
        for name, members in {
            "official": f"{_BASIC} num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P",
            "set": f"{_BASIC} num_rel_ret utility set_P set_relative_P set_recall set_map set_F",
            "all_trec": f"{_BASIC} num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall "
            "infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success "
            "set_P set_relative_P set_recall set_map set_F num_nonrel_judged_ret rbp rbp_resid unj",
            "prefs": f"runid num_q {_PREFERENCES}",
            "all_prefs": f"runid num_q {_PREFERENCES} prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret "
            "prefs_avgjg_ret prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp",
            "qrels_jg": "runid num_q map_avgjg P_avgjg Rprec_mult_avgjg",
        }.items()
    }
)

SECTIONS: dict[str, str] = {
    "counts": "Counts and texts",
    "precision": "Precision, recall and related measures",
    "incomplete": "Incomplete judgments",
    "gains": "Cumulated gain",
    "cascade": "Cascade and rank-biased models",
    "graded": "Graded average precision",
    "user_models": "User models (C/W/L)",
    "agreement": "Agreement of rankings",
    "sets": "Sets",
    "diversity": "Subtopics",
    "abstention": "Abstention",
    "groups": "Groups of judgments",
    "preferences": "Preferences",
}
"""Titles of the modules of measures, in the order of the documentation."""

OTHERS = "User-defined measures"


def by_section() -> dict[str, list[registry.Family]]:
    """Return all families by the title of their module."""
    sections: dict[str, list[registry.Family]] = {title: [] for title in (*SECTIONS.values(), OTHERS)}
    for family in FAMILIES.values():
        package, _, module = str(family.function.__module__).rpartition(".")
        sections[SECTIONS.get(module, OTHERS) if package == "treceval_py.measures" else OTHERS].append(family)
    return {title: families for title, families in sections.items() if families}
