"""User-defined measures: import a Python module that declares them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from types import ModuleType

from treceval_py.errors import MeasureError, TrecevalError
from treceval_py.measuring.registry import FAMILIES


def load_plugin(name: str) -> None:
    """Import a module that declares measures (`declare`). Importing it again has no effect.

    Parameters
    ----------
    name : str
        Name of a module on Python's path or in the current folder, or path of a ``.py`` file.

    Raises
    ------
    MeasureError
        The module does not exist, cannot be imported or declares no measure.
    """
    hint = "Give the name of a module or the path of a .py file that calls treceval_py.measuring.declare."
    if not name.endswith(".py") and (name.startswith(".") or os.path.basename(name) != name):
        raise MeasureError(f"plugin '{name}' is not a .py file", hint)
    before = dict(FAMILIES)
    try:
        if name.endswith(".py"):
            module = _load_file(name)
        else:
            if os.getcwd() not in sys.path:
                sys.path.append(os.getcwd())  # last, so that nothing in the folder shadows an installed module
            module = importlib.import_module(name)
    except TrecevalError as error:
        raise MeasureError(f"plugin '{name}': {error.what}", error.todo) from None
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        raise MeasureError(f"plugin '{name}' cannot be imported: {type(error).__name__}: {error}", hint) from error
    if not any(
        family is not before.get(name) or f"{family.function.__module__}.".startswith(f"{module.__name__}.")
        for name, family in FAMILIES.items()
    ):
        problem = f"plugin '{name}' declares no measure"
        raise MeasureError(
            problem, "Call treceval_py.measuring.declare(function, name) in it for each of your measures."
        )


def _load_file(path: str) -> ModuleType:
    module_name = f"treceval_plugin_{os.path.abspath(path)}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
