"""Measure the memory of `treceval retrieve`, each time as the peak of a whole process.

Usage: python benchmarks/retrieval_memory.py FOLDER [--only encoding search] [--texts 20000 200000]
[--vectors 200000 2000000] [--dimensions 384] [--queries 2048] [--markdown]

`encoding` makes a run of each number of passages with a tiny model, texts like those of MS MARCO, and ten documents a
query. `search` writes random unit vectors as the shards of each number of passages (3 GB with the defaults, removed in
the end), so that a command has queries to encode and all else is there: it checks the shards, searches, writes.

The bars: encoding ten times as many passages takes at most 300 MB more, and search stays under 1.5 GB. The queries are
encoded in the process that searches, so torch and FlagEmbedding, half a gigabyte, are in every number.

This process imports nothing that is large, as one that it starts would inherit its peak; files are made in others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from taking_turns import Table, Tool, Turn, duration, take

BIN = Path(sys.executable).parent

GROWTH = 300
"""Megabytes that the largest number of texts may take more than the smallest."""

SEARCH = 1500
"""Megabytes that a search may take."""

MODEL = "bge-made-up"
"""The folder of the model: by such a name FlagEmbedding runs it."""


class Options(argparse.Namespace):
    """What the command line said."""

    folder: Path
    only: list[str]
    texts: list[int]
    vectors: list[int]
    dimensions: int
    queries: int
    markdown: bool


class Case(NamedTuple):
    """A command and how much it had to do."""

    size: int
    turn: Turn


def _elsewhere(target: Callable[..., None], *given: object) -> None:
    """Call a function in a process of its own."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=given)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{target.__name__} ended with {process.exitcode}")


def make_collection(folder: str, count: int, queries: int, dimensions: int) -> None:
    """Write passages like those of MS MARCO, queries, and a model of one or two small layers."""
    from retrieval_encoding import ARCHITECTURES, Architecture, make_model, passages, write_passages

    write_passages(os.path.join(folder, "collection.tsv"), count)
    with open(os.path.join(folder, "queries.tsv"), "w", encoding="utf-8") as stream:
        for number, text in enumerate(passages(queries, seed=1)):
            stream.write(f"{number}\t{' '.join(text.split()[:6])}\n")
    shape = Architecture(dimensions, 1, 2) if dimensions else ARCHITECTURES["tiny"]
    make_model(os.path.join(folder, MODEL), shape)


def make_search(folder: str, count: int, queries: int, dimensions: int) -> None:
    """Write a collection of short passages, and random unit vectors as their embeddings."""
    import numpy as np

    from treceval_py.corpora.texts import chunks
    from treceval_py.retrieval.collection import open_collection
    from treceval_py.retrieval.models import find_model, settings_for
    from treceval_py.retrieval.pipeline import Dense, Request, look, store_of

    make_collection(folder, 1, queries, dimensions)
    with open(os.path.join(folder, "collection.tsv"), "w", encoding="utf-8") as stream:
        stream.writelines(f"{number}\tpassage {number}\n" for number in range(count))
    model = find_model(os.path.join(folder, MODEL))
    dense = Dense(model, settings_for(model, pooling="mean"), ["cpu"])
    output = os.path.join(folder, "run.txt")
    request = Request(open_collection(folder), output, f"{output}.work", dense)
    looked = look(request)["passages"]
    store = store_of(request, dense, "passages", looked).open()
    drawn = np.random.default_rng(0)
    for chunk in chunks(request.collection.corpus, looked.shard_size):
        vectors = drawn.standard_normal((len(chunk.ids), dimensions), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.add(chunk, vectors, {"device": "random numbers"})


def retrieve(folder: str, depth: int) -> Turn:
    """Run the command."""
    command = [str(BIN / "treceval"), "retrieve", folder, "-o", os.path.join(folder, "run.txt"), "-k", str(depth)]
    command += ["--model", os.path.join(folder, MODEL), "--pooling", "mean", "--device", "cpu"]
    return take(Tool("treceval retrieve", [command], env={"HF_HUB_OFFLINE": "1"}))


@contextmanager
def _place(options: Options) -> Iterator[str]:
    place = tempfile.mkdtemp(dir=options.folder)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def encoding(options: Options) -> Table:
    """Encode few texts, and many."""
    cases = []
    for count in options.texts:
        with _place(options) as place:
            _elsewhere(make_collection, place, count, 16, 0)
            cases.append(Case(count, retrieve(place, 10)))
    title = "encoding with a tiny model: peak of the whole process"
    return _table(title, "passages", cases, f"more than the first; at most {GROWTH} MB")


def search(options: Options) -> Table:
    """Search few vectors, and many."""
    cases = []
    for count in options.vectors:
        with _place(options) as place:
            _elsewhere(make_search, place, count, options.queries, options.dimensions)
            cases.append(Case(count, retrieve(place, 1000)))
    title = f"search for {options.queries:,} queries, {options.dimensions} dimensions: peak of the whole process"
    return _table(title, "vectors", cases, f"more than the first; the peak at most {SEARCH:,} MB")


def _table(title: str, unit: str, cases: Sequence[Case], bar: str) -> Table:
    rows = [
        (f"{case.size:,}", f"{case.turn.peak:,.0f} MB", f"{case.turn.peak - cases[0].turn.peak:,.0f} MB",
         duration(case.turn.seconds))
        for case in cases
    ]  # fmt: skip
    return Table(title, (unit, "peak", "more", "time"), rows, note=f"more: {bar}")


SECTIONS: dict[str, Callable[[Options], Table]] = {section.__name__: section for section in (encoding, search)}


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where files are written for the time of the command")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="NAME", help="sections")
    parser.add_argument("--texts", type=int, nargs="+", default=[20_000, 200_000], help="passages to encode")
    parser.add_argument("--vectors", type=int, nargs="+", default=[200_000, 2_000_000], help="vectors to search in")
    parser.add_argument("--dimensions", type=int, default=384, help="of a vector")
    parser.add_argument("--queries", type=int, default=2048, help="queries to search for")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, measure, print."""
    options = _arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        try:
            found = SECTIONS[name](options)
        except RuntimeError as error:
            sys.exit(f"{name}: {error}")
        print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
