"""The forms in which students give numbers, in several languages, and texts with numbers that claim nothing.

All claims are MAP 0.4009, nDCG@10 0.5123 and MRR 0.9440, as text: nothing is computed here.
"""

from __future__ import annotations

import json
import time

import pytest

from treceval_py.grading.claims.claims import claims_in

FORMS = {
    # on lines
    "lines of assignments": "MAP = 0.4009\nnDCG@10 = 0.5123\nMRR = 0.9440\n",
    "one line with commas": "MAP = 0.4009, nDCG@10 = 0.5123, MRR = 0.9440",
    "one line with colons": "MAP: 0.4009, nDCG@10: 0.5123, MRR: 0.9440",
    "one line with bars": "MAP 0.4009 | nDCG@10 0.5123 | MRR 0.9440",
    "one line in a row": "MAP=0.4009 nDCG@10=0.5123 MRR=0.9440",
    "with slashes": "MAP/nDCG@10/MRR: 0.4009/0.5123/0.9440",
    "arrows": "MAP -> 0.4009\nnDCG@10 → 0.5123\nMRR => 0.9440",
    "dots": "MAP ........ 0.4009\nnDCG@10 .... 0.5123\nMRR ........ 0.9440",
    "dashes": "MAP - 0.4009\nnDCG@10 – 0.5123\nMRR — 0.9440",
    "bullets in bold": "* **MAP**: 0.4009\n* **nDCG@10**: 0.5123\n* **MRR**: 0.9440",
    "bold numbers": "- MAP: **0.4009**\n- nDCG@10: **0.5123**\n- MRR: **0.9440**",
    "with a spread": "MAP = 0.4009 ± 0.031\nnDCG@10 = 0.5123 ± 0.04\nMRR = 0.9440 +/- 0.02",
    "with an interval": "MAP: 0.4009 (95% CI: 0.38-0.42)\nnDCG@10: 0.5123 [0.49, 0.54]\nMRR: 0.9440 (0.92 – 0.96)",
    "percentages": "MAP: 40.09 %\nnDCG@10: 51.23 %\nMRR: 94.40 %",
    "a log": "2026-01-02 10:11:12 - INFO - MAP: 0.4009\n2026-01-02 10:11:12 - INFO - NDCG@10: 0.5123\n"
    "2026-01-02 10:11:12 - INFO - MRR: 0.9440",
    "trec_eval": "runid                 \tall\tmine\nmap                   \tall\t0.4009\n"
    "ndcg_cut_10           \tall\t0.5123\nrecip_rank            \tall\t0.9440\n",
    "name above number": "MAP\n0.4009\n\nnDCG@10\n0.5123\n\nMRR\n0.9440\n",
    # what Python prints
    "a dictionary": "{'map': 0.4009, 'ndcg_cut_10': 0.5123, 'recip_rank': 0.944}",
    "a dictionary of numpy": "{'MAP': np.float64(0.4009), 'nDCG@10': np.float64(0.5123), 'MRR': np.float64(0.944)}",
    "ir_measures": "{AP: 0.4009, nDCG@10: 0.5123, RR: 0.9440}",
    "a named dictionary": "Scores: {'map': 0.4009, 'ndcg_cut_10': 0.5123, 'recip_rank': 0.944}",
    "a pretty dictionary": "{'map': 0.4009,\n 'ndcg_cut_10': 0.5123,\n 'recip_rank': 0.944}",
    "pairs": "[('map', 0.4009), ('ndcg_cut_10', 0.5123), ('recip_rank', 0.944)]",
    "a dictionary of runs": "{'baseline': {'map': 0.31, 'ndcg_cut_10': 0.41, 'recip_rank': 0.8}, "
    "'ours': {'map': 0.4009, 'ndcg_cut_10': 0.5123, 'recip_rank': 0.944}}",
    "a series": "map            0.4009\nndcg_cut_10    0.5123\nrecip_rank     0.9440\ndtype: float64",
    "a frame": "      map  ndcg_cut_10  recip_rank\n0  0.4009       0.5123      0.9440",
    "a long frame": "       measure   value\n0          map  0.4009\n1  ndcg_cut_10  0.5123\n2   recip_rank  0.9440",
    "PyTerrier": "   name     map  ndcg_cut_10  recip_rank\n0  BM25  0.3101       0.4100      0.8001\n"
    "1  mine  0.4009       0.5123      0.9440",
    "describe": "            map  ndcg_cut_10  recip_rank\ncount  50.00000     50.00000    50.00000\n"
    "mean    0.4009      0.5123      0.9440\nstd     0.20000      0.20000     0.10000\nmin     0.00000      0.00000     0.01000",
    "ranx": "#    Model     MAP       NDCG@10    MRR\n---  --------  --------  ---------  --------\n"
    "a    baseline  0.3101    0.4100     0.8001\nb    ours      0.4009*   0.5123*    0.9440*",
    # tables
    "a table by measure": "| Measure | Value |\n|---|---|\n| MAP | 0.4009 |\n| nDCG@10 | 0.5123 |\n| MRR | 0.9440 |",
    "measure, baseline, mine": "| measure | baseline | mine |\n|---|---|---|\n| MAP | 0.3100 | 0.4009 |\n"
    "| nDCG@10 | 0.4100 | **0.5123** |\n| MRR | 0.8000 | 0.9440 |",
    "with differences": "| | Baseline | Ours | Δ |\n|---|---|---|---|\n| MAP | 0.3100 | 0.4009 | +0.0909 |\n"
    "| nDCG@10 | 0.4100 | 0.5123 | +0.1023 |\n| MRR | 0.8000 | 0.9440 | +0.1440 |",
    "arrows in the header": "| System | MAP ↑ | nDCG@10 ↑ | MRR ↑ |\n|---|---|---|---|\n| BM25 | 0.31 | 0.41 | 0.80 |\n"
    "| Ours | **0.4009** | 0.5123† | 0.9440* |",
    "boxes": "+---------+--------+\n| Metric  | Score  |\n+---------+--------+\n| MAP     | 0.4009 |\n| nDCG@10 | 0.5123 |\n"
    "| MRR     | 0.9440 |\n+---------+--------+",
    "columns of a PDF": "System MAP nDCG@10 MRR\nBaseline 0.3100 0.4100 0.8000\nOurs 0.4009 0.5123 0.9440",
    "a heading for each": "Baseline:\nMAP = 0.3100\nnDCG@10 = 0.4100\nMRR = 0.8000\n\nOur run:\nMAP = 0.4009\nnDCG@10 = 0.5123\nMRR = 0.9440",
    # sentences
    "We obtained": "We obtained MAP = 0.4009, nDCG@10 = 0.5123 and MRR = 0.9440 on the test topics.",
    "a MAP of": "Our system reaches a MAP of 0.4009, an nDCG@10 of 0.5123 and an MRR of 0.9440.",
    "is": "The MAP is 0.4009. The nDCG@10 was 0.5123, and MRR equals 0.944.",
    "respectively": "MAP, nDCG@10 and MRR are 0.4009, 0.5123 and 0.9440, respectively.",
    "number first": "Our run scores 0.4009 MAP, 0.5123 nDCG@10 and 0.9440 MRR.",
    "in brackets": "The final run did well (MAP: 0.4009; nDCG@10: 0.5123; MRR: 0.9440).",
    "each in brackets": "We measured mean average precision (0.4009), nDCG@10 (0.5123) and MRR (0.9440).",
    "in full": "Mean average precision (MAP) was 0.4009, normalized discounted cumulative gain at 10 (nDCG@10) was 0.5123, "
    "and the mean reciprocal rank (MRR) was 0.9440.",
    "over lines": "With stemming and stop words our system obtained on the test topics a MAP of\n0.4009, an nDCG@10 of 0.5123 and an MRR\n"
    "of 0.9440.",
    "compared": "Compared with the baseline (MAP 0.31), our run has a MAP of 0.4009, an nDCG@10 of 0.5123 and an MRR of 0.9440.",
    "better than": "Our run is better than the baseline, with MAP 0.4009, nDCG@10 0.5123 and MRR 0.9440.",
    "percent in a sentence": "We reach 40.09% MAP, 51.23% nDCG@10 and 94.40% MRR.",
    # in other languages
    "German": "Unser System erreicht eine MAP von 0,4009, ein nDCG@10 von 0,5123 und einen MRR von 0,9440.",
    "German, is": "Der MAP-Wert beträgt 0,4009. Der nDCG@10 liegt bei 0,5123, der MRR bei 0,9440.",
    "German, we": "Auf den Testanfragen haben wir MAP = 0,4009, nDCG@10 = 0,5123 sowie MRR = 0,9440 gemessen.",
    "French": "Nous obtenons une MAP de 0,4009, un nDCG@10 de 0,5123 et un MRR de 0,9440.",
    "French, is": "La MAP est de 0,4009, le nDCG@10 de 0,5123 et le MRR vaut 0,9440.",
    "French, lines": "MAP : 0,4009\nnDCG@10 : 0,5123\nMRR : 0,9440",
    "Spanish": "Nuestro sistema alcanza un MAP de 0,4009, un nDCG@10 de 0,5123 y un MRR de 0,9440.",
    "Spanish, is": "El MAP es 0,4009, el nDCG@10 es de 0,5123 y el MRR fue de 0,9440.",
    "Italian": "Il nostro sistema ha un MAP di 0,4009, un nDCG@10 di 0,5123 e un MRR pari a 0,9440.",
    "Portuguese": "O nosso sistema obteve um MAP de 0,4009, um nDCG@10 de 0,5123 e um MRR de 0,9440.",
    "Chinese": "我们的系统在测试集上的 MAP 为 0.4009,nDCG@10 为 0.5123,MRR 为 0.9440。",
    "Chinese, reaches": "实验结果:MAP达到0.4009,nDCG@10达到了0.5123,MRR是0.9440。",
    "Chinese, wide": "MAP:0.4009\nnDCG@10=0.5123\nMRR:0.9440",
    "Chinese, respectively": "MAP、nDCG@10和MRR分别为0.4009、0.5123和0.9440。",
    "Japanese": "提案手法のMAPは0.4009、nDCG@10は0.5123、MRRは0.9440でした。",
    "Russian": "Наша система: MAP составил 0,4009, nDCG@10 составил 0,5123, MRR равен 0,9440.",
}  # fmt: skip

MORE_FORMS = {
    "in terms of": "We achieve 0.4009 in terms of MAP, 0.5123 in terms of nDCG@10, and 0.944 in terms of MRR.",
    "along with": "A MAP of 0.4009 was achieved, along with an nDCG@10 of 0.5123 and an MRR of 0.944.",
    "name in brackets": "My scores were 0.4009 (MAP), 0.5123 (nDCG@10) and 0.944 (MRR).",
    "at": "Using pytrec_eval, MAP came out at 0.4009, nDCG@10 at 0.5123 and MRR at 0.944.",
    "against the baseline": "Our approach outperforms the BM25 baseline by a wide margin, reaching a MAP of 0.4009 (vs. 0.31), an "
    "nDCG@10 of 0.5123 (vs. 0.41) and an MRR of 0.944 (vs. 0.80).",
    "with the baseline behind": "MAP is 0.4009 for our system and 0.31 for the baseline. nDCG@10 is 0.5123 for our system and 0.41 "
    "for the baseline. MRR is 0.944 for our system and 0.80 for the baseline.",
    "from the baseline's": "With RM3, MAP rises from 0.3105 (BM25) to 0.4009. Our nDCG@10 is 0.5123, our MRR 0.944.",
    "p-values": "| Metric | BM25 baseline | Our model | p-value |\n|--|--|--|--|\n| MAP | 0.31 | 0.4009 | 0.01 |\n"
    "| nDCG@10 | 0.41 | 0.5123 | 0.02 |\n| MRR | 0.80 | 0.944 | 0.03 |",
    "an object": "EvalResult(map=0.4009, ndcg_cut_10=0.5123, recip_rank=0.944)",
    "an ordered dictionary": "OrderedDict([('map', 0.4009), ('ndcg_cut_10', 0.5123), ('recip_rank', 0.944)])",
    "printed beside the baseline's": "baseline: {'map': 0.31, 'ndcg_cut_10': 0.41, 'recip_rank': 0.8}\n"
    "mine: {'map': 0.4009, 'ndcg_cut_10': 0.5123, 'recip_rank': 0.944}",
    "names above numbers": "MAP\nnDCG@10\nMRR\n0.4009\n0.5123\n0.944",
    "a header with single spaces": "MAP nDCG@10 MRR\n0.4009 0.5123 0.944",
    "an arrow before": "evaluation results -> map=0.4009; ndcg@10=0.5123; mrr=0.944",
    "a block": "What trec_eval printed:\n\n```\nmap all 0.4009\nndcg_cut_10 all 0.5123\nrecip_rank all 0.9440\n```",
    "headings of two levels": "## Baseline\n\n### Results\n\nMAP = 0.3100\n\n## Our run\n\n### Results\n\nMAP = 0.4009\nnDCG@10 = 0.5123\n"
    "MRR = 0.944",
    "a title": "Exercise 3: beyond the baseline\n\nMAP = 0.4009\nnDCG@10 = 0.5123\nMRR = 0.944",
    "German, came to": "Unser bestes Modell kam auf 0,4009 MAP, 0,5123 nDCG@10 und 0,944 MRR.",
    "French, before": "Notre système atteint 0,4009 de MAP, 0,5123 de nDCG@10 et 0,944 de MRR.",
    "French, final": "La MAP finale est de 0,4009 ; le nDCG@10 final est de 0,5123 ; le MRR final est de 0,944.",
    "Spanish, equal to": "Con nuestro sistema se obtuvo un MAP igual a 0,4009, un nDCG@10 igual a 0,5123 y un MRR igual a 0,944.",
    "Chinese, before": "我们在测试集上取得了0.4009的MAP、0.5123的nDCG@10和0.944的MRR。",
    "Chinese, better than": "本系统的MAP值为0.4009,nDCG@10值为0.5123,MRR值为0.944,优于基线系统。",
}  # fmt: skip

FILES = {
    "scores.csv": "run,MAP,nDCG@10,MRR\nbaseline,0.3100,0.4100,0.8000\nmine,0.4009,0.5123,0.9440\n",
    "semicolons.csv": "Maß;Wert\nMAP;0,4009\nnDCG@10;0,5123\nMRR;0,9440\n",
    "per_query.csv": "qid,map,ndcg_cut_10,recip_rank\n301,0.1,0.2,0.5\n302,0.7,0.8,1.0\nall,0.4009,0.5123,0.9440\n",
    "long.csv": "query,measure,value\n301,map,0.1\n302,map,0.7\nall,map,0.4009\nall,ndcg_cut_10,0.5123\nall,recip_rank,0.9440\n",
    "unnamed.csv": ",map,ndcg_cut_10,recip_rank\nq1,0.1,0.2,0.5\nq2,0.7,0.8,1.0\nmean,0.4009,0.5123,0.9440\n",
    "flat.json": json.dumps({"MAP": 0.4009, "nDCG@10": 0.5123, "MRR": 0.944}),
    "runs.json": json.dumps({"baseline": {"MAP": 0.31, "nDCG@10": 0.41, "MRR": 0.8}, "ours": {"MAP": 0.4009, "nDCG@10": 0.5123, "MRR": 0.944}}),
    "list.json": json.dumps([{"metric": "MAP", "value": 0.4009}, {"metric": "nDCG@10", "value": 0.5123}, {"metric": "MRR", "value": 0.944}]),
    "page.html": "<h1>Results</h1><table><tr><th>System<th>MAP<th>nDCG@10<th>MRR</tr><tr><td>Baseline<td>0.31<td>0.41<td>0.80</tr>"
    "<tr><td>Ours<td><b>0.4009</b><td>0.5123<td>0.9440</tr></table>",
    "terms.html": "<dl><dt>MAP</dt><dd>0.4009</dd><dt>nDCG@10</dt><dd>0.5123</dd><dt>MRR</dt><dd>0.9440</dd></dl>",
}  # fmt: skip

THREE = {"AP": 0.4009, "nDCG@10": 0.5123, "RR": 0.944}


def in_short(text: str, name: str) -> list[tuple[str, float]]:
    found = claims_in(text.encode(), name)
    assert [each.fault for each in found] == [""] * len(found)
    return [
        (each.claim.measure.notation, round(each.claim.value / (100 if each.claim.percent else 1), 6))
        for each in found
        if each.claim
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [pytest.param(text, "report.md", id=name) for name, text in {**FORMS, **MORE_FORMS}.items()]
    + [pytest.param(text, name, id=name) for name, text in FILES.items()],
)
def test_three_claims_are_found_in_every_form(text: str, name: str) -> None:
    assert sorted(in_short(text, name)) == sorted(THREE.items())


NO_CLAIMS = {
    "baseline in an aside": "BM25 (baseline): MAP = 0.2233",
    "baseline in an aside of a sentence": "Default (our baseline) has a MAP of 0.2233.",
    "number in a paper": "Compared with 0.2871 MAP in Lin (2019), we fail.",
    "of the teacher": "The teacher's run has a MAP of 0.3312.",
    "of all groups": "Group average: MAP 0.2812",
    "of several runs": "Mean of the 5 runs: MAP 0.2345",
    "task": "Task 1 (5 points): MAP 0.25 or more",
    "still to do": "TODO: MAP = 0.0000",
    "settings": "We use BM25 with k1 = 0.9, b = 0.4 and RM3 with 0.5 of the original query.",
    "a baseline": "The baseline has a MAP of 0.3900 and an nDCG@10 of 0.4512.",
    "a baseline, possessive": "The baseline's MAP of 0.3900 is hard to beat.",
    "a baseline of ours": "Our baseline had MAP = 0.3900 and MRR = 0.8000.",
    "a baseline under a heading": "## Baseline\n\nMAP = 0.3900\nnDCG@10 = 0.4512\n",
    "a baseline after a pronoun": "The baseline is BM25. Its MAP is 0.3900.",
    "a baseline behind the number": "A MAP of 0.3900 for the baseline is the value to beat.",
    "a comparison": "Better than the 0.3900 MAP of the baseline.",
    "a baseline's table": "| System | MAP | nDCG@10 |\n|---|---|---|\n| Baseline | 0.3900 | 0.4512 |",
    "a table of a paper": "Table 1: results reported by Smith et al.\n\n| System | MAP |\n|---|---|\n| DPR | 0.3900 |\n| SPLADE | 0.4512 |",
    "literature": "Smith et al. (2020) report an nDCG@10 of 0.5123 for ColBERT.",
    "the state of the art": "The state of the art on this collection is nDCG@10 = 0.7512.",
    "another system": "ColBERT reaches an MRR@10 of 0.3601.",
    "a friend": "Anna's run has a MAP of 0.3512.",
    "an improvement": "This is an improvement in MAP of 0.0512.",
    "improved by": "MAP improved by 0.0512 and nDCG@10 by 3.21 %.",
    "higher": "Our MAP is 0.0512 higher than before stemming.",
    "a difference": "The difference in MAP between the two runs is 0.0512.",
    "a gain": "We see a 0.05 MAP gain.",
    "a p-value": "The difference in MAP is significant (p = 0.0312).",
    "a p-value beside": "MAP: p = 0.0312, t = 2.11",
    "a deviation": "The standard deviation of MAP is 0.2100.",
    "a correlation": "Kendall's tau between MAP and nDCG@10 is 0.8700.",
    "a median": "The median AP is 0.3512.",
    "training": "On the training set we got MAP = 0.6123 and nDCG@10 = 0.7012.",
    "validation": "Validation MAP: 0.6123\nValidation nDCG@10: 0.7012",
    "epochs": "Epoch 1: MAP = 0.3012\nEpoch 2: MAP = 0.3312\nEpoch 3: MAP = 0.3512",
    "one query": "For query 301 the AP is 0.1234, for query 302 it is 0.5678.",
    "one topic": "Topic 12: AP = 0.1234",
    "queries of trec_eval": "map                   \t301\t0.1234\nmap                   \t302\t0.5678",
    "queries without a mean": "qid,map\n301,0.1234\n302,0.5678\n",
    "queries of pytrec_eval": "{'301': {'map': 0.1234, 'ndcg': 0.2345}, '302': {'map': 0.5678, 'ndcg': 0.6789}}",
    "a goal": "Our goal is a MAP of at least 0.4500.",
    "a wish": "A reranker could reach an nDCG@10 of 0.7000.",
    "an example": "For example, with relevant documents at ranks 1 and 3, AP = 0.8333.",
    "a definition": "A MAP of 1.0 means that all relevant documents come first.",
    "a bound": "MAP > 0.45 and nDCG@10 < 0.60 are usual.",
    "a range": "MAP lies between 0.2100 and 0.4500, depending on k1.",
    "from to": "MAP fell from 0.4009 to 0.3512.",
    "a sweep": "k1 = 0.9: MAP = 0.3812\nk1 = 1.2: MAP = 0.3912\nk1 = 2.0: MAP = 0.3712",
    "a sweep in a table": "| k1 | MAP |\n|---|---|\n| 0.9 | 0.3812 |\n| 1.2 | 0.3912 |\n| 2.0 | 0.3712 |",
    "an ablation": "Without stemming, the MAP drops to 0.3512; without stop words it is 0.3612.",
    "sections": "3.2 MAP\n\nMAP is the mean of average precisions.\n\n3.3 nDCG@10\n\nSee Section 2.15.",
    "a version": "Scored with trec_eval 9.0.8 and pytrec_eval 0.5, MAP and P_10.",
    "times": "Computing MAP took 0.35 s; nDCG@10: 1.25 seconds.",
    "citations": "MAP [12] and nDCG@10 [3] are defined in Järvelin and Kekäläinen (2002), pp. 422-446.",
    "several measures": "The precision is 0.3512 and the recall 0.6712.",
    "a score": "Document 12 has a score of 15.3211, rank 3.",
    "German, a baseline": "Die Baseline erreicht eine MAP von 0,3900 und einen MRR von 0,8000.",
    "German, training": "Auf den Trainingsdaten lag die MAP bei 0,6123.",
    "German, an improvement": "Das ist eine Verbesserung der MAP um 0,0512.",
    "French, a baseline": "Le système de référence obtient une MAP de 0,3900.",
    "French, an improvement": "Soit une amélioration de la MAP de 0,0512.",
    "Spanish, a baseline": "El sistema de referencia tiene un MAP de 0,3900.",
    "Spanish, a goal": "Nuestro objetivo es un MAP de 0,4500.",
    "Chinese, a baseline": "基线系统的 MAP 为 0.3900,nDCG@10 为 0.4512。",
    "Chinese, an improvement": "MAP 提升了 0.0512。",
    "Chinese, training": "训练集上的 MAP 为 0.6123。",
    "a class average": "The class average MAP is 0.3512, and other students got MAP 0.3812.",
    "a publication": "Nogueira and Cho (2019) report an MRR@10 of 0.365 on MS MARCO, DPR a recall@100 of 0.854.",
    "another collection": "On TREC-8, the best automatic run had a MAP of 0.3303.",
    "an earlier sheet": "On sheet 2 we had a MAP of 0.3521, and last year the MAP was 0.3012.",
    "another group": "Group 7 told us that they got a MAP of 0.4433.",
    "a classifier": "The classifier had precision 0.91, recall 0.85 and F1 0.88.",
    "a report of a classifier": "              precision    recall  f1-score   support\n\n           0       0.91      0.85      0.88       100",
    "a signed number": "ΔMAP = 0.0512\n\nMAP +5.1 %\n\n+0.0512 MAP",
    "a column of differences": "| measure | BM25 baseline | Δ to BM25 |\n|--|--|--|\n| MAP | 0.31 | +0.021 |",
    "code in a block": "```python\nif ndcg > 0.5:\n    p = 0.95\n    map = 0.42\n```",
    "code": "map_cut = 10\nk = 0.5\np = create_parser()\nr = revoked\nrun.map(lambda x: x * 0.35)\n",
    "a formula": "MAP = (1/|Q|) × Σ AP(q)",
    "a map": "We used the map of 1913 and map 14.5 in the appendix.",
    "parameters": "| Parameter | Value |\n|--|--|\n| k1 | 0.9 |\n| learning rate | 0.001 |",
    "a heading above a table": "Table 3. Baseline results\n\n| MAP | nDCG@10 |\n|--|--|\n| 0.31 | 0.41 |",
    "training, printed": "Training: {'map': 0.6123}",
    "a system without a word of ours": "The MAP of SuperRank is 0.4009.",
    "folds": "| fold | MAP |\n|--|--|\n| 1 | 0.3512 |\n| 2 | 0.3712 |",
    "settings without stemming": "In the first experiment (no stemming) MAP = 0.3512, in the second 0.3612.",
    "several runs in a row": "Five seeds: MAP 0.2511, 0.2499, 0.2520, 0.2507 and 0.2515. Seed 3 was handed in.",
    "other measures of machines": "loss: 0.3512 - accuracy: 0.9123 - val_loss: 0.4123",
}  # fmt: skip


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NO_CLAIMS.items()])
def test_a_text_with_numbers_that_claims_nothing_has_no_claims(text: str) -> None:
    name = "queries.csv" if text.startswith("qid,") else "report.txt"
    assert [(each.measure, each.text) for each in claims_in(text.encode(), name)] == []


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("| run | MAP |\n|---|---|\n| dense | 0.31 |\n| hybrid | 0.32 |", ["dense", "hybrid"]),
        ("| model | MAP | Time |\n|---|---|---|\n| bm25 | 0.31 | 1.2s |\n| tfidf | 0.32 | <1s |", ["bm25", "tfidf"]),
        ("measure,dense,hybrid\nMAP,0.31,0.32\n", ["dense", "hybrid"]),
        ("Run A: MAP 0.31.\nRun B: MAP 0.32.", ["A", "B"]),
        ("## Run A\n\nMAP = 0.31\n\n## Run B\n\nMAP = 0.32", ["A", "B"]),
        ("runid all first\nmap all 0.31\nrunid all second\nmap all 0.32", ["first", "second"]),
        ("{'dense': {'map': 0.31}, 'hybrid': {'map': 0.32}}", ["dense", "hybrid"]),
        ("dense {'map': 0.31}\nhybrid {'map': 0.32}", ["dense", "hybrid"]),
        ("| run | MAP |\n|---|---|\n| baseline | 0.31 |\n| hybrid | 0.32 |", [""]),
        ("MAP = 0.31", [""]),
        ("$ trec_eval qrels.txt a.run\nmap all 0.31\n$ trec_eval qrels.txt b.run\nmap all 0.32", ["a.run", "b.run"]),
        ("me@host:~$ trec_eval q a.run\nmap all 0.31\n\nOur MAP is 0.31 on all queries.", ["a.run", ""]),
        ("python eval.py --run a.txt\nMAP: 0.31\npython eval.py --run b.txt\nMAP: 0.32", ["a.txt", "b.txt"]),
        ("Evaluating a.txt ...\nMAP: 0.31\nEvaluating b.txt ...\nMAP: 0.32", ["a.txt", "b.txt"]),
        ("a.txt MAP=0.31 P@10=0.4\nb.txt MAP=0.32 P@10=0.5", ["a.txt", "a.txt", "b.txt", "b.txt"]),
        ("## Run A\n\n{'map': 0.31}\n\n## Run B\n\n{'map': 0.32}", ["A", "B"]),
        ("=== BM25 ===\nMAP: 0.31\n\n=== Hybrid ===\nMAP: 0.32", [""]),
        ("results.txt\nMAP = 0.31", [""]),
    ],
)
def test_a_claim_names_the_run_of_which_it_is_said_where_there_are_several(text: str, runs: list[str]) -> None:
    assert [each.run for each in claims_in(text.encode(), "report.md")] == runs


def test_a_row_named_as_a_run_that_was_handed_in_is_the_students_whatever_its_name() -> None:
    table = b"| run | MAP |\n|---|---|\n| BM25 | 0.31 |\n| Hybrid | 0.32 |"
    assert [each.run for each in claims_in(table, "report.md")] == [""]  # BM25 is for comparison
    assert [each.run for each in claims_in(table, "report.md", ["bm25", "hybrid"])] == ["BM25", "Hybrid"]


def test_a_heading_or_the_begin_of_a_line_names_a_run_that_was_handed_in() -> None:
    text = b"## BM25\n{'map': 0.31}\n\n## Hybrid\n{'map': 0.32}\n\n[bm25] P@10=0.4 MRR=0.5"
    found = [(each.text, each.run) for each in claims_in(text, "report.md", ["bm25", "hybrid"])]
    assert found == [("0.31", "BM25"), ("0.32", "Hybrid"), ("0.4", "bm25"), ("0.5", "bm25")]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("- MAP: 0.412 → 0.447 (+8.5 %)\n- nDCG@10: 0.489 -> 0.523", [("AP", 0.447), ("nDCG@10", 0.523)]),
        ("MAP 0.31 → 0.33 → 0.35", [("AP", 0.35)]),
        ("| Run | MAP [%] | P@20 (%) |\n|--|--|--|\n| mine | 25.13 | 41.8 |", [("AP", 25.13), ("P@20", 41.8)]),
        ("Q4. MAP of your submitted run? 0.2213\nQ5. And the length of documents? 157.2", [("AP", 0.2213)]),
        ("We have a MAP of 0,28 and a\nP@10 of 0,43. With k1 = 0,9 and b = 0,4.", [("AP", 0.28), ("P@10", 0.43)]),
    ],
)
def test_a_number_is_taken_for_the_measure_that_it_is_said_of(text: str, claims: list[tuple[str, float]]) -> None:
    assert in_short(text, "report.md") == claims


def test_marks_of_significance_in_latex_are_no_part_of_a_number() -> None:
    table = r"\begin{tabular}{lll} & MAP & P@10\\ Ours & $0.31^{\dagger}$ & 0.4$^{ab}$\\ \end{tabular}"
    assert in_short(table, "paper.tex") == [("AP", 0.31), ("P@10", 0.4)]


def test_the_place_of_a_number_in_a_sentence_is_its_line() -> None:
    text = (
        b"With stemming and stop words our system obtained on the test topics a MAP of\n0.4009, and an MRR\nof 0.9440."
    )
    assert [each.place for each in claims_in(text, "report.md")] == ["report.md:1", "report.md:2"]


def test_numbers_of_one_measure_that_differ_in_running_text_are_no_claims_and_roundings_are() -> None:
    assert in_short("The MAP is 0.31 here. The MAP is 0.35 there.", "a.md") == []
    assert in_short("The MAP is 0.3512 here. The MAP is 0.35, rounded.", "a.md") == [("AP", 0.3512), ("AP", 0.35)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "MAP 0.4 ", "a MAP of ", "than the the the baseline 0.41 ", "{'a':", "'map': ", "MAP and ", "| MAP ", "MAP = ",
        "MAP.........................................", "0.4009 ", "MAP of our very own nice new system ",
    ],
)  # fmt: skip
def test_a_mebibyte_of_what_looks_like_claims_is_read_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    for line in (text * 100_000, (text * 40 + "\n") * 1000):
        claims_in(line.encode()[: 1 << 20], "report.md")
    assert time.process_time() - begun < 60  # hours, where each beginning is followed to the end of the file
