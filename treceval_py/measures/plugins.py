"""Measures from outside: a Python module whose functions are declared as measures."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

from treceval_py.errors import MeasureError, TrecevalError

__all__ = ["load_plugin"]


def load_plugin(name: str) -> None:
    """Import a module that declares measures (`declare`), once.

    Parameters
    ----------
    name : str
        A module's name, looked for as Python does and in the present folder, or the path of a ``.py`` file.

    Raises
    ------
    MeasureError
        There is none, or it cannot be imported.
    """
    try:
        if name.endswith(".py"):
            _load_file(name)
            return
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())  # last, so that nothing in the folder stands in for an installed module
        importlib.import_module(name)
    except TrecevalError as error:
        raise MeasureError(f"plugin '{name}': {error.what}", error.todo) from None
    except (Exception, SystemExit) as error:  # whatever somebody else's module may raise
        raise MeasureError(
            f"plugin '{name}' cannot be imported: {type(error).__name__}: {error}",
            "Give the name of a module or the path of a .py file that calls treceval_py.declare.",
        ) from error


def _load_file(path: str) -> None:
    module_name = f"treceval_plugin_{os.path.abspath(path)}"
    if module_name in sys.modules:
        return
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
