"""What users rely on by name: every option with its default and range, every public function with its arguments."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
from packages import PUBLIC
from syrupy.assertion import SnapshotAssertion

import treceval_py
from treceval_py.cli.commands import COMMANDS, treceval


def kind(parameter: click.Parameter) -> str:
    """Return what a parameter takes: its type, with its choices, or the lowest number that it accepts."""
    of = parameter.type
    if isinstance(of, click.Choice):
        return f"one of {', '.join(of.choices)}"
    if isinstance(of, click.types.FuncParamType):
        accepted = next((number for number in range(-1, 1000) if is_accepted(of, str(number))), None)
        return of.name if accepted in (None, -1) else f"{of.name} from {accepted}"
    return of.name


def is_accepted(of: click.ParamType, text: str) -> bool:
    """Return whether a value is one that an option takes."""
    try:
        of.convert(text, None, None)
    except click.BadParameter:
        return False
    return True


def options() -> Iterator[tuple[str, list[str]]]:
    """Yield commands with a line for each of their options and arguments."""
    context = click.Context(treceval)
    for name in COMMANDS:
        command = treceval.get_command(context, name)
        assert command is not None
        lines = []
        for parameter in command.params:
            facts = ["flag"] if getattr(parameter, "is_flag", False) else [kind(parameter)]
            facts += [fact for fact in ("multiple", "required", "hidden") if getattr(parameter, fact, False)]
            facts += [f"{parameter.nargs} values"] * (parameter.nargs != 1)
            default = parameter.get_default(context)
            facts += [f"= {default!r}"] if isinstance(default, str | int | float | tuple) else []
            spellings = " ".join(sorted(parameter.opts + parameter.secondary_opts))
            lines.append(f"{spellings}: {', '.join(facts)}")
        yield name, lines


def test_every_option_has_these_spellings_values_and_defaults(snapshot: SnapshotAssertion) -> None:
    assert dict(options()) == snapshot


def signature(public: Any) -> str:
    """Return the arguments of a function or class with their defaults, without types, which tools check."""
    given = inspect.signature(public).parameters.values()
    text = f"({', '.join(str(one.replace(annotation=inspect.Parameter.empty)) for one in given)})"
    return re.sub(r" at 0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("package", sorted({*PUBLIC} - {"treceval_py.integrations"}))
def test_every_public_name_takes_these_arguments(package: str, snapshot: SnapshotAssertion) -> None:
    described: dict[str, Any] = {}
    for name in sorted(treceval_py.MODULES[package]):
        public = getattr(PUBLIC[package], name)
        if inspect.isclass(public):
            methods = {
                method: signature(what)
                for method, what in sorted(vars(public).items())
                if inspect.isfunction(what) and not method.startswith("_")
            }
            plain = issubclass(public, BaseException) or not (dataclasses.is_dataclass(public) or methods)
            described[name] = methods if plain else {"": signature(public), **methods}
        elif callable(public):
            described[name] = {"": signature(public)}
    assert described == snapshot
