"""Hold the structure of the package: what may import what, no circles, no library that prints, few modules at the top.

    python .ci/layers.py    print each fault; exit with 1 if there is one

The table of layers also decides which slow tests a change needs (affected.py).
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "treceval_py"

BASE = {"errors", "version", "_types", "threads"}
SCAN = {*BASE, "scan"}
DATA = {*SCAN, "data"}
IO = {*DATA, "diagnosis", "io"}
JUDGING = {*IO, "judging"}
MEASURES = {*JUDGING, "measuring"}
SCORING = {*MEASURES, "rendering", "plots", "corpora", "runs", "scoring"}
EXPLAINING = {*SCORING, "explaining"}
COMPARING = {*EXPLAINING, "comparing"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "_types": set(),
    "threads": BASE,
    "scan": BASE,
    "data": SCAN,
    "diagnosis": DATA,
    "io": {*DATA, "diagnosis"},
    "corpora": IO,
    "runs": {*IO, "corpora"},
    "judging": IO,
    "measuring": JUDGING,
    "rendering": IO,
    "plots": {*IO, "rendering"},
    "scoring": {*MEASURES, "rendering"},
    "listing": SCORING,
    "ranges": SCORING,
    "explaining": SCORING,
    "comparing": EXPLAINING,
    "boards": {*COMPARING, "ranges"},
    "gating": COMPARING,
    "judges": COMPARING,
    "reporting": {*COMPARING, "ranges"},
    "checking": EXPLAINING,
    "grading": {*COMPARING, "boards", "checking", "ranges", "reporting"},
    "retrieval": {*IO, "corpora", "runs"},
    "fusing": SCORING,
    "integrations": SCORING,
    "sample_eval": {"cli"},
    "statap": {"cli"},
    "trec_eval": {"cli"},
    "cli": {
        *COMPARING,
        "boards",
        "checking",
        "fusing",
        "gating",
        "grading",
        "judges",
        "listing",
        "ranges",
        "reporting",
        "retrieval",
    },
}
"""What each package may import of the others. Nothing but the other names of the program import the command line."""

MOST_FLAT = 9

MOST_OF_A_NAME, ENOUGH = 0.02, 50
"""The share of all assignments that one name may have, where there are enough of them to tell."""

PRINTING = {"print", "exit", "quit"}
LOGGING = {"basicConfig", "critical", "debug", "error", "exception", "info", "log", "warning"}
"""What the library does not call; what others log may be turned down."""


class Structure:
    """The files of a package, each parsed once."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.files = sorted(package.rglob("*.py"))
        self.trees = {path: ast.parse(path.read_text("utf-8")) for path in self.files}
        self.names = {self.name_of(path) for path in self.files}

    def name_of(self, path: Path) -> str:
        """Return a file's module name below the package, ``""`` for the package itself."""
        parts = path.relative_to(self.package).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imported_by(self, path: Path) -> Iterator[str]:
        """Yield the modules of this package that a file imports anywhere, for type checkers and in functions too."""
        for node in ast.walk(self.trees[path]):
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
                    yield whole if whole in self.names else below

    def assigned(self, path: Path) -> set[str]:
        """Return the names that a module assigns at its top."""
        targets = [target for node in self.trees[path].body if isinstance(node, ast.Assign) for target in node.targets]
        return {target.id for target in targets if isinstance(target, ast.Name)}

    def printing(self, path: Path) -> set[str]:
        """Return what a file calls that prints, logs or exits."""
        nodes = list(ast.walk(self.trees[path]))
        named = {node.id for node in nodes if isinstance(node, ast.Name)} & PRINTING
        attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        return named | {f"logging.{node.attr}" for node in attributes if node.value.id == "logging"} & {
            f"logging.{name}" for name in LOGGING
        }

    def overused(self) -> list[str]:
        """Return the local names that are assigned so often that they say nothing."""
        counts: Counter[str] = Counter()
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
                    counts.update(name.id for name in names if isinstance(name.ctx, ast.Store))
        most = MOST_OF_A_NAME * sum(counts.values())
        return [name for name, count in counts.items() if count > max(most, ENOUGH)]


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the names of a cycle; none if there is none."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def faults(package: Path = PACKAGE, allowed: Mapping[str, set[str]] = ALLOWED) -> list[str]:
    """Return what is wrong with the structure of a package, a line each."""
    structure, wrong = Structure(package), []
    graph = {}
    for path in structure.files:
        name = structure.name_of(path)
        if path.parent == package and path.stem.startswith("__"):
            continue
        imported = set(structure.imported_by(path)) - {"", name}
        graph[name] = imported
        mine = name.partition(".")[0]
        if mine not in allowed:
            wrong.append(f"{path}: {mine} is not in the table of layers. Add what it may import.")
            continue
        others = {module.partition(".")[0] for module in imported} - {mine}
        upwards = sorted(others - allowed[mine])
        wrong += [f"{path}: {mine} may not import {other}. Move what both need to a lower layer." for other in upwards]
        if path.stem != "__init__" and "__all__" in structure.assigned(path):
            wrong.append(f"{path}: only a package says what it offers, in its __init__.py. Remove __all__.")
        if mine != "cli":
            wrong += [
                f"{path}: the library calls {called}. Raise, or return it." for called in structure.printing(path)
            ]
    wrong += [f"{name} is assigned everywhere. Say what it holds." for name in structure.overused()]
    gone = sorted(set(allowed) - {name.partition(".")[0] for name in graph})
    wrong += [f"{name} is in the table of layers and not in the package. Remove it there." for name in gone]
    for circle in (cycle({name: may - {name} for name, may in allowed.items()}), cycle(graph)):
        if circle:
            wrong.append(f"a circle of imports: {' → '.join(circle)}. Move what they share to a module below them.")
    if len(list(package.glob("*.py"))) > MOST_FLAT:
        wrong.append(f"{package}: more than {MOST_FLAT} modules at the top. Put new ones into a package.")
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(faults()) or None)
