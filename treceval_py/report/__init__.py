"""Reports: a comparison, and the runs behind it, as one page that needs nothing else, and its plots as pictures."""

from __future__ import annotations

from treceval_py.rendering.plots import image
from treceval_py.report.payload import report_payload, write_report

__all__ = ["image", "report_payload", "write_report"]
