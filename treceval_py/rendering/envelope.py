"""The JSON object that every command prints: common first keys, and values that JSON can represent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from treceval_py.version import __version__


class Signed(Protocol):
    """A signature, in two forms, of how a value was computed."""

    @property
    def short(self) -> str:
        """The short form."""

    @property
    def long(self) -> str:
        """The long form."""


class Made(NamedTuple):
    """The inputs and settings of a result: the part of the JSON that all commands share.

    Attributes
    ----------
    judgments : str or None
        The name of the judgments; None if there are none.
    profile : str or None
        The profile; None if there is none, or if signatures were repeated.
    complete : bool or None
        Whether all judged queries count; None if that does not apply.
    signatures : mapping of str to Signature
        How the values of each measure were computed.
    runs : sequence of mapping
        One mapping per run, with ``name``, ``file``, ``tag`` and other known facts.
    payload : mapping or None
        The keys that follow; None for the rows of the tables, by the tables' names.
    notes : sequence of str
        Notes on the result.
    errors : sequence of mapping
        Failures, each with ``file`` and ``message``.
    version : str
        The version of this package that computed it.
    """

    judgments: str | None = None
    profile: str | None = None
    complete: bool | None = None
    signatures: Mapping[str, Signed] = MappingProxyType({})
    runs: Sequence[Mapping[str, Any]] = ()
    payload: Mapping[str, Any] | None = None
    notes: Sequence[str] = ()
    errors: Sequence[Mapping[str, str | None]] = ()
    version: str = __version__


def signature_forms(signatures: Mapping[str, Signed]) -> dict[str, dict[str, str]]:
    """Return signatures in both forms."""
    return {name: {"short": each.short, "long": each.long} for name, each in signatures.items()}


def plain(value: Any, digits: int | None = None) -> Any:
    """Convert a value to one that JSON can represent.

    Named tuples and mappings become objects, text becomes valid Unicode, and numbers that are not finite become null.

    Parameters
    ----------
    value : object
        The value.
    digits : int, optional
        Decimals to which numbers are rounded.
    """
    if isinstance(value, str):
        return json_safe(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits) + 0.0  # avoids minus zero
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {json_safe(str(key)): plain(part, digits) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, digits) for part in value]
    return value


def json_safe(text: str) -> str:
    """Return text that is valid Unicode, as JSON requires: a byte that is not UTF-8 is escaped rather than lost."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can contain
        raw = text.encode("utf-8", "backslashreplace")
    return raw.decode("utf-8", "backslashreplace")
