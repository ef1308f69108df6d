"""Grading of coursework: submissions in, a gradebook and feedback out."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "grading.course": "Course",
        "grading.grades": "Grades",
        "grading.grading": "grade grade_course grade_one",
        "grading.people": "Roster read_roster",
        "grading.records": "Graded",
        "grading.rules": "Rules read_rules",
    },
)
