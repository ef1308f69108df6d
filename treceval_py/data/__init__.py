"""Judgments and runs as columns that can be read as dictionaries, and the rules that order documents."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {"data.groups": "JudgmentGroups", "data.preferences": "Preference Preferences", "data.query_groups": "QueryGroups"},
)
