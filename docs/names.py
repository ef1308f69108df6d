"""Write what is read of names before their modules are imported.

    python docs/names.py            write __init__.pyi of each package with public names, and cli/names.py
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

import treceval_py

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

MADE = "# Made by docs/names.py from the table in __init__.py: change that, and run it again.\n\n"


def public() -> dict[str, dict[str, str]]:
    """Return the modules of the public names, by package."""
    for path in HOME.glob("treceval_py/*/__init__.py"):
        import_module(f"treceval_py.{path.parent.name}")
    return treceval_py.MODULES


def stub(package: str) -> str:
    """Return the stub of a package: an import for each of its names, and nothing that lets other names pass."""
    pairs = [(f"treceval_py.{module}" if module else package, name) for name, module in public()[package].items()]
    pairs.sort(key=lambda pair: (pair[0], not pair[1].isupper(), not pair[1][0].isupper(), pair[1].lower()))
    lines = [f"from {module} import {name} as {name}" for module, name in pairs]
    listed = [f'    "{name}",' for name in import_module(package).__all__]
    return MADE + "\n".join([*lines, "", "__all__ = [", *listed, "]", ""])


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
    texts = {f"{package.replace('.', '/')}/__init__.pyi": stub(package) for package in public()}
    for file, text in {"treceval_py/cli/names.py": listed(), **texts}.items():
        path = HOME / file
        if not arguments:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(HOME)))
    return f"{', '.join(stale)}: not up to date. Run python docs/names.py." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
