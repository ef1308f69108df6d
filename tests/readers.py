"""Choose the reader in a test: a process asks for it once."""

from __future__ import annotations

import pytest

from treceval_py.scan import VARIABLE, scanner


class _Forgotten(dict[str, str]):
    """Has the reader chosen anew whenever an item is set or removed."""

    def __setitem__(self, key: str, value: str) -> None:
        super().__setitem__(key, value)
        scanner.cache_clear()

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        scanner.cache_clear()


_ITEMS = _Forgotten()


def use_reader(patch: pytest.MonkeyPatch, reader: str) -> None:
    """Read with a reader, as ``TRECEVAL_READER`` names it, until the patch is undone."""
    patch.setitem(_ITEMS, VARIABLE, reader)  # undone after the variable, which was set later
    patch.setenv(VARIABLE, reader)
    scanner.cache_clear()
