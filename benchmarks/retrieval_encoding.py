"""Compare the processor time of encoding and searching with FlagModel and Faiss by hand, and what Python takes of it.

Usage: python benchmarks/retrieval_encoding.py [--passages 5000 50000] [--architecture tiny] [--device cpu]
[--precision fp32] [--batch-size 32] [--queries 100] [-k 100] [--threads 1] [--rounds 3] [--markdown]

Our side is `treceval_py.retrieval.retrieve`: from files of passages and queries to a run, with all that is kept on the
way. The other side is what FlagEmbedding's tutorial does: the same files in lists, FlagModel.encode, IndexFlatIP, and a
loop that writes the lines. Both load the model, take turns in one process, and must rank the same documents first.

Then the model's forward pass is replaced by one that costs nothing, in both, and the time that is left is divided by
the passages: what Python, the tokenizer and the files take in one thread. Fixed costs cancel out, as it is the slope
between two numbers of passages. What the tokenizer alone takes of it is measured by itself.

Models have the architecture of BGE's and random weights; passages have 10 to 180 tokens, 60 in the mean, like those of
MS MARCO, each a word of the vocabulary. On a GPU: --architecture bge-base --device cuda:0 --precision fp16
--batch-size 512 --passages 100000.

The bars: at most 1.1 times the processor time of FlagModel and Faiss by hand; at most 60 µs of Python a passage.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from taking_turns import DisagreementError, Table

from treceval_py.retrieval import Dense, Request, find_model, open_collection, retrieve, settings_for

PASSAGES = 8_841_823
"""Passages of MS MARCO."""

VOCABULARY = 30_522
"""Tokens of BERT."""

SAME = 0.99
"""The least share of queries with the same first document: other batches, other last digits."""


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

    passages: list[int]
    architecture: str
    device: str
    precision: str
    batch_size: int
    queries: int
    k: int
    threads: int
    rounds: int
    markdown: bool


class Inputs(NamedTuple):
    """Files, and the folder of a model."""

    passages: Path
    queries: Path
    model: str


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


def ours(inputs: Inputs, folder: Path, options: Options) -> Path:
    """Make a run with this package, from nothing."""
    shutil.rmtree(folder / "work", ignore_errors=True)
    model = find_model(inputs.model)
    settings = settings_for(model, pooling="cls", precision=options.precision, instruction="")
    dense = Dense(model, settings, devices=[options.device], batch_size=options.batch_size)
    collection = open_collection("", corpus=str(inputs.passages), queries=str(inputs.queries))
    run = folder / "ours.txt"
    retrieve(Request(collection, str(run), str(folder / "work"), dense, k=options.k))
    return run


def by_hand(inputs: Inputs, folder: Path, options: Options) -> Path:
    """Make a run as FlagEmbedding's tutorial does."""
    import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from FlagEmbedding import FlagModel  # type: ignore[import-untyped,import-not-found,unused-ignore]

    passages, queries = ([line.split("\t", 1) for line in path.read_text("utf-8").splitlines()] for path in inputs[:2])
    half = {"use_fp16": options.precision == "fp16", "use_bf16": options.precision == "bf16"}
    with contextlib.redirect_stderr(io.StringIO()):  # its bars are drawn, but not shown
        flag = FlagModel(inputs.model, devices=options.device, batch_size=options.batch_size, **half)
        vectors, asked = (
            np.asarray(flag.encode([text for _, text in texts]), dtype=np.float32) for texts in (passages, queries)
        )
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    scores, places = index.search(asked, min(options.k, len(passages)))
    run = folder / "by-hand.txt"
    with open(run, "w", encoding="utf-8") as stream:
        for (qid, _), row_scores, row in zip(queries, scores.tolist(), places.tolist(), strict=True):
            for rank, (place, score) in enumerate(zip(row, row_scores, strict=True), 1):
                stream.write(f"{qid} Q0 {passages[place][0]} {rank} {score} by-hand\n")
    return run


SIDES: dict[str, Callable[[Inputs, Path, Options], Path]] = {"treceval": ours, "FlagModel + Faiss by hand": by_hand}


def processor_time() -> float:
    """Return the seconds of this process, all its threads and the processes that it waited for."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measure(side: str, inputs: Inputs, folder: Path, options: Options) -> tuple[float, float]:
    """Let a side make its run; return the seconds of the processor and those on the wall."""
    start, wall = processor_time(), time.perf_counter()
    SIDES[side](inputs, folder, options)
    return processor_time() - start, time.perf_counter() - wall


def check_same(folder: Path) -> None:
    """Refuse sides that rank other documents first."""
    first = []
    for name in ("ours.txt", "by-hand.txt"):
        lines = (line.split() for line in (folder / name).read_text("utf-8").splitlines())
        first.append({line[0]: line[2] for line in lines if line[3] == "1"})
    same = [first[0].get(qid) == docid for qid, docid in first[1].items()]
    if sum(same) < SAME * len(same):
        raise DisagreementError(f"only {sum(same)} of {len(same)} queries have the same first document")


def inputs_of(count: int, folder: Path, model: str, options: Options) -> Inputs:
    """Write a number of passages, and queries."""
    texts = Inputs(folder / f"collection-{count}.tsv", folder / "queries.tsv", model)
    write_passages(texts.passages, count)
    asked = [" ".join(text.split()[:8]) for text in passages(options.queries, seed=1)]
    texts.queries.write_text("".join(f"q{row}\t{text}\n" for row, text in enumerate(asked)), "utf-8")
    return texts


def best_of(inputs: Inputs, folder: Path, options: Options) -> dict[str, tuple[float, float]]:
    """Let the sides take turns; return the least processor time of each, and its time on the wall."""
    taken: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    for turn in range(options.rounds):
        for side in SIDES:
            taken[side].append(measure(side, inputs, folder, options))
            print(f"  {turn + 1} of {options.rounds}: {side}: {taken[side][-1][0]:.2f} s", file=sys.stderr, flush=True)
    return {side: min(times) for side, times in taken.items()}


def encoding(options: Options, folder: Path, model: str) -> Table:
    """Compare whole runs."""
    table = []
    for count in options.passages:
        inputs = inputs_of(count, folder, model, options)
        best = best_of(inputs, folder, options)
        check_same(folder)
        (our, wall), (their, other) = best.values()
        cells = (f"{our:.2f} s", f"{their:.2f} s", f"{our / their:.3f}", "1.1", f"{wall / other:.3f}")
        table.append((f"{count:,}", *cells, f"{PASSAGES * wall / count / 3600:,.2f} h"))
    head = ("passages", *SIDES, "ratio", "at most", "ratio on the wall", f"{PASSAGES:,}")
    return Table("encode, search and write: seconds of the processor", head, table)


def free_forward(
    self: Any,
    input_ids: Any = None,
    attention_mask: Any = None,  # noqa: ARG001 - callers look for these names
    token_type_ids: Any = None,  # noqa: ARG001
    **_: Any,
) -> Any:
    """Return a vector of each text that depends on its tokens, as the state of its first token, for nearly nothing."""
    from transformers.modeling_outputs import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        BaseModelOutputWithPooling,
    )

    table = self.embeddings.word_embeddings.weight
    states = table[input_ids.sum(1) % len(table)]
    return BaseModelOutputWithPooling(last_hidden_state=states.unsqueeze(1), pooler_output=states)


def python(options: Options, folder: Path, model: str) -> Table:
    """Measure what is left of a passage when the model costs nothing."""
    few, many = (
        inputs_of(count, folder, model, options) for count in (max(options.passages) // 10, max(options.passages))
    )
    count = max(options.passages) - max(options.passages) // 10
    with patch("transformers.models.bert.modeling_bert.BertModel.forward", free_forward):
        less, more = (best_of(inputs, folder, options) for inputs in (few, many))
    tokenizing = tokenizer_time(many, options)
    rows = []
    for side in SIDES:
        whole = (more[side][0] - less[side][0]) / count * 1e6
        rows.append((side, f"{whole:.1f} µs", f"{tokenizing:.1f} µs", f"{whole - tokenizing:.1f} µs", "60 µs"))
    head = (
        "a passage, without the forward pass",
        "all",
        "the tokenizer's own",
        "the rest: Python and files",
        "at most",
    )
    return Table("processor time of a passage", head, rows)


def tokenizer_time(inputs: Inputs, options: Options) -> float:
    """Return the microseconds that the tokenizer's own code takes for a passage."""
    import transformers

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(inputs.model)
    lines = inputs.passages.read_text("utf-8").splitlines()
    texts = [line.split("\t", 1)[1] for line in lines]
    shards = [texts[start : start + 10_000] for start in range(0, len(texts), 10_000)]
    taken = []
    for _ in range(options.rounds):
        start = time.process_time()
        for shard in shards:
            tokenizer.backend_tokenizer.encode_batch_fast(shard)
        taken.append(time.process_time() - start)
    return min(taken) / len(texts) * 1e6


def machine(options: Options) -> str:
    """Say what encodes on what."""
    import torch

    where = torch.cuda.get_device_name(options.device) if options.device.startswith("cuda") else platform.machine()
    threads = f"{options.threads} threads" if options.device == "cpu" else options.device
    shape = f"{options.architecture}'s architecture, random weights, {options.precision}"
    computed = f"torch {torch.__version__}, {where}, {threads}, {os.cpu_count()} CPUs"
    return f"{shape}, {options.batch_size} texts at once; {computed}"


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--passages", type=int, nargs="+", default=[5000, 50_000], help="how many passages, each in turn"
    )
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="tiny", help="how large the model is")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, …")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32", help="arithmetic of the model")
    parser.add_argument("--batch-size", type=int, default=32, help="texts at once")
    parser.add_argument("--queries", type=int, default=100, help="queries")
    parser.add_argument("-k", type=int, default=100, help="documents a query")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch and the tokenizer on a CPU")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, compare, print."""
    options = _arguments()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Read when the packages are loaded.
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # By such a name FlagEmbedding runs it.
        model = make_model(folder / "bge-made-up", ARCHITECTURES[options.architecture])
        small = inputs_of(100, folder, model, options)
        for side in SIDES:  # imports, and what is done once
            measure(side, small, folder, options)
        print(machine(options), end="\n\n", flush=True)
        tables: Sequence[Callable[[Options, Path, str], Table]] = (encoding, python)
        try:
            for make in tables:
                made = make(options, folder, model)
                print(made.markdown() if options.markdown else made.plain(), flush=True)
        except DisagreementError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
