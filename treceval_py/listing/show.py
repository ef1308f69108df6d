"""Found measures and profiles as tables."""

from __future__ import annotations

from treceval_py.listing.listing import Measures, Profiles
from treceval_py.listing.of_measures import table_of
from treceval_py.listing.of_profiles import tables_of
from treceval_py.measuring import FAMILIES
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document


def document_of(listing: Measures | Profiles, _: Style) -> Document:
    """Return what was found as a document."""
    if isinstance(listing, Profiles):
        return Document("profiles", tables_of(listing), lambda _: Made())
    return Document("measures", [table_of([FAMILIES[each.trec_eval] for each in listing])], lambda _: Made())
