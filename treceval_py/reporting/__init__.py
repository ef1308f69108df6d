"""Reports: a comparison and its runs as one self-contained page, and its plots as pictures."""

from __future__ import annotations

from treceval_py.plots.images import image
from treceval_py.reporting.payload import report_payload, write_report

__all__ = ["image", "report_payload", "write_report"]
