"""A format is added as CONTRIBUTING.md says, with one module and one entry, and everything knows it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import treceval_py as te
from treceval_py.grading.intake.candidates import like_a_run
from treceval_py.io import formats
from treceval_py.io.formats import Format

HOME = Path(te.__file__).parent.parent

MODULE = '''
"""Runs with bars: lines of ``qid|docid|score``."""

from treceval_py.data.run import Run
from treceval_py.io.source import name_of, whole


def read(source):
    """Read a run."""
    rows = [line.split("|") for line in whole(source).decode().splitlines()]
    run = Run([(qid, docid, float(score)) for qid, docid, score in rows])
    run.name = name_of(source)
    return run


def write(run, tag):
    """Return lines."""
    for qid, documents in run.items():
        yield "".join(f"{qid}|{docid}|{score}\\n" for docid, score in documents.items()).encode()
'''

ENTRY = """
    Format(
        "bars", ("run",), "Bars", "qid|docid|score", "bars.read", "bars.write",
        lambda sight: bool(sight.lines) and sight.lines[0].count(b"|") == 2, endings=(".bars",), lacks=("tag",),
    ),
"""

RUN = b"".join(b"30%d|d%d|%d.5\n" % (number, number, 9 - number) for number in range(10))

USED = """
import sys
sys.path.insert(0, sys.argv[1])
import make
import treceval_py as te
from treceval_py.checking.checking import check
from treceval_py.grading.intake.candidates import like_a_run
assert te.__file__.startswith(sys.argv[2]), te.__file__
run = te.read_run("run.bars")
assert run["301"] == {"d1": 8.5}
assert te.read_run("run.bars", "bars").to_dict() == run.to_dict()
te.write_run(run, "again", format="bars")
assert open("again", "rb").read() == open("run.bars", "rb").read()
print(sorted(check("run.bars").counts.items()), check("run.bars", kind="bars").errors)
print(like_a_run(open("run.bars", "rb").read(), "upload"))
print([line for line in make.formats_index().splitlines() if "bars" in line])
"""


@pytest.mark.slow
def test_a_format_is_one_module_and_one_entry(tmp_path: Path) -> None:
    shutil.copytree(HOME / "treceval_py", tmp_path / "treceval_py", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "treceval_py" / "io" / "bars.py").write_text(MODULE)
    declared = tmp_path / "treceval_py" / "io" / "formats.py"
    begun = "\nFORMATS = (\n"
    assert declared.read_text().count(begun) == 1
    declared.write_text(declared.read_text().replace(begun, begun + ENTRY))
    (tmp_path / "run.bars").write_bytes(RUN)
    (tmp_path / "run.txt").write_bytes(b"301 Q0 d1 1 8.5 mine\n")
    (tmp_path / "qrels").write_bytes(b"301 0 d1 1\n302 0 x 1\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def output(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert done.returncode in (0, 2), done.stderr
        return done.stdout + done.stderr

    used = output("-c", USED, str(HOME / "docs"), str(tmp_path)).splitlines()
    assert used == ["[('F018', 1)] 0", "True", "['| `bars` | runs | `qid\\\\|docid\\\\|score` | `.bars` | tag |']"]
    command = ("-m", "treceval_py")
    # d1 is the only relevant document of 301; x of 302 is not retrieved.
    assert output(*command, "-m", "map", "qrels", "run.bars").startswith("map                   \tall\t0.5000\n")
    assert output(*command, "convert", "run.bars", "-").startswith("300 Q0 d0 1 9.5 run\n301 Q0 d1 1 8.5 run\n")
    assert output(*command, "convert", "run.txt", "out.bars").splitlines() == [
        "note: out.bars: Bars has no tag, which was 'mine'.",
        "written: out.bars (bars)",
    ]
    assert (tmp_path / "out.bars").read_bytes() == b"301|d1|8.5\n"
    assert "bars qid|docid|score" in " ".join(output(*command, "convert", "--help").split())
    assert "bars" in output(*command, "-T", "nothing", "qrels", "run.bars")
    assert "bars" in output(*command, "check", "--as", "nothing", "run.bars")


def test_all_that_loops_over_formats_sees_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = types.ModuleType("treceval_py.io.bars")
    exec(MODULE, module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = eval(ENTRY.strip().removesuffix(","), {"Format": Format})
    monkeypatch.setattr(formats, "FORMATS", (entry, *formats.FORMATS))
    run = te.read_run(io.BytesIO(RUN))
    assert run["309"] == {"d9": 0.5}
    te.write_run(run, tmp_path / "again", format="bars")
    assert (tmp_path / "again").read_bytes() == RUN
    assert te.convert(io.BytesIO(RUN), tmp_path / "run.json").table.to_dict() == run.to_dict()
    assert te.convert(tmp_path / "run.json", tmp_path / "run.bars", kind="run").format == "bars"
    assert like_a_run(RUN, "upload")
    assert "bars" in te.check(io.BytesIO(RUN), kind="bars").findings[0].what.lower()
    with pytest.raises(te.errors.DataError, match="Choose one of bars, trec_results"):
        te.read_run(io.BytesIO(RUN), "nothing")
