"""Print the oldest versions that setup.cfg allows, of the package and the extras of its core, as requirements."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

NOT_CORE = {"retrieve", "ray", "retrieve-dev", "docs", "test", "dev"}
"""Extras for models and clusters, and for development."""


def main() -> None:
    """Print one requirement a line."""
    declared = ConfigParser()
    declared.read(Path(__file__).resolve().parent.parent / "setup.cfg", "utf-8")
    extras = declared["options.extras_require"]
    wanted = [declared["options"]["install_requires"], *(extras[name] for name in extras.keys() - NOT_CORE)]
    # What depends on the system does not concern this one.
    for line in sorted({line for lines in wanted for line in lines.split("\n") if line and ";" not in line}):
        found = re.fullmatch(r"([\w-]+)>=([\d.]+)", line)
        if found is None:
            raise SystemExit(f"setup.cfg: {line!r} is not a name and its lowest version. Write name>=version.")
        print(f"{found[1]}=={found[2]}")


if __name__ == "__main__":
    main()
