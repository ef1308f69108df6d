# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.integrations import beir as beir
from treceval_py.integrations import ir_measures as ir_measures
from treceval_py.integrations import mteb as mteb
from treceval_py.integrations import sentence_transformers as sentence_transformers

__all__ = [
    "beir",
    "ir_measures",
    "mteb",
    "sentence_transformers",
]
