"""torchmetrics.retrieval, which scores lists of labels."""

import torch
from adapter import serve
from torchmetrics import retrieval

NAMES = {
    "AP": "MAP",
    "nDCG": "NormalizedDCG",
    "RR": "MRR",
    "P": "Precision",
    "R": "Recall",
    "Success": "HitRate",
    "Rprec": "RPrecision",
}


def value(case, measure):
    """Return the mean."""
    name, at, cutoff = measure.partition("@")
    if name not in NAMES:
        raise NotImplementedError
    lists = case.lists()
    metric = getattr(retrieval, f"Retrieval{NAMES[name]}")(**({"top_k": int(cutoff)} if at else {}))
    metric.update(
        torch.tensor([score for _, scores in lists for score in scores]),
        torch.tensor([label for labels, _ in lists for label in labels]),
        indexes=torch.repeat_interleave(torch.arange(len(lists)), torch.tensor([len(scores) for _, scores in lists])),
    )
    return float(metric.compute())


serve(
    "torchmetrics",
    "torchmetrics",
    "RetrievalNormalizedDCG(top_k=k) and others, update(scores, labels, indexes), compute()",
    value,
)
