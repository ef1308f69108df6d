"""Judgments and runs as columns that read as dictionaries, and the one rule by which documents are ordered."""
