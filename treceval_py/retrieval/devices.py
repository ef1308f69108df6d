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
    if lacking := [device for device in chosen if device not in there]:
        todo = f"Give {' or '.join(there)}; a GPU needs a build of torch that fits it."
        raise RunnerError(f"torch has no device {lacking[0]!r}", todo)
    return chosen


def default_batch_size(device: str) -> int:
    """Return the default number of texts to encode at once.

    FlagModel's 256 on a GPU; if these do not fit into its memory, engines take fewer. On a CPU 32, two to three
    times as fast: the work of a batch then stays in the caches.

    Parameters
    ----------
    device : str
        From `devices_for`.

    Returns
    -------
    int
        The number of texts.
    """
    return 256 if device.startswith("cuda") else 32


def choose_precision(asked: str, devices: Sequence[str]) -> str:
    """Return the precision to compute in.

    Parameters
    ----------
    asked : str
        One of `models.PRECISIONS`, or ``auto``: bf16 where every device is a GPU that computes with it, fp16 on older
        GPUs, else fp32.
    devices : sequence of str
        From `devices_for`; none for a cluster, whose GPUs are not known here.

    Returns
    -------
    str
        One of `models.PRECISIONS`.

    Raises
    ------
    RunnerError
        The precision is unknown, or a GPU does not compute with bf16.
    """
    if asked not in ("auto", *PRECISIONS):
        raise RunnerError(f"precision {asked!r} is unknown", f"Give auto or one of {', '.join(PRECISIONS)}.")
    gpus = [device for device in devices if device.startswith("cuda")]
    if asked not in ("auto", "bf16") or not gpus:
        return "fp32" if asked == "auto" else asked
    # Before, torch emulates bf16, slower than fp32.
    older = [device for device in gpus if import_torch().cuda.get_device_capability(device)[0] < 8]
    if asked == "bf16" and older:
        raise RunnerError(f"{older[0]} does not compute with bf16", "Give --precision fp16 or fp32.")
    return "bf16" if asked == "bf16" else "fp32" if len(gpus) < len(devices) else "fp16" if older else "bf16"


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
