"""The version of treceval_py."""

__version__ = "0.1.0"
"""The version of this package."""
