"""Grading of coursework: submissions in, a gradebook and feedback out."""

from treceval_py.grading.grading import Course, Graded, Grades, grade, grade_course, grade_one

__all__ = ["Course", "Graded", "Grades", "grade", "grade_course", "grade_one"]
