# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.comparing.comparison import Comparison as Comparison
from treceval_py.comparing.outcome import Compared as Compared
from treceval_py.comparing.outcome import Difference as Difference
from treceval_py.comparing.outcome import GroupDifference as GroupDifference
from treceval_py.comparing.outcome import Grouped as Grouped
from treceval_py.comparing.outcome import Interaction as Interaction
from treceval_py.comparing.outcome import Tested as Tested
from treceval_py.comparing.saved.results import read_results as read_results

__all__ = [
    "Comparison",
    "Compared",
    "Difference",
    "GroupDifference",
    "Grouped",
    "Interaction",
    "Tested",
    "read_results",
]
