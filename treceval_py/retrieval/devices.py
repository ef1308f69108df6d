"""Where to encode: which devices there are, and what is right for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import INSTALL
from treceval_py.retrieval.models import PRECISIONS

__all__ = ["check_precision", "default_batch_size", "devices_for", "import_torch"]

GIB = 1 << 30


def devices_for(asked: Sequence[str]) -> list[str]:
    """Return the devices to encode on.

    Parameters
    ----------
    asked : sequence of str
        ``cpu``, ``cuda`` (the first GPU), ``cuda:1``, ``mps``; a device that comes twice gets two processes. Without
        any, all GPUs, or the CPU where there is none.

    Returns
    -------
    list of str
        The devices, GPUs with their numbers.

    Raises
    ------
    RunnerError
        A name is no device, or the device is not there, or torch is not installed.
    """
    if not asked:
        torch = import_torch()
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())] or ["cpu"]
    return [_checked(device) for device in asked]


def default_batch_size(device: str) -> int:
    """Return how many texts to encode at once where nobody says.

    On a CPU 32, which is two to three times faster than FlagModel's 256: the work of a batch then stays in the
    caches. A GPU wants as many as fit; by the memory that is free, with room for texts of 512 tokens in fp32. Where it
    is too many after all, FlagModel takes fewer by itself.

    Parameters
    ----------
    device : str
        From `devices_for`.

    Returns
    -------
    int
        The number of texts.
    """
    if device == "cpu":
        return 32
    if not device.startswith("cuda"):
        return 64
    free = int(import_torch().cuda.mem_get_info(device)[0])
    return 512 if free >= 32 * GIB else 256 if free >= 12 * GIB else 64


def check_precision(precision: str, device: str) -> None:
    """Refuse a precision that a device does not compute with.

    Parameters
    ----------
    precision : str
        ``fp32``, ``bf16`` or ``fp16``.
    device : str
        From `devices_for`.

    Raises
    ------
    RunnerError
        fp16 on a CPU, which FlagModel would silently turn into fp32; bf16 on a GPU that has none.
    """
    if precision not in PRECISIONS:
        raise RunnerError(f"precision {precision!r} is none of {', '.join(PRECISIONS)}", "Give one of them.")
    if precision == "fp16" and device == "cpu":
        raise RunnerError("fp16 is for GPUs, and the device is the CPU", "Give --precision bf16 or fp32.")
    if precision == "bf16" and device.startswith("cuda"):
        major, _ = import_torch().cuda.get_device_capability(device)
        if major < 8:  # torch emulates it there, slower than fp32
            raise RunnerError(f"{device} does not compute with bf16", "Give --precision fp16 or fp32.")


def _checked(device: str) -> str:
    if device == "cpu":
        return device
    found = re.fullmatch(r"cuda(?::(\d+))?|mps", device)
    if not found:
        raise RunnerError(f"{device!r} is no device", "Give cpu, cuda:0 (and so on) or mps.")
    torch = import_torch()
    if device == "mps":
        if not torch.backends.mps.is_available():
            raise RunnerError("device mps is not there", "Give cpu.")
        return device
    count, number = torch.cuda.device_count(), int(found.group(1) or 0)
    if number >= count:
        seen = "no GPU" if count == 0 else "1 GPU" if count == 1 else f"{count} GPUs"
        there = ", ".join(f"cuda:{each}" for each in range(count))
        todo = f"Give {there} or cpu." if count else "Give cpu, or install a torch that fits the GPU."
        raise RunnerError(f"device {device} is not there: torch sees {seen}", todo)
    return f"cuda:{number}"


def import_torch() -> Any:
    """Import torch.

    Raises
    ------
    RunnerError
        It is not installed.
    """
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise RunnerError("encoding needs the package torch, which is not installed", INSTALL) from None
    return torch
