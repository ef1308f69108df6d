"""Importing the library loads nothing heavy, and its public names are there, typed, and no others."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import treceval_py

HEAVY = ["pandas", "rich", "scipy", "pyarrow", "faiss", "torch", "jinja2", "vl_convert", "xlsxwriter", "narwhals"]
HEAVY += ["pypdf", "docx", "lxml"]


def loaded_by(statement: str, folder: Path) -> set[str]:
    code = f"import sys; sys.argv = ['treceval']; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    assert loaded_by("import treceval_py", tmp_path).isdisjoint([*HEAVY, "click", "numpy"])


def test_using_the_library_loads_nothing_heavy(tmp_path: Path) -> None:
    use = "import treceval_py as te; te.evaluate({'1': {'a': 1}}, {'1': {'a': 1.0}}, 'map')"
    assert loaded_by(use, tmp_path).isdisjoint([*HEAVY, "click"])


def test_type_checkers_see_the_names_of_the_table() -> None:
    names = Path(__file__).parent.parent / "docs" / "names.py"
    done = subprocess.run([sys.executable, str(names), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("package", ["treceval_py", "treceval_py.retrieval"])
def test_a_public_name_is_there_and_typed_and_no_other_is(package: str) -> None:
    module = importlib.import_module(package)
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    typed = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(typed) == sorted(module.__all__)
    assert all(isinstance(node, ast.ImportFrom) for node in stub.body)  # __getattr__ would let misspelt names pass
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="module 'treceval_py' has no attribute 'evaluat'"):
        treceval_py.evaluat  # noqa: B018


def test_scoring_a_run_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    command = "from treceval_py.cli.commands import run; run(['-q', 'qrels', 'run'])"
    late = ["json", "csv", "tempfile", "gzip", "zlib_ng", "bz2", "lzma"]
    assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, *late])


def test_help_and_refusals_of_retrieval_load_nothing_heavy(tmp_path: Path) -> None:
    for arguments in (
        ["retrieve", "--help"],
        ["retrieve", "x", "-o", "y", "--retriever", "bm25", "--set", "pooling=cls"],
    ):
        command = f"from treceval_py.cli.commands import run; run({arguments})"
        assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, "transformers", "datasets"])
