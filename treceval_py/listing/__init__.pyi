# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.listing.listing import ListedMeasure as ListedMeasure
from treceval_py.listing.listing import Measures as Measures
from treceval_py.listing.listing import Profiles as Profiles

__all__ = [
    "ListedMeasure",
    "Measures",
    "Profiles",
]
