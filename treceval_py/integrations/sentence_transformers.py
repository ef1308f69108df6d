"""An evaluator for sentence-transformers, with any measure and profile of this package.

    from treceval_py.integrations.sentence_transformers import RankingEvaluator

    evaluator = RankingEvaluator(queries, corpus, relevant_docs, ["nDCG@10", "RR@10", "R@100"], profile="trec_eval-10")
    trainer = SentenceTransformerTrainer(model, args, train_dataset, evaluator=evaluator)

By default, it computes the measures of sentence-transformers' InformationRetrievalEvaluator, with the same keys.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from treceval_py._types import Source
from treceval_py.errors import DataError, EvaluationError, OutputError
from treceval_py.io.trec import Judgments
from treceval_py.measuring import Measure
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import load_judgments
from treceval_py.scoring.planning import Scoring
from treceval_py.scoring.profiles import Profile
from treceval_py.scoring.results import Results

try:
    from sentence_transformers.base.evaluation import BaseEvaluator  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before version 6
    from sentence_transformers.evaluation import (  # type: ignore[import-not-found,unused-ignore]
        SentenceEvaluator as BaseEvaluator,
    )

DEFAULT_MEASURES = (
    *("ndcg@10", "mrr@10", "map@100"),
    *(f"{name}@{cutoff}" for name in ("accuracy", "precision", "recall") for cutoff in (1, 3, 5, 10)),
)
"""InformationRetrievalEvaluator's default measures, with the names in its keys."""

DEEPEST = 1000
"""Number of documents kept per query for measures without a cutoff."""

Similarity = Callable[[Any, Any], Any]


class RankingEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Rank a corpus for queries by a model's embeddings, and score the ranking, during training or on its own.

    Parameters
    ----------
    queries, corpus : mapping of str to str
        The texts of queries and documents, by id.
    relevant_docs : mapping, path, or any judgments
        The relevant documents of each query, ``{qid: {docid, …}}``; or labels, ``{qid: {docid: rel}}``, or any other
        judgments that `te.evaluate` accepts. Queries without judgments are left out.
    measures : name, Measure, or iterable of them
        Measures to compute. The first one is the primary metric.
    profile : str, Profile or None
        The ranking and averaging conventions, and the meaning of measure names. Default: those of
        sentence-transformers, in which ties go to the smaller id, queries without relevant documents are left out, and
        all labels above 0 are equal. None: trec_eval 10.0.
    name : str
        Prefix of the metrics' keys, and part of the CSV file's name.
    corpus_chunk_size, batch_size : int
        Number of documents encoded and compared at a time; number of texts per batch of the model.
    depth : int, optional
        Number of documents ranked per query. Default: the deepest cutoff, or 1,000 if a measure has no cutoff.
    score_functions : mapping of str to callable, optional
        Similarities by name, each mapping (Q, E) and (D, E) tensors to (Q, D). Default: the model's own.
    truncate_dim, query_prompt, query_prompt_name, corpus_prompt, corpus_prompt_name
        Passed on to the model's ``encode_query`` and ``encode_document``, or to ``encode`` if it lacks these.
    show_progress_bar : bool
        Show the model's progress bars.
    write_csv : bool
        Let each call with an ``output_path`` add a line to ``Ranking_evaluation_NAME_results.csv`` in that folder.

    Attributes
    ----------
    primary_metric : str or None
        The key of the first measure after the first call; with several similarities, that of the best one.
    greater_is_better : bool
        True, as for all measures suitable for choosing a model.
    results : dict of str to Results
        The last results by similarity, with values per query, for `te.compare` and other functions.

    Raises
    ------
    DataError
        No query has judgments, or the judgments have an unsupported form.
    MeasureError
        A measure or profile is unknown.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        corpus: Mapping[str, str],
        relevant_docs: Source | Judgments | Mapping[str, Iterable[str]] | Mapping[str, Mapping[str, int]],
        measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
        *,
        profile: str | Profile | None = "sentence-transformers",
        name: str = "",
        corpus_chunk_size: int = 50_000,
        batch_size: int = 32,
        depth: int | None = None,
        score_functions: Mapping[str, Similarity] | None = None,
        truncate_dim: int | None = None,
        query_prompt: str | None = None,
        query_prompt_name: str | None = None,
        corpus_prompt: str | None = None,
        corpus_prompt_name: str | None = None,
        show_progress_bar: bool = False,
        write_csv: bool = True,
    ) -> None:
        super().__init__()
        judged = _labels(relevant_docs)
        self.queries = {qid: text for qid, text in queries.items() if judged.get(qid)}
        if not self.queries:
            raise DataError("no query has judgments", "Check that the ids of queries and judgments are the same.")
        self.corpus = dict(corpus)
        self._measures = Scoring(measures, profile).checked().named
        # A measure without a cutoff needs the whole list.
        cutoffs = [dict(measure.parameters).get("cutoff") or DEEPEST for measure in self._measures]
        self.depth = max(map(int, cutoffs), default=DEEPEST) if depth is None else depth
        kept = Scoring(self._measures, profile, depth=self.depth)
        self._evaluator = Evaluator({qid: judged[qid] for qid in self.queries}, kept)
        self.name = name
        self.corpus_chunk_size = corpus_chunk_size
        self.score_functions = score_functions
        self.write_csv = write_csv
        self.csv_file = f"Ranking_evaluation{f'_{name}' if name else ''}_results.csv"
        self.results: dict[str, Results] = {}
        self._options = {"batch_size": batch_size, "show_progress_bar": show_progress_bar, "convert_to_tensor": True}
        self._config = {"truncate_dim": truncate_dim}
        self._prompts = {
            "query": {"prompt": query_prompt, "prompt_name": query_prompt_name},
            "document": {"prompt": corpus_prompt, "prompt_name": corpus_prompt_name},
        }

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1, **_: Any
    ) -> dict[str, float]:
        """Evaluate a model.

        Parameters
        ----------
        model : SentenceTransformer
            The model, or any object with ``encode``, ``similarity`` and ``similarity_fn_name``.
        output_path : str, optional
            The folder of the CSV file.
        epoch, steps : int
            The position in the training, for the CSV file.

        Returns
        -------
        dict of str to float
            Averages by ``NAME_SIMILARITY_MEASURE``, such as ``cosine_ndcg@10``.

        Raises
        ------
        EvaluationError
            The model returns NaN.
        OutputError
            The CSV file has other columns, or cannot be written.
        """
        similarities = self.score_functions or {model.similarity_fn_name: model.similarity}
        runs = self._ranked(model, similarities)
        self.results = {function: self._evaluator.score(run) for function, run in runs.items()}
        means = {function: results.mean for function, results in self.results.items()}
        names = [measure.name for measure in self._measures]
        values = {f"{function}_{name}": mean[name] for function, mean in means.items() for name in names}
        best = max(means, key=lambda function: means[function][names[0]])
        self.primary_metric = f"{best}_{names[0]}"
        if output_path is not None and self.write_csv:
            path, header = os.path.join(output_path, self.csv_file), ["epoch", "steps", *values]
            try:
                os.makedirs(output_path, exist_ok=True)
                with open(path, "a+", encoding="utf-8", newline="") as stream:
                    stream.seek(0)
                    there = next(csv.reader(stream), None)
                    if there not in (None, header):
                        raise OutputError("the file has other columns", "Move it, or give another name.", file=path)
                    csv.writer(stream).writerows([*([] if there else [header]), [epoch, steps, *values.values()]])
            except OSError as error:
                raise OutputError(f"cannot write: {error.strerror}", "Choose another folder.", file=path) from None
        metrics: dict[str, float] = self.prefix_name_to_metrics(values, self.name)
        if hasattr(model, "model_card_data"):
            self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def get_config_dict(self) -> dict[str, Any]:
        """Return the evaluation's settings for the model card."""
        prompts = {f"{role}_{key}": value for role, given in self._prompts.items() for key, value in given.items()}
        settings = {**self._config, **prompts, "profile": self._evaluator.profile.name, "depth": self.depth}
        return {key: value for key, value in settings.items() if value is not None}

    def _ranked(self, model: Any, similarities: Mapping[str, Similarity]) -> dict[str, dict[str, dict[str, float]]]:
        """Return a run for each similarity: each query's best documents, and all that are tied with the last one."""
        runs = {name: {qid: dict[str, float]() for qid in self.queries} for name in similarities}
        asked = self._encoded(model, "query", list(self.queries.values()))
        docids = list(self.corpus)
        for start in range(0, len(docids), self.corpus_chunk_size):
            chunk = docids[start : start + self.corpus_chunk_size]
            vectors = self._encoded(model, "document", [self.corpus[docid] for docid in chunk])
            for function, similarity in similarities.items():
                best = _best(similarity(asked, vectors), self.depth)
                for ranking, (columns, scores) in zip(runs[function].values(), best, strict=True):
                    ranking.update(zip([chunk[column] for column in columns], scores, strict=True))
                    if len(ranking) > self.depth:
                        last = sorted(ranking.values(), reverse=True)[self.depth - 1]
                        for docid in [docid for docid, score in ranking.items() if score < last]:
                            del ranking[docid]
        return runs

    def _encoded(self, model: Any, role: str, texts: Sequence[str]) -> Any:
        encode = getattr(model, f"encode_{role}", None) or model.encode
        given = {key: value for key, value in {**self._config, **self._prompts[role]}.items() if value is not None}
        return encode(texts, **self._options, **given)


def _labels(relevant: Any) -> Mapping[str, Mapping[str, int]]:
    """Return judgments as labels; documents in a set, list or tuple have the label 1."""
    if isinstance(relevant, Mapping):
        bare = (set, frozenset, list, tuple)
        rows = {qid: row for qid, row in relevant.items() if row}
        relevant = {qid: dict.fromkeys(row, 1) if isinstance(row, bare) else row for qid, row in rows.items()}
    table = load_judgments(relevant)
    if not isinstance(table, Mapping):
        wrong = f"{type(table).__name__} instead of judgments"
        raise DataError(wrong, "Give {qid: {docid, …}} or {qid: {docid: rel}}.")
    return table


def _best(scores: Any, depth: int) -> list[tuple[list[int], list[float]]]:
    """Return columns and scores of the best `depth` of each row of (Q, D) scores, and of those tied with the last."""
    import torch

    if bool(torch.isnan(scores).any()):
        raise EvaluationError("the model returns NaN scores", "Find out where they come from.")
    last = torch.topk(scores, min(depth, scores.shape[1]), dim=1).values[:, -1:]
    rows = zip(scores, scores >= last, strict=True)
    return [(kept.nonzero()[:, 0].tolist(), row[kept].tolist()) for row, kept in rows]
