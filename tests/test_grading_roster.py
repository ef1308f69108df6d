"""Rosters as platforms export them: who is in the course, and by what each person may be called."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError
from treceval_py.grading.grades import Person
from treceval_py.grading.people import Roster, identity_of, read_roster


def roster_of(tmp_path: Path, text: str | bytes) -> Roster:
    file = tmp_path / "roster.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roster(file)


def people(roster: Roster) -> list[tuple[str, ...]]:
    return [tuple(person[:5]) for person in roster.people]


# Participants of a course on Moodle, Download table data as CSV: the titles are quoted so and cells only where needed.
# Seen in the exports that tools on GitHub read, in English and German; the Spanish gradebook has all six fixed columns.
# Assignment, Download grading worksheet; the folders of "Download all submissions" have the same number. On Canvas,
# Gradebook, Export: "Points Possible" is the row below the titles, and the teacher's test student the last one. On
# GitHub Classroom the identifier is the name where it is one.
ROSTERS = sorted((Path(__file__).parent / "grading_rosters").iterdir(), key=lambda path: path.name)


def test_rosters_are_read_as_platforms_export_them(snapshot: SnapshotAssertion) -> None:
    said = []
    for path in ROSTERS:
        roster = read_roster(path)
        said.append(f"# {path.stem}: {roster.platform}")
        for person in roster.people:
            assert [title for title, _ in person.row] == list(roster.columns)
            said.append(f"{' | '.join(person[:5])}: {'; '.join(', '.join(each) for each in identity_of(person))}")
    assert "\n".join(said) == snapshot


def test_a_row_is_kept_with_its_titles(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "name,number,email,group\nAda Lovelace,0012,,A\n\n李明,0013,,B\n")
    assert (roster.columns, roster.file) == (("name", "number", "email", "group"), str(tmp_path / "roster.csv"))
    assert roster.people[1].row == (("name", "李明"), ("number", "0013"), ("email", ""), ("group", "B"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_spreadsheets_save_is_read(tmp_path: Path, encoding: str, separator: str) -> None:
    text = "sep=,\r\nVorname,Nachname,Matrikelnummer\r\nZoë,Müßig,0815\r\n".replace(",", separator)
    assert people(roster_of(tmp_path, text.encode(encoding))) == [("Zoë Müßig", "0815", "", "", "")]


def test_all_that_a_person_may_be_called_by_is_known() -> None:
    person = Person("李明", "4711", "lm@uni.example", row=(("名", "明"), ("姓", "李"), ("username", "liming")))
    assert identity_of(person) == (("李明", "明 李"), ("4711",), ("lm@uni.example", "liming"))


REFUSED = [
    "Ada,ada@uni.example\n",
    "",
    "name,number\n",
    "name,number\nAda,1\nGrace,1\n",
    "name,email\nAda,a@x.org\nGrace,A@x.org\n",
    "name,group\nAda,1\nADA,1\n",
    "name,number\nLovelace, Ada,1\n",
    'name,number\n"Ada,1\n',
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
]


def test_what_is_no_roster_is_refused_at_its_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = []
    for text in REFUSED:
        with pytest.raises(InputError) as caught:
            roster_of(tmp_path, text)
        said.append(str(caught.value).removeprefix(f"{tmp_path}/"))
    assert "\n".join(said) == snapshot
    # Of the same name are two, if they have numbers; and a field too many may be empty.
    assert len(roster_of(tmp_path, "name,number\nAda,1\nAda,2,\n").people) == 2
