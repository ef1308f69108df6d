"""Compare the time that `treceval retrieve --dry-run` announces with the time that the work then takes.

Usage: python benchmarks/retrieval_forecast.py FOLDER [--only encoding long] [--scale 1] [--markdown]

Each setting is run with `--dry-run`, then in earnest, by the command, with a model of random weights and passages that
are made up. `encoding` is spent on passages of 60 tokens, `long` on passages of 400, in batches of 8 and bf16. Each
takes some 20 seconds on one core; `--scale` multiplies the texts.

The bar: the announced time within 30 % of the real one in each setting, on a machine that does nothing else. Both are
without the search, and without what comes before the texts are read, the start of Python above all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from retrieval_encoding import Architecture, make_model, passages
from taking_turns import Table, Tool, duration, take

BIN = Path(sys.executable).parent

BAR = 0.3
"""How far the announced time may be from the real one."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Setting(NamedTuple):
    """What is retrieved, and how.

    Attributes
    ----------
    passages, queries : int
        How many there are.
    join : int
        Made-up passages of which one is made: each has 60 tokens, about.
    shape : Architecture
        The model.
    options : sequence of str
        More of the command line.
    """

    passages: int
    queries: int
    join: int
    shape: Architecture
    options: Sequence[str] = ()


SETTINGS = {
    "encoding": Setting(2_000, 100, 1, Architecture(384, 6, 12)),
    "long": Setting(400, 100, 7, Architecture(384, 6, 12), ("--batch-size", "8", "--precision", "bf16")),
}


class Options(argparse.Namespace):
    """What the command line said."""

    folder: Path
    only: list[str]
    scale: float
    markdown: bool


def make_collection(folder: str, setting: Setting, scale: float) -> None:
    """Write passages and queries."""
    drawn = passages(round(setting.passages * scale) * setting.join)
    with open(os.path.join(folder, "collection.tsv"), "w", encoding="utf-8") as stream:
        for number in range(round(setting.passages * scale)):
            stream.write(f"{number}\t{' '.join(next(drawn) for _ in range(setting.join))}\n")
    with open(os.path.join(folder, "queries.tsv"), "w", encoding="utf-8") as stream:
        for number, text in enumerate(passages(round(setting.queries * scale), seed=1)):
            stream.write(f"{number}\t{' '.join(text.split()[:6])}\n")


def announced(output: str) -> float:
    """Return the seconds that a dry run says."""
    found = re.search(r"^time +about ([0-9.]+) (s|min|h):", output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no time in what --dry-run says: {output}")
    return float(found[1]) * UNITS[found[2]]


def measure(setting: Setting, options: Options) -> tuple[float, float, float]:
    """Return the seconds that were announced, those that the work took, and those of the dry run itself."""
    place = tempfile.mkdtemp(dir=options.folder)
    try:
        make_collection(place, setting, options.scale)
        run = os.path.join(place, "run.txt")
        command = [str(BIN / "treceval"), "retrieve", place, "-o", run, *setting.options]
        command += ["--model", make_model(os.path.join(place, "bge-made-up"), setting.shape), "--pooling", "mean"]
        dry = take(Tool("dry run", [[*command, "--dry-run"]]))
        take(Tool("treceval retrieve", [command]))
        with open(f"{run}.json", "rb") as stream:
            seconds = json.load(stream)["seconds"]
        real = sum(seconds[stage] for stage in seconds if stage not in ("search", "write"))
        return announced(dry.output), real, dry.seconds
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where files are written for the time of the command")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS), metavar="NAME", help="settings")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many texts")
    parser.add_argument("--markdown", action="store_true", help="print a table for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, measure, print."""
    options = _arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.only:
        told, real, dry = measure(SETTINGS[name], options)
        rows.append((name, duration(told), duration(real), f"{told / real - 1:+.0%}", duration(dry)))
    title = f"times announced by --dry-run, which are to be within {BAR:.0%} of the real ones"
    found = Table(title, ("setting", "announced", "real", "off by", "dry run itself"), rows)
    print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
