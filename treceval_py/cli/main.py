"""The entry point: ends the program properly, whatever happens.

Everything else is imported inside functions, so that an interruption during the imports ends quietly too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import NoReturn

CONTROL_C = 0xC000013A - 2**32
"""The exit status on Windows of a program ended by Ctrl-C, as a signed number."""


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 bad data, 2 usage; interrupted, the signal's status."""
    # The imports make many objects without cycles: garbage collection would only cost time.
    gc.disable()
    try:
        if hasattr(signal, "SIGPIPE"):
            # A closed pipe (`treceval … | head`) ends the program, as usual.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if "_TRECEVAL_COMPLETE" in os.environ:
            from treceval_py.cli.completion import complete

            status = complete(os.environ["_TRECEVAL_COMPLETE"])
        elif os.path.splitext(os.path.basename(sys.argv[0]))[0] == "trec_eval":
            from treceval_py.cli.commands import run
            from treceval_py.cli.trec_eval import trec_eval

            status = run(sys.argv[1:], trec_eval)
        else:
            from treceval_py.cli.commands import run

            status = run(sys.argv[1:])
    except KeyboardInterrupt:
        _die_of(signal.SIGINT)
    except BrokenPipeError:  # where there is no SIGPIPE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    _leave(status)


def _leave(status: int) -> NoReturn:
    """End at once: everything is written, and unloading numpy and click would take longer than scoring most runs."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def _die_of(number: signal.Signals) -> NoReturn:
    """End with the status of a program ended by the signal, which shells and schedulers understand."""
    if (
        sys.platform == "win32"
    ):  # `os.kill` would end it with the signal's number, 2, which is our status for wrong usage
        os._exit(CONTROL_C)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)
