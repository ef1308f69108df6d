"""Draw the pictures of the gallery, the front page and the README, by the commands that gallery.md shows.

    python docs/pictures.py              draw all of them
    python docs/pictures.py NAME…        draw only these, such as compare report readme
    python docs/pictures.py --check      draw no files; exit with 1 if a terminal shows something else than its picture

A picture NAME.svg shows what the next block prints in a terminal, in the report's colours and in those of the reader's
system, light or dark; several commands stand before what they print, and one stands below its picture. Other pictures
show a file that a block wrote. Pages need Chromium, tables need pdflatex and pdftoppm.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import NamedTuple

from rich.style import Style
from rich.text import Text

HERE = Path(__file__).parent
GALLERY = HERE / "gallery.md"
PICTURES = HERE / "_static" / "pictures"
PAGE_CSS = HERE.parent / "treceval_py" / "reporting" / "page.css"
SPEED = "speed"
BENCHMARKS = HERE.parent / "benchmarks" / "README.md"

COLUMNS = 100
"""Width of the terminals; a picture is as wide as what it shows."""

LINES: Mapping[str, int] = {"compare": 30, "queries": 17, "explain": 42, "board": 16, "gate": 14, "agree": 29}
"""How many lines of a long output a picture shows; an ellipsis stands for the others."""


class Shot(NamedTuple):
    """What a picture shows of a page: from an element on, so many pixels."""

    file: str
    width: int
    height: int
    start: str = "body"
    scheme: str = "light"


SHOTS: Mapping[str, Shot] = {
    "report": Shot("report.html", 1200, 1560),
    "report-dark": Shot("report.html", 1200, 800, "#two", "dark"),
    "overview": Shot("graded/overview.html", 1200, 1100),
}

FRONT: Mapping[str, Shot] = {
    "readme": Shot("report.html", 960, 900),
    "readme-dark": Shot("report.html", 960, 900, scheme="dark"),
    "readme-narrow": Shot("report.html", 360, 570, "#all"),
    "readme-narrow-dark": Shot("report.html", 360, 570, "#all", "dark"),
}
"""The report above all else, for wide and narrow screens; on these, its table of runs."""

PRINTED: Mapping[str, str] = {"latex": "paper.pdf"}
"""Pictures of pages of paper."""


class Block(NamedTuple):
    """Commands of the gallery, and the names of the pictures above them."""

    names: Sequence[str]
    commands: Sequence[str]


def blocks() -> list[Block]:
    """Return the blocks of the gallery; pictures below the last block belong to it."""
    found: list[Block] = []
    names: list[str] = []
    for picture, commands in re.findall(
        r"!\[[^\]]*\]\(_static/pictures/([^)]*)\)|```console\n(.*?)```", GALLERY.read_text("utf-8"), re.DOTALL
    ):
        if picture:
            names.append(picture)
        else:
            found.append(Block(names, re.findall(r"^\$ (.*)$", commands, re.MULTILINE)))
            names = []
    found[-1] = Block([*found[-1].names, *names], found[-1].commands)
    return found


# What a terminal shows.


def shown(command: str, folder: Path, columns: int = COLUMNS) -> str:
    """Return what a command prints in a terminal, with its styles; a command that fails may be meant to."""
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    started = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env={**kept, "PATH": path, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b""
    with open(ours, "rb", buffering=0) as stream:
        while True:
            try:
                piece = stream.read(1 << 16)
            except OSError:  # Linux's end of a terminal
                break
            if not piece:
                break
            printed += piece
    started.wait()
    # A line of progress is written over: what stays is behind the last return.
    lines = printed.decode("utf-8").replace("\r\n", "\n").replace("\x1b[K", "").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)


HIGH, WIDE, EDGE, BAR = 19, 8.4, 18, 34
COLOURS: Mapping[int, str] = {1: "pin2", 2: "grade3", 3: "pin3", 6: "blue"}
"""The report's names of a terminal's colours."""
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"


def classes() -> str:
    """Return the classes of a terminal, in the report's light colours and in its dark ones."""
    light, dark = re.findall(r'data-theme="(?:light|dark)"\] \{(.*?)\}', PAGE_CSS.read_text("utf-8"), re.DOTALL)
    rules = []
    for block in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#\w+)", block))
        rules.append(f".ground{{fill:{colours['card']};stroke:{colours['line']}}}.dot{{fill:{colours['line']}}}")
        rules[-1] += f".ink{{fill:{colours['text']}}}.rule{{stroke:{colours['edge']}}}"
        rules[-1] += "".join(f".c{number}{{fill:{colours[name]}}}" for number, name in COLOURS.items())
    return f"<style>{rules[0]}@media(prefers-color-scheme:dark){{{rules[1]}}}</style>"


def terminal(parts: Sequence[tuple[str, str]], most: int | None = None, columns: int = COLUMNS) -> str:
    """Return a terminal with commands and what they print, as SVG.

    Each piece of text is fitted into its cells, so that columns are columns in any font.
    """
    lines: list[Text] = []
    for command, printed in parts:
        if command:
            prompt = Text.assemble(("$ ", Style(color="green")), (command, Style(bold=True)))
            lines += _wrapped(prompt, columns)
        lines += [
            piece for line in printed.rstrip("\n").split("\n") for piece in _wrapped(Text.from_ansi(line), columns)
        ]
    if most is not None and len(lines) > most:
        lines = [*lines[:most], Text("…")]
    wide = round(max(len(line.plain) for line in lines) * WIDE + 2 * EDGE)
    high = BAR + len(lines) * HIGH + EDGE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">',
        classes(),
        f'<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="8" class="ground"/>',
        "".join(f'<circle cx="{20 + 18 * each}" cy="17" r="5" class="dot"/>' for each in range(3)),
        f'<g font-family="{FONT}" font-size="14" class="ink">',
    ]
    for number, line in enumerate(lines):
        drawn.append(_line(line, BAR + HIGH * number + 14))
    return "\n".join([*(each for each in drawn if each), "</g>", "</svg>", ""])


def _wrapped(line: Text, columns: int) -> list[Text]:
    """Return a line as a terminal shows it, cut at its width."""
    cuts = range(columns, len(line.plain), columns)
    return list(line.divide(cuts)) if line.plain else [line]


def _line(line: Text, below: int) -> str:
    spans, rules = "", ""
    for start, text, style in _pieces(line):
        left, length = round(EDGE + start * WIDE, 1), round(len(text) * WIDE, 1)
        if set(text) == {"─"}:
            rules += f'<path d="M{left} {below - 5}h{length}" class="rule"/>'
            continue
        look = ' font-weight="bold"' if style.bold else ""
        look += ' opacity=".6"' if style.dim else ""
        if style.color is not None and style.color.number is not None:
            look += f' class="c{style.color.number}"'
        spans += f'<tspan x="{left}" textLength="{length}" lengthAdjust="spacingAndGlyphs"{look}>{escape(text)}</tspan>'
    return (f'<text y="{below}">{spans}</text>' if spans else "") + rules


def _pieces(line: Text) -> Iterator[tuple[int, str, Style]]:
    """Yield text of one style without wide gaps, each with its column."""
    styles = [Style()] * len(line.plain)
    for span in line.spans:
        style = span.style if isinstance(span.style, Style) else Style.parse(span.style)
        for each in range(span.start, min(span.end, len(styles))):
            styles[each] += style
    for found in re.finditer(r"\S+(?: \S+)*", line.plain):
        start = found.start()
        for each in range(found.start() + 1, found.end() + 1):
            if each == found.end() or styles[each] != styles[start]:
                text = line.plain[start:each]
                if text.strip():
                    yield start + len(text) - len(text.lstrip()), text.strip(), styles[start]
                start = each


# Pictures of pages.


@contextmanager
def _chromium() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def photographed(url: str, shot: Shot) -> bytes:
    """Return a picture of a page."""
    with _chromium() as browser:
        view = {"width": shot.width, "height": shot.height}
        context = browser.new_context(viewport=view, color_scheme=shot.scheme, device_scale_factor=1.5)  # type: ignore[attr-defined]
        tab = context.new_page()
        tab.goto(url)
        tab.wait_for_load_state("networkidle")
        tab.evaluate("document.fonts.ready")
        tab.wait_for_timeout(800)
        top = tab.locator(shot.start).first.bounding_box()["y"] if shot.start != "body" else 0
        area = {"x": 0, "y": top, "width": shot.width, "height": shot.height}
        picture: bytes = tab.screenshot(full_page=True, clip=area, animations="disabled")
        return picture


def small(picture: bytes) -> bytes:
    """Return a PNG with 256 colours, which suffice for text and lines; few pixels may have the colour of a run."""
    from PIL import Image

    drawn = (
        Image.open(io.BytesIO(picture))
        .convert("RGB")
        .quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    made = io.BytesIO()
    drawn.save(made, "PNG", optimize=True)
    return made.getvalue()


def printed_page(pdf: Path) -> bytes:
    """Return the first page of a PDF without its margins."""
    from PIL import Image, ImageChops, ImageOps

    subprocess.run(["pdftoppm", "-r", "150", "-png", "-singlefile", pdf, pdf.with_suffix("")], check=True)
    drawn = Image.open(pdf.with_suffix(".png")).convert("L")
    drawn = ImageOps.expand(drawn.crop(ImageChops.invert(drawn).getbbox()), 40, 255)
    made = io.BytesIO()
    drawn.quantize(16).save(made, "PNG", optimize=True)
    return made.getvalue()


# The chart of speed.

PROGRAMS: Mapping[str, str] = {
    "treceval": "treceval",
    "pytrec_eval, whole process": "pytrec_eval",
    "trec_eval 9.0.4": "trec_eval",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
}
"""Rows of the benchmarks' first table, and what the chart calls them."""


def times() -> dict[str, tuple[float, str]]:
    """Return the seconds and the peak memory of each program for 7 million lines, as the benchmarks record them."""
    rows = re.findall(
        r"^\| ([^|]*) \| [\d.]+ \(([\d.]+) s\) \|.*\| ([\d,]+ MB) \|$", BENCHMARKS.read_text("utf-8"), re.M
    )
    recorded = {row: (float(seconds), memory) for row, seconds, memory in rows}
    return {name: recorded[row] for row, name in PROGRAMS.items()}


def chart() -> str:
    """Return the seconds of each program as bars, in the colours of the terminals."""
    wide, row, left, room = 560, 36, 126, 190
    bars = times()
    longest = max(seconds for seconds, _ in bars.values())
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {66 + row * len(bars)}" width="{wide}">',
        classes(),
        f'<rect x=".5" y=".5" width="{wide - 1}" height="{65 + row * len(bars)}" rx="8" class="ground"/>',
        '<g font-family="system-ui, sans-serif" font-size="17" class="ink">',
        '<text x="18" y="33" font-weight="bold">A run of 7 million lines: time and memory</text>',
    ]
    for number, (name, (seconds, memory)) in enumerate(bars.items()):
        top, long = 52 + row * number, round((wide - left - room) * seconds / longest, 1)
        colour, weight = ("c6", "") if number else ("c2", ' font-weight="bold"')
        drawn += [
            f'<text x="{left - 10}" y="{top + 18}" text-anchor="end"{weight}>{name}</text>',
            f'<rect x="{left}" y="{top + 1}" width="{long}" height="24" rx="2" class="{colour}"/>',
            f'<text x="{left + long + 10}" y="{top + 18}"{weight}>{seconds:g} s · {memory}</text>',
        ]
    return "\n".join([*drawn, "</g>", "</svg>", ""])


# All of them.


def drawn(folder: Path, wanted: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Run the gallery's commands in a folder; yield the file names of pictures and their bytes."""
    (folder / "data").symlink_to(HERE.parent / "data")
    for block in blocks():
        several = len(block.commands) > 1
        parts = [(command if several else "", shown(command, folder)) for command in block.commands]
        for file in block.names:
            name = Path(file).stem
            if wanted and name not in wanted:
                continue
            if name in SHOTS:
                shot = SHOTS[name]
                yield file, small(photographed((folder / shot.file).as_uri(), shot))
            elif name in PRINTED:
                yield file, printed_page(folder / PRINTED[name])
            elif (folder / file).exists():
                yield file, (folder / file).read_bytes()
            else:
                yield file, terminal(parts, LINES.get(name)).encode()
    if not wanted or SPEED in wanted:
        yield f"{SPEED}.svg", chart().encode()
    for name, shot in FRONT.items():
        if not wanted or name in wanted:
            yield f"{name}.png", small(photographed((folder / shot.file).as_uri(), shot))


def stale(folder: Path) -> list[str]:
    """Return the pictures of terminals that are not what would be drawn now."""
    others = {*SHOTS, *PRINTED}
    terminals = [name for block in blocks() for file in block.names if (name := Path(file).stem) not in others]
    return [
        file
        for file, picture in drawn(folder, terminals)
        if not (folder / file).exists()
        and (not (PICTURES / file).exists() or (PICTURES / file).read_bytes() != picture)
    ]


def main(arguments: Sequence[str]) -> str | None:
    """Draw pictures, or compare them; return what is wrong."""
    known = {*FRONT, SPEED, *(Path(file).stem for block in blocks() for file in block.names)}
    if arguments != ["--check"] and not known.issuperset(arguments):
        return __doc__
    with tempfile.TemporaryDirectory() as folder:
        if arguments == ["--check"]:
            old = stale(Path(folder))
            return f"docs/_static/pictures/{old[0]}: not up to date. Run python docs/pictures.py." if old else None
        PICTURES.mkdir(parents=True, exist_ok=True)
        for file, picture in drawn(Path(folder), arguments):
            (PICTURES / file).write_bytes(picture)
            print(f"{file}: {len(picture):,} bytes")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
