"""Tables for terminals, with columns aligned by the display width of characters."""

from __future__ import annotations

from collections.abc import Sequence

BOLD, FAINT, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
BETWEEN = "   "


def width_of(cell: str) -> int:
    """Return the number of terminal columns that a text occupies."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return cell_len(cell)


def padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells as a line, the first one left-aligned and the others right-aligned."""
    first, *others = ((cell, " " * (width - width_of(cell))) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(["".join(first), *(space + cell for cell, space in others)])


def cut(text: str, width: int) -> str:
    """Return the longest beginning of a text that fits."""
    if width_of(text) <= width:
        return text
    if width < 1:
        return ""
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + "…"


def panels(widths: Sequence[float], room: float) -> list[range]:
    """Divide columns into blocks, each as wide as there is room for, with at least one column.

    Parameters
    ----------
    widths : sequence of float, length M
        The width of each column, including the space before it.
    room : float
        The width available for a block.
    """
    blocks: list[range] = []
    start, used = 0, 0.0
    for at, width in enumerate(widths):
        if at > start and used + width > room:
            blocks.append(range(start, at))
            start, used = at, 0.0
        used += width
    return [*blocks, range(start, len(widths))]


def filled(text: str, width: int | None) -> str:
    """Return lines of text, none wider than a terminal: see `wrapped`."""
    return "\n".join(part for line in text.split("\n") for part in wrapped(line, width))


def wrapped(line: str, width: int | None) -> list[str]:
    """Return a line as lines no wider than a terminal; None: as one line.

    What goes on is indented by two more, or stands below the last column of a row. A wider word is kept whole on its
    own line, so that a name or signature can be copied.
    """
    if width is None or width_of(line) <= width:
        return [line]
    row, indent = line.rfind("  ") + 2, len(line) - len(line.lstrip(" "))
    if row <= max(indent, 1) or width_of(line[:row]) > width // 2:  # no row, or no room for its last column
        row = 0
    start = row or indent
    first, *words = line[start:].split(" ")
    lines, last = list[str](), line[:start] + first
    hang = " " * (width_of(line[:row]) or indent + 2)
    for word in words:
        if width_of(last) + 1 + width_of(word) <= width:
            last += f" {word}"
        else:
            lines.append(last)
            last = hang + word
    return [*lines, last]
