"""The commands, with trec_eval-style options; each error becomes one line on standard error."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.printing import lost, note, say
from treceval_py.errors import OutputError, SuspectRunWarning, TrecevalError, TrecevalWarning, shortened

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Context(click.Context):
    """The context of a command, which reports help that cannot be printed."""

    prints = False
    """Whether click prints help; set on the class, as a context is gone when its printing fails."""

    def get_help(self) -> str:
        """Return the help; fail if it cannot be printed, which click would ignore."""
        if sys.stdout is None:
            raise OutputError("standard output is closed", "Redirect it to a file.")
        _Context.prints = True
        return super().get_help()


class _Text(click.types.StringParamType):
    """Text; the name of a file, unless its option knows what completes it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Let the shell complete names of files."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


TEXT = _Text()


THREADS = "OPENBLAS_NUM_THREADS"

ROOM = {"numpy": 96 << 20, "scipy": 112 << 20}
"""Bytes of address space that importing a package takes, with some to spare; see `_Room`."""


class _Room:
    """An importer that finds nothing, and refuses packages for which too little memory is left.

    Their linear algebra would try for ever to get it, or end the program without an exception.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Raise MemoryError if a package would not fit."""
        if name in ROOM:
            import mmap

            try:
                mmap.mmap(-1, ROOM[name]).close()
            except OSError:
                raise MemoryError from None


class Command(click.Command):
    """A command that refuses repeated options, and for which numpy is imported when its arguments are right.

    Parameters
    ----------
    peak : tuple of int
        The most memory that it may need: MB, and bytes for each line of its input. ``tests/costs.py`` measures it.
    common : str
        The options that are used most, which come first in its help.
    check : callable, optional
        Returns messages about arguments that do not go together, each with whether it applies; the first one that
        does is raised, before anything is imported.
    """

    context_class = _Context
    last_counts = False
    """Whether the last value of a repeated option counts, as in getopt, instead of being refused."""
    measures_among_files = True
    """Whether a word that is neither a file nor an option is a measure, as in ir_measures' command."""

    def __init__(
        self,
        name: str | None,
        *,
        peak: tuple[int, int],
        help: str | None = None,
        common: str = "",
        check: Callable[[click.Context], Mapping[str, object]] | None = None,
        **settings: Any,
    ) -> None:
        help_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        # In a docstring, what keeps lines as they are is written out.
        super().__init__(name, help=(help or "").replace(r"\b", "\b"), context_settings=help_settings, **settings)
        self.peak = peak
        self.common = common.split()
        self.check = check
        for parameter in self.params:
            parameter.type = TEXT if parameter.type is click.STRING else parameter.type

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most used options, then the others below the titles of their groups."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        common = [option for name in self.common for option in options if name in option.opts]
        groups = {"Options used most": common} if common else {"Options": options}
        for option in sorted(options, key=lambda option: not getattr(option, "group", "")) if common else ():
            if option not in common:
                groups.setdefault(getattr(option, "group", "") or "Output", []).append(option)
        for title, members in groups.items():
            with formatter.section(title):
                records = filter(None, (option.get_help_record(ctx) for option in members))
                # trec_eval's long names are on the page of the commands.
                formatter.write_dl([(re.sub(r", --\w+_\w+", "", names), says) for names, says in records])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; measures among files are those of ``-m``."""
        typed = [*args]  # click takes words off the list
        try:
            rest = self._parsed(ctx, args)
        except click.NoSuchOption as error:
            from treceval_py.cli.mistakes import option_meant

            raise click.UsageError(option_meant(error.option_name, self, treceval, typed), ctx) from None
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            if isinstance(error, click.MissingParameter):
                values, _, _ = self.make_parser(ctx).parse_args(typed)
                required = [one for one in self.params if one.required and isinstance(one, click.Option)]
                lacking = [one.opts[0] for one in required if one.name not in values]
                if isinstance(error.param, click.Argument):
                    lacking.insert(0, error.param.metavar or "")
                if len(lacking) > 1:
                    raise click.UsageError(f"Missing: {', '.join(lacking[:-1])} and {lacking[-1]}.", ctx) from None
            elif isinstance(error, click.BadParameter):
                from treceval_py.cli.mistakes import value_meant

                said = error.message.replace("a valid float", "a number") + value_meant(error)
                raise click.BadParameter(said, error.ctx, error.param, error.param_hint) from None
            if error.message.startswith("Got unexpected extra"):
                expected = " ".join(self.collect_usage_pieces(ctx)[1:])
                raise click.UsageError(f"{error.message}. The arguments are {expected}.", error.ctx) from None
            raise
        if self.measures_among_files and {"files", "measures"} <= ctx.params.keys() and not ctx.resilient_parsing:
            words = ctx.params["files"]
            named = tuple(word for word in words if not (os.path.lexists(word) or names_file(word, ctx)))
            ctx.params["measures"] += named
            ctx.params["files"] = tuple(word for word in words if word not in named)
        return rest

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse repeated options, and complete ``[=VALUE]`` that is left out, for which click takes the next word."""
        if sum(word[:1] == "-" for word in args) < 2 and not any(word[:2] == "--" for word in args):
            return super().parse_args(ctx, args)  # as most often
        options = [option for option in self.params if isinstance(option, click.Option)]
        usual = {
            name: option.flag_value for option in options if f"{option.metavar}"[:2] == "[=" for name in option.opts
        }
        words = [f"{word}={usual[word]}" if word in usual else word for word in args]
        if not (self.last_counts or ctx.resilient_parsing):
            single = {option for option in options if not option.is_flag and not option.multiple}
            _, _, order = self.make_parser(ctx).parse_args([*words])
            for number, option in enumerate(order):
                if option in single and option in order[:number]:
                    raise click.UsageError(f"{option.opts[0]} is given more than once; keep one.", ctx)
        return super().parse_args(ctx, words)

    def invoke(self, ctx: click.Context) -> Any:
        """Check the arguments, and call the command."""
        for message, applies in self.check(ctx).items() if self.check is not None else ():
            if applies:
                raise click.UsageError(message, ctx)
        load_numpy()
        return super().invoke(ctx)


def load_numpy() -> None:
    """Import numpy without the threads of its linear algebra, which scoring never uses: one for each core."""
    if "numpy" not in sys.modules:
        sys.meta_path.insert(0, _Room())
    if THREADS not in os.environ:
        os.putenv(THREADS, "1")  # for scipy's too, until `long_work`, which may need threads
    import numpy  # noqa: F401 - only to be loaded


def names_file(word: str, ctx: click.Context | None = None) -> bool:
    """Tell whether a word that is no file here names one all the same, by a dot or a slash or ``-``, or else a measure.

    Raises
    ------
    UsageError
        It is neither.
    """
    if word == "-" or os.sep in word:
        return True
    load_numpy()
    from treceval_py.cli.mistakes import is_measure
    from treceval_py.io.formats import DATASET

    return word.startswith(DATASET) or not is_measure(word, ctx, COMMANDS)


USES = {
    "Score": {
        "score": "score runs as trec_eval does; its name may be omitted",
        "compare": "test which differences are significant",
        "report": "compare runs on a page with tables and plots",
        "board": "rank all runs of a folder",
    },
    "Trust": {
        "check": "report problems in runs and judgments by line",
        "explain": "explain a value, and why others differ",
        "convert": "write judgments or a run in another format",
    },
    "Make runs": {
        "retrieve": "rank a collection with BGE and Faiss, or BM25",
        "rerank": "rerank the top of a run with a cross-encoder",
        "fuse": "fuse runs into one",
    },
    "Teach and judge": {
        "pool": "choose the documents to judge next",
        "grade": "check, score and grade submissions of a class",
        "agree": "measure how far judges of relevance agree",
    },
    "Automate": {"gate": "decide whether a run may replace another, in CI"},
    "Look up": {"measures": "list and explain measures", "profiles": "compare the conventions of other programs"},
}
"""The commands, with a short description each, by what they are used for."""

COMMANDS = {name: title for use in USES.values() for name, title in use.items()}

EXAMPLES = """
treceval qrels.txt run.txt                       trec_eval's measures
treceval -m nDCG@10 -m RR qrels.txt a.txt b.txt  a table of runs
treceval compare qrels.txt bm25.txt bge.txt
treceval help compare                            options of a command, examples
treceval measures nDCG                           formula, parameters, source
"""


class DefaultGroup(click.Group):
    """The commands, of which the default one may be called without its name: see `run`.

    Each is defined in the module of `treceval_py.cli` of its name, which is imported only when the command is called,
    so that scoring starts fast.
    """

    context_class = _Context
    default = "score"
    names = tuple(COMMANDS)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command by name."""
        return getattr(import_module(f"treceval_py.cli.{cmd_name}"), cmd_name) if cmd_name in self.names else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the commands by what they are used for, and examples."""
        formatter.write("Usage: treceval [OPTIONS] QRELS RUN [RUN…], or treceval COMMAND …\n\n")
        for use, commands in USES.items():
            for name, title in commands.items():
                formatter.write(f"{'' if name != next(iter(commands)) else use:16} {name:9} {title}\n")
        formatter.write(EXAMPLES)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Complete the first word: the name of a command, or of a file for the default one."""
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name, help=title) for name, title in COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *items]


class PrefixCommand(Command):
    """A command whose long options may be abbreviated if unambiguous, as in getopt_long."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show that the command's name may be omitted."""
        formatter.write_usage(f"treceval [{self.name}]", " ".join(self.collect_usage_pieces(ctx)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out options: abbreviated ones, and short ones, which click tries as long ones first, by an import."""
        options = {name: option for option in self.params for name in option.opts}
        written: list[str] = []
        for position, (before, argument) in enumerate(pairwise(["", *args])):
            if argument == "--":
                written.extend(args[position:])
                break
            # A short option may be the value of the option before, and click words what is wrong with the last word.
            free = not before.startswith("-") or getattr(options.get(before), "is_flag", False)
            if argument.startswith("--"):
                written.append(_written_out(argument, [name for name in options if name.startswith("--")]))
            elif argument in options and free and argument != args[-1]:
                written.append(max(options[argument].opts, key=len))
            else:
                written.append(argument)
        return super().parse_args(ctx, written)


def _written_out(argument: str, known: list[str]) -> str:
    name, equals, value = argument.partition("=")
    if name in known or name in ("--run", "--judgment"):  # a file was meant
        return argument
    meant = [option for option in known if option.startswith(name)]
    if len(meant) > 1:
        raise click.UsageError(f"Option '{name}' is ambiguous: {' or '.join(meant)}.")
    return meant[0] + equals + value if meant else argument


treceval = DefaultGroup("treceval")


def _called(words: list[str]) -> list[str]:
    """Return the words with the command first: that of scoring may be omitted, and ``help`` may precede it."""
    if not words:
        raise click.UsageError("Missing arguments 'QRELS RUN'.")
    asks = words[0] in ("help", "-h", "--help")
    words = [*(word for word in words[1:2] if word != "help"), "--help"] if asks else words
    first = words[0]
    if first not in treceval.names and not first.startswith("-"):
        if asks:
            from treceval_py.cli.mistakes import no_command

            raise no_command(first, COMMANDS)
        if not os.path.lexists(first):
            names_file(first)
    return words if asks or first in treceval.names else [treceval.default, *words]


def run(arguments: Sequence[str], program: click.Command = treceval) -> int:
    """Run the command line and return the exit status: 0 done, 1 bad data, 2 usage."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *others: Any) -> None:
        """Write a warning of this package as a note, once."""
        if not issubclass(category, TrecevalWarning):
            usual(message, category, *others)
        elif str(message) not in said:
            said.add(str(message))
            note(str(message))

    usual, _Context.prints = warnings.showwarning, False
    try:
        words = _called([*arguments]) if program is treceval else [*arguments]
        # Not click's own `main`, which prints a line of its own when the program is interrupted.
        with warnings.catch_warnings(), program.make_context(program.name, words, obj=tuple(arguments)) as context:
            warnings.simplefilter("always", TrecevalWarning)
            # Commands print these as notes, beside what they concern.
            warnings.simplefilter("ignore", SuspectRunWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            program.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except TrecevalError as error:
        # A package that does not fit into memory is not missing.
        line = _too_little(error.__context__) or str(error)
        say(f"{program.name}: {line}" if error.file is None else str(error))
        return error.status
    except click.UsageError as error:
        message = shortened(" ".join(error.format_message().split()))
        stop = "" if message.endswith((".", "?", "!")) else "."
        path = "treceval" if error.ctx is None else error.ctx.command_path
        say(f"{program.name}: {message}{stop} See '{path} --help'.")
        return error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        line = _of_system(error, program.name)
        if not line:
            raise
        say(line)
        return 1
    return 0


def _of_system(error: Exception, name: str | None) -> str:
    """Return what to say of an error of the system; empty for one of this program."""
    if line := _too_little(error):
        return f"{name}: {line}"
    if not isinstance(error, OSError):
        return ""
    if error.filename is not None:
        return f"{shortened(str(error.filename), 200)}: {error.strerror or error}."
    return f"{name}: {lost(error)}" if _Context.prints else f"{name}: {error.strerror or error}."


def _too_little(error: BaseException | None) -> str:
    """Return what to say of an error that too little memory caused, or too few threads; empty for another."""
    while error is not None:
        # Others are of libraries that could not be loaded; not every MemoryError can become text.
        words = ("Cannot allocate memory", "failed to map segment")
        if isinstance(error, MemoryError) or any(part in str(error) for part in words):
            return "out of memory. Use a machine with more, or raise the limit (ulimit -v)."
        if "can't start new thread" in str(error):
            return "no thread can be started. Raise the limit of memory (ulimit -v) or of processes (ulimit -u)."
        error = error.__cause__ or error.__context__
    return ""
