"""The gallery shows a picture of every kind of output, made by the commands beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from modules import module_at
from syrupy.assertion import SnapshotAssertion

from treceval_py.plots.specs import PLOTS

HOME = Path(__file__).parent.parent


pytest.importorskip("pty", reason="draws terminals, which Windows does not have")
pictures = module_at(HOME / "docs" / "pictures.py")
SHOWN = [name for block in pictures.blocks() for name in block.names]


def test_every_picture_is_shown_and_every_one_that_is_shown_is_there() -> None:
    files = sorted(path.name for path in pictures.PICTURES.iterdir())
    front = re.findall(r'"_static/pictures/([^"]*)"', (HOME / "docs" / "index.md").read_text("utf-8"))
    assert sorted(front) == sorted(f"{name}.png" for name in pictures.FRONT)
    assert sorted([*SHOWN, *front, "speed.svg"]) == files


def test_the_chart_of_speed_has_the_times_of_the_benchmarks() -> None:
    assert pictures.times()["trec_eval"] == (5.4, "592 MB")  # benchmarks/README.md
    assert (pictures.PICTURES / "speed.svg").read_text("utf-8") == pictures.chart()


def test_each_kind_of_output_and_all_plots_are_there() -> None:
    lines = " ".join(line for block in pictures.blocks() for line in block.commands)
    kinds = "treceval data,compare,report,explain,check,board,gate,agree,grade,--format latex"
    assert [kind for kind in kinds.split(",") if kind not in lines] == []
    assert {f"{plot}.svg" for plot in PLOTS} <= set(SHOWN)


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert sum(sizes.values()) < 1_500_000
    assert max(sizes[f"{name}.png"] for name in pictures.FRONT) < 150_000


def test_a_drawing_is_xml_that_loads_nothing_and_has_no_path_of_a_machine() -> None:
    for name in SHOWN:
        if name.endswith(".svg"):
            text = (pictures.PICTURES / name).read_text("utf-8")
            ET.fromstring(text)
            assert re.findall(r"(?:href|src|url)\W+(?:https?|file):", text) == [], name
            assert re.findall(r"/(?:home|root|tmp|Users|work)/", text) == [], name


@pytest.mark.slow
def test_terminals_show_what_the_commands_print_now() -> None:
    pytest.importorskip("vl_convert")
    assert pictures.main(["--check"]) is None


def test_a_picture_that_is_not_what_would_be_drawn_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    monkeypatch.setattr(pictures, "drawn", lambda folder, wanted: [("score.svg", b"new")] if "score" in wanted else [])
    old = "docs/_static/pictures/score.svg: not up to date. Run python docs/pictures.py."
    assert pictures.main(["--check"]) == old
    (tmp_path / "score.svg").write_bytes(b"old")
    assert pictures.main(["--check"]) == old
    (tmp_path / "score.svg").write_bytes(b"new")
    assert pictures.main(["--check"]) is None


def test_a_name_that_no_picture_has_is_refused() -> None:
    assert "python docs/pictures.py NAME" in str(pictures.main(["scores"]))


# How a terminal is drawn.


def test_text_is_drawn_in_its_columns_with_its_styles(snapshot: SnapshotAssertion) -> None:
    parts = {
        "columns": pictures.terminal([("ls", "a   bc d\n     <e>\n")], columns=20),
        "styles": pictures.terminal([("x", "\x1b[1mrun\x1b[0m 1 \x1b[31merror\x1b[0m\n\x1b[2mgrey\x1b[0m\n───\n")]),
        "a long line goes on in the next": pictures.terminal([("x", "abcdefghijkl\n")], columns=5),
        "long output ends in an ellipsis": pictures.terminal([("x", "a\nb\nc\n")], 2),
    }
    for svg in parts.values():
        ET.fromstring(svg)
    assert parts == snapshot


def test_what_a_line_of_progress_leaves_is_shown(tmp_path: Path) -> None:
    assert pictures.shown(r"printf '1 of 2\r2 of 2\r\033[Kdone\n'; tput cols", tmp_path, 77) == "done\n77\n"
