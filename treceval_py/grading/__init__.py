"""Grading of coursework: submissions in, a gradebook and feedback out."""

from treceval_py.grading.course import Course
from treceval_py.grading.grades import Grades
from treceval_py.grading.grading import grade, grade_course, grade_one
from treceval_py.grading.records import Graded

__all__ = ["Course", "Graded", "Grades", "grade", "grade_course", "grade_one"]
