"""Show findings: as lines for people and for GitHub, as SARIF, as a table in all other formats; and explain codes."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from treceval_py.checking.catalogue import CODES, Code
from treceval_py.checking.checking import Checked
from treceval_py.checking.findings import ERROR, NOTE, SEVERITIES, WARNING, Finding
from treceval_py.errors import visible
from treceval_py.rendering import FORMATS, render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.escaping import workflow_command
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table
from treceval_py.rendering.terminal import BOLD, PLAIN, filled
from treceval_py.version import __version__

COLOURS = {ERROR: "\x1b[31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
"""Red, yellow and cyan."""

COMMANDS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
"""GitHub's names for severities."""

WIDTH = 100
"""Columns of an explanation."""


def document_of(checked: Checked, _: Style) -> Document:
    """Return the findings of a file as a table."""
    return _document([checked])


def _document(files: Sequence[Checked]) -> Document:
    """Return the findings as a table.

    The text table has the place and what was found there. Formats for programs have all fields of a finding, the name
    of its code, and whether --fix repairs it.
    """
    findings = list(_findings(files))
    codes = [CODES[finding.code] for finding in findings]

    def column(key: str, text: bool = True) -> Column:
        return Column(key, [getattr(finding, key) for finding in findings], text=text, people=False)

    columns = (
        Column("place", [finding.place for finding in findings], text=True, head=True, programs=False),
        *(column(key)._replace(people=True) for key in ("code", "severity")),
        column("file"),
        column("line", text=False),
        column("column", text=False),
        Column("what", [finding.what for finding in findings], "what was found", text=True),
        Column("todo", [finding.todo for finding in findings], "what to do", text=True),
        Column("name", [code.name for code in codes], people=False),
        Column("fixable", [code.fixed for code in codes], people=False),
    )
    table = Table(columns, heading="Findings", notes=(f"{summary(files)}.",))
    more = left_out(files)
    return Document("findings", (table,), lambda _: Made(notes=[more] if more else []))


def check_github(files: Sequence[Checked]) -> str:
    """Return GitHub's workflow commands, which show each finding next to its line."""
    return "".join(f"{_command(each)}\n" for each in _findings(files))


def check_sarif(files: Sequence[Checked]) -> str:
    """Return the findings as SARIF 2.1.0, which code hosts and editors show next to lines."""
    import json

    findings = list(_findings(files))
    rules = sorted({finding.code for finding in findings})
    driver = {"name": "treceval check", "version": __version__, "rules": [_rule(CODES[code]) for code in rules]}
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": rules.index(finding.code),
            "level": finding.severity,
            "message": {"text": visible(_message(finding))},
            "locations": [{"physicalLocation": _location(finding)}],
        }
        for finding in findings
    ]
    more = left_out(files)
    notes = [{"level": "note", "message": {"text": more}}] if more else []
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": results,
    }
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def _rule(code: Code) -> dict[str, object]:
    return {
        "id": code.code,
        "name": code.name,
        "shortDescription": {"text": f"{code.title}."},
        "fullDescription": {"text": code.why},
        "help": {"text": code.todo},
        "defaultConfiguration": {"level": code.severity},
    }


def _location(finding: Finding) -> dict[str, object]:
    from pathlib import Path
    from urllib.parse import quote

    named = os.fsencode(finding.file)
    uri = Path(finding.file).as_uri() if os.path.isabs(finding.file) else quote(named)
    region = {"startLine": finding.line, "startColumn": finding.column}
    return {
        "artifactLocation": {"uri": uri},
        **({"region": {key: number for key, number in region.items() if number}} if finding.line else {}),
    }


CHECK_FORMATS = ("text", *FORMATS, "github", "sarif")
"""The output formats of findings."""


def check_output(files: Sequence[Checked], format: str, style: Style) -> str:
    """Return findings in one of `CHECK_FORMATS`; as text, a line for each finding and one that counts them."""
    if format == "text":
        lines = [_drawn(each, style) for each in _findings(files)]
        return "".join(f"{line}\n" for line in (*lines, filled(summary(files), style.width)))
    if format == "sarif":
        return check_sarif(files)
    return check_github(files) if format == "github" else render(_document(files), format, style)


def by_severity(counts: Mapping[str, int]) -> Counter[str]:
    """Return the number of findings of each severity, from those of each code."""
    severities: Counter[str] = Counter()
    for code, number in counts.items():
        severities[CODES[code].severity] += number
    return severities


def summary(files: Sequence[Checked]) -> str:
    """Return one line with the number of findings and files, and what is not shown."""
    total = by_severity(sum((file.counts for file in files), Counter()))
    counted = [_count(total[severity], severity) for severity in SEVERITIES if total[severity]]
    totals = ", ".join(counted) or "nothing found"
    more = left_out(files)
    return f"{totals} in {_count(len(files), 'file')}" + (f"; {more}" if more else "")


def left_out(files: Sequence[Checked]) -> str:
    """Return which findings are not shown, and which files were not read to their end; empty if there are none."""
    hidden: Counter[str] = Counter()
    for file in files:
        hidden.update(file.counts)
        hidden.subtract(Counter(finding.code for finding in file.findings))
    more = [f"{number:,} more of {code}" for code, number in sorted(hidden.items()) if number > 0]
    unread = [file for file in files if file.unread and file.unread not in file.counts]
    codes = ", ".join(sorted({file.unread for file in unread}))
    parts = [
        f"{', '.join(more)} not shown (--max)" if more else "",
        f"{_count(len(unread), 'file')} not read to the end ({codes})" if unread else "",
    ]
    return "; ".join(filter(None, parts))


def explained(code: Code, width: int | None = None) -> str:
    """Return the explanation of a kind of finding, as text for a terminal."""
    width = min(WIDTH, width or WIDTH)
    example = "".join(f"    {visible(line)}\n" for line in code.example.splitlines())
    todo = code.todo + (" 'treceval check --fix OUT' does this." if code.fixed and "--fix" not in code.todo else "")
    parts = [
        f"{code.code} {code.name} ({code.severity})\n{_filled(code.title + '.', width)}",
        *(_filled(paragraph, width) for paragraph in code.why.strip().split("\n\n")),
        *([f"Example:\n\n{example}"] if example else []),
        _filled(f"What to do: {todo}", width),
    ]
    return "\n".join(parts)


def _filled(paragraph: str, width: int) -> str:
    return textwrap.fill(" ".join(paragraph.split()), width, break_long_words=False, break_on_hyphens=False) + "\n"


def _findings(files: Iterable[Checked]) -> Iterable[Finding]:
    return (finding for file in files for finding in file.findings)


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _drawn(finding: Finding, style: Style) -> str:
    """Return the line of a finding, on a terminal with its place in bold and its severity in colour."""
    place, text = visible(finding.place), filled(str(finding), style.width)
    rest = text[len(place) + len(finding.severity) + 2 :]
    if not style.colour or not text.startswith(f"{place}: {finding.severity}"):  # wrapped between the two
        return text
    return f"{BOLD}{place}{PLAIN}: {COLOURS[finding.severity]}{finding.severity}{PLAIN}{rest}"


def _message(finding: Finding) -> str:
    return f"{finding.what}." + (f" {finding.todo}" if finding.todo else "")


def _command(finding: Finding) -> str:
    title = f"{finding.code} {CODES[finding.code].name}"
    command, message = COMMANDS[finding.severity], _message(finding)
    return workflow_command(command, message, file=finding.file, line=finding.line, col=finding.column, title=title)
