"""An obvious scorer for the conformance kit: every convention is a branch, every value a loop.

Nothing here is shared with the package or with the kit's own programs.
"""

import math
import struct

Judged = dict[str, dict[str, int]]
Conventions = dict[str, str]


def quicksorted(scores: list[float]) -> list[int]:
    """Sort positions by descending score as Numba's quicksort does: by insertion below 16 of them, else by partition."""
    keys, order = [-score for score in scores], list(range(len(scores)))
    stack = [(0, len(scores) - 1)]
    while stack:
        low, high = stack.pop()
        while high - low >= 15:
            middle = (low + high) // 2
            for one, other in ((middle, low), (high, middle), (middle, low)):
                if keys[order[one]] < keys[order[other]]:
                    order[one], order[other] = order[other], order[one]
            pivot = keys[order[middle]]
            order[middle], order[high] = order[high], order[middle]
            i, j = low, high - 1
            while True:
                while i < high and keys[order[i]] < pivot:
                    i += 1
                while j >= low and pivot < keys[order[j]]:
                    j -= 1
                if i >= j:
                    break
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
            order[i], order[high] = order[high], order[i]
            if high - i > i - low:
                if high > i:
                    stack.append((i + 1, high))
                high = i - 1
            else:
                if i > low:
                    stack.append((low, i - 1))
                low = i + 1
        for place in range(low + 1, high + 1):
            while place > low and keys[order[place]] < keys[order[place - 1]]:
                order[place], order[place - 1] = order[place - 1], order[place]
                place -= 1
    return order


Row = tuple[str, int, float, int]
"""A line of the run of a query: document, rank, score, number of the line."""


def tie_key(row: Row, labels: dict[str, int], ties: str):
    """Return what orders documents with equal scores, smallest first."""
    docid, rank, _, line = row
    if ties == "line":
        return line
    if ties == "line-reversed":
        return -line
    if ties == "rank":
        return rank
    if ties == "worst":
        return labels.get(docid, 0)
    if ties == "best":
        return -labels.get(docid, 0)
    if ties.startswith("number"):
        return int(docid) if ties == "number-asc" else -int(docid)
    text = docid.encode("utf-16-be" if ties.startswith("utf16") else "utf-8")
    return text if ties.endswith("asc") else (*(-byte for byte in text), 1)


def ranked(rows: list[Row], labels: dict[str, int], rules: Conventions) -> list[list[Row]]:
    """Return groups of documents in rank order; only documents whose order is undefined share a group."""

    def score(row: Row) -> float:
        value = row[2]
        if rules.get("width") == "32":
            value = struct.unpack("f", struct.pack("f", value))[0]
        if value == math.inf and rules.get("infinity") == "smallest":
            value = -math.inf
        if rules.get("zero") == "signed" and value == 0 and math.copysign(1, value) < 0:
            value = -5e-324
        return value

    if rules.get("order") == "line":
        return [[row] for row in rows]
    if rules.get("order") == "rank":
        return [[row] for row in sorted(rows, key=lambda row: row[1])]
    if rules.get("order") == "score-ascending":
        return [[row] for row in sorted(rows, key=score)]
    ties = rules.get("ties", "docid-desc")
    if ties in ("quicksort", "ranx"):
        for _ in range(2 if ties == "ranx" else 1):
            rows = [rows[place] for place in quicksorted([score(row) for row in rows])]
        return [[row] for row in rows]
    if ties in ("average", "together"):
        groups: dict[float, list[Row]] = {}
        for row in rows:
            groups.setdefault(score(row), []).append(row)
        return [groups[each] for each in sorted(groups, reverse=True)]
    ordered = sorted(rows, key=lambda row: tie_key(row, labels, ties))
    return [[row] for row in sorted(ordered, key=score, reverse=True)]


def gain_of(label: int, rules: Conventions) -> float:
    if label < 0 and rules.get("negative") != "loss":
        return 0.0
    return {"linear": label, "exp": 2.0**label - 1, "binary": float(label > 0)}[rules.get("gain", "linear")]


def discount(rank: int, rules: Conventions) -> float:
    return {
        "log2": math.log2(rank + 1),
        "original": max(1.0, math.log2(rank)),
        "position": rank,
        "late": math.log2(rank + 2),
    }[rules.get("discount", "log2")]


def ndcg(groups: list[list[int]], known: list[int], k: int | None, rules: Conventions) -> float:
    ranks, total, rank = [label for group in groups for label in group], 0.0, 0
    for group in groups:
        places = range(rank + 1, rank + len(group) + 1)
        share = sum(1 / discount(place, rules) for place in places if k is None or place <= k) / len(group)
        total += sum(gain_of(label, rules) for label in group) * share
        rank += len(group)
    ideal = {
        "all": known,
        "uncut": known,
        "gains": [label for label in known if label > 0],
        "retrieved": ranks,
        "top": ranks[:k],
    }
    best = sorted((gain_of(label, rules) for label in ideal[rules.get("ideal", "all")]), reverse=True)
    best = best[: None if rules.get("ideal") == "uncut" else k]
    norm = sum(each / discount(place, rules) for place, each in enumerate(best, 1))
    return total / norm if norm else 0.0


def average_over_orders(measure: str, groups: list[list[int]], known: list[int], rules: Conventions) -> float:
    """Return the mean over the orders of the one group that has a relevant document, which has one."""
    (group,) = [group for group in groups if any(group)]
    (label,) = [label for label in group if label]
    values = []
    for place in range(len(group)):
        order = [0] * len(group)
        order[place] = label
        before = [[each] for other in groups[: groups.index(group)] for each in other]
        values.append(value(measure, [*before, *([each] for each in order)], known, rules))
    return sum(values) / len(values)


def value(measure: str, groups: list[list[int]], known: list[int], rules: Conventions) -> float:
    """Return the value of a query: labels in rank order, by groups, and the labels that are known."""
    name, _, cutoff = measure.partition("@")
    k = int(cutoff) if cutoff and name != "IPrec" else None
    if rules.get("ties") == "average" and any(len(group) > 1 for group in groups):
        return average_over_orders(measure, groups, known, rules)
    level = int(rules.get("level", "1"))

    def relevant(label: int | None) -> bool:
        if label is None:
            return False
        return label != 0 if rules.get("negative") == "relevant" else label >= level

    if name == "nDCG":
        return ndcg([[label or 0 for label in group] for group in groups], known, k, rules)
    if rules.get("ties") == "together":
        # Every document of a group counts at the group's last rank.
        hits = seen = 0
        total = 0.0
        for group in groups:
            found = sum(map(relevant, group))
            hits, seen = hits + found, seen + len(group)
            total += found * hits / seen
        return total / sum(map(relevant, known))
    ranks = [label for group in groups for label in group]
    top = ranks if k is None else ranks[:k]
    hits = [rank for rank, label in enumerate(ranks, 1) if relevant(label)]
    within = [rank for rank in hits if rank <= len(top)]
    total = sum(map(relevant, known))
    if name == "RR":
        found = hits if rules.get("cutoff") == "ignored" else within
        return 1 / found[0] if found else 0.0
    if name == "Success":
        return float(bool(within))
    if name == "P":
        return len(within) / (len(top) if rules.get("norm") == "retrieved" else k)
    if name == "R":
        return len(within) / min(total, k if rules.get("norm") == "capped" else total)
    if name == "Rprec":
        return sum(rank <= total for rank in hits) / total
    if name == "AP":
        precisions = sum(number / rank for number, rank in enumerate(within, 1))
        norm = {"R": total, "capped": min(total, k or total), "retrieved": len(within)}[rules.get("norm", "R")]
        return precisions / norm if norm else 0.0
    if name == "IPrec":
        wanted = float(cutoff) * total
        wanted = math.ceil(wanted) if rules["round"] == "up" else math.floor(wanted + 0.5)
        return max((number / rank for number, rank in enumerate(hits, 1) if number >= wanted), default=0.0)
    if name == "Bpref":
        non = sum(not relevant(label) for label in known)
        divisor = {"min": min(total, non), "R": total, "10": total + 10}[rules.get("bpref", "min")]
        return sum(1 - min(rank - number, total) / divisor for number, rank in enumerate(hits, 1)) / total
    if name == "ERR":
        scale = {"2": 2.0**2, "4": 2.0**4}.get(rules["max_rel"])
        stay, found = 1.0, 0.0
        for rank, label in enumerate(top, 1):
            stop = label if scale is None else (2.0**label - 1) / scale
            found, stay = found + stay * stop / rank, stay * (1 - stop)
        return found
    raise AssertionError(measure)


def same(docid: str, rules: Conventions) -> str:
    return str(int(docid)) if rules.get("ids") == "numbers" else docid


def judgments(lines: list[str], rules: Conventions) -> Judged:
    found: dict[str, dict[str, list[int]]] = {}
    for line in lines:
        qid, _, docid, label = line.split()
        found.setdefault(qid, {}).setdefault(same(docid, rules), []).append(int(label))
    pick = {"first": lambda labels: labels[0], "last": lambda labels: labels[-1], "highest": max, "lowest": min}
    chosen = pick[rules.get("judged-twice", "last")]
    return {qid: {docid: chosen(labels) for docid, labels in row.items()} for qid, row in found.items()}


def rankings(lines: list[str], rules: Conventions) -> dict[str, list[Row]]:
    """Return the rows of each query, as far as they count."""
    found: dict[str, list[Row]] = {}
    last, done = "", set()
    for number, line in enumerate(lines):
        qid, _, docid, rank, score, _ = line.split()
        if qid != last:
            done.add(last)
            last = qid
        if rules.get("scattered") == "first" and qid in done:
            continue
        found.setdefault(qid, []).append((same(docid, rules), int(rank), float(score), number))
    how = rules.get("dup", "last")
    for qid, rows in found.items():
        kept: dict[object, Row] = {}
        for row in rows:
            before = kept.get(row[0])
            better = (
                before is None
                or how == "last"
                or (how == "highest" and row[2] > before[2])
                or (how == "lowest" and row[2] < before[2])
            )
            if how == "each":
                kept[row] = row
            elif before is None or (better and rules.get("ids") != "numbers"):
                kept[row[0]] = row
        found[qid] = [
            row
            for row in kept.values()
            if not (rules.get("self") == "drop" and row[0] == qid)
            and not (rules.get("infinity") == "drop" and math.isinf(row[2]))
        ]
    return found


def mean(probe: dict, measure: str, rules: Conventions) -> float:
    """Return the mean of a measure under the conventions, which are trec_eval's where they do not say otherwise."""
    judged, run = judgments(probe["qrels"], rules), rankings(probe["run"], rules)
    values = []
    for qid in sorted({*judged, *run}):
        labels = judged.get(qid, {})
        if qid not in judged and rules.get("extra", "out") == "out":
            continue
        if qid not in run and rules.get("missing", "out") == "out":
            continue
        if not any(label > 0 for label in labels.values()) and rules.get("norel", "in") != "in":
            values += [1.0] if rules["norel"] == "one" else []
            continue
        rows = run.get(qid, [])
        if rules.get("unjudged") == "drop":
            rows = [row for row in rows if row[0] in labels]
        groups = [
            [
                0
                if rules.get("score0") == "miss" and row[2] <= 0
                else labels.get(row[0], None if measure == "Bpref" else 0)
                for row in group
            ]
            for group in ranked(rows, labels, rules)
        ]
        if rules.get("level") == "0":  # an unjudged document is not judged 0
            groups = [[labels.get(row[0]) for row in group] for group in ranked(rows, labels, rules)]
        if rules.get("depth", "all") == "limited":  # to at most 35
            groups = groups[:35]
        known = (
            [*labels.values()]
            if rules.get("known") != "retrieved"
            else [label or 0 for group in groups for label in group]
        )
        values.append(value(measure, groups, known, rules))
    return sum(values) / len(values)
