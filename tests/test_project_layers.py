"""Imports follow the table of allowed ones, without cycles, and importing the library loads nothing heavy."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import treceval_py

PACKAGE = Path(__file__).parent.parent / "treceval_py"

BASE = {"errors", "version", "_types", "threads"}
SCAN = {*BASE, "scan"}
DATA = {*SCAN, "data"}
IO = {*DATA, "io"}
JUDGING = {*IO, "judging"}
MEASURES = {*JUDGING, "measures"}
SCORING = {*MEASURES, "rendering", "scoring"}
EXPLAINING = {*SCORING, "explaining"}
COMPARING = {*EXPLAINING, "comparing"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "_types": set(),
    "threads": BASE,
    "scan": BASE,
    "data": SCAN,
    "io": DATA,
    "judging": IO,
    "measures": JUDGING,
    "rendering": IO,
    "scoring": {*MEASURES, "rendering"},
    "ranges": SCORING,
    "explaining": SCORING,
    "comparing": EXPLAINING,
    "boards": {*COMPARING, "ranges"},
    "gating": COMPARING,
    "judges": COMPARING,
    "report": {*COMPARING, "ranges"},
    "checking": EXPLAINING,
    "grading": {*COMPARING, "boards", "checking", "ranges", "report"},
    "retrieval": IO,
    "fusing": SCORING,
    "integrations": SCORING,
    "trec_eval": {"cli"},
    "cli": {*COMPARING, "boards", "checking", "fusing", "gating", "grading", "judges", "ranges", "report", "retrieval"},
}
"""What each package may import of the others. Nothing but the other name of the program imports the command line."""

MOST_FLAT = 7

HEAVY = ["pandas", "rich", "scipy", "pyarrow", "faiss", "torch", "jinja2", "vl_convert", "xlsxwriter", "narwhals"]
HEAVY += ["pypdf", "docx", "lxml"]


def name_of(path: Path) -> str:
    """Return a file's module name below the package, ``""`` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem[:2] != "__"]


NAMES = {name_of(path) for path in PACKAGE.rglob("*.py")}


def imported_by(path: Path) -> Iterator[str]:
    """Yield the modules of this package that a file imports anywhere, for type checkers and in functions too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            named = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            named = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in named:
            if f"{module}.".startswith("treceval_py."):
                below = module.removeprefix("treceval_py").removeprefix(".")
                whole = f"{below}.{name}".strip(".")
                yield whole if whole in NAMES else below


def packages_of(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_by(path)} - {"", name_of(path).split(".")[0]}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_package_may(path: Path) -> None:
    assert packages_of(path) <= ALLOWED[name_of(path).split(".")[0]]


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the names of a cycle; none if there is none."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_table_of_allowed_imports_has_no_cycle() -> None:
    assert cycle({name: allowed - {name} for name, allowed in ALLOWED.items()}) == []
    assert {name_of(path).split(".")[0] for path in modules()} == set(ALLOWED)


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {name_of(path): set(imported_by(path)) - {"", name_of(path)} for path in modules()}
    assert cycle(graph) == []


def test_imports_for_type_checkers_and_in_functions_are_counted(tmp_path: Path) -> None:
    code = "if TYPE_CHECKING:\n    from treceval_py.cli import score\ndef f():\n    import treceval_py.data.ranking\n"
    (tmp_path / "x.py").write_text(code)
    assert set(imported_by(tmp_path / "x.py")) == {"cli.score", "data.ranking"}
    assert cycle({"a": {"b"}, "b": {"a"}}) != []


def test_few_modules_lie_at_the_top() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_FLAT


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
