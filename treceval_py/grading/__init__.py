"""Grading of coursework: submissions in, a gradebook and feedback out."""

from treceval_py.grading.grading import Graded, Grades, grade, grade_one

__all__ = ["Graded", "Grades", "grade", "grade_one"]
