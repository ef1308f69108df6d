"""What is said when something is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from treceval_py.errors import TrecevalError


def message(kind: type[TrecevalError], function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return the message of our error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        function(*arguments, **options)
    return str(caught.value)


def refusal(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return the class and the message of our error that a call raises."""
    with pytest.raises(TrecevalError) as caught:
        function(*arguments, **options)
    return f"{type(caught.value).__name__}: {caught.value}"
