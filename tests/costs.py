"""Measure what every command costs, and what its refusals cost, at n, 2n and 4n lines of input.

    python tests/costs.py                  all cases, as `make costs` does
    python tests/costs.py score "twice"    those whose command line contains one of these words
    python tests/costs.py --list

A case fails if four times as much input costs more than 5.3 times as much processor time, if the peak of memory is above what
the command declares (`peak`, in its module of `treceval_py.cli`), or if it ends with another status. A command without
a case fails, too.

The commands of a case run in one process, which has no other work: first on a few lines, so that modules are loaded,
then on these again, and that cost, which no input causes, is subtracted from all others; then on n, 2n and 4n lines. On
a machine that is busy a cost is never too low. So the least of up to twelve turns counts, and turns end as soon as
the case holds. Instructions would need no turns, but virtual machines seldom let a program count them.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

GROWTH = 2.3
"""Most that the cost may grow when the input doubles, over two doublings, as memory grows in steps that one of them pays:
2, or 2.2 where ids are sorted; 4 would be every pair of lines."""

NOISE = 0.02
"""Seconds that no doubling explains: a collection of garbage, a page of memory more. Less than this is no cost."""

TURNS = 12
LIMIT = 60
"""Seconds of processor time after which a case has failed: each needs less than three."""

FEW = 20
"""Lines of the first run of a case."""


class Shape(NamedTuple):
    """How many queries a run has, and how many documents each."""

    queries: int
    depth: int

    def qids(self) -> range:
        """Return the query ids."""
        return range(1_000_000, 1_000_000 + self.queries)

    def docids(self, qid: int, first: int = 0, count: int = 0) -> list[int]:
        """Return the documents of a query in no order of their numbers."""
        return [(qid * 977 + rank * 7_368_787) % 8_841_823 for rank in range(first, first + (count or self.depth))]


SHAPES: dict[str, Callable[[int], Shape]] = {
    "usual": lambda lines: Shape(lines // 100, 100) if lines >= 1000 else Shape(10, 2),
    "short": lambda lines: Shape(max(lines // 5, 10), 5),
    "some": lambda lines: Shape(10, max(lines // 10, 2)),
    "long": lambda lines: Shape(1, lines),
}
"""Shapes of a run by its number of lines: many queries with few documents, and one query with all of them.

Runs of more than 4 MB are read in blocks by several threads, which costs something once: n is on one side of it.
"""


Lines = Iterator[str]


def ranking(shape: Shape, *, first: int = 0, docid: str = "%d", score: Callable[[int], object] | None = None) -> Lines:
    """Yield the lines of a run, a query at a time; another first document makes another run of the same documents."""
    for qid in shape.qids():
        scores = range(shape.depth, 0, -1) if score is None else map(score, range(shape.depth))
        yield "".join(
            [
                f"{qid} Q0 {docid % number} {rank} {value} made\n"
                for rank, (number, value) in enumerate(zip(shape.docids(qid, first), scores, strict=True), 1)
            ]
        )


def judged(shape: Shape, *, every: int = 10, others: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield query, document and label of one document of ten, or of more where there are few."""
    every = min(every, max(shape.depth // 2, 1))
    for qid in shape.qids():
        for docid in shape.docids(qid, 0, shape.depth + others):
            if not docid % every:
                yield qid, docid, docid // every % 3


def judgments(shape: Shape, **settings: int) -> Lines:
    """Yield lines of judgments."""
    return (f"{qid} 0 {docid} {label}\n" for qid, docid, label in judged(shape, **settings))


def with_last(lines: Lines, change: Callable[[list[str]], str]) -> Lines:
    """Yield lines, and one more that is made of the fields of the last one."""
    text = ""
    for text in lines:
        yield text
    yield change(text.splitlines()[-1].split()) + "\n"


def by_document(shape: Shape) -> Lines:
    """Yield the lines of a run sorted by rank: those of a query are far apart."""
    lines = [text.splitlines(keepends=True) for text in ranking(shape)]
    return (line for rank in zip(*lines, strict=True) for line in rank)


TEXTS: dict[str, Callable[[Shape], Iterator[str]]] = {
    "run": ranking,
    "other": lambda shape: ranking(shape, first=shape.depth // 2),
    "third": lambda shape: ranking(shape, first=shape.depth // 3, score=lambda rank: 1 / (1 + rank)),
    "run.ids": lambda shape: ranking(shape, docid="https://example.org/" + "a" * 200 + "/%d"),
    "run.words": lambda shape: ranking(shape, docid="doc-%d"),
    "run.ties": lambda shape: ranking(shape, score=lambda rank: 1 - rank % 10),
    "run.foreign": lambda shape: ranking(shape, docid="other-%d"),
    "run.bad": lambda shape: with_last(ranking(shape), lambda fields: " ".join(fields[:3])),
    "run.nan": lambda shape: with_last(ranking(shape), lambda fields: " ".join([*fields[:4], "nan", "made"])),
    "run.twice": lambda shape: with_last(ranking(shape), " ".join),
    "run.repeated": lambda shape: (line for text in ranking(shape) for line in (text, text)),
    "run.scattered": by_document,
    "run.fewer": lambda shape: ranking(Shape(max(shape.queries // 2, 1), shape.depth)),
    "run.blank": lambda shape: (text.replace("\n", "\r\n\r\n") for text in ranking(shape)),
    "qrels": judgments,
    "qrels.all": lambda shape: judgments(shape, every=1, others=shape.depth),
    "qrels.judge": lambda shape: (f"{qid} 0 {docid} {docid % 3}\n" for qid, docid, _ in judged(shape, every=1)),
    "qrels.bad": lambda shape: with_last(judgments(shape, every=1), lambda fields: " ".join(fields[:2])),
    "qrels.twice": lambda shape: with_last(judgments(shape, every=1), " ".join),
    "qrels.foreign": lambda shape: (f"q{line}" for line in judgments(shape, every=1)),
    "groups.one": lambda shape: (f"{qid} 1 {docid} {label}\n" for qid, docid, label in judged(shape, every=1)),
    "groups.many": lambda shape: (
        f"{qid} {docid // 2} {docid} {label}\n" for qid, docid, label in judged(shape, every=1)
    ),
    "prefs.one": lambda shape: (f"{qid} 1 1 {docid} {label + 1}\n" for qid, docid, label in judged(shape, every=1)),
    "prefs.many": lambda shape: (
        f"{qid} {docid // 14} 1 {docid} {label + 1}\n" for qid, docid, label in judged(shape, every=1)
    ),
    "prefs.graded": lambda shape: (f"{qid} 1 {docid} {label + 1}\n" for qid, docid, label in judged(shape, every=1)),
    "labels": lambda shape: (f"{qid}\tgroup {qid % 3}\n" for qid in shape.qids()),
    "labels.many": lambda shape: (f"{qid}\tgroup {qid // 2}\n" for qid in shape.qids()),
    "labels.own": lambda shape: (f"{qid}\tgroup {qid}\n" for qid in shape.qids()),
    "labels.twice": lambda shape: with_last((f"{qid}\tgroup {qid % 3}\n" for qid in shape.qids()), "\t".join),
    "queries.tsv": lambda shape: (f"{qid}\thow is water number {qid} made\n" for qid in shape.qids()),
    "corpus.tsv": lambda shape: (
        f"{docid}\tthe river {rank % 97} of city {qid} has water {rank % 89}\n"
        for qid in shape.qids()
        for rank, docid in enumerate(shape.docids(qid))
    ),
    "claims.csv": lambda shape: (
        "student,measure,value\n" if not qid else f"s{qid},MAP,0.{qid}\n"
        for qid in range(max(shape.queries // 10, 2) + 1)
    ),
}
"""Files by name: what they hold, a piece of text at a time."""

MADE = {
    "run.json": "convert run run.json",
    "run.jsonl": "convert run run.jsonl",
    "run.csv": "convert run run.csv",
    "run.parquet": "convert run run.parquet",
    "run.words.parquet": "convert run.words run.words.parquet",
    "run.gz": "convert run run.gz",
    "qrels.json": "convert qrels qrels.json",
    "qrels.parquet": "convert qrels qrels.parquet",
    "saved": "score -q -m map -m ndcg_cut_10 --format json -o saved qrels run",
    "saved.other": "score -q -m map -m ndcg_cut_10 --format json -o saved.other qrels other",
    "saved.lines": "score -q -m map -m ndcg_cut_10 --format trec -o saved.lines qrels run",
}
"""Files that a command makes of others."""


def truncated(folder: Path) -> None:
    """Write a compressed run whose end is missing."""
    data = (folder / "run.gz").read_bytes()
    (folder / "cut.gz").write_bytes(data[: len(data) - 20])


def duplicated(folder: Path) -> None:
    """Write saved results in which the last query is there twice."""
    text = (folder / "saved").read_text("utf-8")
    start, query, last = text.rpartition('        "1')  # the last query; its values end with the object
    values = last[: last.index("}") + 1]
    (folder / "saved.twice").write_text(f"{start}{query}{values},\n{query}{last}", "utf-8")


def several(folder: Path, shape: Shape) -> None:
    """Make a folder of runs of twenty queries, one for ten queries of the shape."""
    (folder / "runs").mkdir()
    for number in range(max(shape.queries // 10, 2)):
        texts = ranking(Shape(20, 100), first=number % 7, score=lambda rank, number=number: (rank * number) % 101)
        (folder / "runs" / f"s{number + 1}.txt").write_text("".join(texts).replace("made", f"s{number + 1}"), "utf-8")
    (folder / "qrels.class").write_text("".join(judgments(Shape(20, 100))), "utf-8")


def vectors(folder: Path, shape: Shape) -> None:
    """Write vectors of passages and of ten queries."""
    import numpy as np

    rng = np.random.default_rng(1)
    for name, count in ("passages", shape.queries * shape.depth), ("asked", 10):
        np.save(folder / f"{name}.npy", rng.normal(size=(count, 16)).astype(np.float32))
        (folder / f"{name}.ids").write_text("".join(f"{name}{number}\n" for number in range(count)), "utf-8")


def reranker(folder: Path) -> None:
    """Make an untrained model, once."""
    from tiny_models import make_tiny_reranker

    if not (folder.parent / "model").exists():
        make_tiny_reranker(folder.parent / "model")


OTHERS: dict[str, tuple[str, Callable[[Path, Shape], None]]] = {
    "cut.gz": ("run.gz", lambda folder, _: truncated(folder)),
    "saved.twice": ("saved", lambda folder, _: duplicated(folder)),
    "runs": ("", several),
    "qrels.class": ("runs", lambda _, __: None),
    "passages.npy": ("", vectors),
    "asked.npy": ("passages.npy", lambda _, __: None),
    "../model": ("", lambda folder, _: reranker(folder)),
}
"""Files and folders that are made by a function, after another one."""


class Case(NamedTuple):
    """A command line with names of files above, and how much is read.

    Attributes
    ----------
    lines : int
        The lines of ``run`` and of the files of its size: n.
    words : str
        The command line.
    shape : str
        A name of `SHAPES`.
    status : int
        How it ends.
    peak : tuple of int
        MB, and bytes for each line, in place of what the command declares, which the costliest of its inputs needs.
    needs : str
        A package without which the case is left out.
    """

    lines: int
    words: str
    shape: str = "usual"
    status: int = 0
    peak: tuple[int, int] | None = None
    needs: str = ""

    @property
    def command(self) -> str:
        """The name of the command."""
        return self.words.split()[0]

    def files(self) -> list[str]:
        """Return the files of the command line."""
        return [word for word in self.words.split() if word in TEXTS or word in MADE or word in OTHERS]


TEXT = (115, 0)
"""What the score of a text file needs."""

CASES = (
    # Formats and shapes.
    Case(200_000, "score qrels run", peak=TEXT),
    Case(200_000, "score qrels run", "short"),
    Case(200_000, "score qrels run", "long"),
    Case(200_000, "trec_eval qrels run", peak=TEXT),
    Case(200_000, "score qrels run.gz", peak=TEXT),
    Case(50_000, "score qrels run.ids", peak=TEXT),
    Case(200_000, "score qrels run.scattered"),
    Case(50_000, "score qrels run.repeated --profile mteb"),
    Case(50_000, "score qrels run.repeated --profile mteb", "long"),
    Case(50_000, "score qrels.json run.json"),
    Case(50_000, "score qrels run.jsonl"),
    Case(50_000, "score qrels run.csv"),
    Case(200_000, "score qrels.parquet run.parquet"),
    Case(50_000, "score qrels run.words.parquet"),
    Case(50_000, "score qrels run.parquet", "short"),
    Case(50_000, "score qrels run.parquet", "long"),
    Case(50_000, "score qrels run other --format json"),
    Case(200_000, "score qrels.all run"),
    Case(50_000, "score qrels.all run", "long"),
    # Other values.
    Case(10_000, "score -q qrels run", "short"),
    Case(10_000, "score -q --format json -o OUT/saved qrels run", "short"),
    Case(200_000, "score --unjudged -m map -m ndcg_cut_10 qrels run"),
    Case(200_000, "score --unjudged -m map qrels run", "short"),
    Case(50_000, "score --unjudged -m map qrels run", "long"),
    Case(50_000, "score --ties -m map qrels run.ties"),
    Case(200_000, "score --ties -m map qrels run.ties", "short"),
    Case(50_000, "score --ties -m map qrels run.ties", "long"),
    Case(200_000, "score --groups labels -m map qrels run", "short"),
    Case(10_000, "score --groups labels.many -m map qrels run", "short"),
    Case(200_000, "score --judged-only -m map -m bpref -m infAP qrels run"),
    Case(200_000, "score --max-passage -m map qrels run"),
    Case(50_000, "score -R qrels_jg -m map_avgjg -m P_avgjg_5 groups.one run"),
    Case(2_000, "score -R qrels_jg -m map_avgjg -m P_avgjg_5 groups.many run"),
    Case(2_000, "score -R qrels_jg -m map_avgjg -m P_avgjg_5 groups.many run", "long"),
    Case(10_000, "score -R prefs -m prefs_simp prefs.one run"),
    Case(2_000, "score -R prefs -m prefs_simp prefs.one run", "long"),
    Case(2_000, "score -R prefs -m prefs_simp prefs.many run"),
    Case(2_000, "score -R prefs -m prefs_simp prefs.many run", "long"),
    Case(2_000, "score -R qrels_prefs -m prefs_simp prefs.graded run", "long"),
    # Refused, or noted, at the end of the file.
    Case(200_000, "score -m no_measure qrels run", status=2),
    Case(50_000, "score qrels run.bad", status=1),
    Case(50_000, "score qrels run.bad", "long", status=1),
    Case(50_000, "score qrels run.nan", status=1),
    Case(200_000, "score qrels run.twice", status=1),
    Case(50_000, "score qrels run.twice", "long", status=1),
    Case(200_000, "score qrels run.foreign"),
    Case(50_000, "score qrels run.foreign", "short"),
    Case(50_000, "score qrels.foreign run.foreign", status=1),
    Case(50_000, "score qrels.foreign run", "short", status=1),
    Case(50_000, "score qrels run.fewer", "short"),
    Case(200_000, "score qrels cut.gz", status=1),
    Case(50_000, "score qrels.bad run", status=1),
    Case(50_000, "score qrels.twice run", status=1),
    Case(50_000, "score qrels.twice run", "long", status=1),
    Case(50_000, "score --groups labels.twice -m map qrels run", "short", status=1),
    Case(50_000, "score --groups labels.own -m map qrels run", "short", status=1),
    Case(50_000, "score run qrels", status=1),
    # The other commands.
    Case(50_000, "check qrels run"),
    Case(50_000, "check qrels run", "long"),
    Case(10_000, "check qrels run", "short"),
    Case(50_000, "check qrels run.foreign"),
    Case(10_000, "check qrels run.foreign", "short"),
    Case(10_000, "check qrels run.repeated", status=1),
    Case(50_000, "check qrels run.ids"),
    Case(10_000, "check --fix OUT/fixed run.blank"),
    Case(50_000, "check run.json"),
    Case(50_000, "convert run OUT/run.txt"),
    Case(50_000, "convert run OUT/run.json"),
    Case(50_000, "convert run OUT/run.jsonl"),
    Case(10_000, "convert run OUT/run.jsonl", "short"),
    Case(50_000, "convert run OUT/run.jsonl", "long"),
    Case(50_000, "convert run OUT/run.csv"),
    Case(50_000, "convert run --to tsv OUT/run.tsv"),
    Case(50_000, "convert run --to msmarco OUT/run.tsv"),
    Case(50_000, "convert run --to colbert OUT/run.tsv"),
    Case(50_000, "convert run --to tevatron OUT/run.tsv"),
    Case(50_000, "convert run OUT/run.parquet"),
    Case(50_000, "convert run.json OUT/run.txt"),
    Case(50_000, "convert run.jsonl OUT/run.txt"),
    Case(50_000, "convert run.parquet OUT/run.txt"),
    Case(50_000, "convert qrels.all OUT/qrels.jsonl"),
    Case(50_000, "convert qrels.all OUT/qrels.parquet"),
    Case(50_000, "convert qrels.all --to beir OUT/qrels.tsv"),
    Case(50_000, "convert run.bad OUT/run.jsonl", status=1),
    Case(50_000, "convert run.twice OUT/run.jsonl", status=1),
    Case(200_000, "convert cut.gz OUT/run.jsonl", status=1),
    Case(50_000, "explain qrels run --claim MAP=0.4321"),
    Case(10_000, "explain qrels run --claim MAP=0.4321", "short"),
    Case(10_000, "explain qrels run --claim MAP=0.4321", "long"),
    Case(50_000, "explain qrels run.words --claim MAP=0.4321"),
    Case(50_000, "explain qrels run.ties -m AP --against ranx"),
    Case(50_000, "explain qrels run -m AP --query 1000000"),
    Case(50_000, "explain qrels run -m AP --query 1000000", "long"),
    Case(10_000, "explain qrels.all run -m AP --query 1000000", "long"),
    Case(2_000, "explain -R qrels_jg -m map_avgjg --query 1000000 groups.many run", "long", status=2),
    Case(200_000, "explain qrels run -m AP --query 7", status=1),
    Case(50_000, "explain qrels run.bad --claim MAP=0.4321", status=1),
    Case(10_000, "compare qrels run other"),
    Case(10_000, "compare qrels run other --resamples 200", "short"),
    Case(10_000, "compare qrels run other third --pairs --test all --resamples 1000", "short", peak=(220, 50)),
    Case(2_000, "compare qrels run other --groups labels", "short"),
    Case(2_000, "compare qrels run other --groups labels.many", "short"),
    Case(10_000, "compare qrels run other --resamples 200 --per-query 5", "short"),
    Case(10_000, "compare qrels run other third --agreement"),
    Case(10_000, "compare saved saved.other --resamples 200", "short"),
    Case(10_000, "compare saved.lines saved.other --resamples 200 --force", "short"),
    Case(50_000, "compare saved.twice saved.other", "short", status=1),
    Case(50_000, "compare qrels run run.bad", status=1),
    Case(200_000, "gate qrels run other --margin 1"),
    Case(50_000, "gate saved saved.other --margin 1", "short"),
    Case(50_000, "gate saved saved.twice", "short", status=1),
    Case(10_000, "board qrels run other third --no-cache"),
    Case(2_000, "board qrels run other third --no-cache", "short"),
    Case(50_000, "pool qrels run other third --budget 500"),
    Case(10_000, "pool qrels run other third --budget 500", "short"),
    Case(10_000, "pool qrels run other third --budget 500", "long"),
    Case(50_000, "pool qrels run other third --budget 500 --method mtf"),
    Case(50_000, "pool run other"),
    Case(10_000, "pool run other --depth 1000000", "long"),
    Case(50_000, "pool qrels run run.bad", status=1),
    # Not many runs for compare and board: all pairs of them are compared, for the answer and for the letters.
    Case(10_000, "report qrels run -o OUT/page.html"),
    Case(2_000, "report qrels run other --resamples 1000 -o OUT/page.html", "short"),
    Case(10_000, "report qrels run other --queries queries.tsv --corpus corpus.tsv -o OUT/page.html"),
    Case(2_000, "report saved saved.other -o OUT/page.html", "short"),
    Case(50_000, "report saved.twice saved.other -o OUT/page.html", "short", status=1),
    Case(50_000, "fuse run other -o OUT/fused"),
    Case(10_000, "fuse run other -o OUT/fused", "short"),
    Case(50_000, "fuse run other -o OUT/fused", "long"),
    Case(50_000, "fuse run.json other -o OUT/fused"),
    Case(10_000, "fuse run other -o OUT/fused --method weighted --tune qrels"),
    Case(10_000, "fuse run other third -o OUT/fused --method combmed"),
    Case(50_000, "fuse run run.bad -o OUT/fused", status=1),
    Case(50_000, "fuse run run.twice -o OUT/fused", status=1),
    Case(50_000, "agree qrels.all qrels.judge"),
    Case(10_000, "agree qrels.all qrels.judge", "short"),
    Case(10_000, "agree qrels.all qrels.judge run other third"),
    Case(50_000, "agree qrels.all qrels.twice", status=1),
    Case(20_000, "grade qrels.class runs --workers 1 -o OUT/graded"),
    Case(20_000, "grade qrels.class runs --workers 1 --claims claims.csv -o OUT/graded"),
    Case(50_000, "grade qrels run --single"),
    Case(50_000, "grade qrels run.bad --single", status=1),
    Case(
        50_000,
        "retrieve --retriever bm25 --corpus corpus.tsv --queries queries.tsv -k 10 -o OUT/run",
        "some",
        needs="bm25s",
    ),
    Case(
        10_000,
        "retrieve --embeddings passages.npy asked.npy -k 10 -o OUT/run",
        needs="faiss",
    ),
    Case(
        2_000,
        "rerank run --corpus corpus.tsv --queries queries.tsv --model ../model --depth 5 -o OUT/run",
        needs="transformers",
    ),
    Case(1, "measures"),
    Case(1, "measures nDCG map"),
    Case(1, "profiles"),
    Case(1, "profiles ranx"),
)
"""The lines are few different numbers, as cases with the same number and shape share their files."""


def make(case: Case, lines: int, folder: Path) -> int:
    """Write the files of a case into a folder; return how many lines its command reads."""
    from treceval_py.cli.commands import run

    shape = SHAPES[case.shape](lines)

    def write(name: str) -> None:
        if (folder / name).exists():
            return
        if name in TEXTS:
            with open(folder / name, "w", encoding="utf-8", newline="") as file:
                file.writelines(TEXTS[name](shape))
        elif name in MADE:
            words = MADE[name].split()
            for word in words[1:]:
                if word != name and (word in TEXTS or word in MADE):
                    write(word)
            if run(words):
                sys.exit(f"{MADE[name]}: cannot be made")
        else:
            first, other = OTHERS[name]
            if first:
                write(first)
            other(folder, shape)

    with contextlib.chdir(folder), contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        for name in case.files():
            write(name)
        return sum(map(num_lines, case.files())) if lines > 1 else 0


def num_lines(name: str) -> int:
    """Return the number of lines of a text file, or of those that a file or folder was made of."""
    if name == "runs":
        return sum(num_lines(str(path)) for path in Path(name).iterdir())
    path = Path(MADE[name].split()[1] if MADE.get(name, "").startswith("convert") else name)
    return path.read_bytes().count(b"\n") if path.is_file() else 0


# --- the process that runs the commands ---


def peak() -> float:
    """Return the peak of this process since it was last reset, or of those that it started, in MB."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return max(int(line.split()[1]) / 1000, children)
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, children)


def processor_time() -> float:
    """Return the seconds of processor time of this process and of those that it started, with those of the kernel."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measured(words: Sequence[str], folder: str) -> tuple[int, float, float]:
    """Run a command in a folder; return its status, seconds of processor time, also of its processes, and its peak."""
    from treceval_py.cli.commands import run, treceval
    from treceval_py.cli.trec_eval import trec_eval

    with tempfile.TemporaryDirectory() as out, contextlib.chdir(folder):
        words = [word.replace("OUT", out) for word in words]
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", "ascii")
        before = processor_time()
        status = run(words[1:], trec_eval) if words[0] == "trec_eval" else run(words, treceval)
        after = processor_time()
        sys.stdout.flush()
        gc.collect()
        return status, after - before, peak()


def within(costs: Sequence[float]) -> bool:
    """Tell whether costs at n, 2n and 4n hold."""
    return costs[-1] <= GROWTH**2 * max(costs[0], 0) + NOISE


def measure(words: Sequence[str], folders: Sequence[str], out: int) -> None:
    """Run a command in folders, the smallest first, and write what it cost."""
    gc.disable()  # as `main` does
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    measured(words, folders[0])
    statuses: set[int] = set()
    costs = [float("inf")] * len(folders)
    peaks = [0.0] * len(folders)
    for _ in range(TURNS):
        for number, folder in enumerate(folders):
            status, cost, high = measured(words, folder)
            statuses.add(status)
            costs[number], peaks[number] = min(costs[number], cost), max(peaks[number], high)
        if within([cost - costs[0] for cost in costs[1:]]):
            break
    os.write(out, json.dumps([sorted(statuses), costs, peaks]).encode())


# --- the process that looks at what came out ---


def faults_of(case: Case, root: Path) -> tuple[str, list[str]]:
    """Measure a case; return a line about it, and what is wrong."""
    from treceval_py.cli.commands import treceval
    from treceval_py.cli.trec_eval import trec_eval

    sizes = [min(FEW, case.lines), *(case.lines * times for times in (1, 2, 4))]
    folders = [root / f"{case.shape}-{lines}" for lines in sizes]
    for folder, lines in zip(folders, sizes, strict=True):
        folder.mkdir(exist_ok=True)
        total = make(case, lines, folder)
    receive, send = os.pipe()
    words = [sys.executable, __file__, "--measure", str(send), *map(str, folders), "--", *case.words.split()]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=[send]):
            os.close(send)
        with open(receive, "rb") as file:
            answer = file.read()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    if not answer:
        return "", [f"no answer within {LIMIT} s of processor time: {' '.join(said)}"]
    statuses, costs, peaks = json.loads(answer)
    growing = [cost - costs[0] for cost in costs[1:]]
    command = trec_eval if case.command == "trec_eval" else treceval.get_command(None, case.command)  # type: ignore[arg-type]
    fixed, each = case.peak or command.peak
    allowed = fixed + each * total / 1e6
    line = f"{' '.join(f'{cost:6.3f}' for cost in growing)} s {peaks[0]:4.0f} to {peaks[-1]:4.0f} of {allowed:4.0f} MB"
    faults = []
    if statuses != [case.status]:
        faults.append(f"status {statuses}, not {case.status}: {' '.join(said)}")
    if not within(growing):
        faults.append("cost grows faster than the input")
    if peaks[-1] > allowed:
        faults.append(f"more memory than {fixed} MB and {each} bytes for each of {total:,} lines")
    return line, faults


def main() -> None:
    """Read the command line, measure, print; end with status 1 if anything is wrong."""
    if sys.argv[1:2] == ["--measure"]:
        at = sys.argv.index("--")
        measure(sys.argv[at + 1 :], sys.argv[3:at], int(sys.argv[2]))
        return
    from importlib.util import find_spec

    from treceval_py.cli.commands import COMMANDS

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only cases with one of these words")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    given = parser.parse_args()
    without = COMMANDS.keys() - {case.command for case in CASES}
    failed = len(without)
    for name in sorted(without):
        print(f"{name}: has no case")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            name = f"{case.words} [{case.shape}, {case.lines:,}]"
            if given.words and not any(word in name for word in given.words):
                continue
            if given.list:
                print(name)
            elif case.needs and not find_spec(case.needs):
                print(f"{name}: skipped, needs {case.needs}")
            else:
                line, faults = faults_of(case, Path(folder))
                print(f"{line}  {name}" + "".join(f"\n    FAILED: {fault}" for fault in faults), flush=True)
                failed += len(faults)
    sys.exit(f"{failed} faults" if failed else 0)


if __name__ == "__main__":
    main()
