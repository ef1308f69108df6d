"""What can be asked for by name, measures and profiles: lists, searches and explanations."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(__name__, {"listing.listing": "ListedMeasure Measures Profiles"})
