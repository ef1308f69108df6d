"""What students write: 40 ways to claim three numbers, and 40 texts with numbers of which none is claimed.

Written without looking at the code that reads them. A text is a file as it would be handed in; PDF, Word documents and
notebooks are made from the text here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

Three = tuple[tuple[str, float], tuple[str, float], tuple[str, float]]


class Text(NamedTuple):
    """A file that somebody handed in.

    Attributes
    ----------
    what : str
        What is special about it.
    name : str
        The file.
    written : str or function
        The text, in UTF-8, or what makes the bytes.
    claims : tuple of (str, float)
        The measures and numbers that are claimed; of numbers with a percent sign the hundredth part.
    runs : tuple of str
        The runs that the claims are of, where the text has a name for them; empty otherwise.
    """

    what: str
    name: str
    written: str | Callable[[], bytes]
    claims: tuple[tuple[str, float], ...] = ()
    runs: tuple[str, ...] = ()

    def data(self) -> bytes:
        return self.written.encode() if isinstance(self.written, str) else self.written()


# --- files that are no plain text ---


def notebook(*cells: dict[str, object]) -> str:
    """Return a notebook as Jupyter saves it."""
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def markdown_cell(text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": text.splitlines(keepends=True)}


def code_cell(source: str, *outputs: dict[str, object]) -> dict[str, object]:
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": 1,
        "id": "c1",
        "metadata": {},
        "outputs": outputs,
        "source": lines,
    }


def printed(text: str) -> dict[str, object]:
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def result(plain: str, html: str = "") -> dict[str, object]:
    data = {"text/plain": plain.splitlines(keepends=True)}
    if html:
        data["text/html"] = html.splitlines(keepends=True)
    return {"data": data, "execution_count": 1, "metadata": {}, "output_type": "execute_result"}


def word(*parts: str | Sequence[Sequence[str]]) -> Callable[[], bytes]:
    """Return what makes a Word document of paragraphs and tables."""

    def made() -> bytes:
        import pytest

        document = pytest.importorskip("docx").Document()
        for part in parts:
            if isinstance(part, str):
                document.add_paragraph(part)
                continue
            table = document.add_table(rows=len(part), cols=len(part[0]))
            for cells, row in zip(part, table.rows, strict=True):
                for text, cell in zip(cells, row.cells, strict=True):
                    cell.text = text
        raw = io.BytesIO()
        document.save(raw)
        return raw.getvalue()

    return made


def pdf(*pages: str) -> Callable[[], bytes]:
    """Return what makes a PDF, whose lines break where those of the text do."""

    def made() -> bytes:
        import pytest

        document = pytest.importorskip("fpdf").FPDF()
        document.set_font("Helvetica", size=11)
        for page in pages:
            document.add_page()
            for line in page.splitlines():
                document.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
        return bytes(document.output())

    return made


def three(ap: float, ndcg: float, rr: float) -> Three:
    return ("AP", ap), ("nDCG@10", ndcg), ("RR", rr)


THREE = three(0.3912, 0.5478, 0.6031)
WITH_P: Three = (("AP", 0.3912), ("nDCG@10", 0.5478), ("P@10", 0.415))

CLAIMS = [
    Text("signs on a line", "results.txt", "MAP = 0.3912, MRR = 0.6031, nDCG@10 = 0.5478\n", THREE),
    Text(
        "one line between others",
        "README.md",
        "# Sheet 3\n\nRun `python search.py`, it takes about 4 minutes.\n\nMAP: 0.3912 / nDCG@10: 0.5478 / P@10: 0.4150\n",
        WITH_P,
    ),
    Text(
        "English sentence",
        "report.txt",
        "Our final system reaches a MAP of 0.3912, an nDCG@10 of 0.5478 and an MRR of 0.6031 on the test topics.\n",
        THREE,
    ),
    Text(
        "past tense, over two lines",
        "report.md",
        "## Results\n\nWe indexed 9,260 documents. With the settings of Section 2 we obtained a mean average precision of\n"
        "0.3912 and an nDCG@10 of 0.5478. The mean reciprocal rank was 0.6031.\n",
        THREE,
    ),
    Text(
        "words in full",
        "abgabe.txt",
        "The mean average precision was 0.3912, the normalized discounted cumulative gain at 10 was 0.5478 and the\n"
        "precision at 10 was 0.415.\n",
        WITH_P,
    ),
    Text("number first", "notes.txt", "Final numbers: 0.3912 MAP, 0.5478 nDCG@10 and 0.6031 MRR.\n", THREE),
    Text(
        "respectively",
        "report.md",
        "On the test queries MAP, nDCG@10 and MRR are 0.3912, 0.5478 and 0.6031, respectively.\n",
        THREE,
    ),
    Text(
        "beside the baseline, from and to",
        "report.md",
        "With RM3 expansion, MAP rises from 0.3105 (BM25 baseline) to 0.3912. Our nDCG@10 is 0.5478 and our P@10 is 0.4150.\n",
        WITH_P,
    ),
    Text(
        "plus and minus",
        "results.md",
        "MAP = 0.3912 ± 0.0210 (95 % CI)\n\nnDCG@10 = 0.5478 ± 0.0180\n\nMRR = 0.6031 ± 0.0330\n",
        THREE,
    ),
    Text(
        "German sentence",
        "bericht.txt",
        "Unser System erreicht auf den Testanfragen einen MAP-Wert von 0,3912, der nDCG@10 liegt bei 0,5478 und der MRR "
        "bei 0,6031.\n",
        THREE,
    ),
    Text(
        "German list of percentages",
        "Auswertung.md",
        "**Ergebnisse**\n\n- Mean Average Precision: 39,12 %\n- nDCG@10: 54,78 %\n- Precision@10: 41,50 %\n",
        WITH_P,
    ),
    Text(
        "French sentence",
        "rapport.txt",
        "Notre système obtient une MAP de 0,3912, un nDCG@10 de 0,5478 et un MRR de 0,6031 sur les requêtes de test.\n",
        THREE,
    ),
    Text(
        "Spanish sentence",
        "informe.txt",
        "El sistema final alcanza un MAP de 0,3912 y un nDCG@10 de 0,5478; la P@10 es 0,415.\n",
        WITH_P,
    ),
    Text(
        "Chinese sentence",
        "报告.txt",
        "我们的系统在测试集上的 MAP 为 0.3912，nDCG@10 为 0.5478，MRR 达到 0.6031。\n",
        THREE,
    ),
    Text(
        "Italian sentence",
        "relazione.txt",
        "Abbiamo ottenuto una MAP pari a 0,3912, un nDCG@10 di 0,5478 e una P@10 di 0,4150.\n",
        WITH_P,
    ),
    Text(
        "Portuguese sentence",
        "relatorio.txt",
        "O nosso sistema alcançou MAP de 0,3912, nDCG@10 de 0,5478 e MRR de 0,6031.\n",
        THREE,
    ),
    Text(
        "Russian sentence",
        "отчёт.txt",
        "На тестовых запросах MAP равен 0,3912, nDCG@10 составляет 0,5478, а MRR равен 0,6031.\n",
        THREE,
    ),
    Text(
        "Japanese sentence",
        "report_ja.txt",
        "提案手法の MAP は 0.3912、nDCG@10 は 0.5478、MRR は 0.6031 であった。\n",
        THREE,
    ),
    Text(
        "Markdown, a row per measure",
        "report.md",
        "| Measure | BM25 (baseline) | Ours |\n|---|---:|---:|\n| MAP | 0.3105 | **0.3912** |\n"
        "| nDCG@10 | 0.4702 | **0.5478** |\n| MRR | 0.5511 | **0.6031** |\n",
        THREE,
    ),
    Text(
        "Markdown, a row per system",
        "report.md",
        "Results on the test set:\n\n| System | MAP | nDCG@10 | MRR |\n|:--|--:|--:|--:|\n"
        "| baseline | 0.3105 | 0.4702 | 0.5511 |\n| ours | 0.3912 | 0.5478 | 0.6031 |\n",
        THREE,
    ),
    Text(
        "Markdown, three runs of one's own",
        "README.md",
        "| run | MAP |\n|---|---|\n| run1.txt | 0.3512 |\n| run2.txt | 0.3688 |\n| run3.txt | 0.3912 |\n",
        (("AP", 0.3512), ("AP", 0.3688), ("AP", 0.3912)),
        ("run1.txt", "run2.txt", "run3.txt"),
    ),
    Text(
        "LaTeX table",
        "report.tex",
        "\\begin{table}[t]\n\\centering\n\\caption{Results on the test topics.}\n\\begin{tabular}{lccc}\n\\toprule\n"
        "System & MAP & nDCG@10 & P@10 \\\\\n\\midrule\nBaseline (BM25) & 0.3105 & 0.4702 & 0.3650 \\\\\n"
        "Our system & \\textbf{0.3912} & \\textbf{0.5478} & \\textbf{0.4150} \\\\\n\\bottomrule\n\\end{tabular}\n"
        "\\end{table}\n",
        WITH_P,
    ),
    Text(
        "LaTeX sentence",
        "main.tex",
        "\\section{Evaluation}\nOn the test topics we obtain $\\mathrm{MAP} = 0.3912$, $\\mathrm{nDCG@10} = 0.5478$ and a "
        "P@10 of~$0.4150$\n(Section~\\ref{sec:runs}).\n",
        WITH_P,
    ),
    Text(
        "HTML of pandas",
        "results.html",
        '<table border="1" class="dataframe">\n  <thead>\n    <tr style="text-align: right;">\n      <th></th>\n'
        "      <th>map</th>\n      <th>ndcg_cut_10</th>\n      <th>recip_rank</th>\n    </tr>\n  </thead>\n  <tbody>\n"
        "    <tr>\n      <th>mine</th>\n      <td>0.3912</td>\n      <td>0.5478</td>\n      <td>0.6031</td>\n    </tr>\n"
        "  </tbody>\n</table>\n",
        THREE,
    ),
    Text(
        "HTML list, as an online text has it",
        "onlinetext.html",
        "<p>Hello,</p><p>here is my solution. I got:</p><ul><li>MAP: <strong>0.3912</strong></li>"
        "<li>nDCG@10: <strong>0.5478</strong></li><li>MRR: <strong>0.6031</strong></li></ul><p>Kind&nbsp;regards</p>",
        THREE,
    ),
    Text(
        "notebook that prints a dictionary",
        "sheet3.ipynb",
        notebook(
            markdown_cell("# Sheet 3\nEvaluation with pytrec_eval"),
            code_cell(
                "print({m: round(v, 4) for m, v in means.items()})",
                printed("{'map': 0.3912, 'ndcg_cut_10': 0.5478, 'recip_rank': 0.6031}\n"),
            ),
        ),
        THREE,
    ),
    Text(
        "notebook that shows a frame",
        "retrieval.ipynb",
        notebook(
            code_cell(
                "pt.Experiment([mine], topics, qrels, ['map', 'ndcg_cut_10', 'P_10'])",
                result(
                    "   name     map  ndcg_cut_10   P_10\n0  mine  0.3912       0.5478  0.415",
                    "<div>\n<style scoped>\n .dataframe tbody tr th { vertical-align: top; }\n</style>\n"
                    '<table border="1" class="dataframe"><thead><tr><th></th><th>name</th><th>map</th>'
                    "<th>ndcg_cut_10</th><th>P_10</th></tr></thead><tbody><tr><th>0</th><td>mine</td><td>0.3912</td>"
                    "<td>0.5478</td><td>0.415</td></tr></tbody></table>\n</div>",
                ),
            )
        ),
        WITH_P,
    ),
    Text(
        "notebook with a sentence",
        "abgabe.ipynb",
        notebook(
            code_cell("len(index)", result("9260")),
            markdown_cell(
                "### Result\n\nThe run has a MAP of **0.3912**, an nDCG@10 of **0.5478** and an MRR of 0.6031."
            ),
        ),
        THREE,
    ),
    Text(
        "trec_eval",
        "eval.txt",
        "map                   \tall\t0.3912\nrecip_rank            \tall\t0.6031\nndcg_cut_10           \tall\t0.5478\n",
        THREE,
    ),
    Text(
        "trec_eval of each query",
        "eval_q.txt",
        "".join(
            f"{name:22}\t{qid}\t{value}\n"
            for qid, values in (
                ("301", (0.25, 0.4, 1.0)),
                ("302", (0.5324, 0.6956, 0.2062)),
                ("all", (0.3912, 0.5478, 0.6031)),
            )
            for name, value in zip(("map", "ndcg_cut_10", "recip_rank"), values, strict=True)
        ),
        THREE,
    ),
    Text(
        "JSON",
        "metrics.json",
        '{"system": "bm25+rm3", "queries": 43, "metrics": {"map": 0.3912, "ndcg@10": 0.5478, "mrr": 0.6031}}\n',
        THREE,
    ),
    Text("CSV with decimal commas", "werte.csv", "Maß;Wert\nMAP;0,3912\nnDCG@10;0,5478\nMRR;0,6031\n", THREE),
    Text(
        "CSV with a row of the baseline",
        "results.csv",
        "run,MAP,nDCG@10,MRR\nbaseline,0.3105,0.4702,0.5511\nmine,0.3912,0.5478,0.6031\n",
        THREE,
    ),
    Text(
        "CSV of each query with all of them",
        "per_query.csv",
        "qid,AP,nDCG@10,RR\n301,0.2500,0.4000,1.0000\n302,0.5324,0.6956,0.2062\nall,0.3912,0.5478,0.6031\n",
        THREE,
    ),
    Text(
        "ir_measures in Python",
        "output.txt",
        ">>> ir_measures.calc_aggregate(...)\n{AP: 0.3912, nDCG@10: 0.5478, RR: 0.6031}\n",
        THREE,
    ),
    Text(
        "a series of pandas",
        "log.txt",
        "mean over 43 queries\nmap            0.391200\nndcg_cut_10    0.547800\nrecip_rank     0.603100\ndtype: float64\n",
        THREE,
    ),
    Text(
        "a frame of pandas",
        "out.log",
        "                 map  ndcg_cut_10  recip_rank\nbaseline      0.3105       0.4702      0.5511\n"
        "mine          0.3912       0.5478      0.6031\n",
        THREE,
    ),
    Text(
        "Word",
        "Report.docx",
        word(
            "Information Retrieval, sheet 3",
            "We tuned k1 and b on the training topics and used k1 = 0.9 and b = 0.4.",
            (("", "Baseline", "Our run"), ("MAP", "0.3105", "0.3912"), ("nDCG@10", "0.4702", "0.5478")),
            "The MRR of our run is 0.6031.",
        ),
        THREE,
    ),
    Text(
        "PDF over two pages",
        "report.pdf",
        pdf(
            "Sheet 3: Ranked retrieval\nAda Example, 1234567\n\n1 Results\n\nWe ranked with BM25 and expanded the queries. Our run has a MAP of\n"
            "0.3912 on the 43 test topics.",
            "Table 1: our values\n\nnDCG@10 0.5478\nMRR 0.6031\n",
        ),
        THREE,
    ),
    Text(
        "an ASCII table",
        "tabelle.txt",
        "+---------+----------+--------+\n| metric  | baseline | own    |\n+=========+==========+========+\n"
        "| MAP     | 0.3105   | 0.3912 |\n+---------+----------+--------+\n| nDCG@10 | 0.4702   | 0.5478 |\n"
        "+---------+----------+--------+\n| MRR     | 0.5511   | 0.6031 |\n+---------+----------+--------+\n",
        THREE,
    ),
]

NO_CLAIMS = [
    Text("parameters", "README.md", "We used BM25 with k1 = 0.9 and b = 0.4, and kept the first 1000 documents.\n"),
    Text(
        "definitions",
        "report.md",
        "P@10 is the number of relevant documents in the top 10, divided by 10. nDCG@10 discounts by log2(rank + 1), so rank\n"
        "3 counts 0.5. A MAP of 1 would mean a perfect ranking.\n",
    ),
    Text(
        "worked example",
        "report.txt",
        "Example from the lecture: with relevant documents at ranks 1 and 3, AP = (1/1 + 2/3) / 2 = 0.83.\n",
    ),
    Text(
        "what is asked",
        "notes.txt",
        "The assignment asks for a MAP of at least 0.25 and an nDCG@10 of more than 0.40.\n",
    ),
    Text(
        "the baseline, in a sentence",
        "report.md",
        "The BM25 baseline of the course has a MAP of 0.2871 and an nDCG@10 of 0.4410.\n",
    ),
    Text(
        "a paper",
        "related.txt",
        "Nogueira and Cho (2019) report an MRR@10 of 0.365 on MS MARCO, DPR a recall@100 of 0.854.\n",
    ),
    Text("a difference", "report.md", "This improves MAP by 0.021 over BM25 (paired t-test, p = 0.03).\n"),
    Text("relative changes", "report.md", "nDCG@10 increased by 12.4 % and MAP by 8.1 %; MRR dropped by 0.5 %.\n"),
    Text("a goal", "plan.md", "Our aim was an nDCG@10 above 0.50. We hoped for a MAP of 0.40.\n"),
    Text("what would be", "report.md", "If every first relevant document were at rank 2, the MRR would be 0.5.\n"),
    Text(
        "correlations",
        "analysis.md",
        "Over the queries, MAP and nDCG@10 correlate strongly (Pearson r = 0.87, Kendall's tau = 0.71).\n",
    ),
    Text(
        "times",
        "report.txt",
        "Indexing took 38.2 s, a search 0.41 s on average; the p95 latency was 0.93 s (P99: 1.72 s).\n",
    ),
    Text(
        "versions",
        "requirements.txt",
        "python 3.11\npytrec_eval 0.5\ntrec_eval 9.0.8\npython-terrier==0.10.0\nir_measures>=0.3.3\n",
    ),
    Text(
        "single queries",
        "report.md",
        "For query 301 AP is 0.1204, but for query 318 AP is 0.9012 and nDCG@10 0.9550.\n",
    ),
    Text(
        "CSV of each query",
        "per_query.csv",
        "qid,AP,nDCG@10\n301,0.1204,0.2211\n302,0.4410,0.6120\n303,0.0312,0.1000\n",
    ),
    Text(
        "trec_eval of some queries",
        "hard_queries.txt",
        "map                   \t301\t0.1204\nndcg_cut_10           \t301\t0.2211\nmap                   \t318\t0.9012\n",
    ),
    Text("another query set", "report.md", "On the validation topics MAP was 0.4521 and nDCG@10 was 0.6011.\n"),
    Text(
        "training",
        "train.log",
        "epoch 1: loss 0.6931, val_ndcg@10 0.4410, val_map 0.3312\nepoch 2: loss 0.4312, val_ndcg@10 0.5120, val_map 0.4330\n",
    ),
    Text(
        "German: the baseline",
        "bericht.md",
        "Die Baseline (BM25) kommt auf einen MAP von 0,2871 und einen nDCG@10 von 0,4410.\n",
    ),
    Text(
        "German: what is asked",
        "bericht.txt",
        "Laut Aufgabenblatt soll der MAP mindestens 0,25 betragen, der MRR mindestens 0,40.\n",
    ),
    Text(
        "French: the baseline",
        "rapport.md",
        "La baseline fournie obtient une MAP de 0,2871 ; l'article d'origine annonce un MRR de 0,365.\n",
    ),
    Text(
        "Spanish: the baseline",
        "informe.md",
        "El sistema de referencia obtiene un MAP de 0,2871 y un nDCG@10 de 0,4410.\n",
    ),
    Text(
        "Chinese: baseline and paper", "报告.md", "基线系统（BM25）的 MAP 为 0.2871。原论文报告的 MRR@10 为 0.365。\n"
    ),
    Text(
        "maps",
        "essay.txt",
        "The route is on map 2, at a scale of 1:25000; see the map of 1913 and map 14.5 in the appendix.\n",
    ),
    Text(
        "code in a report",
        "report.md",
        "```python\nMIN_MAP = 0.3\nif ndcg > 0.5 and recall >= 0.8:\n    p = 0.95\n    threshold = precision * 0.7\n```\n",
    ),
    Text(
        "settings",
        "config.json",
        '{"k1": 0.9, "b": 0.4, "measures": ["MAP", "nDCG@10"], "top_k": 1000, "alpha": 0.5, "early_stopping": {"min_delta": 0.001}}\n',
    ),
    Text(
        "thresholds",
        "report.md",
        "We stop when nDCG@10 changes by less than 0.001, and drop terms whose weight is below 0.7.\n",
    ),
    Text(
        "the collection",
        "data.md",
        "There are 43 queries, 9260 judgments, 2.31 relevant documents a query and 0.4 GB of text.\n",
    ),
    Text(
        "a classifier",
        "report.md",
        "As a filter we trained a spam classifier with precision 0.91, recall 0.85 and F1 0.88.\n",
    ),
    Text(
        "a spread",
        "report.md",
        "AP ranged from 0.12 to 0.61 over the queries, with a standard deviation of 0.19 and a median of 0.33.\n",
    ),
    Text(
        "a sweep on the development set",
        "tuning.md",
        "Tuning on the dev topics:\n\n| k1 | b | MAP (dev) |\n|---|---|---|\n| 0.9 | 0.4 | 0.4120 |\n| 1.2 | 0.75 | 0.4033 |\n",
    ),
    Text(
        "other students",
        "report.txt",
        "Group 7 told us that they got a MAP of 0.4433 with the same index, so there may be a bug in ours.\n",
    ),
    Text("chance", "report.md", "A random ranking would have an nDCG@10 of 0.11 here.\n"),
    Text(
        "an oracle",
        "report.md",
        "An oracle that reorders our first 100 documents perfectly would reach a MAP of 0.8120.\n",
    ),
    Text("an earlier sheet", "report.md", "On sheet 2 we had a MAP of 0.3521 with TF-IDF.\n"),
    Text(
        "statistics",
        "anova.txt",
        "ANOVA: F(2, 84) = 3.21, p = 0.041, R^2 = 0.62; 95 % confidence interval of the difference in MAP [0.01, 0.05].\n",
    ),
    Text(
        "code of a notebook",
        "sheet3.ipynb",
        notebook(
            code_cell(
                "MAP = 0.5  # TODO: replace by what trec_eval prints\nassert ndcg_10 > 0.4", printed("done in 0.52 s\n")
            ),
            markdown_cell("Next week: rerank the first 100 documents."),
        ),
    ),
    Text("one number for two", "report.md", "MAP and nDCG@10 are both about 0.4.\n"),
    Text(
        "a table of differences",
        "report.tex",
        "\\begin{tabular}{lr}\nMeasure & $\\Delta$ to BM25 \\\\\\hline\nMAP & $+0.021$ \\\\\nnDCG@10 & $+0.035$ \\\\\n\\end{tabular}\n",
    ),
    Text(
        "PDF about others",
        "report.pdf",
        pdf(
            "2 Related work\n\nOn TREC-8, the best automatic run had a MAP of 0.3303. Craswell et al. [3] report an\n"
            "nDCG@10 of 0.7510 for TREC Deep Learning 2019, page 12, Table 4."
        ),
    ),
]
