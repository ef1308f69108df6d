"""Slow, obvious twins of every measure of trec_eval 10, to test the fast ones against.

Each twin is written from the definition of the measure, with loops, one query at a time. Nothing here is
shared with the package, and nothing is vectorised. Where trec_eval 10 divides zero by zero, the twins give 0.

A ranking is a list of relevance codes in rank order: a level >= 0 as judged, NO_JUDGMENT (-1) for a document
without judgment, NOT_JUDGED (-2) for a document in the pool with a negative judgment. `judged` holds the
levels of all judged documents of the query, retrieved or not, negative ones included, in any order. A
document is relevant if its level is at least `level`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NO_JUDGMENT = -1
NOT_JUDGED = -2
EPSILON = 0.00001


# Rankings -----------------------------------------------------------------------------------------


def utf8(text: str) -> bytes:
    """Give the bytes of a text: identifiers are compared byte by byte."""
    return text.encode("utf-8", "surrogateescape")


def order(scores: dict[str, float], *, later_first: bool = True) -> list[str]:
    """Rank docids by descending score; of equal scores the later docid (in bytes) comes first, or the earlier one."""
    ranking = sorted(scores, key=utf8, reverse=later_first)
    ranking.sort(key=lambda docid: scores[docid], reverse=True)  # stable, also in reverse
    return ranking


def codes_of(ranking: list[str], judgments: dict[str, int]) -> list[int]:
    """Give the relevance code of each document of a ranking."""
    codes = []
    for docid in ranking:
        if docid not in judgments:
            codes.append(NO_JUDGMENT)
        elif judgments[docid] < 0:
            codes.append(NOT_JUDGED)
        else:
            codes.append(judgments[docid])
    return codes


# Counts and text ----------------------------------------------------------------------------------


def count_relevant(judged: list[int], level: int) -> int:
    """Count the relevant documents of the query (R)."""
    return len([judgment for judgment in judged if judgment >= 0 and judgment >= level])


def count_nonrelevant(judged: list[int], level: int) -> int:
    """Count the documents of the query that are judged and not relevant."""
    return len([judgment for judgment in judged if 0 <= judgment < level])


def with_cutoff(twin: Callable[..., Any]) -> Callable[..., Any]:
    """Give the twin of a measure with a cutoff, where that is the measure of the first documents."""
    return lambda codes, judged, *, cutoff, **given: twin(codes[:cutoff], judged, **given)


def num_q(codes: list[int], judged: list[int]) -> float:
    """Count the query."""
    return 1.0


def num_ret(codes: list[int], judged: list[int]) -> float:
    """Count the retrieved documents."""
    return float(len(codes))


def num_rel(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Count the relevant documents."""
    return float(count_relevant(judged, level))


def num_rel_ret(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Count the relevant documents that were retrieved."""
    return float(count_relevant(codes, level))


def num_nonrel_judged_ret(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Count the retrieved documents that are judged and not relevant."""
    return float(count_nonrelevant(codes, level))


def relstring(codes: list[int], judged: list[int], *, length: int = 10) -> str:
    """Write the first codes as one character each."""
    text = ""
    for rank, code in enumerate(codes, start=1):
        if rank > length:
            break
        if code == NO_JUDGMENT:
            text += "-"
        elif code == NOT_JUDGED:
            text += "."
        elif code > 9:
            text += ">"
        else:
            text += str(code)
    return text


# Cutoffs ------------------------------------------------------------------------------------------


def precision(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int, divisor: str = "cutoff") -> float:
    """P_k: a ranking shorter than k is filled with documents that are not relevant."""
    if divisor == "retrieved":
        return count_relevant(codes[:cutoff], level) / min(cutoff, len(codes)) if codes else 0.0
    return count_relevant(codes[:cutoff], level) / cutoff


def recall_at(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int) -> float:
    """recall_k."""
    relevant = count_relevant(judged, level)
    if relevant == 0:
        return 0.0
    return count_relevant(codes[:cutoff], level) / relevant


def relative_precision(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int) -> float:
    """relative_P_k: the precision at k divided by the highest possible one."""
    relevant = count_relevant(judged, level)
    if relevant == 0:
        return 0.0
    return count_relevant(codes[:cutoff], level) / min(cutoff, relevant)


def success(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Give 1 if there is a relevant document, else 0."""
    return float(count_relevant(codes, level) > 0)


def unjudged(codes: list[int], judged: list[int], *, cutoff: int) -> float:
    """unj_k: the share of the first k ranks that hold a document without a level >= 0."""
    return len([code for code in codes[:cutoff] if code < 0]) / cutoff


def judged_of(codes: list[int], judged: list[int], *, negative: str = "unjudged") -> float:
    """Judged of ir_measures: the share of the retrieved documents that are judged."""
    known = [code >= 0 or (negative == "nonrelevant" and code != NO_JUDGMENT) for code in codes]
    return sum(known) / len(codes) if codes else 0.0


# Average precision and the first relevant document ------------------------------------------------


def sum_of_precisions(codes: list[int], level: int) -> float:
    """Add up the precision at the rank of each relevant retrieved document."""
    total = 0.0
    hits = 0
    for rank, code in enumerate(codes, start=1):
        if code >= level:
            hits += 1
            total += hits / rank
    return total


def average_precision(
    codes: list[int],
    judged: list[int],
    *,
    level: int = 1,
    cutoff: int | None = None,
    norm: str = "relevant",
    steps: str = "ordered",
) -> float:
    """map and map_cut_k of one query: divided by all R, min(k, R) or those found; twins know of no ties."""
    assert steps == "ordered"
    first = codes[:cutoff]
    divisor = count_relevant(first if norm == "retrieved" else judged, level)
    if norm == "capped" and cutoff is not None:
        divisor = min(cutoff, divisor)
    return sum_of_precisions(first, level) / divisor if divisor else 0.0


def yaap(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Yet another average precision (Robertson): the log odds of a smoothed average precision."""
    relevant = count_relevant(judged, level)
    total = sum_of_precisions(codes, level)
    return math.log((1 + total) / (1 + relevant - total))


def r_precision(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Rprec: the precision at R, where a ranking shorter than R is filled with other documents."""
    return recall_at(codes, judged, level=level, cutoff=count_relevant(judged, level))


def reciprocal_rank(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """recip_rank."""
    for rank, code in enumerate(codes, start=1):
        if code >= level:
            return 1 / rank
    return 0.0


# The retrieved documents as a set -----------------------------------------------------------------


def set_precision(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """set_P."""
    return precision(codes, judged, level=level, cutoff=len(codes), divisor="retrieved")


def set_recall(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """set_recall."""
    return recall_at(codes, judged, level=level, cutoff=len(codes))


def set_relative_precision(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """set_relative_P: the precision of the set divided by the highest possible one."""
    return relative_precision(codes, judged, level=level, cutoff=len(codes)) if codes else 0.0


def set_map(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """set_map: the precision of the set times its recall."""
    return set_precision(codes, judged, level=level) * set_recall(codes, judged, level=level)


def set_f(codes: list[int], judged: list[int], *, level: int = 1, beta_squared: float = 1.0) -> float:
    """set_F: the parameter is beta squared."""
    if count_relevant(codes, level) == 0:
        return 0.0
    share = set_precision(codes, judged, level=level)
    found = set_recall(codes, judged, level=level)
    return (beta_squared + 1) * share * found / (beta_squared * share + found)


def utility(
    codes: list[int],
    judged: list[int],
    *,
    level: int = 1,
    coefficients: tuple[float, float, float, float] = (1.0, -1.0, 0.0, 0.0),
    collection_size: int = 0,
) -> float:
    """Weigh the four cells of the table relevant or not, retrieved or not."""
    relevant = count_relevant(judged, level)
    relevant_retrieved = count_relevant(codes, level)
    other_retrieved = len(codes) - relevant_retrieved
    relevant_missed = relevant - relevant_retrieved
    other_missed = collection_size + relevant_retrieved - len(codes) - relevant
    return (
        coefficients[0] * relevant_retrieved
        + coefficients[1] * other_retrieved
        + coefficients[2] * relevant_missed
        + coefficients[3] * other_missed
    )


# Incomplete judgments -----------------------------------------------------------------------------


def bpref(codes: list[int], judged: list[int], *, level: int = 1, negative: str = "unjudged") -> float:
    """Buckley and Voorhees, SIGIR 2004 (gm_bpref averages the same value)."""
    if negative == "nonrelevant":  # labels from -2 on, of which those of the ranking are told from no judgment
        level += 1
        codes = [code if code == NO_JUDGMENT else max(code + 1, 0) for code in codes]
        judged = [max(label + 1, 0) for label in judged]
    relevant = count_relevant(judged, level)
    nonrelevant = count_nonrelevant(judged, level)
    if relevant == 0:
        return 0.0
    total = 0.0
    nonrelevant_above = 0
    for code in codes:
        if code < 0:
            continue
        if code < level:
            nonrelevant_above += 1
        elif nonrelevant_above == 0:
            total += 1.0
        else:
            total += 1 - min(nonrelevant_above, relevant) / min(nonrelevant, relevant)
    return total / relevant


def inferred_ap(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """infAP: Yilmaz and Aslam, CIKM 2006."""
    relevant = count_relevant(judged, level)
    if relevant == 0:
        return 0.0
    total = 0.0
    relevant_above = 0
    nonrelevant_above = 0
    unjudged_above = 0
    for above, code in enumerate(codes):  # `above` documents precede this one
        if code == NO_JUDGMENT:
            continue
        if code == NOT_JUDGED:
            unjudged_above += 1
        elif code < level:
            nonrelevant_above += 1
        else:
            if above == 0:
                total += 1.0
            else:
                in_pool = (relevant_above + nonrelevant_above + unjudged_above) / above
                known = relevant_above + nonrelevant_above
                relevant_share = (relevant_above + EPSILON) / (known + 2 * EPSILON)
                total += 1 / (above + 1) + (above / (above + 1)) * in_pool * relevant_share
            relevant_above += 1
    return total / relevant


# Cutoffs that depend on the number of relevant documents ------------------------------------------


def wanted_relevant(recall: float, relevant: int, rounding: str) -> int:
    """Give the number of relevant documents that make up a recall level."""
    if rounding == "nearest":  # trec_eval 10, halves up
        return math.floor(recall * relevant + 0.5)
    return math.trunc(recall * relevant + 0.9)  # trec_eval 9


def interpolated_precision(
    codes: list[int], judged: list[int], *, level: int = 1, recall: float, rounding: str = "nearest"
) -> float:
    """iprec_at_recall: the highest precision at any rank where the recall is reached."""
    wanted = wanted_relevant(recall, count_relevant(judged, level), rounding)
    highest = 0.0
    hits = 0
    for rank, code in enumerate(codes, start=1):
        if code >= level:
            hits += 1
        if hits >= wanted:
            highest = max(highest, hits / rank)
    return highest


def eleven_point_average(
    codes: list[int],
    judged: list[int],
    *,
    level: int = 1,
    recalls: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    rounding: str = "nearest",
) -> float:
    """11pt_avg: the mean of the interpolated precisions, if the recall levels ascend.

    The ranking is walked from its end, and the recalls from the last to the first, whatever their order.
    """
    if len(codes) == 0:
        return 0.0
    relevant = count_relevant(judged, level)
    wanted = [wanted_relevant(recall, relevant, rounding) for recall in recalls]
    hits = count_relevant(codes, level)
    highest = hits / len(codes)
    left = len(wanted)  # the recall levels before this index are still to be met
    while left > 0 and wanted[left - 1] > hits:
        left -= 1
    total = 0.0
    for rank in range(len(codes), 0, -1):
        if hits == 0:
            break
        highest = max(highest, hits / rank)
        if codes[rank - 1] >= level:
            while left > 0 and wanted[left - 1] == hits:
                total += highest
                left -= 1
            hits -= 1
    for _ in range(left):
        total += highest
    return total / len(recalls)


def r_precision_mult(codes: list[int], judged: list[int], *, level: int = 1, multiple: float) -> float:
    """Rprec_mult: the precision at a multiple of R, cut to an integer after adding 0.9."""
    cutoff = math.trunc(multiple * count_relevant(judged, level) + 0.9)
    if cutoff < 1:
        return 0.0
    return count_relevant(codes[:cutoff], level) / cutoff


# Gains --------------------------------------------------------------------------------------------


def gain_of(code: int, gains: Mapping[int, float] | None) -> float:
    """Give the gain of a code: the one named for it, else the level itself, else 0."""
    if gains is not None and code in gains:
        return gains[code]
    if code >= 0:
        return float(code)
    return 0.0


def ideal_gains(judged: list[int], gains: Mapping[int, float] | None) -> list[float]:
    """List the gains above 0 of all judged documents, highest first."""
    return sorted([gain_of(level, gains) for level in judged if level >= 0 and gain_of(level, gains) > 0], reverse=True)


def discount(index: int) -> float:
    """Give the discount of a rank counted from 0: log2(rank + 1) for ranks counted from 1."""
    return math.log2(index + 2)


def any_gain_of(code: int, gains: Mapping[int, float] | None, gain: str) -> float:
    """Give the gain of a code, linear or exponential."""
    if gain == "binary":
        return 1.0 if code > 0 else 0.0
    if gain == "exp":
        return 2.0**code - 1 if code > 0 else 0.0
    return gain_of(code, gains)


def any_discounted_sum(gains: list[float], discount: str = "log2", base: float = 2.0, ties: str = "ordered") -> float:
    """Add up gains in rank order, discounted by log2(rank + 1) or as Jarvelin and Kekalainen (2002) do.

    It knows of no ties.
    """
    total = 0.0
    for rank, gain in enumerate(gains, start=1):
        if discount == "log2":
            total += gain / math.log2(rank + 1)
        elif discount == "position":
            total += gain / rank
        elif rank < base:
            total += gain
        else:
            total += gain / (math.log(rank) / math.log(base))
    return total


def dcg(
    codes: list[int],
    judged: list[int],
    *,
    gains: Mapping[int, float] | None = None,
    gain: str = "linear",
    **given: Any,
) -> float:
    """Add up the discounted gains of the ranking (Jarvelin and Kekalainen, TOIS 2002)."""
    return any_discounted_sum([any_gain_of(code, gains, gain) for code in codes], **given)


def ideal_dcg(codes: list[int], judged: list[int], *, cutoff: int | None = None, **given: Any) -> float:
    """Give the dcg of the ideal ranking: all judged documents, highest gain first."""
    best = sorted(judged, key=lambda level: any_gain_of(level, given.get("gains"), given.get("gain", "linear")))
    best = [level for level in reversed(best) if level >= 0]
    return dcg(best[:cutoff], judged, **given)


def ndcg(
    codes: list[int], judged: list[int], *, cutoff: int | None = None, ideal: str = "judged", **given: Any
) -> float:
    """Divide the dcg by the ideal one, where both rankings end after k documents."""
    highest = ideal_dcg([], codes if ideal == "retrieved" else judged, cutoff=cutoff, **given)
    return dcg(codes[:cutoff], judged, **given) / highest if highest else 0.0


def ndcg_rel(codes: list[int], judged: list[int], *, gains: Mapping[int, float] | None = None) -> float:
    """ndcg_rel: the mean of the ndcg at each document with a gain; those missed count as if after the end."""
    ideal = ideal_gains(judged, gains)
    if len(ideal) == 0:
        return 0.0
    total = 0.0
    actual_sum = 0.0
    ideal_sum = 0.0
    found = 0
    for index, code in enumerate(codes):
        gain = gain_of(code, gains)
        actual_sum += gain / discount(index)
        if index < len(ideal):
            ideal_sum += ideal[index] / discount(index)
        if gain > 0:
            total += actual_sum / ideal_sum
            found += 1
    for index in range(len(codes), len(ideal)):
        ideal_sum += ideal[index] / discount(index)
    total += (len(ideal) - found) * actual_sum / ideal_sum
    if total > 0:
        return total / len(ideal)
    return 0.0


def r_ndcg(codes: list[int], judged: list[int], *, level: int = 1, gains: Mapping[int, float] | None = None) -> float:
    """Rndcg: the mean of the ndcg at the ranks where the ideal ranking comes to a lower gain.

    A ranking that goes on for more than one document after the ideal one adds a last ndcg at its end.
    """
    ideal = ideal_gains(judged, gains)
    if count_relevant(judged, level) == 0 or len(ideal) == 0:
        return 0.0
    total = 0.0
    points = 0
    actual_sum = 0.0
    ideal_sum = 0.0
    previous = ideal[0]
    for index in range(len(ideal) + 1):
        wanted = ideal[index] if index < len(ideal) else 0.0
        if wanted != previous:  # never at index 0, so ideal_sum is above 0
            total += actual_sum / ideal_sum
            points += 1
            previous = wanted
        if index < len(codes):
            actual_sum += gain_of(codes[index], gains) / discount(index)
        ideal_sum += wanted / discount(index)
    if len(codes) > len(ideal) + 1:
        for index in range(len(ideal) + 1, len(codes)):
            actual_sum += gain_of(codes[index], gains) / discount(index)
        total += actual_sum / ideal_sum
        points += 1
    return total / points


def divide_by_log2(value: float, argument: float) -> float:
    """Give value / log2(argument) by the rules of IEEE arithmetic, where Python would raise an error."""
    if argument < 0:
        return math.nan
    if argument == 0:
        return 0.0  # the logarithm is minus infinity
    logarithm = math.log2(argument)
    if logarithm == 0:
        return math.copysign(math.inf, value)  # the value is not 0
    return value / logarithm


def normalized_g(codes: list[int], judged: list[int], *, gains: Mapping[int, float] | None = None) -> float:
    """G: each gain is divided by the log of what the ranking has cost so far beyond what it has gained."""
    ideal = ideal_gains(judged, gains)
    if len(ideal) == 0:
        return 0.0
    total = 0.0
    gained = 0.0
    cost = 0.0
    for index, code in enumerate(codes):
        gain = gain_of(code, gains)
        gained += gain
        if index < len(ideal):
            cost += max(ideal[index], 1.0)
        else:
            cost += 1.0
        if gain != 0:
            total += divide_by_log2(gain, 2 + cost - gained)
    value = total / sum(ideal)
    return 0.0 if math.isnan(value) else value


def binary_g(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """binG: each relevant document counts 1 / log2(2 + documents above it that are not relevant)."""
    relevant = count_relevant(judged, level)
    if relevant == 0:
        return 0.0
    total = 0.0
    other_above = 0
    for code in codes:
        if code >= level:
            total += 1 / math.log2(2 + other_above)
        else:
            other_above += 1
    return total / relevant


def rbp(codes: list[int], judged: list[int], *, gains: Mapping[int, float] | None = None, p: float = 0.9) -> float:
    """Rank-biased precision (Moffat and Zobel, TOIS 2008), with gains scaled to 0..1 if any lies outside.

    The scale covers each named gain, used or not, and each level up to the highest one judged.
    """
    known: set[int] = set()  # the levels that have a gain
    if gains is not None:
        known.update(gains)
    for level in range(max(judged, default=-1) + 1):
        known.add(level)
    lowest = 0.0
    highest = 0.0
    for level in known:
        lowest = min(lowest, gain_of(level, gains))
        highest = max(highest, gain_of(level, gains))
    total = 0.0
    weight = 1.0
    for code in codes:
        if code in known:
            gain = gain_of(code, gains)
            if lowest < 0 or highest > 1:
                gain = (gain - lowest) / (highest - lowest)
            total += gain * weight
        weight *= p
    return (1 - p) * total


def rbp_residual(
    codes: list[int], judged: list[int], *, p: float = 0.9, gains: Mapping[int, float] | None = None
) -> float:
    """rbp_resid, on which gains have no effect: the weight of the unjudged ranks and of the tail; 0 if all retrieved ones are judged."""
    unjudged_sum = 0.0
    any_unjudged = False
    weight = 1.0
    for code in codes:
        if code < 0:
            any_unjudged = True
            unjudged_sum += weight
        weight *= p
    if not any_unjudged:
        return 0.0
    return weight + (1 - p) * unjudged_sum


# Judgment groups ----------------------------------------------------------------------------------


def average_over_groups(twin: Callable[..., float]) -> Callable[..., float]:
    """Give the twin that averages a measure over the judgment groups of a query."""

    def averaged(group_codes: list[list[int]], group_judged: list[list[int]], **given: Any) -> float:
        if len(group_codes) == 0:
            return 0.0
        total = 0.0
        for codes, judged in zip(group_codes, group_judged, strict=True):
            total += twin(codes, judged, **given)
        return total / len(group_codes)

    return averaged


# Preferences --------------------------------------------------------------------------------------
#
# The documents of a query are numbered: first the retrieved ones in rank order, then the others by docid. So
# a document is retrieved if its number is below `retrieved` (how many were), and of two documents the one
# with the lower number is ranked higher.


Lines = list[tuple[str, str, str, float]]
"""The preference lines of a query: group, sub-group, docid, level."""


@dataclass
class Group:
    """The preferences of one judgment group; those of a simple group are counted by lines."""

    preferences: list[tuple[int, int]]  # (x, y): x is preferred to y
    classes: list[list[int]] | None  # of a simple group, the highest level first; None for a partial group
    relevant: list[int]  # documents of a level above 0
    nonrelevant: list[int]  # documents of level 0 (simple group: of level 0 or below)


@dataclass
class Counts:
    """The preferences of one group, by how many of the two documents were retrieved (both, one, none)."""

    possible_both: int = 0
    possible_one: int = 0
    possible_none: int = 0
    fulfilled_both: int = 0
    fulfilled_one: int = 0

    @property
    def possible(self) -> int:
        """Count all preferences."""
        return self.possible_both + self.possible_one + self.possible_none

    @property
    def implied(self) -> int:
        """Count the preferences of which at least one document was retrieved."""
        return self.possible_both + self.possible_one

    @property
    def fulfilled(self) -> int:
        """Count the fulfilled preferences; a document not retrieved comes after the retrieved ones."""
        return self.fulfilled_both + self.fulfilled_one


@dataclass
class Query:
    """The groups of one query, in byte order of their names, and the number of retrieved documents."""

    groups: list[Group]
    retrieved: int


def number_documents(ranking: list[str], docids: set[str]) -> tuple[dict[str, int], int]:
    """Give a number to each document that has a level, and the number of those retrieved."""
    numbers: dict[str, int] = {}
    for docid in ranking:
        if docid in docids:
            numbers[docid] = len(numbers)
    retrieved = len(numbers)
    for docid in sorted(docids, key=utf8):
        if docid not in numbers:
            numbers[docid] = len(numbers)
    return numbers, retrieved


def simple_group(levels: list[tuple[int, float]]) -> Group:
    """Read a group of one sub-group of (document, level): each class is preferred to all lower ones."""
    classes = []
    for class_level in sorted({level for _, level in levels}, reverse=True):
        classes.append(sorted(document for document, level in levels if level == class_level))
    preferences = []
    for higher in range(len(classes)):
        for lower in range(higher + 1, len(classes)):
            for x in classes[higher]:
                for y in classes[lower]:
                    preferences.append((x, y))
    relevant = sorted(document for document, level in levels if level > 0)
    nonrelevant = sorted(document for document, level in levels if level <= 0)
    return Group(preferences, classes, relevant, nonrelevant)


def transitive_closure(preferences: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Add x over z wherever there is x over y and y over z, until nothing is new."""
    closed = set(preferences)
    while True:
        new = set()
        for x, y in closed:
            for other_y, z in closed:
                if y == other_y and (x, z) not in closed:
                    new.add((x, z))
        if not new:
            return closed
        closed.update(new)


def partial_group(subgroups: list[list[tuple[int, float]]]) -> Group:
    """Read a group of two or more sub-groups of (document, level), in byte order of their names."""
    last_level: dict[int, float] = {}
    for levels in subgroups:
        for document, level in sorted(levels, key=lambda entry: (-entry[1], entry[0])):
            last_level[document] = level
    stated = set()
    for levels in subgroups:
        for x, x_level in levels:
            for y, y_level in levels:
                if x_level > y_level:
                    stated.add((x, y))
    closed = transitive_closure(stated)
    relevant = sorted(document for document, level in last_level.items() if level > 0)
    nonrelevant = sorted(document for document, level in last_level.items() if level == 0)
    return Group(sorted(closed), None, relevant, nonrelevant)


def read_query(ranking: list[str], lines: Lines) -> Query:
    """Read the preference lines (group, sub-group, docid, level) of one query."""
    numbers, retrieved = number_documents(ranking, {docid for _, _, docid, _ in lines})
    groups = []
    for group_name in sorted({jg for jg, _, _, _ in lines}, key=utf8):
        subgroups = []
        for subgroup_name in sorted({jsg for jg, jsg, _, _ in lines if jg == group_name}, key=utf8):
            levels = []
            for jg, jsg, docid, level in lines:
                if jg == group_name and jsg == subgroup_name:
                    levels.append((numbers[docid], level))
            subgroups.append(levels)
        if len(subgroups) == 1:
            groups.append(simple_group(subgroups[0]))
        else:
            groups.append(partial_group(subgroups))
    return Query(groups, retrieved)


def count_preferences(preferences: list[tuple[int, int]], retrieved: int) -> Counts:
    """Count preferences, and those that the ranking fulfils."""
    counts = Counts()
    for x, y in preferences:
        if x < retrieved and y < retrieved:
            counts.possible_both += 1
            if x < y:
                counts.fulfilled_both += 1
        elif x < retrieved or y < retrieved:
            counts.possible_one += 1
            if x < retrieved:
                counts.fulfilled_one += 1
        else:
            counts.possible_none += 1
    return counts


def count_groups(ranking: list[str], lines: Lines) -> list[Counts]:
    """Count the preferences of each group of a query."""
    query = read_query(ranking, lines)
    return [count_preferences(group.preferences, query.retrieved) for group in query.groups]


def total_of(part: str) -> Callable[[list[str], Lines], float]:
    """Give the twin that counts some preferences of all groups."""
    return lambda ranking, lines: float(sum(getattr(counts, part) for counts in count_groups(ranking, lines)))


def pooled_ratio(parts: list[tuple[int, int]]) -> float:
    """Divide the sum of the first numbers by the sum of the second ones; 0 if that is 0."""
    fulfilled = sum(part[0] for part in parts)
    possible = sum(part[1] for part in parts)
    if possible == 0:
        return 0.0
    return fulfilled / possible


def mean_ratio(parts: list[tuple[int, int]]) -> float:
    """Average the ratios of the groups; a group without preferences has ratio 0."""
    if len(parts) == 0:
        return 0.0
    total = 0.0
    for fulfilled, possible in parts:
        if possible > 0:
            total += fulfilled / possible
    return total / len(parts)


def ratio_of(
    combined: Callable[[list[tuple[int, int]]], float], fulfilled: str, possible: str
) -> Callable[[list[str], Lines], float]:
    """Give the twin that divides fulfilled preferences by possible ones, over all groups or in each."""

    def ratio(ranking: list[str], lines: Lines) -> float:
        groups = count_groups(ranking, lines)
        return combined([(getattr(counts, fulfilled), getattr(counts, possible)) for counts in groups])

    return ratio


def pair_mean(needed: int) -> Callable[[list[str], Lines], float]:
    """Give the twin that averages over pairs the share of their preferences that are fulfilled, over all groups.

    Only pairs of which at least `needed` documents were retrieved count.
    """

    def mean(ranking: list[str], lines: Lines) -> float:
        query = read_query(ranking, lines)
        counts: dict[tuple[int, int], int] = {}
        for group in query.groups:
            for preference in group.preferences:
                counts[preference] = counts.get(preference, 0) + 1
        documents = len({docid for _, _, docid, _ in lines})
        total = 0.0
        pairs = 0
        for i in range(documents):
            for j in range(i + 1, documents):
                as_ranked = counts.get((i, j), 0)
                against = counts.get((j, i), 0)
                found = int(i < query.retrieved) + int(j < query.retrieved)
                if as_ranked + against == 0 or found < needed:
                    continue
                pairs += 1
                if found > 0:  # a pair that was not retrieved is not ranked
                    total += as_ranked / (as_ranked + against)
        return total / pairs if pairs else 0.0

    return mean


def recount(group: Group, tail_length: int) -> list[tuple[int, int]]:
    """List the preferences of a group again, with only the first `tail_length` nonrelevant documents.

    In a simple group each document, those of the lowest class included, is paired with each document of the
    tail of that class, even with itself: trec_eval counts so.
    """
    if group.classes is None:
        dropped = group.nonrelevant[tail_length:]
        return [(x, y) for x, y in group.preferences if x not in dropped and y not in dropped]
    upper_classes = group.classes[:-1]
    tail = group.classes[-1][:tail_length]
    pairs = []
    for higher in range(len(upper_classes)):
        for lower in range(higher + 1, len(upper_classes)):
            for x in upper_classes[higher]:
                for y in upper_classes[lower]:
                    pairs.append((x, y))
    for documents in group.classes:
        for x in documents:
            for y in tail:
                pairs.append((x, y))
    return pairs


def divide(numerator: int, denominator: int) -> float:
    """Divide; 0/0 is NaN."""
    if denominator == 0:
        return math.nan
    return numerator / denominator


def group_rnonrel(group: Group, retrieved: int) -> float:
    """Give the share of fulfilled preferences of a group with as many nonrelevant as relevant documents."""
    relevant = len(group.relevant)
    relevant_retrieved = len([document for document in group.relevant if document < retrieved])
    nonrelevant = len(group.nonrelevant)
    if relevant >= nonrelevant:  # as if nonrelevant documents were added that nobody retrieves
        counts = count_preferences(group.preferences, retrieved)
        added = relevant - nonrelevant
        return divide(counts.fulfilled + relevant_retrieved * added, counts.possible + relevant * added)
    pairs = recount(group, relevant)
    fulfilled = [(x, y) for x, y in pairs if x < y and x < retrieved]
    return divide(len(fulfilled), len(pairs))


def group_rnonrel_ret(group: Group, retrieved: int) -> float:
    """group_rnonrel of the retrieved documents."""
    relevant = len(group.relevant)
    relevant_retrieved = len([document for document in group.relevant if document < retrieved])
    nonrelevant_retrieved = len([document for document in group.nonrelevant if document < retrieved])
    if relevant_retrieved >= nonrelevant_retrieved:
        counts = count_preferences(group.preferences, retrieved)
        added = relevant_retrieved - nonrelevant_retrieved
        return divide(
            counts.fulfilled_both + relevant_retrieved * added,
            counts.possible_both + relevant * added,  # not relevant_retrieved
        )
    is_partial = group.classes is None
    pairs = recount(group, relevant if is_partial else relevant_retrieved)
    possible = [(x, y) for x, y in pairs if x < retrieved and y < retrieved]
    fulfilled = [(x, y) for x, y in possible if x < y]
    return divide(len(fulfilled), len(possible))


def mean_over_groups(twin: Callable[[Group, int], float]) -> Callable[[list[str], Lines], float]:
    """Give the twin that averages over the groups of a query; 0 unless the sum is above 0, so one NaN makes it 0."""

    def averaged(ranking: list[str], lines: Lines) -> float:
        query = read_query(ranking, lines)
        total = 0.0
        for group in query.groups:
            total += twin(group, query.retrieved)
        return total / len(query.groups) if total > 0 else 0.0

    return averaged


# All twins by the names of trec_eval 10 -----------------------------------------------------------

RANKED: dict[str, Callable[..., float | str]] = {
    "num_q": num_q,
    "num_ret": num_ret,
    "num_rel": num_rel,
    "num_rel_ret": num_rel_ret,
    "map": average_precision,
    "gm_map": average_precision,
    "Rprec": r_precision,
    "bpref": bpref,
    "recip_rank": reciprocal_rank,
    "iprec_at_recall": interpolated_precision,
    "P": precision,
    "relstring": relstring,
    "recall": recall_at,
    "infAP": inferred_ap,
    "gm_bpref": bpref,
    "Rprec_mult": r_precision_mult,
    "utility": utility,
    "11pt_avg": eleven_point_average,
    "binG": binary_g,
    "G": normalized_g,
    "dcg": dcg,
    "ideal_dcg": ideal_dcg,
    "ndcg": ndcg,
    "ndcg_rel": ndcg_rel,
    "Rndcg": r_ndcg,
    "ndcg_cut": ndcg,
    "map_cut": average_precision,
    "relative_P": relative_precision,
    "success": with_cutoff(success),
    "set_P": set_precision,
    "set_relative_P": set_relative_precision,
    "set_recall": set_recall,
    "set_map": set_map,
    "set_F": set_f,
    "num_nonrel_judged_ret": num_nonrel_judged_ret,
    "yaap": yaap,
    "rbp": rbp,
    "rbp_resid": rbp_residual,
    "unj": unjudged,
    "judged": with_cutoff(judged_of),  # not of trec_eval
    "recip_rank_cut": with_cutoff(reciprocal_rank),  # not of trec_eval
}

GROUPED: dict[str, Callable[..., float]] = {
    "map_avgjg": average_over_groups(average_precision),
    "P_avgjg": average_over_groups(precision),
    "Rprec_mult_avgjg": average_over_groups(r_precision_mult),
}

PREFERENCES: dict[str, Callable[[list[str], Lines], float]] = {
    "prefs_num_prefs_poss": total_of("possible"),
    "prefs_num_prefs_ful": total_of("fulfilled"),
    "prefs_num_prefs_ful_ret": total_of("fulfilled_both"),
    "prefs_simp": ratio_of(pooled_ratio, "fulfilled", "possible"),
    "prefs_pair": pair_mean(0),
    "prefs_avgjg": ratio_of(mean_ratio, "fulfilled", "possible"),
    "prefs_avgjg_Rnonrel": mean_over_groups(group_rnonrel),
    "prefs_simp_ret": ratio_of(pooled_ratio, "fulfilled_both", "possible_both"),
    "prefs_pair_ret": pair_mean(2),
    "prefs_avgjg_ret": ratio_of(mean_ratio, "fulfilled_both", "possible_both"),
    "prefs_avgjg_Rnonrel_ret": mean_over_groups(group_rnonrel_ret),
    "prefs_simp_imp": ratio_of(pooled_ratio, "fulfilled", "implied"),
    "prefs_pair_imp": pair_mean(1),
    "prefs_avgjg_imp": ratio_of(mean_ratio, "fulfilled", "implied"),
}
