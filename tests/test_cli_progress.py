"""What long work shows: bars and counts on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from treceval_py.cli import progress, stages
from treceval_py.cli.stages import Stages


class Terminal(io.TextIOWrapper):
    """A standard error that says whether it is a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


class Clock(SimpleNamespace):
    """A clock that stands still until it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(stages, "time", made)
    monkeypatch.setattr(progress, "time", made)
    return made


def stderr(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> Terminal:
    made = Terminal(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return made


def test_durations_have_two_units() -> None:
    expected = {
        0.0: "0.0 s",
        59.9: "59.9 s",
        60.0: "1 min 0 s",
        89.6: "1 min 30 s",
        3599.4: "59 min 59 s",
        3599.6: "1 h 0 min",
        86_399.0: "23 h 59 min",
        86_400.0: "1 d 0 h",
        176_400.0: "2 d 1 h",
    }
    assert {seconds: stages.duration(seconds) for seconds in expected} == expected


def test_without_a_terminal_there_is_a_line_a_minute_and_one_at_the_end(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    written = stderr(monkeypatch, terminal=False)
    work = Stages()
    work.begin("encode", 1100, "texts", done=200)
    for at, seen in ((60.0, 0), (60.5, 1), (120.5, 1), (121.0, 2)):
        clock.now = at
        work.advance(100)
        assert written.text().count("\n") == seen, at
    work.end()
    work.begin("write", None, "lines")
    work.advance(5)
    work.end()
    work.begin("search", 10, "queries")
    work.advance(10)
    work.end()
    work.note("Mind.")
    assert written.text().splitlines() == [
        "encode: 400 of 1,100 texts, 3 min 32 s left",  # 200 took 60.5 s, and 700 are left
        "encode: 600 of 1,100 texts, 2 min 31 s left",  # 400 took 121 s, and 500 are left
        "encode: 600 of 1,100 texts in 2 min 1 s",
        "write: 5 lines in 0.0 s",
        "search: 10 queries in 0.0 s",
        "note: Mind.",
    ]


def test_on_a_terminal_each_stage_has_a_bar(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    written = stderr(monkeypatch, terminal=True)
    work = Stages()
    work.note("Before.")
    work.begin("encode", 100, "texts")
    clock.now = 2.0
    work.advance(20)
    work.note("[red]Between[/red].")
    work.end()
    work.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.text())
    assert shown.startswith("note: Before.\n")
    for text in ("note: [red]Between[/red].", "encode", "20 of 100 texts in 2.0 s"):
        assert text in shown


def test_steps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    written = stderr(monkeypatch, terminal=True)
    with progress.working("scoring") as after:
        assert after is not None
        for _ in range(3):
            after()
        while "done" not in written.text():
            time.sleep(0.005)
    assert "\rscoring: 3 done, 0 s" in written.text()
    assert written.text().endswith("\r\x1b[K")
    stderr(monkeypatch, terminal=False)
    with progress.working("scoring") as after:
        assert after is None


def test_what_is_being_done_is_shown_after_a_while_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    written = stderr(monkeypatch, terminal=True)
    with progress.working("comparing 2 runs"):
        while not written.text():
            time.sleep(0.005)
    assert written.text().startswith("\rcomparing 2 runs: 0 s")
    assert written.text().endswith("\r\x1b[K")
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    written = stderr(monkeypatch, terminal=True)
    with progress.working("comparing 2 runs"):
        pass
    assert written.text() == ""
    written = stderr(monkeypatch, terminal=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.working("comparing 2 runs"):
        time.sleep(0.01)
    assert written.text() == ""


def test_a_bar_is_drawn_after_a_second(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    written = stderr(monkeypatch, terminal=True)
    with progress.progress(["-"]) as bar:
        assert bar is not None
        for at, drawn in ((0.999, False), (1.0, True)):
            clock.now = at
            bar.watch(12345, None)
            assert bool(written.text()) is drawn


def test_a_bar_counts_the_bytes_of_all_files(monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path) -> None:
    stderr(monkeypatch, terminal=True)
    files = [str(tmp_path / name) for name in "abc"]
    for size, file in zip((10, 20, 30), files, strict=True):
        Path(file).write_bytes(bytes(size))
    for given, total in ((files, 60), (["-", *files[1:]], None)):
        bar = progress.Bar(given)
        clock.now += 1.0
        seen = []
        for done in (5, 6, 7):
            bar.watch(done, None)
            assert bar._shown is not None
            (task,) = bar._shown.tasks
            seen.append((task.completed, task.total, task.description))
            bar.next()
        bar.__exit__()
        first = 10 if total else 0
        assert seen == [(5, total, given[0]), (first + 6, total, given[1]), (first + 20 + 7, total, given[2])]
