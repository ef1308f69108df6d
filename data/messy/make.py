"""Make the messy pair of files: qrels.txt and run.txt.

    python make.py            write the pair of the chosen seed
    python make.py --search N try N seeds and print the best one

The pair holds every situation in which evaluation tools follow different
conventions: a judged topic that the run lacks, a topic that only the run has,
a topic whose judgments are all 0, unjudged documents, ties whose order in the
file is neither ascending nor descending by document number, and one topic in
which two scores differ as 64-bit but not as 32-bit floats.
"""

import math
import random
import struct
import sys
from itertools import combinations, groupby
from operator import itemgetter

SEED = 4274  # the best of python make.py --search 5000
JUDGED = range(1, 13)  # the twelve judged topics
MISSING = 8  # judged, not in the run
NOTHING = 5  # judged, every label 0
EXTRA = 13  # in the run, not judged
WIDE = 11  # two scores that tie only in single precision
BLIND = 2  # first line of the file is a document judged 0
LATE = 3  # nothing relevant among the first ten
LABELS = [1, 1, 1, 2, 2, 3]


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def mixed(docs, rng):
    """The documents of one tie, in an order that is not sorted if avoidable."""
    docs = list(docs)
    while True:
        rng.shuffle(docs)
        if len(docs) < 3 or docs not in (sorted(docs), sorted(docs)[::-1]):
            return docs


def make(seed):
    rng = random.Random(seed)
    pool = rng.sample(range(1001, 2000), 220)
    qrels, run = {}, {}
    for t in list(JUDGED) + [EXTRA]:
        n = rng.randint(12, 15)
        docs = rng.sample(pool, n)
        if t == WIDE:
            scores = [16777217.0, 16777216.0]
            while len(scores) < n:
                scores.append(scores[-1] - rng.choice([2, 3, 5, 8]))
            docs[:2] = sorted(docs[:2])  # the lower number has the higher score
        else:
            levels = sorted(rng.sample(range(5, 60), rng.randint(4, 6)), reverse=True)
            cuts = sorted(rng.sample(range(1, n), len(levels) - 1))
            scores = []
            for level, size in zip(levels, (b - a for a, b in zip([0] + cuts, cuts + [n]))):
                scores += [level / 10] * size
            order, at = [], 0
            for _, same in groupby(scores):
                size = len(list(same))
                order += mixed(docs[at : at + size], rng)
                at += size
            docs = order
        if t != EXTRA:
            labels = {}
            for i, d in enumerate(docs):
                x = rng.random()
                if x < 0.30:
                    labels[d] = rng.choice(LABELS)
                elif x < 0.70:
                    labels[d] = 0
            if t == LATE:
                for d in docs[:10]:
                    if labels.get(d):
                        labels[d] = 0
                labels[docs[10]] = 2
            if t == BLIND:
                labels[docs[0]] = 0
            if t == WIDE:
                labels[docs[0]], labels[docs[1]] = 3, 0
            rest = [d for d in pool if d not in docs]
            for d in rng.sample(rest, max(0, rng.randint(10, 15) - len(labels))):
                labels[d] = rng.choice(LABELS) if rng.random() < 0.3 else 0
            if t == NOTHING:
                labels = dict.fromkeys(labels, 0)
            elif not any(labels.values()):
                return None
            if not 10 <= len(labels) <= 15 or len(labels) == sum(d in labels for d in docs):
                return None
            qrels[t] = dict(sorted(labels.items(), key=lambda x: rng.random()))
        if t != MISSING:
            run[t] = list(zip(docs, scores))
    # over a whole topic the ties must be neither ascending nor descending
    for t, ranked in run.items():
        ties = [[d for d, _ in g] for _, g in groupby(ranked, itemgetter(1))]
        ties = [g for g in ties if len(g) > 1]
        if t != WIDE and (not ties or all(g == sorted(g) for g in ties) or all(g == sorted(g)[::-1] for g in ties)):
            return None
    t = BLIND
    if all(run[t][i][1] != run[t][i + 1][1] for i in range(len(run[t]) - 1)):
        return None
    return qrels, run


# ---- what the conventions make of it (only to choose the seed) ----

ORDERS = {
    "file": lambda r: sorted(r, key=lambda x: -x[1]),
    "asc": lambda r: sorted(r, key=lambda x: (-x[1], str(x[0]))),
    "desc": lambda r: sorted(sorted(r, key=lambda x: str(x[0]), reverse=True), key=lambda x: -x[1]),
    "desc32": lambda r: sorted(sorted(r, key=lambda x: str(x[0]), reverse=True), key=lambda x: -single(x[1])),
}


def rr(labels, docs, k=10**6, judged=False):
    return next((1 / i for i, d in enumerate(docs[:k], 1) if (d in labels if judged else labels.get(d, 0) > 0)), 0.0)


def ap(labels, docs):
    hits = total = 0
    for i, d in enumerate(docs, 1):
        if labels.get(d, 0) > 0:
            hits += 1
            total += hits / i
    rel = sum(x > 0 for x in labels.values())
    return total / rel if rel else 0.0


def ndcg(labels, docs, k=10, gain=lambda g: g):
    dcg = lambda gs: sum(gain(g) / math.log2(i + 2) for i, g in enumerate(gs[:k]))
    ideal = dcg(sorted(labels.values(), reverse=True))
    return dcg([labels.get(d, 0) for d in docs]) / ideal if ideal else 0.0


def values(qrels, run):
    topics = [t for t in run if t in qrels]
    docs = {o: {t: [d for d, _ in f(run[t])] for t in topics} for o, f in ORDERS.items()}
    total = lambda m, o, **kw: sum(m(qrels[t], docs[o][t], **kw) for t in topics)
    both, every = len(topics), len(qrels)
    useful = sum(any(x.values()) for x in qrels.values())
    burges = lambda g: 2**g - 1
    return {
        "RR": {
            "desc32 both @10": total(rr, "desc32", k=10) / both,
            "desc32 every @10": total(rr, "desc32", k=10) / every,
            "desc both @10": total(rr, "desc", k=10) / both,
            "desc every @10": total(rr, "desc", k=10) / every,
            "asc every @10": total(rr, "asc", k=10) / every,
            "file every @10": total(rr, "file", k=10) / every,
            "file useful @10": total(rr, "file", k=10) / useful,
            "file every judged @10": total(rr, "file", k=10, judged=True) / every,
            "desc32 both": total(rr, "desc32") / both,
            "desc32 every": total(rr, "desc32") / every,
            "file every": total(rr, "file") / every,
        },
        "nDCG": {
            "desc32 both": total(ndcg, "desc32") / both,
            "desc32 every": total(ndcg, "desc32") / every,
            "desc both": total(ndcg, "desc") / both,
            "desc every": total(ndcg, "desc") / every,
            "file every": total(ndcg, "file") / every,
            "burges desc useful both": total(ndcg, "desc", gain=burges) / (both - 1),
            "burges desc useful": total(ndcg, "desc", gain=burges) / useful,
            "burges desc every": total(ndcg, "desc", gain=burges) / every,
            "burges file every": total(ndcg, "file", gain=burges) / every,
        },
        "AP": {
            "desc32 both": total(ap, "desc32") / both,
            "desc32 every": total(ap, "desc32") / every,
            "desc both": total(ap, "desc") / both,
            "desc every": total(ap, "desc") / every,
            "file every": total(ap, "file") / every,
        },
    }


def gap(qrels, run):
    """The smallest difference between two conventions, over the three measures."""
    return min(abs(a - b) for m in values(qrels, run).values() for a, b in combinations(m.values(), 2))


def write(qrels, run):
    with open("qrels.txt", "w", newline="\n") as f:
        for t in qrels:
            for d, g in qrels[t].items():
                f.write(f"{t} 0 {d} {g}\n")
    with open("run.txt", "w", newline="\n") as f:
        for t in run:
            for i, (d, s) in enumerate(run[t], 1):
                f.write(f"{t} Q0 {d} {i} {s:.1f} messy\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--search"]:
        best = (-1, 0)
        for seed in range(int(sys.argv[2])):
            pair = make(seed)
            if pair:
                best = max(best, (gap(*pair), -seed))
        print("smallest gap %.6f, seed %d" % (best[0], -best[1]))
    else:
        pair = make(SEED)
        write(*pair)
        for name, found in values(*pair).items():
            for how, value in found.items():
                print(f"{name:5} {how:24} {value:.6f}")
