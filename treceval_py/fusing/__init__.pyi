# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.fusing.tuning import Tuned as Tuned
from treceval_py.fusing.tuning import TunedFusion as TunedFusion
from treceval_py.fusing.tuning import tune_fusion as tune_fusion

__all__ = [
    "Tuned",
    "TunedFusion",
    "tune_fusion",
]
