"""Declarations of all measures, in print order: trec_eval's order, then the measures that it lacks.

To add a measure, write its function with a docstring like the others and declare it here, with every fact that commands
need (`facts`) as far as it is known.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from treceval_py.measuring import (
    abstention,
    agreement,
    cascade,
    counts,
    diversity,
    estimates,
    gains,
    graded,
    groups,
    incomplete,
    precision,
    preferences,
    registry,
    sampled,
    sets,
    user_models,
)
from treceval_py.measuring.parameters import pairs, whole
from treceval_py.measuring.registry import FAMILIES, NICKNAMES, NOT_COMPUTED, Family, Function

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
GAINS = pairs()
P_GAINS = pairs("p")

FROM_0, ANY = (0.0, math.inf), (-math.inf, math.inf)

WRITTEN: dict[str, str] = {
    "map": "mAP average_precision mean_average_precision cosine_map→norm=capped retrieval_map→norm=retrieved "
    "retrieval_average_precision→norm=retrieved map:→norm=capped map-→norm=capped,@=32",
    "Rprec": "r_precision",
    "recip_rank": "reciprocal_rank mean_reciprocal_rank",
    "P": "pre→norm=retrieved,@=32 precision_at:→norm=retrieved retrieval_precision(adaptive_k=True)→norm=retrieved "
    "metric/precision→norm=retrieved",
    "recall": "recall_at:",
    "dcg": "dcg_burges→gain=exp metric/dcg→gain=exp",
    "ndcg": "normalized_dcg ndcg_burges→gain=exp cosine_ndcg→gain=binary ndcg_rendle2020→gain=binary "
    "retrieval_normalized_dcg→ideal=retrieved,ties=average lambdarank→gain=exp,ideal=retrieved "
    "ndcg:→ideal=retrieved ndcg-→gain=exp,ideal=retrieved,@=32 metric/ndcg→gain=exp,ideal=retrieved "
    "ndcg(top_k)→gain=exp,ideal=retrieved ncrr→discount=position,gain=binary",
    "success": "hit_rate hit_ratio hit hr cosine_accuracy metric/hits",
    "set_P": "precision precision_at",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "retrieval_recall recall_at",
    "set_F": "f1",
    "err": "err:→stop=label",
    "rbp_graded": "rbp.→p={},scale=none rbp@→p={},scale=none",
    "average_gain": "query_average",
    "arp": "average_relevance_position",
    "auc": "auroc query_auc query_auc(type=Classic)",
    "opa": "ordered_pair_accuracy query_auc(type=Ranking)→ties=half",
    "p_ia_cut": "precision_ia",
    "strec_cut": "strec",
}
"""How other programs write measures, as `registry.declare` has it; what follows → are the parameters implied."""

KIN = {
    "P": {"relative_P": "divided by min(k, R)"},
    "recall": {"recall_cap": "divided by min(k, R)"},
    "recall_cap": {"recall": "divided by R"},
    "err": {"nerr": "divided by the ideal's"},
    "err_cut": {"nerr_cut": "divided by the ideal's"},
}
"""Other families with the same name, and how they differ."""

ELSEWHERE = {
    "map": {"mean_average_precision": "AP; in LightGBM it is AP(norm=capped)"},
    "accuracy": {
        "Accuracy": "the share of pairs in the right order; in BEIR and sentence-transformers it is Success@k, and in "
        "MTEB R@1"
    },
    "auc": {
        "auc": "the area under the ROC curve of each query, averaged; in scikit-learn auc(x, y) is the area under any "
        "curve, and roc_auc_score takes all documents together"
    },
    "hits": {"Hits": "the number of relevant documents found; in TF-Ranking it is Success@k"},
}
"""Spellings that mean something else in other programs, with both meanings; our own notation only if it is named."""


def declare(function: Function, name: str, notation: str = "", facts: str = "unknown", **other: Any) -> Family:
    """Declare a measure, with values from 0 to 1 unless it says otherwise; its facts are promotes, sums and labels."""
    written = dict(spelling.partition("→")[::2] for spelling in WRITTEN.get(name, "").split())
    known = dict(zip(("promotes", "sums", "labels"), facts.split(", "), strict=False))
    usual = {"bounds": (0.0, 1.0), "written": written, "kin": KIN.get(name), "elsewhere": ELSEWHERE.get(name)}
    return registry.declare(function, name, notation=notation.split(), **{**usual, **known, **other})


text = functools.partial(declare, kind=registry.TEXT, average=registry.NO_AVERAGE, bounds=ANY)
count = functools.partial(declare, kind=registry.COUNT, average=registry.SUM, bounds=FROM_0)
geometric = functools.partial(declare, average=registry.GEOMETRIC, per_query=False)
cut = functools.partial(declare, at="cutoff", cutoffs=CUTOFFS)
cut_at_10 = functools.partial(cut, cutoffs=(10,))
cut_early = functools.partial(cut, cutoffs=(5, 10, 20))


def drawn(function: Function, name: str, estimates: str = "", notation: str = "", **other: Any) -> None:
    """Declare a measure over judgments of a sample, by what it estimates."""
    declare(function, name, notation or name, needs="sample", estimates=estimates, **{"bounds": FROM_0, **other})


drawn_at = functools.partial(drawn, undefined_without="drawn")


def with_cutoff(name: str, title: str, cutoffs: Iterable[int] = CUTOFFS, **other: Any) -> None:
    """Declare NAME_cut, a measure of the first k documents, like the measure of the whole ranking that it cuts."""
    whole = FAMILIES[name]
    alike = ("bounds", "promotes", "sums", "labels", "needs", "undefined_without", "mean")
    facts = {fact: getattr(whole, fact) for fact in alike} | {"elsewhere": dict(whole.elsewhere)}
    family = cut(whole.function, f"{name}_cut", " ".join(whole.notation), cutoffs=cutoffs, **(facts | other))
    vars(family)["title"] = title


text(counts.run_id, "runid", per_query=False)
count(counts.number_of_queries, "num_q", "NumQ", "nothing", per_query=False, of_judgments=True)
count(counts.number_retrieved, "num_ret", "NumRet", "nothing")
count(counts.number_relevant, "num_rel", "NumRel", "nothing", of_judgments=True)
count(counts.number_relevant_retrieved, "num_rel_ret", "NumRelRet NumRet", "relevance, each, alike")
declare(precision.average_precision, "map", "AP MAP", "relevance, precisions, precisions", mean="MAP")
geometric(precision.average_precision, "gm_map", "GMAP", "relevance, precisions, precisions")
declare(precision.r_precision, "Rprec", "Rprec RPrec", "relevance, each within, within R")
declare(incomplete.binary_preference, "bpref", "Bpref BPref", "preference, judged above")
declare(precision.reciprocal_rank, "recip_rank", "RR MRR", "relevance, first, alike", mean="MRR")
declare(
    precision.interpolated_precision, "iprec_at_recall", "IPrec", "relevance", at="recall", cutoffs=precision.RECALLS
)
cut(precision.precision, "P", "P Precision", "relevance, share of cutoff, alike")
text(counts.relevance_string, "relstring", summary=False, tail=whole("length"))
cut(precision.recall, "recall", "R Recall", "relevance, share of relevant, above cutoff")
declare(incomplete.inferred_average_precision, "infAP", "infAP", bounds=FROM_0, estimates="map of strata")
geometric(incomplete.binary_preference, "gm_bpref", "", "preference, judged above")
declare(precision.r_precision_multiple, "Rprec_mult", "", "relevance, each within", at="multiple", cutoffs=MULTIPLES)
declare(counts.utility, "utility", "", "relevance, each, alike", tail=whole("coefficients"), bounds=ANY)
declare(precision.eleven_point_average, "11pt_avg", "", "relevance", tail=whole("recalls"))
declare(gains.binary_g, "binG", "", "relevance, others above")
declare(gains.normalized_g, "G", tail=GAINS)
declare(gains.discounted_cumulated_gain, "dcg", "DCG", "gain, gains, alike", tail=GAINS, bounds=FROM_0)
declare(gains.ideal_discounted_cumulated_gain, "ideal_dcg", "IDCG", "nothing", tail=GAINS, bounds=FROM_0)
declare(
    gains.normalized_discounted_cumulated_gain, "ndcg", "nDCG NDCG", "gain, gains of ideal, gains of ideal", tail=GAINS
)
declare(gains.ndcg_averaged_over_relevant, "ndcg_rel", "", "gain", tail=GAINS)
declare(gains.ndcg_averaged_over_levels, "Rndcg", "", "gain", tail=GAINS, bounds=FROM_0)
with_cutoff("ndcg", "nDCG of the first k documents, as in nDCG@10.")
with_cutoff(
    "map",
    "Average precision of the first k documents, divided by default by the number of all relevant documents.",
    later=["steps"],
    elsewhere={},
)
cut(precision.relative_precision, "relative_P", "RelP", "relevance, share of best, above cutoff")
cut(precision.success, "success", "Success", "relevance, any, alike", cutoffs=(1, 5, 10))
declare(sets.set_precision, "set_P", "SetP", "relevance, each, alike")
declare(sets.set_relative_precision, "set_relative_P", "SetRelP", "relevance, each, alike")
declare(sets.set_recall, "set_recall", "SetR", "relevance, share of relevant, alike")
declare(sets.set_average_precision, "set_map", "SetAP", "relevance, square, alike", mean="SetMAP")
declare(sets.set_f, "set_F", "SetF", "relevance, each, alike", tail=whole("beta_squared"))
count(counts.number_nonrelevant_judged_retrieved, "num_nonrel_judged_ret", "", "preference, each")
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
declare(precision.yaap, "yaap", "", "relevance, unknown, odds", bounds=ANY)
declare(gains.rank_biased_precision, "rbp", "", "gain, each, share of highest", tail=P_GAINS)
declare(gains.rank_biased_precision_residual, "rbp_resid", "", "judgment, each uncut", tail=P_GAINS)
cut_early(counts.share_unjudged, "unj", "", "judgment, each")
# Beyond trec_eval.
with_cutoff(
    "recip_rank", "Reciprocal rank of the first relevant document if it is among the first k, as in MRR@10.", (10,)
)
cut_at_10(counts.share_judged, "judged", "Judged", "judgment, each")
# Graded and user-model measures.
cut(precision.capped_recall, "recall_cap", "R_cap RCap", "relevance, share of best, above cutoff")
declare(cascade.expected_reciprocal_rank, "err", "ERR", "gain, cascade, alike", bounds=ANY)
with_cutoff("err", "ERR of the first k documents, as in ERR@20.", (20,))
declare(cascade.normalized_expected_reciprocal_rank, "nerr", "nERR", "gain, cascade of ideal")
with_cutoff("nerr", "ERR of the first k documents, divided by that of the best possible ranking.", (20,))
declare(cascade.rank_biased_precision_binary, "rbp_binary", "RBP", "relevance, powers, alike")
with_cutoff("rbp_binary", "Rank-biased precision of the relevant documents among the first k.", (10,))
declare(cascade.rank_biased_precision_graded, "rbp_graded", "gRBP RBP", "gain, each, alike", bounds=FROM_0)
with_cutoff("rbp_graded", "Rank-biased precision of the graded judgments of the first k documents.", (10,))
declare(cascade.rank_biased_residual, "rbp_residual", "RBPResidual", "judgment, each")
declare(graded.graded_average_precision, "gap", "GAP", "gain, graded precisions")
declare(graded.q_measure, "q_measure", "Q", "both, blended ratios")
# C/W/L measures, Compatibility and Accuracy.
declare(user_models.inst, "inst", "INST")
declare(user_models.insq, "insq", "INSQ", "gain, each, alike")
cut_at_10(user_models.scaled_discounted_cumulated_gain, "sdcg_cut", "SDCG", "gain, each, alike")
cut_at_10(user_models.bejeweled_player_model, "bpm_cut", "BPM")
cut_at_10(user_models.nearly_expected_reciprocal_rank_8, "nerr8_cut", "NERR8", "gain")
cut_at_10(user_models.nearly_expected_reciprocal_rank_9, "nerr9_cut", "NERR9", "gain")
declare(user_models.nearly_expected_reciprocal_rank_10, "nerr10", "NERR10", "gain")
declare(user_models.nearly_expected_reciprocal_rank_11, "nerr11", "NERR11", "gain")
declare(agreement.compatibility, "compat", "Compat", "gain")
declare(agreement.accuracy, "accuracy", "Accuracy", undefined_without="found")
with_cutoff(
    "accuracy",
    "Accuracy of the first k documents: the share of pairs of a relevant and a non-relevant one in the right order.",
    (10,),
)
# Lists as learning to rank and recommendation score them.
with_cutoff("dcg", "Discounted cumulated gain of the first k documents, as in DCG@10.")
cut_at_10(gains.average_gain, "average_gain", "AverageGain", "gain, each, alike", bounds=FROM_0)
declare(gains.average_relevance_position, "arp", "ARP", bounds=FROM_0)
cut(precision.f1, "F1_cut", "F1", "relevance, each, above cutoff")
declare(precision.hits, "hits", "Hits", "relevance, each, alike", bounds=FROM_0)
with_cutoff("hits", "Hits: number of relevant documents among the first k, averaged over queries.")
declare(sets.set_success, "set_success", "Success", "relevance, any, alike")
declare(sets.set_judged, "set_judged", "Judged", "judgment, each")
cut_at_10(counts.holes, "hole", "Hole", "label, each", needs="pooled")
cut_at_10(precision.mean_precision, "mean_P", "MeanP", "relevance, each, alike")
declare(precision.fallout, "fallout", "Fallout", "preference, unknown, alike", undefined_without="nonrelevant")
with_cutoff(
    "fallout",
    "Fall-out of the first k documents: share of the non-relevant documents that are among them.",
    promotes="unknown",
    labels="above cutoff",
)
declare(agreement.area_under_curve, "auc", "AUC", needs="tied")
with_cutoff("auc", "AUC of the first k documents: area under their ROC curve.", (10,))
declare(agreement.ordered_pair_accuracy, "opa", "OPA", needs="tied")
declare(cascade.pfound, "pfound", "PFound", bounds=ANY)
with_cutoff("pfound", "PFound of the first k documents.", (10,))
declare(
    abstention.normalized_area_under_abstention,
    "nauc",
    "nAUC",
    tail=abstention.key,
    average=abstention.ABSTENTION,
    per_query=False,
    needs="confidence",
    bounds=ANY,
)
# Judgments of a sample.
drawn(sampled.extended_inferred_average_precision, "xinfAP", "map of strata")
drawn(sampled.inferred_ndcg, "infNDCG", "ndcg of strata")
drawn(sampled.inferred_precision, "iP", "P of strata", at="cutoff", cutoffs=(10, 50, 100), bounds=(0.0, 1.0))
drawn(sampled.inferred_relevant_retrieved, "inum_rel_ret", "num_rel_ret of strata", "INumRelRet", average=registry.SUM)
drawn(sampled.inferred_relevant, "inum_rel", "num_rel", "INumRel", average=registry.SUM)
drawn_at(sampled.stat_average_precision, "statAP", "map of probabilities", mean="statMAP")
drawn_at(sampled.stat_variance, "varAP", average=registry.VARIANCE, mean="VAR_MAP", bounds=ANY)
drawn_at(sampled.stat_r_precision, "statRprec", "Rprec of probabilities", mean="statMRP")
drawn_at(sampled.stat_precision, "statPC", "P of probabilities", at="cutoff", cutoffs=(30,), mean="statMPC")
drawn_at(sampled.stat_ndcg, "statNDCG", at="cutoff", cutoffs=(30,), mean="statMNDCG", bounds=ANY)
drawn(estimates.estimated_average_precision, "estap", "map", "estAP", bounds=ANY)
with_cutoff("estap", "estAP of the first k documents: estimate of AP@k.", estimates="map_cut")
drawn(estimates.estimated_ndcg, "estndcg", "ndcg", "estNDCG", bounds=ANY)
with_cutoff("estndcg", "estNDCG of the first k documents: estimate of nDCG@k.", estimates="ndcg_cut")
# Subtopics.
cut_early(diversity.alpha_discounted_cumulated_gain, "alpha_dcg_cut", "alpha_DCG α_DCG")
cut_early(
    diversity.alpha_normalized_discounted_cumulated_gain,
    "alpha_ndcg_cut",
    "alpha_nDCG α_nDCG",
    bounds=FROM_0,
)
cut_early(diversity.intent_aware_expected_reciprocal_rank, "err_ia_cut", "ERR_IA")
cut_early(diversity.normalized_intent_aware_expected_reciprocal_rank, "nerr_ia_cut", "nERR_IA", bounds=FROM_0)
declare(diversity.novelty_and_rank_biased_precision, "nrbp", "NRBP")
declare(diversity.normalized_novelty_and_rank_biased_precision, "nnrbp", "nNRBP", bounds=FROM_0)
declare(diversity.intent_aware_average_precision, "ap_ia", "AP_IA MAP_IA", mean="MAP_IA")
cut_early(diversity.intent_aware_precision, "p_ia_cut", "P_IA")
cut_early(diversity.subtopic_recall, "strec_cut", "StRecall")

NOT_COMPUTED |= {
    "p_mrr": "it compares the ranks of a document under two instructions, so it needs two runs",
    "robustness": "it takes the worst of several phrasings of a query",
    "max_over_subqueries*": "it takes the best of several queries that belong together",
    "main_score": "each task chooses a measure for it, which is named beside it",
    "mrt": "it is a time, which run files do not record",
    "retrieval_precision_recall_curve": "it is a curve, not one value for each query",
    "retrieval_recall_at_fixed_precision": "it is a point of a curve over all cutoffs",
    "pwa": "only TF-Ranking defines it",
    "filtered_dcg": "it needs scores with a sign",
    **dict.fromkeys(
        ("time_biased_gain", "tbg", "u_measure"),
        "it depends on how long people read, so on the lengths of documents, which run files do not have",
    ),
    "gauc": "it needs the scores of all items for each user",
    **dict.fromkeys(
        ("item_coverage", "average_popularity", "gini_index", "shannon_entropy", "tail_percentage"),
        "it describes the items that are recommended, not whether they are relevant",
    ),
    "base_map": "it is AP of the list before it was reranked, which is another run",
    "base_mrr": "it is RR of the list before it was reranked, which is another run",
    "base_ndcg": "it is nDCG of the list before it was reranked, which is another run",
}

_BASIC = "runid num_q num_ret num_rel"
_PREFERENCES = "prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair prefs_avgjg"

NICKNAMES |= {
    name: tuple(members.split())
    for name, members in {
        "official": f"{_BASIC} num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P",
        "set": f"{_BASIC} num_rel_ret utility set_P set_relative_P set_recall set_map set_F",
        "all_trec": f"{_BASIC} num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall infAP "
        "gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P "
        "set_relative_P set_recall set_map set_F num_nonrel_judged_ret rbp rbp_resid unj",
        "prefs": f"runid num_q {_PREFERENCES}",
        "all_prefs": f"runid num_q {_PREFERENCES} prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret prefs_avgjg_ret "
        "prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp",
        "qrels_jg": "runid num_q map_avgjg P_avgjg Rprec_mult_avgjg",
    }.items()
}

SECTIONS: dict[str, str] = {
    "precision": "Precision, recall and related measures",
    "incomplete": "Incomplete judgments",
    "sampled": "Judgments of a sample",
    "estimates": "Judgments of a sample, with less bias",
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
    "counts": "Counts and texts",
}
"""Titles of the modules of measures, in the order of the documentation."""

OTHERS = "User-defined measures"


def by_section() -> dict[str, list[Family]]:
    """Return all families by the title of their module.

    Returns
    -------
    dict of str to list of Family
        The families in print order; those of users are in a section of their own.
    """
    sections: dict[str, list[Family]] = {title: [] for title in (*SECTIONS.values(), OTHERS)}
    for family in FAMILIES.values():
        package, _, module = str(family.function.__module__).rpartition(".")
        sections[SECTIONS.get(module, OTHERS) if package == "treceval_py.measuring" else OTHERS].append(family)
    return {title: families for title, families in sections.items() if families}
