"""One run from several: by ranks, by scores, with weights."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(__name__, {"fusing.tuning": "Tuned TunedFusion tune_fusion"})
