"""What pages of the documentation show: blocks of code, commands with what they print, examples in Python."""

from __future__ import annotations

import doctest
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent


def blocks(text: str, kind: str) -> list[str]:
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def examples(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


def run(command: str, folder: Path = HOME, **variables: str) -> tuple[int, str]:
    """Run a command with the `treceval` of this environment; return its status and what it prints."""
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def fits(shown: str, printed: str) -> bool:
    """Tell whether a page shows what is printed; a line with … stands for lines that it leaves out."""
    return re.fullmatch("(?:.*\n)*".join(map(re.escape, shown.split("…\n"))), printed) is not None


def differences(text: str, names: dict[str, Any]) -> str:
    """Run the examples in Python of a page; return what differs, as doctest says it."""
    said = io.StringIO()
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(text, "pycon")), names, "page", None, 0)
    doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.write)
    return said.getvalue()
