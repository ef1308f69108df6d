"""With hidden judgments nothing that is written names a judged document that the student did not rank, or a label."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import pytest
from command import treceval

Graded: TypeAlias = "Callable[..., dict[str, str]]"

QUERIES, LABEL = range(1, 13), 7
JUDGED = {qid: [f"Secret-{qid}-{number}" for number in range(1, 7)] for qid in QUERIES}
"""Documents with this label, by query; the rest of the judged ones have 0."""

QRELS = "".join(f"{qid} 0 {docid} {LABEL}\n" for qid, docids in JUDGED.items() for docid in docids) + "".join(
    f"{qid} 0 Pooled-{qid}-{number} 0\n" for qid in QUERIES for number in range(1, 7)
)


def run(documents: dict[int, list[str]]) -> str:
    return "".join(
        f"{qid} Q0 {docid} {rank} {50 - rank} t\n"
        for qid, docids in documents.items()
        for rank, docid in enumerate(docids, 1)
    )


BASELINE = run({qid: [*docids[:5], f"other-{qid}"] for qid, docids in JUDGED.items()})
MINE = {qid: [f"mine-{qid}-{number}" for number in range(12)] for qid in QUERIES}
FEW = run({qid: [*docids, JUDGED[qid][0], f"Pooled-{qid}-1"] for qid, docids in MINE.items()})

SUBMISSIONS = {
    # Two judged documents of each query, below the baseline in all of them; wrong and right numbers.
    "ada": {"run.txt": FEW, "claims.txt": "MAP = 0.4321\nnDCG@10 = 0.1\nP@5 = 0.0000\n"},
    # Ids that look like judged ones.
    "bob": {"run.txt": run({qid: [docid.upper() for docid in docids] for qid, docids in JUDGED.items()})},
    # Labels that contradict the judgments.
    "cid": {"ranking.txt": "".join(f"{qid} Q0 {docids[0]} 1\n{qid} Q0 x{qid} 0\n" for qid, docids in JUDGED.items())},
    "dan": {"run.txt": FEW.replace(" 49 t", " nan t", 1)},
    "eve": {"run.txt": run(MINE)},
    # Repaired, and several runs.
    "fay": {"a.txt": FEW.replace("\n", "\n\n", 1), "b.txt": FEW.replace(" t\n", " u\n")},
    "gus": {"notes.md": "MAP = 0.5\n"},
}

RULES = '[scoring]\nfeedback = "{feedback}"\nmeasures = ["map", "ndcg_cut_10", "P_5"]\n'


def texts(data: bytes, name: str) -> Iterator[str]:
    """Yield what a file has, with the files in it."""
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    if name.endswith((".xlsx", ".zip")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield archive.read(member).decode("utf-8", "replace")
    yield data.decode("utf-8", "replace")


def named(text: str) -> set[str]:
    return set(re.findall(r"(?:Secret|Pooled)-\d+-\d+", text))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """Return a function that grades the class, and some submissions alone, and returns all that is written."""

    @cache
    def written(feedback: str, baseline: str = BASELINE) -> dict[str, str]:
        folder = tmp_path_factory.mktemp(feedback)
        files = {"qrels.txt": QRELS, "baseline.txt": baseline, "rules.toml": RULES.format(feedback=feedback)}
        files |= {f"in/{who}/{name}": text for who, own in SUBMISSIONS.items() for name, text in own.items()}
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        common = ["--baseline", "baseline.txt", "--rules", "rules.toml"]
        done = treceval(["grade", "qrels.txt", "in", "-o", "out", *common], folder=folder)
        assert done.status == 0
        # Again, so that there is what has changed, and with the files for all platforms.
        (folder / "out" / "adjustments.toml").write_text('["ada"]\npoints = 1\n')
        platforms = [f"--to={each}" for each in ("moodle", "canvas", "gradescope")]
        again = treceval(["grade", "qrels.txt", "in", "-o", "out", *common, *platforms], folder=folder)
        assert again.status == 0
        made = {"printed": (done.out + done.err + again.out + again.err).decode()}
        for path in (folder / "out").rglob("*"):
            if path.is_file():
                made[path.relative_to(folder / "out").as_posix()] = "\n".join(texts(path.read_bytes(), path.name))
        for student in ("ada", "bob", "cid"):
            alone = treceval(["grade", "qrels.txt", f"in/{student}", "--single", *common], folder=folder)
            made[f"single {student}"] = (alone.out + alone.err).decode()
        return made

    return written


def ranked_by(name: str) -> set[str]:
    """Return the documents that may be named in a file: those of the student, or of anybody where it is about all."""
    about = [student for student in SUBMISSIONS if f" {student}" in name or f"/{student}." in name]
    return set().union(*(named(text) for who in about or SUBMISSIONS for text in SUBMISSIONS[who].values()))


def given_away(made: dict[str, str]) -> dict[str, set[str]]:
    """Return the documents in each file that may not be named in it."""
    return {name: named(text) - ranked_by(name) for name, text in made.items() if named(text) - ranked_by(name)}


@pytest.mark.slow
def test_no_file_names_a_judged_document_that_was_not_ranked_or_a_label(graded: Graded) -> None:
    label = re.compile(rf"(judged|says|label\D{{0,4}}) {LABEL}\b")
    for made in (graded("own"), graded("aggregate")):
        assert {"printed", "gradebook.csv", "grades.json", "feedback/ada.txt", "single ada"} <= set(made)
        assert {"changes.txt", "import-moodle.csv", "import-canvas.csv", "import-gradescope.zip"} <= set(made)
        assert given_away(made) == {}
        assert [name for name, text in made.items() if label.search(text)] == []
    # A baseline whose ids look like judged ones gives none away.
    made = graded("own", SUBMISSIONS["bob"]["run.txt"])
    assert "the baseline baseline.txt has a warning" in made["printed"]
    assert given_away(made) == {}


@pytest.mark.slow
def test_with_public_judgments_the_same_class_names_documents_and_labels(graded: Graded) -> None:
    # What the tests above look for is there to be found.
    made = graded("full")
    for name in ("feedback/ada.txt", "single ada", "grades.json", "import-gradescope.zip"):
        assert named(made[name]) - ranked_by(name)
    assert f"relevant (judged {LABEL})" in made["feedback/ada.txt"]
    assert f"QRELS says {LABEL}" in made["feedback/cid.txt"]
    assert named(made["feedback/bob.txt"])
    # Only means name no query in which much was lost.
    own, aggregate = (graded(each) for each in ("own", "aggregate"))
    assert "query 1: " in own["feedback/ada.txt"]
    assert not any("query 1: " in text for name, text in aggregate.items() if name.startswith(("feedback/", "single ")))
