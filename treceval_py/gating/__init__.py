"""A gate: whether a candidate may replace a baseline."""

from __future__ import annotations

from treceval_py.gating.gate import Decision, GateSettings, Margin, Verdict, gate

__all__ = ["Decision", "GateSettings", "Margin", "Verdict", "gate"]
