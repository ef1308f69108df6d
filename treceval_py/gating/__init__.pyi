# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.gating.gating import Decision as Decision
from treceval_py.gating.gating import GateSettings as GateSettings
from treceval_py.gating.gating import Margin as Margin
from treceval_py.gating.gating import Verdict as Verdict
from treceval_py.gating.gating import gate as gate

__all__ = [
    "Decision",
    "GateSettings",
    "Margin",
    "Verdict",
    "gate",
]
