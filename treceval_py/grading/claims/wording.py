"""Words that say whose a number is: the student's own, a baseline's, of other queries, or of nothing that was measured.

Students write in several languages, and often in two at once, so the words of all languages are looked for together.
What is not understood is not taken for a claim.
"""

from __future__ import annotations

import re
from enum import Enum

__all__ = [
    "OF_ALL",
    "Whose",
    "is_asked_of",
    "is_of_others",
    "is_of_own",
    "is_only_of_others",
    "is_standard",
    "is_statistic",
    "pieces_of",
    "told_of",
    "whose",
]


def _words(*texts: str) -> str:
    return "|".join(word for text in texts for word in text.split())


def _pattern(letters: str, signs: str = "") -> re.Pattern[str]:
    """Return a pattern for words, and for signs of scripts without spaces between words."""
    joined = rf"(?<![^\W_])(?:{letters})(?![^\W_])" + (f"|{signs}" if signs else "")
    return re.compile(f"(?i){joined}")


_OTHERS = _words(
    r"baselines? previous(?:ly)? earlier prior former before old others? another paper'?s? references? published random(?:ly)?",
    r"sample literature reported reports competitors? organi[sz]ers?'? leaderboard winners? winning colleagues? classmates?",
    r"et\s?al state[\s-]of[\s-]the[\s-]art sota teams? authors? textbook lecture tutorial naive majority",
    r"referenz\w* vergleichs\w+ vorherig\w* frühere\w* vorig\w+ ander\w+ zufäll\w+ zufalls\w+ literatur veröffentlicht\w*",
    r"kommiliton\w+ musterlösung autoren basislinie basissystem \w+-baseline",
    r"référence précédent\w* antérieur\w* autres? aléatoires? littérature publiée?s? ligne\sde\sbase auteurs? état\sde\sl'art",
    r"système\sde\sbase initiale?",
    r"referencia línea\s(?:de\s)?base sistema\sbase anterior(?:es)? otr[oa]s? aleatori[oa]s? literatura publicad[oa]s? autor(?:es)?",
    r"estado\sdel\sarte inicial",
    r"riferimento precedenti? altr[aeio] casual[ei] letteratura pubblicat[aeio] referência linha\sde\sbase outr[ao]s? aleatóri[ao]s?",
    r"vorige andere willekeurige? базов\w+ бейзлайн\w* предыдущ\w+ литератур\w+ случайн\w+ опубликован\w+",
)
_OTHERS_SIGNS = "基线|基準|基准|对照|之前|以前|论文|文献|随机|其他|别人|他人|参考系统|先行研究|論文|ベースライン|베이스라인|et al\\."
_SAID_BY_OTHERS = _pattern(_OTHERS, _OTHERS_SIGNS)

_OWN = _pattern(
    _words(
        r"we we've our ours my mine i this\s(?:run|work|system|submission) proposed submitted submission",
        r"wir unser\w* mein\w* ich eigen\w* nous notre nos mon ma mes je nosotros nuestr[oa]s? mi mis mío propuest[oa]",
        r"obtenemos obtuvimos logramos conseguimos alcanzamos noi nostr[aeio] nós noss[oa]s? ons onze wij мы наш\w* мо[йяе]",
        r"otteniamo abbiamo obtivemos",
    ),
    "我们|我們|我的|本文|本系统|本组|本次|私たち|我々|提案|本研究|우리",
)

_COMPARED = re.compile(
    r"(?i)(?:(?<!\w)(?:than|over|above|below|beat\w*|outperform\w*|exceed\w*|surpass\w*|compared\s(?:to|with)|relative\sto|against"
    r"|versus|vs\.?|improv\w+\s(?:on|upon)|unlike|instead\sof|als|gegenüber|übertr\w+|schl[aä]g\w+|(?:im\s)?vergleich\w*\s(?:zu[rm]?|mit)"
    r"|que|par\srapport\s(?:à|au|aux)|dépass\w+|surpass\w+|bat(?:tent|tons)?|respecto\s(?:al?|de)|frente\sa|comparad[oa]s?\scon"
    r"|super\w+|mejora\w*)\s(?:[^\W\d_]+['\s]\s?){0,3}?"
    rf"(?:{_OTHERS})(?:\s(?:run|system|lauf|système|sistema))?(?=\s?(?:[,;:.)]|$|(?:with|by|at|and|while|reaching|achieving|having|in|mit"
    r"|und|bei|avec|et|en|con|y|e)(?!\w)))"
    rf"|(?:比|优于|高于|超过|超越|相比|相较于?|与)\s?(?:{_OTHERS_SIGNS})(?!的)(?:相比|系统)?)"
)
"""A comparison with others, which makes a number that is told beside it the student's own."""

_ELSEWHERE = _pattern(
    _words(
        r"train(?:ing)?[\s-]?(?:set|data|split|queries|topics|folds?) (?:on|for)\s(?:the\s)?train(?:ing)? train",
        r"dev(?:elopment)?(?:[\s-]?(?:set|data|split|queries|topics))? validation valid(?:ation)?[\s-]set tuning folds? epochs?",
        r"(?:quer(?:y|ies)|topics?|question|anfragen?|themen?|frage|requêtes?|consultas?|sujets?|temas?)\s(?:no\.?\s|nr\.?\s|n°\s?|#)?[a-z]{0,3}-?\d+",
        r"(?:each|every|per|single|one|this|that|first|second|third|last|hardest|easiest|worst|best|some)[\s-]+(?:single\s)?(?:query|queries|topics?)",
        r"(?:jede|einzelne|eine|diese)[rnms]?\s(?:anfrage|thema)n? (?:chaque|cette|seule)\srequête (?:cada|esta|una)\sconsulta",
        r"trainings\w* entwicklungs\w* validierungs\w* entraînement apprentissage développement entrenamiento desarrollo validación",
        r"addestramento sviluppo treinamento desenvolvimento обучающ\w+ валидацион\w+",
    ),
    "训练|开发集|验证集|查询 ?[0-9]+|单个查询|每个查询|第 ?[0-9一二三]+ ?个查询|訓練|検証",
)
"""Of other queries than those of the assignment, or of one of them."""

_NOT_MEASURED = _pattern(
    _words(
        r"would could should might if suppose assum(?:e|ing|ed) imagine hypothetical(?:ly)? example e\.\s?g goals? targets? aim(?:s|ed)?",
        r"expect(?:s|ed)? hop(?:e|ed|ing) ideal(?:ly)? perfect oracle upper\s?bound theoretical(?:ly)? must need(?:s|ed)? require[sd]? threshold",
        r"typical(?:ly)? usually normally generally commonly means? indicates? corresponds? considered cannot can",
        r"without ablat\w+ variants? removing disabling instead first\sattempt initially",
        r"würden? könnten? sollten? falls angenommen beispiel\w* z\.\s?b ziel\w* erwarte\w* perfekt\w* ideal\w* üblich\w* bedeutet heißt ohne muss mindestens",
        r"serai(?:t|ent) pourrai(?:t|ent) devrai(?:t|ent) supposons exemple objectif attend\w* parfaite?s? idéale?s? signifie sans doit",
        r"sería[ns]? podría[ns]? debería[ns]? supongamos ejemplo objetivo esperad\w* perfect[oa]s? significa sin debe",
        r"sarebbe potrebbe dovrebbe esempio obiettivo seria poderia deveria exemplo если например цель",
    ),
    "如果|假设|假如|目标|期望|应该|可能|理想|例如|比如|表示|意味|没有|例えば|もし",
)
"""Of nothing that was measured: wishes, examples, conditions; or of another run than the one that counts."""

_STATISTIC = _pattern(
    _words(
        r"std(?:dev|\.)? stdev sd sem se ste(?:rr)? standard[\s-]?(?:deviation|error)s? var(?:iance)? σ min(?:imum)? max(?:imum)? median count",
        r"quartiles? percentiles? ci lower upper confidence intervals? range correlat\w+ kendall\w* pearson\w* spearman\w* tau τ rho kappa",
        r"p p[\s-]?(?:value|wert)s? significan\w+ effect t-?test wilcoxon δ delta diff(?:erences?)?\.? improvements? gains? increases? decreases?",
        r"drops? loss(?:es)? change relative rel\.? higher lower better worse n runtime time seconds latency",
        r"standardabweichung varianz streuung korrelation verbesserung\w* steigerung\w* anstieg\w* zuwachs unterschied\w* differenz\w* rückgang höher besser",
        r"écart[\s-]type variance corrélation améliorations? augmentation hausse baisse différences? gains? supérieure? inférieure?",
        r"desviación varianza correlación mejoras? aumento incremento diferencias? ganancia",
        r"deviazione miglioramento differenza desvio melhoria diferença отклонение улучшение разница прирост",
    ),
    "标准差|方差|提升|提高|下降|差异|增加|改进|最大|最小|中位|相关|显著|標準偏差|向上|差",
)
"""Of a measure's spread, of a difference, or of a test."""

_TESTED = _pattern("tests?|testing|heldout|held[\\s-]out|final|official")

_STANDARD = re.compile(
    r"(?i)(?:bm ?25|okapi|tf-?idf|ql(?:d|jm)?|lm|query likelihood|dirichlet|bm25 \(?(?:pyserini|anserini|lucene|terrier)\)?)"
    r"(?: (?:run|system|ranking|default|default settings))?"
)
"""Systems that many take for their baseline."""

OF_ALL = frozenset(
    [
        "all",
        "mean",
        "average",
        "avg",
        "avg.",
        "overall",
        "macro",
        "total",
        "amean",
        "measures",
        "metrics",
        "scores",
        "results",
        "aggregate",
        "aggregated",
        "summary",
        "mittel",
        "mittelwert",
        "durchschnitt",
        "gesamt",
        "alle",
        "moyenne",
        "tous",
        "toutes",
        "media",
        "promedio",
        "todos",
        "todas",
        "total",
        "平均",
        "全部",
        "所有",
        "总体",
        "среднее",
        "gemiddelde",
        "média",
        "平均値",
    ]
)
"""How rows of the mean over all queries are called."""


class Whose(Enum):
    """Whose a number is."""

    OWN = "said to be the student's own"
    UNSAID = "not said"
    OTHERS = "others', or of other queries, or not measured"


def is_of_own(text: str) -> bool:
    """Tell whether words call something the student's own."""
    return _OWN.search(text) is not None


def is_asked_of(text: str) -> bool:
    """Tell whether words speak of single queries or of queries of another set."""
    return _ELSEWHERE.search(text) is not None


def is_statistic(text: str) -> bool:
    """Tell whether words speak of a spread, a difference or a test."""
    return _STATISTIC.search(text) is not None


def is_standard(label: str) -> bool:
    """Tell whether a label is the mere name of a system that many take for their baseline."""
    return _STANDARD.fullmatch(label.strip(" *")) is not None


def told_of(text: str) -> Whose:
    """Say whose the numbers are of which words speak.

    Examples
    --------
    >>> told_of("the baseline").name, told_of("our system beats the baseline").name, told_of("the system").name
    ('OTHERS', 'OWN', 'UNSAID')
    """
    plain = _COMPARED.sub(" ", text)
    if _SAID_BY_OTHERS.search(plain) or (_ELSEWHERE.search(plain) and not _TESTED.search(plain)):
        return Whose.OTHERS
    if _NOT_MEASURED.search(plain):
        return Whose.OTHERS
    return Whose.OWN if _OWN.search(plain) else Whose.UNSAID


_PIECES = re.compile(
    r"[,;:—–，；：]|\s-\s|(?<![^\W_])(?:while|whereas|but|although|though|however|compared|während|aber|jedoch|hingegen|tandis|mais"
    r"|alors|mientras|pero|aunque|mentre|ma|enquanto|mas)(?![^\W_])|而|但"
)


def pieces_of(text: str) -> list[str]:
    """Cut a sentence where another thing may be spoken of."""
    cuts = [0]
    for found in _PIECES.finditer(text):
        # What a comparison is made with follows the word.
        cuts.append(found.start() if found.group().isalpha() else found.end())
    return [text[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def whose(text: str, start: Whose) -> Whose:
    """Say whose a number is that follows a text, of which the beginning spoke of somebody already."""
    state = start
    for piece in pieces_of(text):
        told = told_of(piece)
        state = state if told is Whose.UNSAID else told
    return state


_WHOSE = r"(?:baselines?|previous|earlier|before|old|others?|paper|reference|published|random|sample)"
_OF_OTHERS = re.compile(
    rf"(?i)[(\[]\s*(?:(?:the|our|my|of|for|from|by|in|with|only)\s)*(?:{_WHOSE}|bm25|tf-?idf)(?![^\W_])"
)


def is_of_others(name: str) -> bool:
    """Tell whether an aside in a name says that the number is not the student's own, or not a mean.

    Examples
    --------
    >>> is_of_others("MAP (baseline)"), is_of_others("MAP (std)"), is_of_others("MAP (better than the baseline)")
    (True, True, False)
    """
    return _OF_OTHERS.search(name) is not None or any(
        told_of(aside) is Whose.OTHERS or (is_statistic(aside) and len(aside.split()) < 3)
        for aside in _ASIDES.findall(name)
    )


_ASIDES = re.compile(r"[(\[]([^()\[\]=]*)[)\]]")


def is_only_of_others(aside: str) -> bool:
    """Tell whether an aside behind a number says whose it is, and nothing else."""
    return _ONLY_OF_OTHERS.fullmatch(aside) is not None or (
        "=" not in aside and not re.search(r"\d[.,]\d", aside) and told_of(aside) is Whose.OTHERS
    )


_ONLY_OF_OTHERS = re.compile(rf"{_OF_OTHERS.pattern}(?:\s[^\W\d]+)?\s*[)\]]\s*")
