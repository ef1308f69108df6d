"""``treceval profiles [NAME]``."""

from __future__ import annotations

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import named, output_options
from treceval_py.cli.printing import Output, put_list


@click.command("profiles", cls=Command, peak=(45, 0))
@click.argument("names", metavar="[NAME]…", nargs=-1, shell_complete=named("profile"))
@output_options(digits=False)
def profiles(names: tuple[str, ...], output: Output) -> None:
    """Show all profiles side by side, or explain the given ones.

    A profile describes how a program ranks documents and averages queries, and what its measure names mean.
    """
    from treceval_py.listing.of_profiles import explained, tables

    put_list("profiles", tables, names, explained, output)
