# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.plots.images import image as image
from treceval_py.reporting.payload import report_payload as report_payload
from treceval_py.reporting.payload import write_report as write_report

__all__ = [
    "image",
    "report_payload",
    "write_report",
]
