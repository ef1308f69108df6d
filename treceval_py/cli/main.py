"""The entry point: ends the program properly, whatever happens.

Everything else is imported inside functions, so that an interruption during the imports ends quietly too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from typing import NoReturn

CONTROL_C = 0xC000013A - 2**32
"""The exit status on Windows of a program ended by Ctrl-C, as a signed number."""


_CAME: list[tuple[signal.Signals, float]] = []
"""The signal that ends the program, and when it came."""


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 bad data, 2 usage; ended by a signal, with its status."""
    # The imports make many objects without cycles: garbage collection would only cost time.
    gc.disable()
    # SIGPIPE is that of a closed pipe (`treceval … | head`), which ends the program, as usual.
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"):
        number = getattr(signal, name, None)
        # What is ignored stays so (`nohup`); Python itself ignores SIGPIPE.
        if number is not None and (name == "SIGPIPE" or signal.getsignal(number) != signal.SIG_IGN):
            signal.signal(number, _interrupt)
    try:
        _leave(_status())
    except KeyboardInterrupt:
        _die_of(_CAME[0][0] if _CAME else signal.SIGINT)


def _interrupt(number: int, _: object) -> None:
    """Unwind the program, so that it removes and ends what it should; on another signal, end it at once."""
    now = time.monotonic()
    if not _CAME:
        _CAME.append((signal.Signals(number), now))
        raise KeyboardInterrupt
    if now - _CAME[0][1] > 1:  # not one that was sent twice, to the process and to its group
        _die_of(_CAME[0][0])


def _status() -> int:
    """Run the command line and return the exit status."""
    try:
        if "_TRECEVAL_COMPLETE" in os.environ:
            from treceval_py.cli.completion import complete

            return complete(os.environ["_TRECEVAL_COMPLETE"])
        from treceval_py.cli.commands import run

        name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        if name == "trec_eval":
            from treceval_py.cli.trec_eval import trec_eval

            return run(sys.argv[1:], trec_eval)
        if name in ("sample_eval", "statap"):
            from treceval_py.cli import programs

            return run(sys.argv[1:], getattr(programs, name))
        return run(sys.argv[1:])
    except BrokenPipeError:  # where there is no SIGPIPE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _leave(status: int) -> NoReturn:
    """End at once: everything is written, and unloading numpy and click would take longer than scoring most runs."""
    if _CAME:  # in code that swallows exceptions
        raise KeyboardInterrupt
    if sys.gettrace() is not None or sys.getprofile() is not None:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def _die_of(number: signal.Signals) -> NoReturn:
    """End with the status of a program ended by the signal, which shells and schedulers understand."""
    target = sys.modules.get("treceval_py.io.target")
    for path in [] if target is None else [*target.OPEN]:  # of which the signal came before it could be unwound
        with contextlib.suppress(OSError):
            os.unlink(path)
    if sys.platform == "win32":  # `os.kill` would end it with the signal's number, our status for wrong usage
        os._exit(CONTROL_C)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)
