"""What the adapters share: the loop over JSON lines, and a case in the forms that packages take."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from run import TREC_EVAL


class CannotError(Exception):
    """A question that does not arise, as the package's input cannot hold it."""


class Case:
    """Judgments, a run and measures."""

    def __init__(self, question):
        self.measures = question["measures"]
        self.judged = question["qrels"]
        """Rows of query, document, label."""
        self.ranked = [(qid, docid, rank, float(score)) for qid, docid, rank, score in question["run"]]
        """Rows of query, document, rank, score."""

    @property
    def qrels(self):
        """Labels by query and document."""
        return by_query(self.judged)

    @property
    def run(self):
        """Scores by query and document."""
        return by_query((qid, docid, score) for qid, docid, _, score in self.ranked)

    def lists(self):
        """Return labels and scores of each query of the run, for packages that know only what was retrieved."""
        labels = self.qrels
        return [
            ([labels.get(qid, {}).get(docid, 0) for docid in scores], list(scores.values()))
            for qid, scores in self.run.items()
        ]

    def write(self, folder):
        """Write the two files, and return their paths."""
        qrels, run = Path(folder, "qrels.trec"), Path(folder, "run.trec")
        qrels.write_text("".join(f"{qid} 0 {docid} {label}\n" for qid, docid, label in self.judged), "utf-8")
        run.write_text(
            "".join(f"{qid} Q0 {docid} {rank} {score!r} kit\n" for qid, docid, rank, score in self.ranked), "utf-8"
        )
        return str(qrels), str(run)


def by_query(rows):
    """Return a dictionary of dictionaries, which holds a document once."""
    result = {}
    for qid, docid, value in rows:
        if docid in result.setdefault(qid, {}):
            raise CannotError("a dictionary holds a document once")
        result[qid][docid] = value
    return result


def named(measure, names):
    """Return a package's name of a measure, with its cutoff in the place of @; None if it has none."""
    name, at, cutoff = measure.partition("@")
    found = names.get(name + at)
    return None if found is None else found.replace("@", at + cutoff) if "@" in found else found + cutoff


def trec_eval_name(measure):
    """Return trec_eval's name of a measure; None if it has none."""
    return named(measure, TREC_EVAL)


def serve(tool, package, call, value):
    """Answer questions until there are no more. `value` gives a case's value of a measure; None if there is none."""
    warnings.simplefilter("ignore")
    # Some packages print to standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        answer = (
            {"tool": tool, "version": version(package), "call": call}
            if "about" in question
            else values(Case(question), value)
        )
        print(json.dumps(answer, ensure_ascii=False), file=answers, flush=True)


def values(case, value):
    """Return the values of all measures, or why there are none."""
    found = {}
    for measure in case.measures:
        try:
            found[measure] = plain(value(case, measure))
        except CannotError as error:
            return {"cannot": str(error)}
        except NotImplementedError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever a package raises is its answer
            text = " ".join(str(error).split())
            found[measure] = f"{type(error).__name__}: {text}"[:160]
    return {"values": found}


def plain(value):
    """Return a value as JSON has it: None for what is not a number."""
    if isinstance(value, dict):
        return {qid: plain(each) for qid, each in value.items()}
    return None if value is None or math.isnan(value) else float(value)
