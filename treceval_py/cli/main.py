"""The entry point: how the program ends, whatever happens.

Everything else is imported inside, so that an interruption during the imports ends as quietly as any other.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 bad data, 2 usage; interrupted, as the signal says."""
    # The imports make many objects and nothing makes cycles of them: collecting would only cost time.
    gc.disable()
    try:
        if hasattr(signal, "SIGPIPE"):
            # A closed pipe (`treceval … | head`) ends the program as it ends every other one.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        _import_numpy()
        if "_TRECEVAL_COMPLETE" in os.environ:
            from treceval_py.cli.completion import complete

            status = complete(os.environ["_TRECEVAL_COMPLETE"])
        else:
            from treceval_py.cli.commands import run

            status = run(sys.argv[1:])
    except KeyboardInterrupt:
        _die_of(signal.SIGINT)
    except BrokenPipeError:  # where there is no SIGPIPE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    _leave(status)


def _import_numpy() -> None:
    """Import numpy without a thread for each core, which its linear algebra starts and scoring never uses."""
    variable = "OPENBLAS_NUM_THREADS"
    if variable in os.environ:
        return
    os.environ[variable] = "1"
    import numpy  # noqa: F401 - only to be there

    del os.environ[variable]  # what is started or imported later may need its threads


def _leave(status: int) -> NoReturn:
    """End at once: everything is written, and to take numpy and click apart would cost more than most runs."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def _die_of(number: signal.Signals) -> NoReturn:
    """End as the signal would have ended the program, which shells and schedulers understand."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)
