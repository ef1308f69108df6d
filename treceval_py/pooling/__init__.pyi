# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.pooling.pooling import Pool as Pool
from treceval_py.pooling.pooling import PoolDocument as PoolDocument
from treceval_py.pooling.pooling import PoolRun as PoolRun
from treceval_py.pooling.pooling import pool as pool

__all__ = [
    "Pool",
    "PoolDocument",
    "PoolRun",
    "pool",
]
