# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.grading.course import Course as Course
from treceval_py.grading.grades import Grades as Grades
from treceval_py.grading.grading import grade as grade
from treceval_py.grading.grading import grade_course as grade_course
from treceval_py.grading.grading import grade_one as grade_one
from treceval_py.grading.people import Roster as Roster
from treceval_py.grading.people import read_roster as read_roster
from treceval_py.grading.records import Graded as Graded
from treceval_py.grading.rules import Rules as Rules
from treceval_py.grading.rules import read_rules as read_rules

__all__ = [
    "Course",
    "Grades",
    "grade",
    "grade_course",
    "grade_one",
    "Roster",
    "read_roster",
    "Graded",
    "Rules",
    "read_rules",
]
