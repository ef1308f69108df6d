"""The programs of continuous integration: layers, the choice of slow tests, the breakages that tests should notice."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from modules import module_at

ROOT = Path(__file__).resolve().parent.parent
TESTS = sorted(f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py"))

layers = module_at(ROOT / ".ci" / "layers.py")
mutants = module_at(ROOT / ".ci" / "mutants.py")


@pytest.fixture(scope="module")
def affected() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / ".ci"))
    yield module_at(ROOT / ".ci" / "affected.py")
    sys.path.remove(str(ROOT / ".ci"))


# --- layers ---


def package(folder: Path, **files: str) -> Path:
    """Return a package of three layers, low, high and cli, with some files of its own."""
    for name in ("low", "high", "cli"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").touch()
    for name, code in files.items():
        (folder / f"{name.replace('_', '/')}.py").write_text(code)
    return folder


ALLOWED = {"low": set(), "high": {"low"}, "cli": {"low", "high"}}


def test_each_fault_of_the_structure_is_reported(tmp_path: Path) -> None:
    def faults(**files: str) -> list[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return [line.rpartition(str(folder) + "/")[2] for line in layers.faults(package(folder, **files), ALLOWED)]

    assert faults(high_a="from treceval_py.low import b\nimport treceval_py.low.b", low_b="") == []
    upwards = "low/a.py: low may not import cli. Move what both need to a lower layer."
    assert faults(low_a="if TYPE_CHECKING:\n    from treceval_py.cli import x\n") == [upwards]
    assert faults(low_a="def f():\n    import treceval_py.cli.x\n") == [upwards]
    assert faults(low_a="print(1)", cli_a="print(1)") == ["low/a.py: the library calls print. Raise, or return it."]
    assert faults(low_a="logging.info(1)\nlogging.getLogger('x').setLevel(1)") == [
        "low/a.py: the library calls logging.info. Raise, or return it."
    ]
    assert faults(low_a="from treceval_py.low import b", low_b="from treceval_py.low.a import x") == [
        "a circle of imports: low.a → low.b → low.a. Move what they share to a module below them."
    ]
    assert faults(low_a="__all__ = ['x']") == [
        "low/a.py: only a package says what it offers, in its __init__.py. Remove __all__."
    ]
    assert faults(low_a="def f(a):\n" + "    ranks = a\n" * 50) == []
    assert faults(low_a="def f(a):\n" + "    ranks = a\n" * 51) == ["ranks is assigned everywhere. Say what it holds."]
    assert faults(new="") == ["new.py: new is not in the table of layers. Add what it may import."]
    (at_top,) = [line for line in faults(**{f"m{i}": "" for i in range(10)}) if "at the top" in line]
    assert at_top.endswith("more than 9 modules at the top. Put new ones into a package.")
    assert not [line for line in faults(**{f"m{i}": "" for i in range(9)}) if "at the top" in line]


def test_a_table_of_layers_with_a_circle_or_a_package_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    circle = layers.faults(package(tmp_path), {**ALLOWED, "low": {"high"}})
    assert [line.partition(":")[0] for line in circle] == ["a circle of imports"]
    gone = layers.faults(package(tmp_path), {**ALLOWED, "old": set()})
    assert gone == ["old is in the table of layers and not in the package. Remove it there."]


# --- which slow tests a change needs ---


def of(packages: str) -> list[str]:
    """Return the files of tests that are named after packages."""
    return [test for test in TESTS if test.split("_")[1].removesuffix(".py") in packages.split()]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("treceval_py/retrieval/models.py", of("retrieval cli project")),
        ("treceval_py/gating/show.py", of("gating cli project")),
        ("treceval_py/boards/over.py", of("boards grading cli project")),
        ("treceval_py/errors.py", TESTS),
        ("tests/test_gating.py", ["tests/test_gating.py"]),
        ("tests/__snapshots__/test_gating.ambr", ["tests/test_gating.py"]),
        ("docs/grade.md", of("project")),
        ("README.md", of("project")),
        ("benchmarks/run.py", []),
        (".ci/everything.txt", []),
        # outside the package: anything may depend on it
        ("data/qrels.tsv", TESTS),
        ("conftest.py", TESTS),
        ("tests/command.py", TESTS),
        ("treceval_py/reporting/report.css", TESTS),
        ("setup.cfg", TESTS),
        (".ci/run", TESTS),
        ("treceval_py/new/module.py", TESTS),
    ],
)
def test_a_change_runs_the_slow_tests_of_what_it_concerns(
    changed: str, expected: list[str], affected: ModuleType
) -> None:
    files, why = affected.chosen([changed], TESTS)
    assert files == [test for test in expected if test != "tests/test_trec_eval.py"]
    assert [path for paths in why.values() for path in paths] == [changed] * bool(expected)


def test_every_file_of_tests_is_named_after_a_package(affected: ModuleType) -> None:
    assert [test for test in TESTS if not affected.package_of(test)] == []


def test_without_a_commit_to_compare_with_all_slow_tests_run(
    affected: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    affected.main(["0" * 40])
    out, err = capsys.readouterr()
    assert out.split() == TESTS
    assert err == f"slow tests: all of them, as '{'0' * 40}' is no commit here\n"
    for text in ("", "none: not green yet"):
        (tmp_path / "everything.txt").write_text(text)
        monkeypatch.setattr(affected, "GREEN", str(tmp_path / "everything.txt"))
        affected.main([])
        out, err = capsys.readouterr()
        assert out.split() == TESTS
        assert err.startswith("slow tests: all of them, as ")


# --- breakages ---


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = (a) >= (b)", ["x = (a) > (b)"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a is None", ["x = a is not None"]),
        ("x = a + b", ["x = a - b"]),
        ("x = 'text' + b", []),
        ("x += a", ["x -= a"]),
        ("x = a and b or c", ["x = a and b and c", "x = a or b or c"]),
        ("x = not a", ["x = a"]),
        ("x = -a", ["x = a"]),
        ("x = f(a, b=True)", ["x = f(a, b=False)"]),
        ("x = 5, 0.5", ["x = 6, 0.5", "x = 5, 1.0"]),
        ("x = max(a)", ["x = min(a)"]),
        ("f(a)", ["pass"]),
        ("if a: f()", ["if not a: f()", "if a: pass"]),
        ("x: Literal[1] = a", []),
        ("from a import b", []),
        ("__all__ = [1]", []),
    ],
)
def test_a_line_is_broken_in_each_way_that_it_can(line: str, broken: list[str]) -> None:
    assert sorted(mutants.broken(line, each) for each in mutants.breakages(line + "\n")) == sorted(broken)


def test_a_line_after_letters_outside_ascii_is_broken_at_the_right_place() -> None:
    (breakage,) = mutants.breakages("x = 'ä→' < b\n")
    assert mutants.broken("x = 'ä→' < b", breakage) == "x = 'ä→' <= b"


def test_the_chosen_breakages_are_spread_over_the_packages_and_each_has_a_line() -> None:
    entries = mutants.json.loads(mutants.CHOSEN.read_text("utf-8"))
    assert len(entries) >= mutants.COUNT
    packages = {path.name for path in mutants.PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert {mutants.package_of(entry["file"]) for entry in entries} == {"top", *packages}
    gone = [entry for entry in entries if mutants.line_of(entry) is None]
    assert len(gone) <= len(entries) // 20, "python .ci/mutants.py choose replaces those of lines that are gone"
    assert all(entry.get("equivalent", "reason") for entry in entries)


def test_results_are_enough_at_the_demanded_share_and_not_just_below(capsys: pytest.CaptureFixture[str]) -> None:
    def results(caught: int, missed: int, package: str = "io") -> list[dict[str, object]]:
        entry = {"file": f"treceval_py/{package}/x.py", "number": 1, "old": "x", "new": "y"}
        return [{**entry, "result": "caught"}] * caught + [{**entry, "result": "missed"}] * missed

    assert mutants.summary(results(255, 45))
    assert not mutants.summary(results(254, 46))
    assert mutants.summary(results(290, 7) + results(3, 1, "gating"))
    assert not mutants.summary(results(290, 7) + results(2, 2, "gating"))
    assert "caught 292 of 301, 97%" in capsys.readouterr().out


# --- recordings ---


def test_every_recording_belongs_to_a_test() -> None:
    orphans = []
    for path in sorted((ROOT / "tests" / "__snapshots__").glob("*.ambr")):
        tests = ROOT / "tests" / f"{path.stem}.py"
        code = tests.read_text("utf-8") if tests.exists() else ""
        for name in re.findall(r"^# name: ([\w.]+)", path.read_text("utf-8"), re.MULTILINE):
            of_class, _, function = re.sub(r"\.\d+$", "", name).rpartition(".")
            if f"def {function}(" not in code or (of_class and f"class {of_class}" not in code):
                orphans.append(f"{path.name}: {name}")
    assert orphans == []
