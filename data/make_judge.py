"""Make judge.tsv: the sample's judgments made again by a program, which grades passages by the words of the query.

Usage: python make_judge.py

A passage with all content words of the query is graded 3, with two thirds of them 2, with a third 1, else 0. It is a
poor judge, as programs without understanding are; that is what makes it an example for `treceval agree`.
"""

from __future__ import annotations

import re
from pathlib import Path

DATA = Path(__file__).resolve().parent

STOP = frozenset(
    {"a", "an", "and", "are", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "in", "is", "it", "of"}
    | {"on", "the", "to", "what", "when", "where", "which", "who", "why", "with"}
)


def words(text: str) -> set[str]:
    """Return the content words of a text, without a plural's s."""
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP}


def texts(name: str) -> dict[str, set[str]]:
    """Return the words of each line of a two-column file, by its id."""
    lines = (DATA / name).read_text(encoding="ascii").splitlines()
    return {ident: words(text) for ident, text in (line.split("\t") for line in lines)}


def main() -> None:
    """Judge the pairs of qrels.tsv again."""
    passages, queries = texts("collection.tsv"), texts("queries.tsv")
    with (DATA / "judge.tsv").open("w", encoding="ascii", newline="\n") as out:
        for line in (DATA / "qrels.tsv").read_text(encoding="ascii").splitlines():
            qid, _, pid, _ = line.split("\t")
            wanted = queries[qid]
            out.write(f"{qid}\t0\t{pid}\t{3 * len(wanted & passages[pid]) // len(wanted)}\n")


if __name__ == "__main__":
    main()
