"""Imports point down only, and importing the library loads nothing heavy."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import treceval_py

PACKAGE = Path(__file__).parent.parent / "treceval_py"

LAYER = {
    "errors": 0, "_types": 0, "version": 0, "scanner": 0, "_scan": 0, "threads": 0,
    "formats": 1, "tables": 1, "judging": 1, "ranking": 1, "preferences": 1, "streaming": 1,
    "measures": 2,
    "runner": 2,
    "results": 3, "conventions": 3, "planning": 3, "signatures": 3, "profiles": 3, "evaluation": 3, "zscores": 3,
    "output": 4, "pytrec": 4, "explaining": 4, "sensitivity": 4, "plugins": 3, "comparison": 4, "report": 4,
    "lint": 4, "grading": 4,
    "cli": 5,
}  # fmt: skip

BESIDE = {"errors", "_types", "version", "formats", "tables", "runner"}
"""What the runner may import: it makes runs and scores none."""

HEAVY = ["pandas", "rich", "scipy", "pyarrow", "faiss", "torch", "jinja2", "vl_convert", "xlsxwriter"]


def imported_by(path: Path) -> set[str]:
    """Return the modules of this package that a file imports, by their first name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("treceval_py.")}


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem[:2] != "__"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    layer = LAYER[path.relative_to(PACKAGE).parts[0].removesuffix(".py")]
    assert {name for name in imported_by(path) if LAYER[name] > layer} == set()


def test_the_runner_stands_beside_the_measures() -> None:
    imported = {name for path in modules() if path.parent.name == "runner" for name in imported_by(path)}
    assert imported <= BESIDE


def loaded_by(statement: str, folder: Path) -> set[str]:
    code = f"import sys; sys.argv = ['treceval']; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    assert loaded_by("import treceval_py", tmp_path).isdisjoint([*HEAVY, "click", "numpy"])


def test_using_the_library_loads_nothing_heavy(tmp_path: Path) -> None:
    use = "import treceval_py as te; te.evaluate({'1': {'a': 1}}, {'1': {'a': 1.0}}, 'map')"
    assert loaded_by(use, tmp_path).isdisjoint([*HEAVY, "click"])


def names_for_type_checkers(package: Path) -> dict[str, str | None]:
    """Return the names that an ``__init__.py`` imports for type checkers only, with their modules."""
    tree = ast.parse((package / "__init__.py").read_text("utf-8"))
    return {
        alias.name: node.module
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_names_of_the_package_are_those_that_type_checkers_see() -> None:
    seen = names_for_type_checkers(PACKAGE)
    assert seen == treceval_py._MODULE_OF
    assert sorted([*seen, "__version__"]) == sorted(treceval_py.__all__)
    for name in treceval_py.__all__:
        assert getattr(treceval_py, name) is not None
    assert set(treceval_py.__all__) <= set(dir(treceval_py))


def test_the_names_of_the_runner_are_those_that_type_checkers_see() -> None:
    runner = importlib.import_module("treceval_py.runner")
    seen = names_for_type_checkers(PACKAGE / "runner")
    assert seen == runner._MODULE_OF
    assert sorted(seen) == sorted(runner.__all__)
    for name in runner.__all__:
        assert getattr(runner, name) is not None


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="module 'treceval_py' has no attribute 'evaluat'"):
        treceval_py.evaluat  # noqa: B018


def test_scoring_a_run_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    command = "from treceval_py.cli.commands import run; run(['-q', 'qrels', 'run'])"
    late = ["json", "csv", "tempfile", "gzip", "bz2", "lzma"]
    assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, *late])


def test_help_and_refusals_of_retrieval_load_nothing_heavy(tmp_path: Path) -> None:
    for arguments in (["retrieve", "--help"], ["retrieve", "x", "-o", "y", "--retriever", "bm25", "--pooling", "cls"]):
        command = f"from treceval_py.cli.commands import run; run({arguments})"
        assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, "transformers", "datasets"])


def test_the_library_does_not_print_log_or_exit() -> None:
    forbidden = {"print", "exit", "quit"}
    # what others log may be turned down
    speaking = {"basicConfig", "critical", "debug", "error", "exception", "info", "log", "warning"}
    for path in modules():
        if path.relative_to(PACKAGE).parts[0] != "cli":
            nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
            assert {node.id for node in nodes if isinstance(node, ast.Name)} & forbidden == set(), path
            logging = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
            assert {node.attr for node in logging if node.value.id == "logging"} & speaking == set(), path
