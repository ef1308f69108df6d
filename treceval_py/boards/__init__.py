"""Boards: all runs of a folder in order, with a cache of their results."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "boards.board": "Board",
        "boards.over": "CollectionsBoard board_over",
    },
)
