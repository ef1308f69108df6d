"""Judgments and a run become the table of judged ranks that measures see."""
