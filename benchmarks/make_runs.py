"""Write the runs and judgments that the benchmarks read.

Usage: python make_runs.py FOLDER [--queries 6980 --documents 1000] [--many] [--huge] [--gzip] [--again]

The runs have the shape of real ones, and are made of random numbers with a fixed seed: the same files everywhere, and
nothing to download. A file that is there with the right number of lines stays, unless --again is given.

bm25.txt     6,980 queries × 1,000 documents as in MS MARCO dev, scores with six decimals as Anserini writes them
dense.txt    the same documents, scores of a dense index: 32-bit floats printed by repr, 16 to 18 digits
ties.txt     the same documents, scores with one decimal: most of them occur several times in a query
qrels.txt    the judgments of these three: about 1.07 a query, most of them retrieved
medium.txt   100 queries × 1,000 documents, judged with 0 to 3 in medium.qrels.txt
small.txt    15 queries × 100 documents, judged with 0 to 3 in small.qrels.txt
many/        with --many: 50 runs like medium.txt, for the same judgments
huge.txt     with --huge: bm25.txt ten times with other query ids, and huge.qrels.txt
bm25.txt.gz  with --gzip
"""

from __future__ import annotations

import argparse
import gzip
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LARGEST_QID = 1_200_000
LARGEST_DOCID = 8_841_823  # MS MARCO has so many passages, numbered from 0
NUM_MANY = 50
NUM_COPIES = 10
BLOCK = 1 << 24


class Collection(NamedTuple):
    """Queries with the documents that are retrieved for them, and judgments.

    Every query has random numbers of its own, so that each file can be written without the others.
    """

    seed: int
    num_queries: int
    num_documents: int
    graded: bool

    def rng(self, *key: int) -> np.random.Generator:
        """Return the random numbers for a query and a purpose."""
        return np.random.default_rng([self.seed, *key])

    def qids(self) -> list[int]:
        """Return the query ids, ascending."""
        chosen = self.rng().choice(LARGEST_QID, self.num_queries, replace=False)
        return [int(qid) for qid in np.sort(chosen)]

    def docids(self, query: int) -> list[int]:
        """Return the documents that are retrieved for a query, best first."""
        docids: list[int] = self.rng(query, 0).choice(LARGEST_DOCID, self.num_documents, replace=False).tolist()
        return docids

    def judgments(self, query: int) -> dict[int, int]:
        """Return the judged documents of a query."""
        rng = self.rng(query, 1)
        return self._graded(query, rng) if self.graded else self._binary(query, rng)

    def _binary(self, query: int, rng: np.random.Generator) -> dict[int, int]:
        """One relevant document, now and then two; 85 of 100 are retrieved, and rather at the top."""
        count = 1 + int(rng.random() < 0.07)
        if rng.random() > 0.85:
            return dict.fromkeys(rng.choice(LARGEST_DOCID, count, replace=False).tolist(), 1)
        docids = self.docids(query)
        ranks = self.num_documents ** rng.random(count)
        return {docids[int(rank) - 1]: 1 for rank in ranks}

    def _graded(self, query: int, rng: np.random.Generator) -> dict[int, int]:
        """Judgments of 0 to 3 for three documents out of ten of the ranking, and for half as many that it lacks."""
        count = 3 * self.num_documents // 10
        found = rng.choice(self.docids(query), count, replace=False).tolist()
        others = rng.choice(LARGEST_DOCID, count // 2, replace=False).tolist()
        levels = rng.choice(4, len(found) + len(others), p=[0.6, 0.2, 0.12, 0.08]).tolist()
        return dict(zip(found + others, levels, strict=True))


MEDIUM = Collection(2, 100, 1000, graded=True)
SMALL = Collection(3, 15, 100, graded=True)


def bm25(rng: np.random.Generator, count: int) -> list[Any]:
    """Return descending scores of BM25, which Anserini rounds to four decimals and prints with six."""
    return [f"{score:.6f}" for score in np.sort(rng.gamma(9, 1.2, count).round(4))[::-1].tolist()]


def dense(rng: np.random.Generator, count: int) -> list[Any]:
    """Return descending inner products: what a 32-bit float is as a Python float, with all its digits."""
    scores: list[Any] = np.sort(rng.normal(0.6, 0.07, count).astype(np.float32))[::-1].tolist()
    return scores


def ties(rng: np.random.Generator, count: int) -> list[Any]:
    """Return descending scores with one decimal."""
    scores: list[Any] = np.sort(rng.gamma(9, 1.2, count).round(1))[::-1].tolist()
    return scores


def run_texts(
    collection: Collection, scores: Callable[[np.random.Generator, int], list[Any]], tag: str
) -> Iterator[str]:
    """Yield the lines of a run, a query at a time, in the collection's order of documents."""
    for query, qid in enumerate(collection.qids()):
        yield query_text(qid, collection.docids(query), scores(collection.rng(query, 2), collection.num_documents), tag)


def other_run_texts(collection: Collection, number: int) -> Iterator[str]:
    """Yield the lines of another run over the same documents, in an order of its own."""
    for query, qid in enumerate(collection.qids()):
        rng = collection.rng(query, 3, number)
        docids = rng.permutation(collection.docids(query)).tolist()
        yield query_text(qid, docids, bm25(rng, len(docids)), f"run{number:02}")


def query_text(qid: int, docids: list[int], scores: list[Any], tag: str) -> str:
    """Return the lines of a query; one format for all of them is several times as fast as one for each."""
    fields: list[Any] = [None] * (2 * len(docids))
    fields[0::2], fields[1::2] = docids, scores
    lines = "".join([f"{qid} Q0 %d {rank} %s {tag}\n" for rank in range(1, len(docids) + 1)])
    return lines % tuple(fields)


def judgment_texts(collection: Collection) -> Iterator[str]:
    """Yield the judgments, a query at a time."""
    for query, qid in enumerate(collection.qids()):
        judgments = collection.judgments(query)
        yield "".join([f"{qid} 0 {docid} {level}\n" for docid, level in judgments.items()])


def write(path: Path, texts: Iterable[str]) -> None:
    """Write a file, under another name until it is whole."""
    part = path.with_name(path.name + ".part")
    with open(part, "w", encoding="ascii") as file:
        file.writelines(texts)
    part.replace(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def num_lines(path: Path) -> int | None:
    """Return the number of lines of a file, None if there is no such file."""
    if not path.exists():
        return None
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, BLOCK), b""))


def write_copies(path: Path, source: Path) -> None:
    """Write a file ten times one after the other, each time with another digit before each query id."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as out:
        for copy in range(NUM_COPIES):
            digit = b"%d" % copy
            with open(source, "rb") as file:
                out.write(digit)
                for block in iter(partial(file.read, BLOCK), b""):
                    out.write(block.replace(b"\n", b"\n" + digit))
            out.seek(-1, 1)  # the digit after the last line end
        out.truncate()
    part.replace(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def write_gzip(path: Path, source: Path) -> None:
    """Write a compressed copy, at the level that gzip has by default."""
    part = path.with_name(path.name + ".part")
    with open(source, "rb") as file, gzip.GzipFile(part, "wb", compresslevel=6, mtime=0) as out:
        shutil.copyfileobj(file, out, BLOCK)
    part.replace(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


class Maker:
    """Writes what is missing in a folder."""

    def __init__(self, folder: Path, big: Collection, again: bool) -> None:
        self._folder = folder
        self._big = big
        self._again = again
        (folder / "many").mkdir(parents=True, exist_ok=True)

    def _wanted(self, name: str, lines: int) -> Path | None:
        path = self._folder / name
        return path if self._again or num_lines(path) != lines else None

    def _run(self, name: str, collection: Collection, texts: Iterable[str]) -> None:
        path = self._wanted(name, collection.num_queries * collection.num_documents)
        if path is not None:
            write(path, texts)

    def _judgments(self, name: str, collection: Collection) -> None:
        texts = list(judgment_texts(collection))
        path = self._wanted(name, sum(text.count("\n") for text in texts))
        if path is not None:
            write(path, texts)

    def usual(self) -> None:
        """Write the three big runs, the medium one, the small one, and their judgments."""
        for scores in bm25, dense, ties:
            self._run(f"{scores.__name__}.txt", self._big, run_texts(self._big, scores, scores.__name__))
        self._judgments("qrels.txt", self._big)
        for name, collection in {"medium": MEDIUM, "small": SMALL}.items():
            self._run(f"{name}.txt", collection, run_texts(collection, bm25, name))
            self._judgments(f"{name}.qrels.txt", collection)

    def many(self) -> None:
        """Write the runs of the folder ``many``."""
        for number in range(1, NUM_MANY + 1):
            self._run(f"many/run{number:02}.txt", MEDIUM, other_run_texts(MEDIUM, number))

    def huge(self) -> None:
        """Write the run of 70 million lines."""
        for name, source in {"huge.txt": "bm25.txt", "huge.qrels.txt": "qrels.txt"}.items():
            path = self._wanted(name, NUM_COPIES * (num_lines(self._folder / source) or 0))
            if path is not None:
                write_copies(path, self._folder / source)

    def gzip(self) -> None:
        """Write the compressed run."""
        path = self._wanted("bm25.txt.gz", self._big.num_queries * self._big.num_documents)
        if path is not None:
            write_gzip(path, self._folder / "bm25.txt")


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=6980, help="queries of the big runs")
    parser.add_argument("--documents", type=int, default=1000, help="documents a query of the big runs")
    parser.add_argument("--many", action="store_true", help=f"write {NUM_MANY} runs of 100,000 lines too")
    parser.add_argument("--huge", action="store_true", help=f"write a run {NUM_COPIES} times as long too")
    parser.add_argument("--gzip", action="store_true", help="write a compressed copy of the big run too")
    parser.add_argument("--again", action="store_true", help="write files that are there already")
    given = parser.parse_args()
    maker = Maker(given.folder, Collection(1, given.queries, given.documents, graded=False), given.again)
    maker.usual()
    for name in "many", "huge", "gzip":
        if getattr(given, name):
            getattr(maker, name)()


if __name__ == "__main__":
    main()
