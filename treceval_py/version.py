"""The version of treceval_py."""

__version__ = "0.1.0"
"""The version of this package."""

INSTALLED = "."
"""What pip installs, in messages and on every page: a clone. After the release on PyPI: treceval-py."""


def pip_install(extra: str) -> str:
    """Return the advice to install the packages of an extra."""
    where = ", in your clone of treceval_py" if INSTALLED == "." else ""
    return f"pip install '{INSTALLED}[{extra}]'{where}"
