"""Time programs in turn, check that they agree, and lay out what was found as tables.

Nothing but the standard library is imported: a process that is started inherits the peak memory of the one that starts
it, so this one has to stay small.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, float]

PRINTED = 0.51e-4
"""Values printed with four decimals are that near to those with all decimals."""

EXACT = 1e-6

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss's unit


class DisagreementError(Exception):
    """Two tools do not compute the same, so that their times say nothing."""


@dataclass(frozen=True)
class Tool:
    """A command to time, or several that are run one after the other.

    Attributes
    ----------
    name : str
        What the table says.
    commands : sequence of sequence of str
        The programs with their arguments.
    env : dict
        What is set in the environment.
    once : bool
        Whether once is enough, as it takes so long.
    values : callable, optional
        Finds map, ndcg and recip_rank in the output.
    tolerance : float
        How far values may be from ours.
    profile : str
        The conventions under which ours have to be the same.
    """

    name: str
    commands: Sequence[Sequence[str]]
    env: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    values: Callable[[str], Values] | None = None
    tolerance: float = PRINTED
    profile: str = "trec_eval-10"


@dataclass(frozen=True)
class Turn:
    """What one turn of a tool took."""

    seconds: float
    cpu: float
    peak: float
    output: str


def take(tool: Tool) -> Turn:
    """Run the commands of a tool and return seconds, seconds of all its threads, peak memory in MB, and the output.

    The time is that of the whole process, from before it is started until it has ended.
    """
    env = {name: value for name, value in os.environ.items() if name != "TRECEVAL_READER"} | dict(tool.env)
    cpu = peak = 0.0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        for command in tool.commands:
            child = subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=env)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            cpu += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss * PEAK_UNIT / 1e6)
            if child.returncode:
                break
        seconds = time.perf_counter() - start
        errors.seek(0)
        if child.returncode:
            what = errors.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}:\n{what}")
        out.seek(0)
        return Turn(seconds, cpu, peak, out.read().decode())


def take_turns(tools: Sequence[Tool], repeat: int, check: Callable[[Tool, Turn], None]) -> dict[str, list[Turn]]:
    """Run the tools in turn, A B C A B C, so that whatever else the machine does falls on all of them alike."""
    turns: dict[str, list[Turn]] = {tool.name: [] for tool in tools}
    for number in range(repeat):
        for tool in tools:
            if number and tool.once:
                continue
            _say(f"  {number + 1} of {repeat}: {tool.name}")
            turn = take(tool)
            if not number:
                check(tool, turn)
            turns[tool.name].append(turn)
    _say("")
    return turns


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(what, end="\033[K\r", file=sys.stderr, flush=True)


def check_values(tool: Tool, found: Values, expected: Values) -> None:
    """Check that a tool computed what we do.

    Raises
    ------
    DisagreementError
        It did not, or printed something else.
    """
    for name, value in expected.items():
        if name not in found:
            raise DisagreementError(f"{tool.name} did not print {name}")
        if not abs(found[name] - value) <= tool.tolerance:
            raise DisagreementError(f"{tool.name}: {name} is {found[name]}, ours with {tool.profile} is {value}")


def values_of_lines(names: Mapping[str, str]) -> Callable[[str], Values]:
    """Return what finds values in lines that begin with the name of a measure and end with its value."""

    def values(output: str) -> Values:
        rows = (line.split() for line in output.splitlines())
        return {names[row[0]]: float(row[-1]) for row in rows if row and row[0] in names}

    return values


def values_of_json(output: str) -> Values:
    """Find values in what peers.py prints."""
    values: Values = json.loads(output)["values"]
    return values


@dataclass
class Table:
    """A section of the report: rows of cells under columns, the first of which is text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def plain(self) -> str:
        """Lay it out for a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.columns))]
        texts = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        ]
        texts.insert(1, "─" * max(map(len, texts)))
        return "\n".join([self.title, *texts, *([self.note] if self.note else [])]) + "\n"

    def markdown(self) -> str:
        """Lay it out as GitHub does."""
        ruler = [":--", *["--:"] * (len(self.columns) - 1)]
        lines = [f"| {' | '.join(line)} |" for line in (self.columns, ruler, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines, *(["", self.note] if self.note else [])]) + "\n"


COLUMNS = ("tool", "median", "best", "of ours", "CPU", "peak")


def table(title: str, turns: Mapping[str, Sequence[Turn]], ours: str, note: str = "") -> Table:
    """Return the table of what was timed, with medians as multiples of ours."""
    unit = statistics.median(turn.seconds for turn in turns[ours])
    rows = []
    for name, taken in turns.items():
        if not taken:
            rows.append((name, *["–"] * (len(COLUMNS) - 1)))
            continue
        seconds = [turn.seconds for turn in taken]
        median = statistics.median(seconds)
        cpu = [turn.cpu for turn in taken]
        rows.append(
            (
                name,
                duration(median),
                duration(min(seconds)),
                f"{median / unit:.2f}",
                duration(statistics.median(cpu)) if any(cpu) else "–",
                memory(max(turn.peak for turn in taken)),
            )
        )
    return Table(title, COLUMNS, rows, note)


def with_seconds(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with the seconds that the program took by its own clock, from what it printed."""
    found: list[Any] = [json.loads(turn.output)["seconds"] for turn in turns]
    return [Turn(float(seconds), 0.0, 0.0, "") for seconds in found]


def memory(peak: float) -> str:
    """Return megabytes; of a program that needs less than this one is known only that."""
    if not peak:
        return "–"
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 1e6
    return f"{peak:.0f} MB" if peak > own * 1.05 else f"< {peak:.0f} MB"


def duration(seconds: float) -> str:
    """Return seconds as people write them: three digits."""
    if seconds >= 10:
        return f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    digits = 0 if seconds >= 0.1 else 1 if seconds >= 0.01 else 2
    return f"{seconds * 1000:.{digits}f} ms"
