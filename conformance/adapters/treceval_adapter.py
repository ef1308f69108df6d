"""treceval_py, under the profile that is named: treceval_adapter.py [PROFILE]."""

import sys
import tempfile

from adapter import serve

import treceval_py

PROFILE = sys.argv[1] if len(sys.argv) > 1 else None


def value(case, measure):
    """Return the mean and the values by query; all measures of a case are computed at once."""
    found = case.__dict__.setdefault("found", {})
    if not found:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results = treceval_py.evaluate(*case.write(folder), case.measures, profile=PROFILE)
            except treceval_py.errors.TrecevalError as error:
                raise type(error)(str(error).replace(f"{folder}/", "").rstrip(".")) from None
        for each in case.measures:
            rows = {qid: row[each] for qid, row in results.items() if each in row}
            found[each] = {"all": results.mean[each], **rows}
    return found[measure]


call = "treceval_py.evaluate(qrels, run, measures" + (f", profile={PROFILE!r})" if PROFILE else ")")
serve("treceval_py", "treceval-py", call, value)
