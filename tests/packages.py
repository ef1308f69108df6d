"""Packages of this project with public names, and packages that tests of an extra need."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import treceval_py

HOME = Path(treceval_py.__file__).parent.parent

PUBLIC = {
    name: importlib.import_module(name)
    for name in sorted(
        ".".join(stub.parent.relative_to(HOME).parts) for stub in HOME.glob("treceval_py/**/__init__.pyi")
    )
}

# Read when torch and Faiss are loaded: models of a few numbers gain nothing from threads, which spin while they wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def skip_without(*packages: str) -> None:
    """Skip a module where a package is missing. Unlike `importorskip` it imports none, which takes seconds."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed, of the extra retrieve", allow_module_level=True)


def flag_embedding() -> Any:
    """Return FlagEmbedding, for a test that compares with it; where it is broken, only such tests fail."""
    if importlib.util.find_spec("FlagEmbedding") is None:
        pytest.skip("FlagEmbedding is not installed, of the extra retrieve")
    return importlib.import_module("FlagEmbedding")
