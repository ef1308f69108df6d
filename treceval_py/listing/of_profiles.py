"""The profiles, as ``treceval profiles`` and `profiles` list and explain them."""

from __future__ import annotations

from collections.abc import Sequence

from treceval_py.measuring.parameters import PARAMETERS
from treceval_py.rendering.tables import Column, Table
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.profiles import PROFILES, Profile, profile_named


def tables() -> list[Table]:
    """Return all profiles side by side, and their exceptions."""
    return tables_of(list(PROFILES.values()))


def tables_of(profiles: Sequence[Profile]) -> list[Table]:
    """Return some profiles side by side, and their exceptions."""
    exceptions = _exceptions(profiles)
    return [_side_by_side(profiles), *([exceptions] if exceptions.columns[0].cells else [])]


def _side_by_side(profiles: Sequence[Profile]) -> Table:
    texts = [profile.conventions.texts() for profile in profiles]
    return Table(
        (
            Column("profile", [profile.name for profile in profiles], text=True, head=True),
            *(Column(each.key, [text[each.key] for text in texts], text=True) for each in CONVENTIONS.values()),
            Column("complete", [profile.when_complete for profile in profiles], "-c", text=True),
            Column("level", [profile.level for profile in profiles], "-l"),
        ),
        "profiles",
        notes=(
            *(f"{each.key}: {each.question} …" for each in CONVENTIONS.values()),
            "-c: value of a judged query that the run lacks, when all judged queries are averaged (-c)",
            "-l: lowest relevant judgment, unless set by -l or rel=",
        ),
    )


def _exceptions(profiles: Sequence[Profile]) -> Table:
    rows = [(profile, *each) for profile in profiles for each in profile.kinds_of_exceptions]
    changed = [name for name in CONVENTIONS if any(name in changes for _, _, changes in rows)]
    columns = [
        Column(
            CONVENTIONS[name].key,
            [CONVENTIONS[name].show(changes[name]) if name in changes else None for _, _, changes in rows],
            text=True,
        )
        for name in changed
    ]
    return Table(
        (
            Column("profile", [profile.name for profile, _, _ in rows], text=True, head=True),
            *columns,
            Column("measures", [", ".join(names) for _, names, _ in rows], text=True),
        ),
        "exceptions",
        "Measures that a program treats differently",
        naming=len(columns) + 2,
        notes=("'treceval profiles NAME' explains one.",),
    )


def explained(name: str) -> str:
    """Return the explanation of a profile."""
    profile = profile_named(name)
    lines = [f"{profile.name}: {profile.title}", ""]
    written = profile.conventions.written()
    for convention in (each for each in CONVENTIONS.values() if each.key in written):
        says = convention.says(getattr(profile.conventions, convention.name))
        lines.append(f"  {convention.key + ':' + written[convention.key]:18}{convention.question} {says}")
    lines.append(f"  {'level:' + str(profile.level):18}documents judged {profile.level} or more are relevant")
    if profile.conventions.missing == "out":
        says = CONVENTIONS["missing"].says(profile.when_complete)
        lines.append(f"  {'-c:' + profile.when_complete:18}with -c, a judged query that the run lacks {says}")
    for names, changes in profile.kinds_of_exceptions:
        lines += ["", f"  For {', '.join(names)}:"]
        for changed, value in changes.items():
            convention = CONVENTIONS[changed]
            lines.append(
                f"    {convention.key + ':' + convention.show(value):16}{convention.question} {convention.says(value)}"
            )
    if profile.meanings:
        lines += ["", "  Named without parameters,"]
        lines += [f"    {family} means {meaning}" for family, meaning in profile.meanings.items()]
    if profile.defaults:
        given = [f"{PARAMETERS[name].key}={PARAMETERS[name].show(value)}" for name, value in profile.defaults.items()]
        lines += ["", f"  Parameters unless given: {', '.join(given)}."]
    lines += ["", f"  Computes {', '.join(profile.measures)} unless measures are named."]
    lines += [f"  Note: {remark}." for remark in profile.remarks]
    lines += [
        f"  Can differ: {', '.join(names)}{f' with {each.when}' if each.when else ''}: {each.text}."
        for each, names in profile.kinds_of_differences.items()
    ]
    return "\n".join([*lines, ""])
