"""Check docstrings: all of the package for structure, those of public names for completeness.

    python .ci/docstrings.py

numpydoc validates the structure of every docstring: sections, their order, names of parameters. It takes a heading that
was joined with the text below it for text, so this program looks for these. A public function documents every parameter
and what it returns; a class its parameters or attributes; a method names each parameter at least in a sentence.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from numpydoc import validate
from numpydoc.docscrape import NumpyDocString
from numpydoc.hooks.validate_docstrings import process_file

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME))

from treceval_py.scoring.planning import Options  # noqa: E402 - found from the path above

validate.ALLOWED_SECTIONS.insert(0, "Formula")  # of measures

CHECKS = {
    *("GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL10"),  # quotes, empty lines, sections and their order
    *("SS01", "SS03", "SS04", "SS06"),  # a summary, in one line
    *(
        "PR02",
        "PR05",
        "PR06",
        "PR07",
        "PR09",
        "PR10",
    ),  # parameters that exist, with descriptions
    *("RT03", "RT05"),  # what is returned
}
"""Checks of every docstring; numpydoc.validate.ERROR_MSGS describes them."""

JOINED = re.compile(rf"\b({'|'.join(validate.ALLOWED_SECTIONS)}) -{{3,}}")
"""A heading of a section within a line of text."""

EXEMPT = {"treceval_py.grading.Rules", "treceval_py.measuring.Family"}
"""Classes that do not hold their parameters: ``treceval grade --template`` describes rules; `declare`, families."""

OPTIONS = set(Options.__annotations__)
"""Arguments of functions that score runs, declared once."""


def structure(path: Path) -> Iterator[str]:
    """Yield what is wrong with the docstrings of a file."""
    settings = {"checks": CHECKS, "exclude": set(), "overrides": {}, "exclude_files": set()}
    for place, name, code, what in process_file(str(path), settings):
        if code == "PR02" and set(re.findall(r"'([^']*)'", what)) <= OPTIONS:
            continue  # the arguments of a function that takes `Options`, which only its signature has
        yield f"{place}: {name}: {code} {what}"
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for title in JOINED.findall(ast.get_docstring(node) or ""):
                yield f"{path}:{getattr(node, 'lineno', 1)}: the heading {title} is within a line"


def public() -> Iterator[tuple[str, object, object]]:
    """Yield the public functions, classes and methods: name, object, and the class of a method."""
    for path in sorted((HOME / "treceval_py").glob("**/__init__.pyi")):
        package = ".".join(path.parent.relative_to(HOME).parts)
        module = import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                yield f"{package}.{name}", value, None
                for member, found in vars(value).items():
                    method = getattr(found, "__func__", found)
                    ours = getattr(method, "__module__", "").startswith("treceval_py")
                    if inspect.isfunction(method) and ours and not member.startswith("_"):
                        yield f"{package}.{name}.{member}", method, value
            elif inspect.isfunction(value):
                yield f"{package}.{name}", value, None


def completeness(name: str, value: object, owner: object) -> Iterator[str]:
    """Yield what the docstring of a public name lacks."""
    text = inspect.getdoc(value)
    if not text:
        yield f"{name}: no docstring"
        return
    doc = validate.Validator(validate.get_doc_object(value))
    attributes = NumpyDocString(text)["Attributes"]
    described = {each for names in (*doc.doc_parameters, *attributes) for each in names_in(names)}
    parameters = {each.lstrip("*") for each in doc.signature_parameters if not each.startswith("_")}
    if inspect.isclass(value):
        # Objects whose parameters are not described come from functions; what they hold is.
        described |= {each for each in parameters if isinstance(getattr(value, each, None), property)}
        parameters = parameters if attributes and name not in EXEMPT else set()
    elif owner is not None:
        described |= set(re.findall(r"`(\w+)`", text))
    if missing := sorted(parameters - described):
        yield f"{name}: {', '.join(missing)} not documented"
    if owner is None and inspect.isfunction(value) and doc.method_returns_something and not doc.returns:
        yield f"{name}: no section Returns"


def names_in(entry: object) -> list[str]:
    """Return the names of an entry, such as ``level, depth``."""
    return [each.lstrip("*") for each in str(getattr(entry, "name", entry)).split(", ")]


def main() -> int:
    """Print what is wrong; return the status."""
    warnings.filterwarnings("ignore", "Unknown section", UserWarning)
    paths = sorted((HOME / "treceval_py").rglob("*.py"))
    wrong = [each for path in paths for each in structure(path.relative_to(HOME))]
    wrong += [each for found in public() for each in completeness(*found)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
