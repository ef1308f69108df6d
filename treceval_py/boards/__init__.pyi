# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.boards.board import Board as Board
from treceval_py.boards.over import CollectionsBoard as CollectionsBoard
from treceval_py.boards.over import board_over as board_over

__all__ = [
    "Board",
    "CollectionsBoard",
    "board_over",
]
