"""Compare the speed of encoding with plain FlagModel, in turns in one process.

Usage: python benchmarks/retrieval_encoding.py [--architecture bge-small] [--texts 4096] [--shard-sizes 10000 1024]
[--device cpu] [--precision fp32] [--batch-size 32] [--threads 2] [--rounds 3] [--evaluation] [--markdown]

Our side does what `treceval retrieve` does between a collection and its embeddings: it reads a file of passages, looks
at them, reads them again in chunks, encodes, and writes shards with a manifest. The other side is FlagModel.encode with
a list of texts that is in memory: one call for all of them, with our batch size and precision, and with the defaults of
the package. Loading the models is in no time. The vectors are compared first.

Models have the architecture of BGE's and random weights; passages have 10 to 180 tokens, 60 in the mean, like those of
MS MARCO, each a word of the vocabulary. On a GPU: --architecture bge-base --device cuda:0 --precision fp16
--texts 100000; where faiss finds a GPU too, exact search is timed with it.

The bars, for shards of the first size: at least 0.97 times as fast as FlagModel with the same batch size and precision,
and 1.3 times as fast as with the best of its defaults.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from taking_turns import DisagreementError, Table, Turn, duration, table

from treceval_py._types import FloatArray32
from treceval_py.corpora.texts import TabbedTexts, chunks, survey
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.engines import encoder_maker
from treceval_py.retrieval.models import find_model, identity, settings_for
from treceval_py.retrieval.pool import Here, Task
from treceval_py.retrieval.shards import Store
from treceval_py.retrieval.vectors import ArrayVectors

PASSAGES = 8_841_823
"""Passages of MS MARCO."""

VOCABULARY = 30_522
"""Tokens of BERT."""

DEFAULT_BATCH = 256
"""What FlagModel takes where nobody says; the evaluation of its package takes the other."""

EVALUATION_BATCH = 3000

NEAR = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 2e-2}
"""How far the cosine of two vectors of one text may be from 1: other batches, other last digits."""


class Architecture(NamedTuple):
    """How large a BERT is."""

    hidden: int
    layers: int
    heads: int


ARCHITECTURES = {
    "bge-small": Architecture(384, 12, 12),
    "bge-base": Architecture(768, 12, 12),
    "bge-large": Architecture(1024, 24, 16),
    "one-layer": Architecture(384, 1, 12),
    "tiny": Architecture(32, 2, 2),
}


class Options(argparse.Namespace):
    """What the command line said."""

    architecture: str
    texts: int
    shard_sizes: list[int]
    device: str
    precision: str
    batch_size: int | None
    threads: int | None
    rounds: int
    evaluation: bool
    markdown: bool


class Side(NamedTuple):
    """Somebody who encodes the passages.

    Attributes
    ----------
    encode : callable
        Does it, and gives what `vectors` understands.
    vectors : callable
        Returns the vectors, when nobody measures.
    once : bool
        Whether once is enough, as it takes so long.
    """

    encode: Callable[[], Any]
    vectors: Callable[[Any], FloatArray32]
    once: bool = False


def words() -> list[str]:
    """Return as many words of small letters as BERT has tokens, less five; the shortest come first."""
    letters = "etaoinsrhldcu"
    spelled = ("".join(parts) for size in range(2, 6) for parts in itertools.product(letters, repeat=size))
    return list(itertools.islice(spelled, VOCABULARY - 5))


def passages(count: int, seed: int = 0) -> Iterator[str]:
    """Make passages up: 8 to 178 words, 58 in the mean, the first words of the vocabulary often, like in a language."""
    drawn, vocabulary = random.Random(seed), words()
    for _ in range(count):
        length = min(max(round(drawn.lognormvariate(3.95, 0.47)), 8), 178)
        yield " ".join(vocabulary[int(len(vocabulary) ** drawn.random()) - 1] for _ in range(length))


def write_passages(path: str | os.PathLike[str], count: int) -> None:
    """Write a collection.tsv."""
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(f"{number}\t{text}\n" for number, text in enumerate(passages(count)))


def make_model(folder: str | os.PathLike[str], shape: Architecture) -> str:
    """Make a BERT with random weights in a folder, with a tokenizer that knows `words`, and return the folder."""
    import torch  # type: ignore[import-not-found,unused-ignore]
    import transformers  # type: ignore[import-untyped,import-not-found,unused-ignore]

    of_bert: Any = transformers  # whose lists of names are not all there for type checkers
    torch.manual_seed(0)
    config = of_bert.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        # With the usual 0.02 all texts have nearly the same vector, and nothing could be compared.
        initializer_range=0.1,
    )
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words()]
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        of_bert.BertModel(config).eval().save_pretrained(os.fspath(folder))
        vocabulary = {token: number for number, token in enumerate(tokens)}
        of_bert.BertTokenizerFast(vocab=vocabulary).save_pretrained(os.fspath(folder))
    return os.fspath(folder)


def ours(options: Options, model_folder: str, passages_file: str, work: Path, size: int, pool: Here) -> Side:
    """Return our side: from a file of passages to a folder of shards, which is made afresh each time."""
    model = find_model(model_folder)
    made = identity(model, settings_for(model, pooling="cls", precision=options.precision), "passages")

    def encode() -> Store:
        shutil.rmtree(work, ignore_errors=True)
        texts = TabbedTexts(passages_file, "document")
        store = Store(str(work), made, survey(texts, size), texts).open()
        tasks = (Task(chunk.number, (chunk, "passages"), len(chunk.texts)) for chunk in chunks(texts, size))
        for task, vectors, by in pool.run(tasks, lambda _count: None):
            store.add(task.content[0], vectors, by)
        return store

    def vectors(store: Store) -> FloatArray32:
        return np.concatenate([block.copy() for _, block in store.vectors().blocks(options.texts)])

    return Side(encode, vectors)


def flag_model(folder: str, device: str, *, fp16: bool, bf16: bool = False) -> Any:
    """Load a model as its users do."""
    from FlagEmbedding import FlagModel  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with contextlib.redirect_stderr(io.StringIO()):
        return FlagModel(folder, devices=device, pooling_method="cls", use_fp16=fp16, use_bf16=bf16)


def plain(flag: Any, texts: list[str], batch: int, *, autocast: bool = False, once: bool = False) -> Side:
    """Return a side that is one call of FlagModel.encode."""
    import torch

    def encode() -> Any:
        computed = torch.autocast("cpu", dtype=torch.bfloat16) if autocast else contextlib.nullcontext()
        # Its bars are drawn, but not shown.
        with contextlib.redirect_stderr(io.StringIO()), computed:
            return flag.encode(texts, batch_size=batch)

    return Side(encode, lambda found: np.asarray(found, dtype=np.float32), once)


def sides(options: Options, batch: int, folder: Path) -> tuple[dict[str, Side], list[str], str, list[str]]:
    """Return what is compared, by name, and which of it is ours, the same settings, and defaults."""
    passages_file = str(folder / "collection.tsv")
    write_passages(passages_file, options.texts)
    texts = [text for _, text in TabbedTexts(passages_file, "document")]
    model_folder = make_model(folder / "model", ARCHITECTURES[options.architecture])
    model = find_model(model_folder)
    settings = settings_for(model, pooling="cls", precision=options.precision)
    pool = Here(encoder_maker(model, settings, batch), options.device)
    compared: dict[str, Side] = {}
    for size in options.shard_sizes:
        name = f"treceval, shards of {size:,}"
        compared[name] = ours(options, model_folder, passages_file, folder / f"shards-{size}", size, pool)
    our_names = list(compared)
    half = options.device != "cpu"
    flag = flag_model(
        model_folder,
        options.device,
        fp16=half and options.precision == "fp16",
        bf16=half and options.precision == "bf16",
    )
    same = f"FlagModel, {batch} at once, {options.precision}"
    compared[same] = plain(flag, texts, batch, autocast=not half and options.precision == "bf16")
    # use_fp16 is its default, and on a CPU the same as fp32.
    by_default = flag_model(model_folder, options.device, fp16=True)
    default = f"FlagModel, its default of {DEFAULT_BATCH} at once"
    compared[default] = plain(by_default, texts, DEFAULT_BATCH)
    defaults = [default]
    if options.evaluation:
        name = f"FlagModel, its evaluation's {EVALUATION_BATCH} at once"
        compared[name] = plain(by_default, texts, EVALUATION_BATCH, once=not half)
        defaults.append(name)
    return compared, our_names, same, defaults


def take_turns(compared: dict[str, Side], rounds: int, near: float) -> dict[str, list[Turn]]:
    """Let the sides encode in turn, and compare the vectors of the first round."""
    turns: dict[str, list[Turn]] = {name: [] for name in compared}
    expected: FloatArray32 | None = None
    for number in range(rounds):
        for name, side in compared.items():
            if number and side.once:
                continue
            start, cpu = time.perf_counter(), time.process_time()
            found = side.encode()
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            turns[name].append(Turn(seconds, cpu, 0.0, ""))
            print(f"  {number + 1} of {rounds}: {name}: {duration(seconds)}", file=sys.stderr, flush=True)
            if number:
                continue
            vectors = side.vectors(found)
            if expected is None:
                expected = vectors
            # Of unit vectors; each row on its own.
            cosines = np.einsum("ij,ij->i", vectors, expected) if vectors.shape == expected.shape else np.zeros(1)
            if not cosines.min() >= 1 - near:
                raise DisagreementError(f"{name} made other vectors: the least cosine is {cosines.min():.6f}")
    return turns


def bars(turns: dict[str, list[Turn]], our_names: list[str], same: str, defaults: list[str]) -> Table:
    """Return the ratios that are promised, by the median turn, the best one, and the least time of processors."""

    def ratios(other: str, name: str) -> list[str]:
        theirs, our = turns[other], turns[name]
        pairs = [[of([turn.seconds for turn in taken]) for taken in (theirs, our)] for of in (statistics.median, min)]
        pairs.append([min(turn.cpu for turn in taken) for taken in (theirs, our)])
        return [f"{a / b:.3f}" for a, b in pairs]

    best = min(defaults, key=lambda name: statistics.median(turn.seconds for turn in turns[name]))
    rows = []
    for name in our_names:
        # What is promised is promised of the first size.
        least = ("at least 0.97", "at least 1.3") if name == our_names[0] else ("–", "–")
        rows.append((f"{name} / {same}", *ratios(same, name), least[0]))
        rows.append((f"{name} / {best}", *ratios(best, name), least[1]))
    return Table("encoding: speed, as multiples", ("of", "median", "best", "CPU", "bar"), rows)


def rates(turns: dict[str, list[Turn]], texts: int) -> Table:
    """Return texts a second, and how long all passages of MS MARCO would take."""
    rows = []
    for name, taken in turns.items():
        rate = texts / statistics.median(turn.seconds for turn in taken)
        rows.append((name, f"{rate:,.1f}", f"{PASSAGES / rate / 3600:,.2f} h"))
    return Table(f"encoding: texts a second, and {PASSAGES:,} of them", ("tool", "rate", "projected"), rows)


def search_on_gpu(dimensions: int, rows: int = 1_000_000, queries: int = 6980, k: int = 1000) -> Table | None:
    """Time exact search of random unit vectors, if faiss has a GPU."""
    from treceval_py.retrieval.exact import load_faiss, search

    if not load_faiss().get_num_gpus():
        return None
    drawn = np.random.default_rng(0)
    vectors, wanted = (drawn.standard_normal((count, dimensions), dtype=np.float32) for count in (rows, queries))
    for each in (vectors, wanted):
        each /= np.linalg.norm(each, axis=1, keepdims=True)
    search(ArrayVectors(vectors[:10_000]), wanted[:16], k, "inner-product")  # the first call starts the GPU
    start = time.perf_counter()
    search(ArrayVectors(vectors), wanted, k, "inner-product")
    seconds = time.perf_counter() - start
    cells = (f"{queries:,} queries, {rows:,} × {dimensions}", duration(seconds), duration(seconds * PASSAGES / rows))
    return Table("exact search with faiss on a GPU", (f"k = {k:,}", "time", f"{PASSAGES:,}"), [cells])


def machine(options: Options, batch: int) -> str:
    """Say what encodes on what."""
    import torch

    where = torch.cuda.get_device_name(options.device) if options.device.startswith("cuda") else platform.machine()
    threads = f"{torch.get_num_threads()} threads" if options.device == "cpu" else options.device
    what = f"{options.architecture}'s architecture, random weights, {options.precision}, {batch} texts at once"
    return f"{what}; torch {torch.__version__}, {where}, {threads}, {os.cpu_count()} CPUs"


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="bge-small", help="how large the model is")
    parser.add_argument("--texts", type=int, default=4096, help="passages to encode")
    parser.add_argument(
        "--shard-sizes", type=int, nargs="+", default=[10_000, 1024], help="texts in a shard, of each side"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, …")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32", help="arithmetic of the model")
    parser.add_argument("--batch-size", type=int, help="texts at once, of ours and of the same settings")
    parser.add_argument("--threads", type=int, help="threads of torch on a CPU, for a machine that others use as well")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--evaluation", action="store_true", help="add 3,000 texts at once, which takes much memory")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, compare, print."""
    options = _arguments()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    batch = default_batch_size(options.device) if options.batch_size is None else options.batch_size
    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)
        os.environ["RAYON_NUM_THREADS"] = str(options.threads)  # the tokenizer's
    with tempfile.TemporaryDirectory() as folder:
        compared, our_names, same, defaults = sides(options, batch, Path(folder))
        try:
            turns = take_turns(compared, options.rounds, NEAR[options.precision])
        except DisagreementError as error:
            sys.exit(str(error))
    print(machine(options, batch), end="\n\n", flush=True)
    tables = [
        table(f"encoding: {options.texts:,} texts", turns, our_names[0]),
        bars(turns, our_names, same, defaults),
        rates(turns, options.texts),
        search_on_gpu(ARCHITECTURES[options.architecture].hidden),
    ]
    for found in tables:
        if found is not None:
            print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
