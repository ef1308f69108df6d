"""First mistakes: what somebody gets who has not read the documentation."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest
from command import table, treceval
from syrupy.assertion import SnapshotAssertion

MISTAKES: dict[str, list[str]] = {
    kind: text.splitlines()
    for kind, text in tomllib.loads(Path(__file__).with_name("first_mistakes.toml").read_text("utf-8")).items()
}

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = "1 Q0 b 1 3.5 bm25\n1 Q0 a 2 2.5 bm25\n2 Q0 c 1 0.25 bm25\n"
FILES = {
    "qrels.txt": QRELS,
    "run.txt": RUN,
    "other.txt": RUN.replace("bm25", "bge").replace("3.5", "1.5"),
    "queries.tsv": "1\twhat is a cat\n2\twhere do dogs sleep at night\n",
    "collection.tsv": "a\tcats purr\nb\tdogs bark\nc\tdogs sleep\n",
}


def write_files(folder: Path) -> None:
    """Write the files that the lines name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in ("runs", "empty"):
        (folder / name).mkdir()
    (folder / "runs" / "a.txt").write_text(RUN)
    (folder / "runs" / "b.txt").write_text(FILES["other.txt"])


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_first_mistake_gets_a_message_that_says_what_to_type(
    kind: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    write_files(tmp_path)
    seen = {}
    for line in MISTAKES[kind]:
        done = treceval(shlex.split(line), folder=tmp_path)
        shown = [f"> {text}" for text in done.out.decode().splitlines()[:2] if text]
        seen[f"treceval {line}"] = "\n    ".join([f"[{done.status}]", *done.err.decode().splitlines(), *shown])
    assert table(seen) == snapshot


def test_there_are_a_hundred_of_them() -> None:
    assert sum(map(len, MISTAKES.values())) >= 100
