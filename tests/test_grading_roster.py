"""Rosters as platforms export them: who is in the course, and by what each person may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from treceval_py.errors import InputError
from treceval_py.grading.course.roster import Roster, identity_of, read_roster
from treceval_py.grading.grades import Person


def roster_of(tmp_path: Path, text: str | bytes) -> Roster:
    file = tmp_path / "roster.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roster(file)


def people(roster: Roster) -> list[tuple[str, ...]]:
    return [tuple(person[:5]) for person in roster.people]


def test_a_plain_table_is_a_roster(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "name,number,email,group\nAda Lovelace,0012,ada@uni.example,A\n\n李明,0013,,B\n")
    assert people(roster) == [("Ada Lovelace", "0012", "ada@uni.example", "", "A"), ("李明", "0013", "", "", "B")]
    assert (roster.platform, roster.columns) == ("", ("name", "number", "email", "group"))
    assert roster.people[1].row == (("name", "李明"), ("number", "0013"), ("email", ""), ("group", "B"))


# Participants of a course, Download table data as CSV: the titles are quoted so and cells only where needed. Seen in the
# exports that tools on GitHub read, in English and German; the Spanish gradebook has all six fixed columns.
MOODLE = {
    "participants": '\ufeff"First name","Last name","Email address",Groups\nAda,Lovelace,ada@uni.example,"Team 1, Lab"\n',
    "German participants": "Vorname,Nachname,E-Mail-Adresse,Gruppen\nAda,Lovelace,ada@uni.example,\"Team 1, Lab\"\n",
    "Spanish grades": 'Nombre,Apellido(s),"Número de ID",Institución,Departamento,"Dirección de correo","Tarea:TP1 (Real)",'
    'Grupos\nAda,Lovelace,,"Uni","",ada@uni.example,-,"Team 1, Lab"\n',
}  # fmt: skip


@pytest.mark.parametrize("text", MOODLE.values(), ids=MOODLE)
def test_moodle_is_known_in_several_languages(tmp_path: Path, text: str) -> None:
    roster = roster_of(tmp_path, text)
    assert people(roster) == [("Ada Lovelace", "", "ada@uni.example", "", "Team 1, Lab")]
    assert roster.platform == "moodle"


def test_the_participant_of_a_grading_worksheet_is_the_number_in_the_names_of_folders(tmp_path: Path) -> None:
    # Assignment, Download grading worksheet; the folders of "Download all submissions" have the same number.
    roster = roster_of(
        tmp_path,
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),"
        "Last modified (grade),Feedback comments\n"
        'Participant 123456,Ada Lovelace,ada@uni.example,"Submitted for grading - ",,100.00,Yes,"Friday, 20 November '
        '2026, 9:00 PM",-,""\n',
    )
    assert roster.platform == "moodle"
    assert people(roster) == [("Ada Lovelace", "", "ada@uni.example", "", "")]
    assert "123456" in identity_of(roster.people[0]).numbers


def test_rows_of_canvas_that_are_no_students_are_left_out(tmp_path: Path) -> None:
    # Gradebook, Export: "Points Possible" is the row below the titles, and the teacher's test student the last one.
    roster = roster_of(
        tmp_path,
        "Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (23)\n    Points Possible,,,,,10.00\n"
        '"Lovelace, Ada",11,4711,ada@uni.example,XC 101,8.00\n"李, 明",12,4712,liming,XC 101,\n"Student, Test",13,,abc,XC 101,\n',
    )
    assert roster.platform == "canvas"
    assert people(roster) == [
        ("Ada Lovelace", "4711", "ada@uni.example", "", ""),
        ("李明", "4712", "", "liming", ""),
    ]
    assert set(identity_of(roster.people[0]).numbers) == {"4711", "11"}


def test_staff_is_not_in_the_roster_of_gradescope(tmp_path: Path) -> None:
    roster = roster_of(
        tmp_path,
        "First Name,Last Name,SID,Email,Role,Section\nAda,Lovelace,001,ada@uni.example,Student,\n"
        "Charles,Babbage,,cb@uni.example,Instructor,\nGrace,Hopper,,gh@uni.example,TA,\n",
    )
    assert roster.platform == "gradescope"
    assert people(roster) == [("Ada Lovelace", "001", "ada@uni.example", "", "")]


def test_the_identifier_of_github_classroom_is_the_name_where_it_is_one(tmp_path: Path) -> None:
    roster = roster_of(
        tmp_path,
        '"identifier","github_username","github_id","name"\n"Lovelace, Ada","adal","1","ada ♥"\n'
        '"4712","mingli","2","Ming Li"\n"grace@uni.example","","",""\n"i01-x (i01)","xena","3","X"\n"李明","liming-ir","4","liming-ir"\n',
    )
    assert roster.platform == "github"
    assert people(roster) == [
        ("Ada Lovelace", "", "", "adal", ""),
        ("Ming Li", "4712", "", "mingli", ""),
        ("grace@uni.example", "", "grace@uni.example", "", ""),
        ("i01-x (i01)", "", "", "xena", ""),
        ("李明", "", "", "liming-ir", ""),
    ]
    assert identity_of(roster.people[0]).handles == ("adal",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_spreadsheets_save_is_read(tmp_path: Path, encoding: str, separator: str) -> None:
    text = "sep=,\r\nVorname,Nachname,Matrikelnummer\r\nZoë,Müßig,0815\r\n".replace(",", separator)
    assert people(roster_of(tmp_path, text.encode(encoding))) == [("Zoë Müßig", "0815", "", "", "")]


@pytest.mark.parametrize(
    "text",
    ["Name;Vorname\nLovelace;Ada\n", "Name,Surname\nAda,Lovelace\n", "Full name,Surname\nAda Lovelace,Lovelace\n"],
    ids=["family", "given", "both"],
)
def test_a_column_called_name_may_have_the_other_part_of_the_name(tmp_path: Path, text: str) -> None:
    assert people(roster_of(tmp_path, text)) == [("Ada Lovelace", "", "", "", "")]


def test_all_that_a_person_may_be_called_by_is_known() -> None:
    person = Person("李明", "4711", "lm@uni.example", row=(("名", "明"), ("姓", "李"), ("username", "liming")))
    assert identity_of(person) == (("李明", "明 李"), ("4711",), ("lm@uni.example", "liming"))


REFUSALS = {
    "Ada,ada@uni.example\n": (
        "roster.csv:1: expected a line that names columns such as name, number and email, found Ada, ada@uni.example. "
        "Begin the roster with name,number,email."
    ),
    "": (
        "roster.csv:1: expected a line that names columns such as name, number and email, found nothing. Begin the "
        "roster with name,number,email."
    ),
    "name,number\n": "roster.csv: there are no students in the roster. Write a line for each student.",
    "name,number\nAda,1\nGrace,1\n": "roster.csv:3: number '1' is already on line 2. Keep one of the two.",
    "name,group\nAda,1\nADA,1\n": "roster.csv:3: name 'ADA' is already on line 2. Keep one of the two.",
    "name,number\nLovelace, Ada,1\n": (
        "roster.csv:2: expected 2 columns as in the first line, found 3. Put quotes around a field that "
        "contains a separator."
    ),
    'name,number\n"Ada,1\n': (
        "roster.csv:2: this is not a row of a table: unexpected end of data. Put quotes around a field, and double "
        "those within it."
    ),
    b"name\nA\x81da\n": "roster.csv:2: the text is not UTF-8. Save the table as CSV in UTF-8.",
    b"PK\x03\x04": "roster.csv: this is a workbook, but a roster must be CSV. Save it as CSV.",
}


@pytest.mark.parametrize("text", REFUSALS, ids=[str(number) for number in range(len(REFUSALS))])
def test_what_is_no_roster_is_refused_at_its_line(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(InputError) as caught:
        roster_of(tmp_path, text)
    assert str(caught.value).removeprefix(f"{tmp_path}/") == REFUSALS[text]
