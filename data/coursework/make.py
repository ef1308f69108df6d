"""Make a class of 60 submissions, with everything that students hand in, to try `treceval grade` on.

    python make.py FOLDER

writes submissions/, submissions.zip, claims.csv, qrels.txt, baseline.txt and rules.toml to FOLDER.

The assignment is the messy pair in ../messy: the run there is the honest one, and what ten tools printed for it
(../messy/tools.json) are the numbers that students claim. Each student says here what is to be said of the submission:
`CLASS` is what the tests compare with. Numbers that no tool printed are computed here in plain Python, which shares
nothing with treceval_py.
"""

from __future__ import annotations

import bz2
import gzip
import io
import math
import pathlib
import struct
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

MESSY = pathlib.Path(__file__).parent.parent / "messy"
RUN = (MESSY / "run.txt").read_bytes()
QRELS = (MESSY / "qrels.txt").read_bytes()

RULES = """\
title = "Ranked retrieval, sheet 3"

[scoring]
profile = "trec_eval-9"
measures = ["AP", "nDCG@10", "RR"]

[points]
run = 40
claims = 60
"""


class Said(NamedTuple):
    """What is to be said of a claim: its verdict, and words that stand in the reason."""

    measure: str
    text: str
    verdict: str
    words: str = ""


class Student(NamedTuple):
    """A submission.

    Attributes
    ----------
    name : str
        Who hands it in.
    files : dict
        The bytes of each file.
    status : str
        What is to become of it.
    said : sequence of Said
        The claims, and what is to be said of each; they go to the table of the class, or into a file of their own.
    codes : str
        Codes of findings that there must be.
    in_file : bool
        Whether the claims are in a file of the submission.
    """

    name: str
    files: Mapping[str, bytes]
    status: str = "scored"
    said: Sequence[Said] = ()
    codes: str = ""
    in_file: bool = False


# --- rankings and measures in plain Python ---

Ranking = dict[str, list[tuple[str, float]]]


def parsed(text: bytes) -> Ranking:
    """Return the documents of each query with their scores, in the order of the lines."""
    found: Ranking = {}
    for line in text.decode().splitlines():
        qid, _, docid, _, score, _ = line.split()
        found.setdefault(qid, []).append((docid, single(float(score))))
    return found


def single(score: float) -> float:
    """Return a score as trec_eval 9 keeps it, in 32 bits."""
    (kept,) = struct.unpack("<f", struct.pack("<f", score))
    return float(kept)


def judged(text: bytes) -> dict[str, dict[str, int]]:
    """Return the labels of each query."""
    found: dict[str, dict[str, int]] = {}
    for line in text.decode().splitlines():
        qid, _, docid, rel = line.split()
        found.setdefault(qid, {})[docid] = int(rel)
    return found


LABELS = judged(QRELS)


def ordered(documents: Sequence[tuple[str, float]], key: Callable[[tuple[str, float]], object]) -> list[str]:
    """Return documents in the order of a key."""
    # Ties go by document id, the largest first, as trec_eval has it.
    by_id = sorted(documents, key=lambda each: each[0].encode(), reverse=True)
    return [docid for docid, _ in sorted(by_id, key=key)]  # type: ignore[arg-type]


def average_precision(ranking: Sequence[str], labels: Mapping[str, int], *, found_only: bool = False) -> float:
    """Return AP; with ``found_only`` divided by the relevant documents found."""
    relevant = [rank for rank, docid in enumerate(ranking, 1) if labels.get(docid, 0) > 0]
    total = sum(nth / rank for nth, rank in enumerate(relevant, 1))
    by = len(relevant) if found_only else sum(label > 0 for label in labels.values())
    return total / by if by else 0.0


def reciprocal_rank(ranking: Sequence[str], labels: Mapping[str, int]) -> float:
    """Return RR."""
    return next((1 / rank for rank, docid in enumerate(ranking, 1) if labels.get(docid, 0) > 0), 0.0)


def ndcg(
    ranking: Sequence[str],
    labels: Mapping[str, int],
    cutoff: int | None = 10,
    gain: Callable[[int], float] = float,
    *,
    of_retrieved: bool = False,
    undiscounted: bool = False,
) -> float:
    """Return nDCG, by default at 10, with the labels as gains and log2(rank + 1)."""

    def dcg(grades: Sequence[int]) -> float:
        total = 0.0
        for rank, grade in enumerate(grades[:cutoff], 1):
            total += gain(grade) / (max(1.0, math.log2(rank)) if undiscounted else math.log2(rank + 1))
        return total

    grades = [max(labels.get(docid, 0), 0) for docid in ranking]
    ideal = sorted(grades if of_retrieved else (max(each, 0) for each in labels.values()), reverse=True)
    best = dcg(ideal)
    return dcg(grades) / best if best else 0.0


def mean(
    run: Ranking, measure: Callable[[list[str], Mapping[str, int]], float], key: str = "score", by: int = 0
) -> str:
    """Return a mean over all judged queries, or the sum divided by a number, to 4 decimals."""
    keys: dict[str, Callable[[tuple[str, float]], object]] = {
        "score": lambda each: -each[1],
        "ascending": lambda each: each[1],
        "docid": lambda each: -int(each[0]),
    }
    total = sum(measure(ordered(run.get(qid, []), keys[key]), labels) for qid, labels in LABELS.items())
    return f"{total / (by or len(LABELS)):.4f}"


HONEST = parsed(RUN)


# --- what is handed in ---


def changed(change: Callable[[int, list[str]], list[str] | None], text: bytes = RUN, separator: str = " ") -> bytes:
    """Return a run whose lines were changed; None leaves a line out."""
    rows = [change(number, line.split()) for number, line in enumerate(text.decode().splitlines(), 1)]
    return "".join(separator.join(row) + "\n" for row in rows if row is not None).encode()


def field(number: int, value: Callable[[str], str], line: int | None = None, text: bytes = RUN) -> bytes:
    """Return the honest run with one field changed, in one line or in all."""

    def change(at: int, row: list[str]) -> list[str]:
        return [*row[:number], value(row[number]), *row[number + 1 :]] if line in (None, at) else row

    return changed(change, text)


def renumbered(text: bytes) -> bytes:
    """Return a run whose ranks follow its scores."""
    lines = []
    for qid, documents in parsed(text).items():
        known = dict(documents)
        for rank, docid in enumerate(ordered(documents, lambda each: -each[1]), 1):
            lines.append(f"{qid} Q0 {docid} {rank} {known[docid]!r} own\n")
    return "".join(lines).encode()


def of_own(documents: Mapping[str, Sequence[str]], tag: str = "own") -> bytes:
    """Return a run of rankings."""
    return "".join(
        f"{qid} Q0 {docid} {rank} {100 - rank} {tag}\n"
        for qid, ranking in documents.items()
        for rank, docid in enumerate(ranking, 1)
    ).encode()


HONEST_ORDER = {qid: ordered(documents, lambda each: -each[1]) for qid, documents in HONEST.items()}
REVERSED = of_own({qid: list(reversed(ranking)) for qid, ranking in HONEST_ORDER.items()})
RANKED = of_own(HONEST_ORDER)
FARTHEST = changed(lambda _, row: [*row[:4], row[3], *row[5:]], RANKED)
SWAPPED = field(3, lambda rank: {"1": "2", "2": "1"}.get(rank, rank), text=RANKED)
MORE_QUERIES = RANKED + of_own({"98": ["1001", "1002"], "99": ["1003"]})
JUDGED_RANKING = "".join(
    f"{qid} Q0 {docid} {max(LABELS[qid].get(docid, 0), 0)}\n"
    for qid, ranking in HONEST_ORDER.items()
    if qid in LABELS
    for docid in ranking
).encode()
MSMARCO_RUN = "".join(
    f"{qid}\t{docid}\t{rank}\n" for qid, ranking in HONEST_ORDER.items() for rank, docid in enumerate(ranking, 1)
).encode()
OWN_LABELS = judged(JUDGED_RANKING)


def of_judged_ranking(measure: Callable[[list[str], Mapping[str, int]], float]) -> str:
    """Return a mean over the judged ranking, whose labels are its own, to 5 decimals."""
    values = [measure(list(labels), labels) for labels in OWN_LABELS.values()]
    return f"{sum(values) / len(values):.5f}"


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a zip; the same bytes each time."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return raw.getvalue()


def honest(text: bytes = RUN, name: str = "run.txt") -> dict[str, bytes]:
    """Return the files of a submission of one run."""
    return {name: text}


# What trec_eval 9.0.4 printed with -c (../messy/tools.json).
AP, NDCG, RR = Said("AP", "0.3088", "correct"), Said("nDCG@10", "0.3787", "correct"), Said("RR", "0.5492", "correct")
ALL = (AP, NDCG, RR)


def by_convention(measure: str, text: str, words: str) -> Said:
    """Return a claim that another convention explains."""
    return Said(measure, text, "convention", words)


def by_mistake(measure: str, text: str, words: str) -> Said:
    """Return a claim that a mistake explains."""
    return Said(measure, text, "mistake", words)


def _binary(grade: int) -> float:
    return float(grade > 0)


def _grown(grade: int) -> float:
    return 2.0**grade - 1


CLASS: list[Student] = [
    # Right numbers, handed in in every way.
    Student("Ada Lovelace", honest(), said=ALL),
    Student("Alan Turing", honest(), said=ALL, in_file=True),
    Student("Grace Hopper", honest(RANKED, "results/bm25.run"), said=ALL),
    Student("Edsger Dijkstra", {"run.txt.gz": gzip.compress(RUN, mtime=0)}, said=ALL),
    Student("Barbara Liskov", {"run.txt.bz2": bz2.compress(RUN)}, said=ALL),
    Student(
        "Donald Knuth", {"sheet3.zip": archive({"sheet3/run.txt": RUN, "sheet3/notes.md": b"# Notes\n"})}, said=ALL
    ),
    Student("Karen Spärck Jones", honest(), said=[AP, NDCG, Said("P@10", "0.2333", "correct")]),
    Student("Gerard Salton", {**honest(), "report.pdf": b"%PDF-1.7\n" + bytes(range(256))}, said=ALL, in_file=True),
    Student(
        "Jean-Luc O'Neil",
        honest(),
        said=[Said("map", "0.308763", "correct"), Said("recip_rank", "0.549242", "correct")],
    ),
    Student("Percy Percent", honest(), said=[Said("AP", "30.88%", "correct", "percentage")], in_file=True),
    Student("Comma Kommissar", honest(), said=[Said("AP", "0,3088", "correct")], in_file=True),
    Student("No Claims", honest()),
    # A ranking of three columns, and one that is its own judgments.
    Student("Three Columns", honest(MSMARCO_RUN, "run.tsv"), said=[AP, RR]),
    Student(
        "Judged Ranking",
        honest(JUDGED_RANKING, "ranking.txt"),
        said=[
            Said("MAP", of_judged_ranking(average_precision), "correct"),
            Said("MRR", of_judged_ranking(reciprocal_rank), "correct"),
            Said("NDCG", of_judged_ranking(lambda r, labels: ndcg(r, labels, None, undiscounted=True)), "correct"),
        ],
        in_file=True,
    ),
    # Rounding.
    Student("Cut Off", honest(), said=[Said("AP", "0.3087", "rounding"), Said("nDCG@10", "0.3786", "rounding")]),
    Student("Last Digit", honest(), said=[Said("RR", "0.5493", "rounding")]),
    # Other conventions: each number is what the tool printed.
    Student(
        "Forgot C", honest(), said=[by_convention("AP", "0.3368", "trec_eval-9"), by_convention("RR", "0.5992", "")]
    ),
    Student("Py Treceval", honest(), said=[by_convention("nDCG@10", "0.41310981544669967", "")]),
    Student("Ira Measures", honest(), said=[by_convention("RR@10", "0.4494047619047619", "ir_measures")]),
    Student("Ran X", honest(), said=[by_convention("AP", "0.29573973672932", "ranx")]),
    Student("Ran X Second", honest(), said=[by_convention("nDCG@10", "0.3460204032911048", "ranx")]),
    Student("Sky Kit", honest(), said=[by_convention("AP", "0.31931628977083526", "sklearn")]),
    Student("Sky Kit Second", honest(), said=[by_convention("nDCG@10", "0.42982666941269837", "sklearn")]),
    Student("Ms Marco", honest(), said=[by_convention("RR@10", "0.875", "msmarco")]),
    Student("Bea R", honest(), said=[by_convention("RR@10", "0.46111", "beir")]),
    Student("Gd Eval", honest(), said=[by_convention("nDCG(dcg='exp-log2')@10", "0.44164", "gdeval")]),
    Student("Second Gd Eval", honest(), said=[by_convention("ERR@20", "0.17177", "gdeval")]),
    Student("Flag Embedding", honest(), said=[by_convention("R@10", "0.57045", "")]),
    Student(
        "Burges Gain",
        honest(),
        said=[by_convention("nDCG@10", mean(HONEST, lambda r, q: ndcg(r, q, 10, _grown)), "2^rel")],
    ),
    # Mistakes, computed above.
    Student(
        "Upside Down", honest(), said=[by_mistake("AP", mean(HONEST, average_precision, "ascending"), "ascending")]
    ),
    Student(
        "Ids As Scores",
        honest(),
        said=[by_mistake("nDCG@10", mean(HONEST, ndcg, "docid"), "document ids taken for scores")],
    ),
    Student(
        "Sheet Of Metrics",
        honest(),
        said=[
            by_mistake(
                "nDCG@10",
                mean(HONEST, lambda r, q: ndcg(r, q, 10, _binary, of_retrieved=True), "docid"),
                "ideal from the retrieved documents, grades as 0 and 1",
            )
        ],
    ),
    Student(
        "Wrong Divisor",
        honest(MORE_QUERIES),
        said=[
            by_mistake(
                "AP",
                mean(parsed(MORE_QUERIES), average_precision, by=14),
                "divided by the number of queries in the run",
            )
        ],
        codes="X203",
    ),
    Student(
        "Own Ideal",
        honest(),
        said=[
            by_mistake("nDCG@10", mean(HONEST, lambda r, q: ndcg(r, q, of_retrieved=True)), "ideal from the retrieved")
        ],
    ),
    Student(
        "Only Binary",
        honest(),
        said=[by_mistake("nDCG@10", mean(HONEST, lambda r, q: ndcg(r, q, 10, _binary)), "grades as 0 and 1")],
    ),
    Student(
        "Found Only",
        honest(),
        said=[
            by_mistake(
                "AP", mean(HONEST, lambda r, q: average_precision(r, q, found_only=True)), "relevant documents found"
            )
        ],
    ),
    Student(
        "Cutoff Five", honest(), said=[by_mistake("nDCG@10", mean(HONEST, lambda r, q: ndcg(r, q, 5)), "cutoff 5")]
    ),
    # Numbers from nowhere.
    Student("Made Up", honest(), said=[Said("AP", "0.987654", "not reproduced"), NDCG]),
    Student("Not A Number", honest(), said=[Said("AP", "high", "unchecked"), Said("Gloss@10", "0.5", "unchecked")]),
    # Damage.
    Student("Byte Order Mark", honest(b"\xef\xbb\xbf" + RUN), said=ALL, codes="F003"),
    Student(
        "Header Line",
        honest(b"qid Q0 docid rank score tag\n" + RUN),
        "repaired",
        [Said("AP", "0.3088", "correct")],
        "R110",
    ),
    Student("Nan Score", honest(field(4, lambda _: "nan", 7)), "refused", [Said("AP", "0.3088", "unchecked")], "R104"),
    Student("Text Score", honest(field(4, lambda _: "high", 9)), "refused", codes="R103"),
    Student("Decimal Comma", honest(field(4, lambda score: score.replace(".", ","))), "refused", codes="R106"),
    Student("Twice Exactly", honest(RUN + RUN.splitlines(keepends=True)[-1]), "repaired", ALL, "R120"),
    Student(
        "Twice Otherwise",
        honest(RUN + b"13 Q0 " + RUN.splitlines()[-1].split()[2] + b" 99 -5 messy\n"),
        "refused",
        codes="R121",
    ),
    Student("Five Fields", honest(changed(lambda at, row: row[:5] if at == 3 else row)), "repaired", codes="R118"),
    Student("Spaces In Tag", honest(field(5, lambda _: "my own run")), said=ALL, codes="R102"),
    Student("Distances", honest(FARTHEST), said=[by_mistake("AP", "0.3088", "probably distances")], codes="R129 X209"),
    Student("Rank Contradicts", honest(SWAPPED), said=ALL, codes="R123"),
    Student("Empty File", honest(b""), "refused", [Said("AP", "0.3088", "unchecked")]),
    Student("Nul Byte", honest(RUN.replace(b"messy", b"me\0sy", 1)), "refused", codes="F005"),
    Student("Sixteen Bits", honest(RUN.decode().encode("utf-16")), "repaired", ALL, "F004"),
    Student("Windows Lines", honest(RUN.replace(b"\n", b"\r\n")), said=ALL, codes="F009"),
    Student("Qrels Again", honest(QRELS, "qrels.txt"), "missing", [Said("AP", "1.0", "unchecked")]),
    # Nothing, or something else.
    Student("Nothing At All", {}, "missing", [Said("AP", "0.3088", "unchecked")]),
    Student(
        "Wrong File",
        {"essay.txt": b"Information retrieval is about finding what somebody needs.\nEvaluation says how well.\n" * 20},
        "refused",
        codes="R113",
    ),
    Student("Binary File", {"run.txt": bytes(range(256)) * 64}, "refused", codes="F006"),
    # Two that are alike.
    Student("Copy One", honest(REVERSED, "one.txt")),
    Student("Copy Two", honest(REVERSED, "two.txt")),
]


def claims_table() -> str:
    """Return the claims of all who made none in a file of their own, as CSV."""
    lines = ["student,measure,value"]
    for student in CLASS:
        if not student.in_file:
            lines += [f'"{student.name}","{said.measure}","{said.text}"' for said in student.said]
    return "\n".join(lines) + "\n"


def files_of(student: Student) -> dict[str, bytes]:
    """Return all files of a submission."""
    files = dict(student.files)
    if student.in_file:
        files["claims.txt"] = "".join(f"{said.measure} = {said.text}\n" for said in student.said).encode()
    return files


def write(folder: pathlib.Path) -> None:
    """Write the class, as folders and as the zip that Moodle makes of it."""
    submissions = folder / "submissions"
    packed = {}
    for number, student in enumerate(CLASS, 1001):
        (submissions / student.name).mkdir(parents=True, exist_ok=True)
        for name, data in files_of(student).items():
            path = submissions / student.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            packed[f"{student.name}_{number}_assignsubmission_file_/{name}"] = data
    (folder / "submissions.zip").write_bytes(archive(packed))
    (folder / "claims.csv").write_text(claims_table(), "utf-8")
    (folder / "qrels.txt").write_bytes(QRELS)
    (folder / "baseline.txt").write_bytes(RANKED)
    (folder / "rules.toml").write_text(RULES, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]))
