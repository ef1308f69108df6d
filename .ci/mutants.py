"""Break single lines of the package, and see which breakages a quick test notices.

    python .ci/mutants.py choose            choose 300 breakages, spread over the packages by their lines; those whose
                                            line is still there stay
    python .ci/mutants.py run               run all of them; exit with 1 where too few are caught
    python .ci/mutants.py run --sample 60   run some, chosen anew for each commit
    python .ci/mutants.py run --package io  run those of some packages
    python .ci/mutants.py run --missed      run again what the last run missed

.ci/mutants.json has the chosen ones; one that changes nothing that anybody could see has there, under "equivalent", the
reason. A first run of the quick tests under coverage.py finds which tests meet which line. Each breakage is then run in
a fork of a process that has imported what does not belong to the project, against these tests, until one fails.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tokenize
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "treceval_py"
CHOSEN = ROOT / ".ci" / "mutants.json"
KEPT = ROOT / "build" / "mutants"
"""What is known of the tests, and the last results."""

COUNT, LEAST, SEED = 300, 4, 20261125
"""Breakages in all, at least of a package, and what the choice starts from."""

LOWEST, LOWEST_OF_PACKAGE = 0.85, 0.75
"""Shares that must be caught."""

SECONDS = 100
"""After which a breakage is taken to run for ever, and so to be caught."""

FIRST, REST = 6.0, 60.0
"""Seconds that the chosen tests take, collection included: of the files that meet the line most, and of all that do."""

CONTROLS = 8
"""Lines that are not broken at all, tried with the others."""

UNABLE = 99
"""Exit status of an attempt that did not come to run tests."""

ITEM = 0.002
"""Seconds to collect a test."""

INTERFACE = "tests/test_project_interface"
"""Tests of what each package declares."""


# Breakages of a line.

COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPARED |= {"is": "is not", "is not": "is"}
COMPUTED = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "//", "&": "|", "|": "&", "@": "+", "**": "*"}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}

Breakage = tuple[int, int, int, str]
"""A line's number, the columns from and to which text is replaced (in bytes, as `ast` counts), and the new text."""


def breakages(source: str) -> Iterator[Breakage]:
    """Yield what can be broken: comparisons, arithmetic, conditions, constants, statements left out."""
    tree = ast.parse(source)
    lines = source.encode().split(b"\n")
    for node in _walk(tree):
        for line, start, end, new in _of(node, lines):
            if start < end:
                yield line, start, end, new


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that do something: no annotations, docstrings, imports for type checkers or lists of names."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
        return
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _of(node: ast.AST, lines: Sequence[bytes]) -> Iterator[Breakage]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield from _negated(node.test, lines)
    if getattr(node, "lineno", None) is None or node.lineno != node.end_lineno:  # type: ignore[attr-defined]
        return
    at: int = node.lineno  # type: ignore[attr-defined]
    start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    text = lines[at - 1][start:end].decode()
    match node:
        case ast.Compare(left=left, comparators=[right, *_]):
            yield from _between(left, right, COMPARED, lines)
        case ast.BinOp(left=left, right=right):
            if not any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (left, right)):
                yield from _between(left, right, COMPUTED, lines)
        case ast.AugAssign(op=ast.Add(), target=target, value=value):
            yield at, target.end_col_offset or 0, value.col_offset, " -= "
        case ast.BoolOp(values=[left, right, *_]):
            yield from _between(left, right, {"and": "or", "or": "and"}, lines)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield at, start, operand.col_offset, ""
        case ast.Constant(value=bool(value)):
            yield at, start, end, str(not value)
        case ast.Constant(value=int(value)):
            yield at, start, end, str(value + 1)
        case ast.Constant(value=float(value)):
            yield at, start, end, repr(value * 2 if value else 1.0)
        case ast.Call(func=ast.Name(id=name) as called) if name in CALLED:
            yield at, called.col_offset, called.end_col_offset or 0, CALLED[name]
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield at, start, end, "pass"
        case ast.Continue():
            yield at, start, end, "break"
        case ast.Break():
            yield at, start, end, "continue"
        case ast.Return(value=ast.expr()) if text not in ("return None", "return True", "return False"):
            yield at, start, end, "return None"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _negated(test: ast.expr, lines: Sequence[bytes]) -> Iterator[Breakage]:
    if test.lineno == test.end_lineno and isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        end = test.end_col_offset or 0
        text = lines[test.lineno - 1][test.col_offset : end].decode()
        yield test.lineno, test.col_offset, end, f"not {text}"


def _between(left: ast.expr, right: ast.expr, others: dict[str, str], lines: Sequence[bytes]) -> Iterator[Breakage]:
    """Yield the operator between two operands, replaced; brackets around them stay."""
    if left.end_lineno == right.lineno:
        start, end = left.end_col_offset or 0, right.col_offset
        text = lines[right.lineno - 1][start:end].decode()
        operator = text.strip(" ()")
        if operator in others:
            yield right.lineno, start, end, text.replace(operator, others[operator], 1)


def broken(line: str, breakage: Breakage) -> str:
    """Return a line with a breakage."""
    _, start, end, new = breakage
    encoded = line.encode()
    return (encoded[:start] + new.encode() + encoded[end:]).decode()


# The choice.


def code_lines(path: Path) -> int:
    """Return how many lines of a file have code, by its tokens."""
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    idle |= {tokenize.ENDMARKER, tokenize.ENCODING}
    lines: set[int] = set()
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in idle:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def package_of(path: str) -> str:
    """Return the package that a file of ours belongs to; files at the top are one."""
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 else "top"


def choose() -> None:
    """Write the choice. What was chosen before stays where its line is still there."""
    kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in json.loads(CHOSEN.read_text("utf-8")) if CHOSEN.exists() else []:
        if line_of(entry) is not None:
            kept[package_of(entry["file"])].append(entry)
    files = {str(path.relative_to(ROOT).as_posix()): path for path in sorted(PACKAGE.rglob("*.py"))}
    sizes: Counter[str] = Counter()
    for name, path in files.items():
        sizes[package_of(name)] += code_lines(path)
    chosen = []
    for package, size in sorted(sizes.items()):
        wanted = max(LEAST, round(COUNT * size / sizes.total()))
        mine = kept[package][:wanted]
        taken = {(entry["file"], entry["old"]) for entry in mine}
        lottery = random.Random(f"{SEED} {package}")
        lines: dict[tuple[str, int], list[Breakage]] = defaultdict(list)
        for name, path in files.items():
            if package_of(name) == package:
                for breakage in breakages(path.read_text("utf-8")):
                    lines[name, breakage[0]].append(breakage)
        places = sorted(lines)
        lottery.shuffle(places)
        for name, number in places:
            if len(mine) >= wanted:
                break
            source = files[name].read_text("utf-8").split("\n")
            old = source[number - 1]
            new = broken(old, lottery.choice(lines[name, number]))
            with contextlib.suppress(SyntaxError):
                compile("\n".join([*source[: number - 1], new, *source[number:]]), name, "exec", dont_inherit=True)
                if (name, old) not in taken:
                    taken.add((name, old))
                    mine.append({"file": name, "number": number, "old": old, "new": new})
        chosen += mine
    CHOSEN.write_text("[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in chosen) + "\n]\n", "utf-8")
    print(f"{len(chosen)} breakages in {len(sizes)} packages, {sum(map(len, kept.values()))} of them from before")


def line_of(entry: dict[str, Any]) -> int | None:
    """Return where the line of a breakage is now: the nearest one of this text. None if it is gone."""
    path = ROOT / entry["file"]
    if not path.exists():
        return None
    same = [number for number, line in enumerate(path.read_text("utf-8").split("\n"), 1) if line == entry["old"]]
    return min(same, key=lambda number: abs(number - entry["number"]), default=None)


# Which tests meet which line.


class Tests:
    """The quick tests: what each costs, and by file the lines that each meets."""

    def __init__(self, files: set[str]) -> None:
        import coverage

        _run_under_coverage()
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(KEPT / "quick.xml").iter("testcase"):
            self.seconds[_id(case.get("classname", ""), case.get("name", ""))] = float(case.get("time", 0))
        self.sizes = Counter(name.partition("::")[0] for name in self.seconds)
        data = coverage.CoverageData(str(KEPT / "coverage"))
        data.read()
        self.lines: dict[str, dict[int, set[str]]] = {}
        for file in files:
            by_line: dict[int, set[str]] = defaultdict(set)
            for number, contexts in data.contexts_by_lineno(str(ROOT / file)).items():
                for context in contexts:
                    test, _, phase = context.rpartition("|")
                    # A fixture that several tests share runs in the first of them.
                    by_line[number].add(test.partition("::")[0] if phase == "setup" else test)
            self.lines[file] = by_line

    def of(self, entry: dict[str, Any], number: int) -> tuple[list[str], list[str]]:
        """Return the tests of a breakage, or whole files: those to try first, and all."""
        by_line = self.lines[entry["file"]]
        met = {test for test in by_line.get(number, set()) if test}
        if not met:  # what runs at import is met by whoever meets the file
            met = {test for tests in by_line.values() for test in tests if test}
        package = package_of(entry["file"])
        files: dict[str, list[str]] = defaultdict(list)
        for test in met:
            name = test.partition("::")[0]
            if name.startswith("tests/"):
                files[name] += [one for one in self.seconds if one.startswith(name)] if "::" not in test else [test]
        mine = [name for name in self.sizes if name.startswith((f"tests/test_{package}", INTERFACE))]
        unmet = not files
        for name in mine:
            if unmet or name.startswith(INTERFACE):
                files[name] = [test for test in self.seconds if test.startswith(name)]
        ordered = sorted(files, key=lambda name: (name not in mine, self.sizes[name] / len(files[name])))
        near = [test for name in ordered for test in sorted(files[name], key=self.cost)]
        return self._within(FIRST, near), self._within(REST, sorted(near, key=self.cost))

    def cost(self, test: str) -> float:
        """Return the seconds that a test takes; a new one is taken to be quick."""
        return self.seconds.get(test, 0.0)

    def _within(self, budget: float, tests: list[str]) -> list[str]:
        """Return the first tests, as many as take so many seconds with the collection of their files."""
        taken: dict[str, None] = {}
        files: set[str] = set()
        for test in tests:
            name = test.partition("::")[0]
            budget -= self.cost(test) + ITEM + (0 if name in files else self.sizes[name] * ITEM + 0.2)
            if budget < 0:
                break
            files.add(name)
            taken[test] = None
        return list(taken)


def _id(module: str, name: str) -> str:
    """Return the id of a test from what JUnit's format makes of it."""
    parts = module.split(".")
    deep = 1
    while deep < len(parts) and not ROOT.joinpath(*parts[:deep]).with_suffix(".py").is_file():
        deep += 1
    return "::".join([f"{'/'.join(parts[:deep])}.py", *parts[deep:], name])


def _run_under_coverage() -> None:
    """Run the quick tests once for what they are now, and note which of them meets which line."""
    KEPT.mkdir(parents=True, exist_ok=True)
    state = b""
    for git in (["ls-files", "-s"], ["diff", "HEAD"]):
        command = ["git", *git, "--", "treceval_py", "tests", "conftest.py"]
        state += subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    stamp = KEPT / "state"
    if stamp.exists() and stamp.read_bytes() == state:
        return
    (KEPT / "coveragerc").write_text(f"[run]\nsource = {PACKAGE}\ndata_file = {KEPT / 'coverage'}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile", "-m", "not slow", "-q"]
    command += [f"--cov-config={KEPT / 'coveragerc'}", f"--cov={PACKAGE}", "--cov-context=test", "--cov-report="]
    command += [f"--junitxml={KEPT / 'quick.xml'}", "tests"]
    environment = {**os.environ, "TRECEVAL_READER": "compiled", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The tests fail with nothing broken, so breakages would show nothing:\n{done.stdout[-3000:]}")
    stamp.write_bytes(state)


# A breakage at work.


class Broken(SourceFileLoader):
    """Loads one module with one line replaced; nothing on disk changes."""

    def __init__(self, name: str, path: str, number: int, new: str) -> None:
        super().__init__(name, path)
        self.number, self.new = number, new

    def get_code(self, fullname: str) -> Any:
        """Return the code with the line replaced."""
        lines = Path(self.path).read_text("utf-8").split("\n")
        lines[self.number - 1] = self.new
        return compile("\n".join(lines), self.path, "exec", dont_inherit=True)


class Finder:
    """Finds the one module that is broken."""

    def __init__(self, file: str, number: int, new: str) -> None:
        parts = Path(file).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.loader = Broken(self.name, str(ROOT / file), number, new)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where to load the module from, if it is the one."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)


IN_PROCESSES = """\
import json, os, sys
if "TRECEVAL_MUTANT" in os.environ:
    sys.path.append({folder!r})
    import mutants
    sys.meta_path.insert(0, mutants.Finder(*json.loads(os.environ["TRECEVAL_MUTANT"])))
"""
"""sitecustomize.py, for processes that tests start."""


class Chosen:
    """A plugin of pytest that keeps the chosen tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the chosen ones."""
        kept = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


def attempt(entry: dict[str, Any], number: int, tests: Sequence[str]) -> int:
    """Run tests with a breakage, in a process that ends with it; return pytest's exit status."""
    import pytest

    os.setsid()
    quiet = os.open(KEPT / f"{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.meta_path.insert(0, Finder(entry["file"], number, entry["new"]))
    os.environ["TRECEVAL_MUTANT"] = json.dumps([entry["file"], number, entry["new"]])
    os.environ["PYTHONPATH"] = str(KEPT / "site")
    arguments = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov", "-m", "not slow"]
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return int(pytest.main([*arguments, *files], plugins=[Chosen(tests)]))


def run(entries: list[dict[str, Any]], processes: int) -> list[dict[str, Any]]:
    """Run breakages side by side; return them with what came of each."""
    known = Tests({entry["file"] for entry in entries})
    # Controls: lines that stay as they are, which no test may take for broken.
    controls = [
        {**entry, "new": entry["old"], "control": True} for entry in entries[:: max(1, len(entries) // CONTROLS)]
    ]
    entries = [*controls, *entries]
    (KEPT / "site").mkdir(exist_ok=True)
    (KEPT / "site" / "sitecustomize.py").write_text(IN_PROCESSES.format(folder=str(ROOT / ".ci")), "utf-8")
    sys.dont_write_bytecode = False
    os.environ.update(TRECEVAL_READER="compiled", PYTHONDONTWRITEBYTECODE="", COLUMNS="80")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    # What takes long to import and is not ours.
    for module in ("scipy.stats", "pandas", "click", "rich.table", "narwhals"):
        importlib.import_module(module)
    waiting: list[tuple[dict[str, Any], bool]] = [(entry, False) for entry in reversed(entries)]
    at_work: dict[int, tuple[dict[str, Any], bool, float]] = {}
    done: list[dict[str, Any]] = []
    while waiting or at_work:
        while waiting and len(at_work) < processes:
            entry, again = waiting.pop()
            number = line_of(entry)
            if number is None:
                done.append({**entry, "result": "gone"})
                continue
            first, everything = known.of(entry, number)
            tests = everything if again else first
            if not tests or (not again and first == everything):
                tests, again = everything, True
            if not tests:
                done.append({**entry, "result": "missed", "tests": 0})
                _say(done[-1], len(done), len(entries))
                continue
            child = os.fork()
            if not child:
                status = UNABLE
                try:
                    status = attempt(entry, number, tests)
                except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
                    traceback.print_exc()
                os._exit(status)
            at_work[child] = (entry, again, time.monotonic())
        time.sleep(0.05)
        for child, (entry, again, since) in list(at_work.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() - since > SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                ended, status = child, 256
            if not ended:
                continue
            del at_work[child]
            with contextlib.suppress(ProcessLookupError):  # what tests left running
                os.killpg(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(status)
            log = KEPT / f"{child}.log"
            said = log.read_text("utf-8", "replace") if log.exists() else ""
            if code in (UNABLE, 3, 4):  # 3 and 4: pytest failed, not a test
                sys.exit(f"{entry['file']}:{number}: the tests could not be run.\n{said[-3000:]}")
            if code in (0, 5) and not again:
                waiting.append((entry, True))
            else:
                by = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
                result = "missed" if code in (0, 5) else "caught"
                done.append({**entry, "result": result, "by": by[1] if by else f"status {code}"})
                _say(done[-1], len(done), len(entries))
            log.unlink(missing_ok=True)
    if wrong := [entry for entry in done if "control" in entry and entry["result"] == "caught"]:
        sys.exit(f"{wrong[0]['file']}: {wrong[0]['by']} fails with nothing broken, so what it catches says nothing.")
    return [entry for entry in done if "control" not in entry]


def _say(entry: dict[str, Any], count: int, of: int) -> None:
    print(f"{count}/{of} {entry['result']:7} {entry['file']}:{entry['number']} {entry['new'].strip()}", flush=True)


def summary(results: list[dict[str, Any]]) -> bool:
    """Print what was caught by package, and what was missed; return whether it is enough."""
    caught = Counter(package_of(entry["file"]) for entry in results if entry["result"] == "caught")
    tried = caught + Counter(package_of(entry["file"]) for entry in results if entry["result"] == "missed")
    enough = True
    for package, count in sorted(tried.items()):
        # With few of a package in a sample, one that is missed says little; some of the whole change nothing.
        low = count >= LEAST and caught[package] / count < LOWEST_OF_PACKAGE and len(results) >= COUNT * 0.9
        enough = enough and not low
        print(f"{package:14} {caught[package]:4} of {count:4}{'  too few' * low}")
    gone = sum(entry["result"] == "gone" for entry in results)
    share = caught.total() / max(1, tried.total())
    print(f"caught {caught.total()} of {tried.total()}, {share:.0%}; at least {LOWEST:.0%} are demanded")
    if gone:
        print(f"{gone} are of lines that are gone: python .ci/mutants.py choose")
    for entry in results:
        if entry["result"] == "missed":
            print(f"missed {entry['file']}:{line_of(entry)}")
            print(f"    - {entry['old'].strip()}\n    + {entry['new'].strip()}")
    return enough and share >= LOWEST


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["choose", "run"])
    parser.add_argument("--sample", type=int, help="so many of them")
    parser.add_argument("--package", nargs="*", help="those of these packages")
    parser.add_argument("--missed", action="store_true", help="those that the last run missed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.action == "choose":
        choose()
        return 0
    entries = [entry for entry in json.loads(CHOSEN.read_text("utf-8")) if "equivalent" not in entry]
    if options.package:
        entries = [entry for entry in entries if package_of(entry["file"]) in options.package]
    if options.missed:
        before = json.loads((KEPT / "results.json").read_text("utf-8"))
        missed = {(entry["file"], entry["old"], entry["new"]) for entry in before if entry["result"] == "missed"}
        entries = [entry for entry in entries if (entry["file"], entry["old"], entry["new"]) in missed]
    if options.sample:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        entries = random.Random(commit).sample(entries, min(options.sample, len(entries)))
    results = run(entries, options.processes)
    if options.missed:  # the others are as they were
        results += [entry for entry in before if (entry["file"], entry["old"], entry["new"]) not in missed]
    (KEPT / "results.json").write_text(json.dumps(results, indent=0, ensure_ascii=False), "utf-8")
    return 0 if summary(results) else 1


if __name__ == "__main__":
    sys.exit(main())
