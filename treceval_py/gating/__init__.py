"""A gate: whether a candidate may replace a baseline."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "gating.gating": "Decision GateSettings Margin Verdict gate",
    },
)
