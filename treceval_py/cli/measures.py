"""``treceval measures [NAME]``."""

from __future__ import annotations

from functools import partial

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import PLUGIN, load_plugins, named, output_options
from treceval_py.cli.printing import Output, put_list


@click.command("measures", cls=Command, peak=(45, 0))
@click.argument("names", metavar="[NAME]…", nargs=-1, shell_complete=named("measure"))
@PLUGIN
@output_options(digits=False)
def measures(names: tuple[str, ...], plugins: tuple[str, ...], output: Output) -> None:
    """List all measures, or explain the given ones: formula, parameters, value of the empty case, reference."""
    from treceval_py.listing.of_measures import explained, tables

    load_plugins(plugins)
    put_list("measures", tables, names, partial(explained, width=output.style.width), output)
