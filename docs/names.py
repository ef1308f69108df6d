"""Write what is read of names before their modules are imported.

    python docs/names.py            write treceval_py/__init__.pyi, treceval_py/retrieval/__init__.pyi, cli/names.py
    python docs/names.py --check    write nothing; exit with 1 where one of them is not what would be written

Type checkers and editors see public names in the stubs; these stand in one table in each ``__init__.py``. The command
line has the names in its help, such as those of profiles, in `treceval_py.cli.names`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

HOME = Path(__file__).parent.parent

LISTED = {
    "PROFILES": "scoring.profiles",
    "USUAL_MEASURES": "scoring.profiles",
    "NICKNAMES": "measuring",
    "RESULT_FORMATS": "scoring.show",
    "PLOTS": "plots.specs",
    "METHODS": "fusing.methods",
    "NORMS": "fusing.methods",
}
"""The tables whose names are in help, with their modules."""

PACKAGES = ("treceval_py", "treceval_py.retrieval")

MADE = "# Made by docs/names.py from the table in __init__.py: change that, and run it again.\n\n"


def stub(package: str) -> str:
    """Return the stub of a package: an import for each of its names, and nothing that lets other names pass."""
    names = import_module(package)._MODULE_OF.items()
    ordered = sorted(names, key=lambda pair: (pair[1], not pair[0].isupper(), not pair[0][0].isupper(), pair[0]))
    return MADE + "".join(f"from {module} import {name} as {name}\n" for name, module in ordered)


def listed() -> str:
    """Return the module of the names in help; where they have formulas, with these."""
    lines = [
        '"""Names in help and refusals, which need no numpy.',
        "",
        "Made by docs/names.py from the tables of these names: change those, and run it again.",
        '"""',
        "",
        "# fmt: off",
    ]
    for name, module in LISTED.items():
        table = getattr(import_module(f"treceval_py.{module}"), name)
        if name in ("METHODS", "NORMS"):
            lines += [f"{name} = {{", *(f'    "{key}": "{one.formula}",' for key, one in table.items()), "}"]
        else:
            keys = " ".join(f'"{key}",' for key in table)
            lines += textwrap.wrap(f"{name} = ({keys})", 120, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str]) -> str | None:
    """Write the stubs, or check them; return what is wrong."""
    if arguments not in ([], ["--check"]):
        return __doc__
    stale = []
    texts = {f"{package.replace('.', '/')}/__init__.pyi": stub(package) for package in PACKAGES}
    for file, text in {"treceval_py/cli/names.py": listed(), **texts}.items():
        path = HOME / file
        if not arguments:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(HOME)))
    return f"{', '.join(stale)}: not up to date. Run python docs/names.py." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
