"""A click group with a default command, in trec_eval's manner of options."""

from __future__ import annotations

import click

__all__ = ["DefaultGroup", "PrefixCommand"]


class DefaultGroup(click.Group):
    """A group whose command may be left out: what does not begin with a command's name goes to the default one."""

    default = "score"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before arguments that name none."""
        if not args or args[0] not in self.commands:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class PrefixCommand(click.Command):
    """A command whose long options can be shortened as long as it is clear which is meant, as in getopt_long."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show that the command's name may be left out."""
        formatter.write_usage(f"treceval [{self.name}]", " ".join(self.collect_usage_pieces(ctx)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write shortened options out."""
        known = [name for parameter in self.params for name in parameter.opts if name.startswith("--")]
        written: list[str] = []
        for position, argument in enumerate(args):
            if argument == "--":
                written.extend(args[position:])
                break
            written.append(_written_out(argument, known))
        return super().parse_args(ctx, written)


def _written_out(argument: str, known: list[str]) -> str:
    name, equals, value = argument.partition("=")
    if not name.startswith("--") or name in known:
        return argument
    meant = [option for option in known if option.startswith(name)]
    if len(meant) > 1:
        raise click.UsageError(f"Option '{name}' may be {' or '.join(meant)}.")
    return meant[0] + equals + value if meant else argument
