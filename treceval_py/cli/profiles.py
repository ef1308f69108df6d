"""``treceval profiles [NAME]``."""

from __future__ import annotations

import click

from treceval_py.cli.printing import put
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.profiles import PROFILES, Profile, profile_named

__all__ = ["profiles"]


@click.command("profiles", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[NAME]…", nargs=-1)
def profiles(names: tuple[str, ...]) -> None:
    """Show the profiles side by side, or explain those that are named.

    A profile is how a program ranks a list and averages queries, and what its names of measures mean.
    """
    put("\n".join(_explained(profile_named(name)) for name in names) if names else _side_by_side(), None)


def _side_by_side() -> str:
    keys = {name: convention.key for name, convention in CONVENTIONS.items()}
    header = ["profile", *keys.values(), "-c", "-l"]
    rows = [header]
    for profile in PROFILES.values():
        texts = profile.conventions.texts()
        rows.append([profile.name, *texts.values(), profile.when_complete, str(profile.level)])
        for names, changes in profile.kinds_of_exceptions:
            families = ", ".join(names)
            cells = [CONVENTIONS[name].show(changes[name]) if name in changes else "" for name in CONVENTIONS]
            rows.append([f"  {families}", *cells, "", ""])
    widths = [max(len(row[at]) for row in rows) for at in range(1, len(header))]
    first = max(len(profile) for profile in PROFILES)
    lines = []
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row[1:], widths, strict=True)).rstrip()
        if len(row[0]) > first:
            lines.append(row[0])
            lines.append(f"{'':{first}}  {line}")
        else:
            lines.append(f"{row[0]:{first}}  {line}")
    what = [f"{each.key:10}{each.question} …" for each in CONVENTIONS.values()]
    return "\n".join(
        [
            *lines,
            "",
            *what,
            f"{'-c':10}what a judged query that the run lacks counts when all judged queries are averaged (-c)",
            f"{'-l':10}least judgment that counts as relevant, unless -l or rel= says otherwise",
            "",
            "Indented are measures that a program treats differently. 'treceval profiles NAME' explains one.",
            "",
        ]
    )


def _explained(profile: Profile) -> str:
    lines = [f"{profile.name}: {profile.title}", ""]
    for convention in CONVENTIONS.values():
        value = getattr(profile.conventions, convention.name)
        lines.append(
            f"  {convention.key + ':' + convention.show(value):18}{convention.question} {convention.says(value)}"
        )
    lines.append(f"  {'level:' + str(profile.level):18}documents judged {profile.level} or more are relevant")
    if profile.conventions.missing == "out":
        says = CONVENTIONS["missing"].says(profile.when_complete)
        lines.append(f"  {'-c:' + profile.when_complete:18}with -c, a judged query that the run lacks {says}")
    for names, changes in profile.kinds_of_exceptions:
        lines += ["", f"  For {', '.join(names)}:"]
        for name, value in changes.items():
            convention = CONVENTIONS[name]
            lines.append(
                f"    {convention.key + ':' + convention.show(value):16}{convention.question} {convention.says(value)}"
            )
    if profile.meanings:
        lines += ["", "  Named without parameters,"]
        lines += [f"    {family} means {meaning}" for family, meaning in profile.meanings.items()]
    lines += ["", f"  Computes {', '.join(profile.measures)} unless measures are named."]
    lines += [f"  Note: {remark}." for remark in profile.remarks]
    return "\n".join([*lines, ""])
