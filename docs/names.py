"""Write what type checkers and editors see of the public names, which are imported only when they are used.

    python docs/names.py            write treceval_py/__init__.pyi and treceval_py/retrieval/__init__.pyi
    python docs/names.py --check    write nothing; exit with 1 where one of them is not what would be written

The names stand in one table in each ``__init__.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

HOME = Path(__file__).parent.parent

PACKAGES = ("treceval_py", "treceval_py.retrieval")

MADE = "# Made by docs/names.py from the table in __init__.py: change that, and run it again.\n\n"


def stub(package: str) -> str:
    """Return the stub of a package: an import for each of its names, and nothing that lets other names pass."""
    names = import_module(package)._MODULE_OF.items()
    ordered = sorted(names, key=lambda pair: (pair[1], not pair[0].isupper(), not pair[0][0].isupper(), pair[0]))
    return MADE + "".join(f"from {module} import {name} as {name}\n" for name, module in ordered)


def main(arguments: Sequence[str]) -> str | None:
    """Write the stubs, or check them; return what is wrong."""
    if arguments not in ([], ["--check"]):
        return __doc__
    stale = []
    for package in PACKAGES:
        path, text = HOME / package.replace(".", "/") / "__init__.pyi", stub(package)
        if not arguments:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(HOME)))
    return f"{', '.join(stale)}: not up to date. Run python docs/names.py." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
