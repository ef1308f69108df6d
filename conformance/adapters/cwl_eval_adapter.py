"""cwl_eval, whose command line takes files; the expected utility (EU) of these models is AP, RR and P@k."""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import cwl
from adapter import named, serve

sys.path.insert(0, str(Path(cwl.__file__).parent))

from cwl import cwl_eval

NAMES = {"AP": "APCWLMetric()", "RR": "RRCWLMetric()", "P@": "PrecisionCWLMetric(@)"}


def value(case, measure):
    """Return the values by query."""
    metric = named(measure, NAMES)
    if metric is None:
        raise NotImplementedError
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.chdir(folder)  # it writes a log where it runs
        qrels, run = case.write(folder)
        Path("metrics").write_text(metric.replace("@", "") + "\n")
        cwl_eval.main(run, qrels, metrics_file="metrics", max_gain=3.0)
        os.chdir("/")
    return {line.split("\t")[0]: float(line.split("\t")[2]) for line in printed.getvalue().splitlines()}


serve("cwl_eval", "cwl-eval", "cwl-eval --max_gain 3 -m METRICS qrels run, EU", value)
