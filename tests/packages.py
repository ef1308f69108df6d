"""Packages that tests of an extra need."""

from __future__ import annotations

import importlib.util

import pytest


def skip_without(*packages: str) -> None:
    """Skip a module where a package is missing. Unlike `importorskip` it imports none, which takes seconds."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed, of the extra retrieve", allow_module_level=True)
