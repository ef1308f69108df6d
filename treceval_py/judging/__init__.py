"""Judging: judgments and a run become the table of judged ranks from which measures are computed."""
