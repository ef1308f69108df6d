"""Devices to encode on, and suitable settings for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import check_packages
from treceval_py.retrieval.models import PRECISIONS


def devices_for(asked: Sequence[str]) -> list[str]:
    """Return the devices to encode on.

    Parameters
    ----------
    asked : sequence of str
        ``cpu``, ``cuda`` (the first GPU), ``cuda:1``, ``mps``; a device given twice gets two processes. If empty: all
        GPUs, or the CPU if there are none.

    Returns
    -------
    list of str
        The devices, GPUs with their numbers.

    Raises
    ------
    RunnerError
        A name is not a device, the device does not exist, or torch is not installed.
    """
    if asked and set(asked) == {"cpu"}:
        return list(asked)
    torch = import_torch()
    gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    there = [*gpus, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]
    chosen = ["cuda:0" if device == "cuda" else device for device in asked] or gpus or ["cpu"]
    for device in chosen:
        if device not in there:
            todo = f"Give {' or '.join(there)}; a GPU needs a build of torch that fits it."
            raise RunnerError(f"torch has no device {device!r}", todo)
    return chosen


def default_batch_size(device: str) -> int:
    """Return the default number of texts to encode at once.

    On a CPU 32, which is two to three times faster than FlagModel's 256: the work of a batch then stays in the caches.
    A GPU gets as many as fit into its free memory, with room for texts of 512 tokens in fp32. If this is still too
    many, `encoding.Encoder` takes fewer.

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
    free = int(import_torch().cuda.mem_get_info(device)[0]) >> 30
    return 512 if free >= 32 else 256 if free >= 12 else 64


def check_precision(precision: str, device: str) -> None:
    """Refuse a precision that a device does not compute with.

    Parameters
    ----------
    precision : str
        As in `models.PRECISIONS`.
    device : str
        From `devices_for`.

    Raises
    ------
    RunnerError
        fp16 on a CPU, where it is slower than fp32; bf16 on a GPU that does not support it.
    """
    if precision not in PRECISIONS:
        raise RunnerError(f"precision {precision!r} is unknown", f"Give one of {', '.join(PRECISIONS)}.")
    if precision == "fp16" and device == "cpu":
        todo = "Give --precision bf16 or fp32, or fp16-weights, which is what FlagModel makes of fp16 on a CPU."
        raise RunnerError("fp16 is for GPUs, and the device is the CPU", todo)
    if precision == "bf16" and device.startswith("cuda"):
        major, _ = import_torch().cuda.get_device_capability(device)
        if major < 8:  # torch emulates it there, slower than fp32
            raise RunnerError(f"{device} does not compute with bf16", "Give --precision fp16 or fp32.")


def import_torch() -> Any:
    """Import torch.

    Raises
    ------
    RunnerError
        It is not installed.
    """
    check_packages("torch")
    import torch  # type: ignore[import-not-found,unused-ignore]

    return torch
