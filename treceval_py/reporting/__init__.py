"""Reports: a comparison and its runs as one self-contained page, and its plots as pictures."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "plots.images": "image",
        "reporting.payload": "report_payload write_report",
    },
)
