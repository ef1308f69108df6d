"""Tables for terminals: columns aligned by the width that terminals give to characters."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BETWEEN", "BOLD", "FAINT", "PLAIN", "cut", "padded", "panels", "width_of", "wrapped"]

BOLD, FAINT, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
BETWEEN = "   "


def width_of(cell: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return cell_len(cell)


def padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells as a line, the first one to the left and the others to the right."""
    first, *others = ((cell, " " * (width - width_of(cell))) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(["".join(first), *(space + cell for cell, space in others)])


def cut(text: str, width: int) -> str:
    """Return as much of a text as fits."""
    if width_of(text) <= width:
        return text
    if width < 1:
        return ""
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + "…"


def panels(widths: Sequence[float], room: float) -> list[range]:
    """Divide columns into blocks, each as many as there is room for, and one at least.

    Parameters
    ----------
    widths : sequence of float, length M
        How wide each column is, with the space before it.
    room : float
        How wide a block may be.
    """
    blocks: list[range] = []
    start, used = 0, 0.0
    for at, width in enumerate(widths):
        if at > start and used + width > room:
            blocks.append(range(start, at))
            start, used = at, 0.0
        used += width
    return [*blocks, range(start, len(widths))]


def wrapped(line: str, width: int | None) -> list[str]:
    """Return a sentence as lines no wider than a terminal, all but the first indented; None: as the one line it is.

    A word that is wider stands whole on a line of its own, so that a name or a signature can be copied.
    """
    words = line.split(" ")
    if width is None or width_of(line) <= width:
        return [line]
    lines, last = list[str](), words[0]
    for word in words[1:]:
        if width_of(last) + 1 + width_of(word) <= width:
            last += f" {word}"
        else:
            lines.append(last)
            last = f"  {word}"
    return [*lines, last]
