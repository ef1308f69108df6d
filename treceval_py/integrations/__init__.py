"""Scoring inside other packages. Each module needs the package it is named after; none is imported automatically."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "": "beir ir_measures mteb sentence_transformers",
    },
)
