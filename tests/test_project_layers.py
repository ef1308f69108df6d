"""Importing the library loads nothing heavy, and its public names are there, typed, and no others."""

from __future__ import annotations

import ast
import pydoc
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from packages import PUBLIC

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


FIRST = [
    "evaluate",
    "compare",
    "report",
    "board",
    "check",
    "explain",
    "fuse",
    "read_run",
    "read_qrels",
    "write_run",
    "convert",
    "measures",
    "profiles",
    "Evaluator",
    "Scoring",
    "Qrels",
    "Run",
    "Results",
    "__version__",
]


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_name_is_there_and_typed_and_no_other_is(package: str) -> None:
    module = PUBLIC[package]
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    *imports, listed = stub.body
    typed = [alias.name for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert all(isinstance(node, ast.ImportFrom) for node in imports)  # __getattr__ would let misspelt names pass
    assert sorted(typed) == sorted(treceval_py.MODULES[package])
    assert isinstance(listed, ast.Assign)
    assert ast.literal_eval(listed.value) == module.__all__
    assert dir(module) == sorted(module.__all__)
    for name in typed if package != "treceval_py.integrations" else ():  # whose modules import other packages
        assert getattr(module, name) is not None


def test_no_name_is_public_in_two_places_and_none_is_that_of_a_module() -> None:
    # A module becomes an attribute of its package when it is imported, and would take the place of the name.
    places = Counter(name for package in PUBLIC for name in treceval_py.MODULES[package])
    assert {name for name, count in places.items() if count > 1} == set()
    for package, module in PUBLIC.items():
        folder = Path(str(module.__file__)).parent
        beside = {path.stem for path in (*folder.glob("*.py"), *(init.parent for init in folder.glob("*/__init__.py")))}
        modules = {name for name, at in treceval_py.MODULES[package].items() if not at}
        assert beside & set(treceval_py.MODULES[package]) <= modules, package


def test_the_first_tier_is_what_is_listed_completed_and_brought_by_a_star() -> None:
    names: dict[str, object] = {}
    exec("from treceval_py import *", names)
    assert set(names) - {"__builtins__"} == set(FIRST)
    assert sorted(treceval_py.__all__) == dir(treceval_py) == sorted(FIRST)
    assert names["evaluate"] is treceval_py.evaluate


def test_help_is_a_map_of_both_tiers() -> None:
    printed = pydoc.plain(pydoc.render_doc(treceval_py))
    assert len(printed.splitlines()) <= 300
    assert set(re.findall(r"\w+", printed)) >= set(FIRST) - {"__version__"}
    assert {package.rpartition(".")[2] for package in PUBLIC if "." in package} <= set(
        re.findall(r"^ {8}(\w+)  ", printed, re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("evalute", "Use treceval_py.evaluate"),
        ("grade_course", "Use treceval_py.grading.grade_course"),
        ("DataError", "Use treceval_py.errors.DataError"),
        ("tune_fuzion", "Use treceval_py.fusing.tune_fusion"),
        ("grading.grade_corse", "Use treceval_py.grading.grade_course"),
        ("grading.evaluate", "Use treceval_py.evaluate"),
        ("zebra", "help(treceval_py) lists what there is"),
    ],
)
def test_a_name_that_is_not_there_gets_where_it_is_or_the_nearest_one(name: str, hint: str) -> None:
    code = f"import treceval_py as te; te.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    package, _, last = f"treceval_py.{name}".rpartition(".")
    # to the end: Python adds a suggestion of its own to other errors
    assert done.stderr.splitlines()[-1] == f"AttributeError: module '{package}' has no attribute '{last}'. {hint}"


def test_scoring_a_run_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    command = "from treceval_py.cli.commands import run; run(['-q', 'qrels', 'run'])"
    late = ["json", "csv", "tempfile", "gzip", "zlib_ng", "bz2", "lzma"]
    assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, *late])


def test_help_and_refusals_of_retrieval_load_nothing_heavy(tmp_path: Path) -> None:
    for arguments in (
        ["retrieve", "--help"],
        ["retrieve", "x", "-o", "y", "--retriever", "bm25", "--pooling", "cls"],
    ):
        command = f"from treceval_py.cli.commands import run; run({arguments})"
        assert loaded_by(command, tmp_path).isdisjoint([*HEAVY, "transformers", "datasets"])
