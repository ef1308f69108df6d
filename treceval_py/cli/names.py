"""Names in help and refusals, which need no numpy.

Made by docs/names.py from the tables of these names: change those, and run it again.
"""

# fmt: off
PROFILES = ("trec_eval-10", "trec_eval-9", "pytrec_eval", "ir_measures", "ranx", "beir", "flagembedding",
    "flagembedding-tutorial", "msmarco", "sklearn", "gdeval", "coursework", "lightgbm", "xgboost", "xgboost-minus",
    "catboost", "torchmetrics", "torchmetrics-pos", "torchmetrics-skip", "pytorch-ignite", "sentence-transformers",
    "mteb", "recbole", "sample_eval", "sample_eval-trecvid", "statap-3", "statap-4",)
USUAL_MEASURES = ("AP", "nDCG@10", "RR", "P@10",)
NICKNAMES = ("official", "set", "all_trec", "prefs", "all_prefs", "qrels_jg",)
RESULT_FORMATS = ("trec", "table", "csv", "tsv", "json", "markdown", "latex", "html", "coursework",)
PLOTS = ("bars", "scatter", "deltas", "precision-recall", "recall-depth", "overlap",)
METHODS = {
    "rrf": "Σ w / (k + r)",
    "combsum": "Σ s",
    "combmnz": "h · Σ s",
    "weighted": "Σ w s",
    "isr": "h · Σ 1 / r²",
    "rbc": "Σ w (1 − φ) φ^(r − 1)",
    "borda": "Σ w (c − r + 1), in a list without it (c − n + 1) / 2",
    "combanz": "Σ s / h",
    "combmin": "min s",
    "combmax": "max s",
    "combmed": "median s",
}
NORMS = {
    "min-max": "(s − min) / (max − min)",
    "zmuv": "(s − mean) / standard deviation",
    "sum": "(s − min) / Σ (s − min)",
    "max": "s / max",
    "rank": "1 − (r − 1) / n",
    "none": "s",
}
