"""Words that tell the owner of a number: the student, a baseline, other queries, or nothing that was measured.

Students write in several languages, and often in two at once, so the words of all languages are looked for together.
A number whose words are not understood is not a claim.
"""

from __future__ import annotations

import re
from enum import Enum


def either(words: str) -> str:
    """Return a pattern for any of some words, or patterns of words, separated by spaces."""
    return "|".join(words.split())


def _pattern(words: str, signs: str = "") -> re.Pattern[str]:
    """Return a pattern for words, and for signs of scripts without spaces between words."""
    others = f"|{either(signs)}" if signs else ""
    return re.compile(rf"(?i)(?<![^\W_])(?:{either(words)})(?![^\W_]){others}")


_OTHERS = r"""
    baselines? previous(?:ly)? earlier prior former before old others? another (?<!this\s)papers? references? published
    random(?:ly)? sample literature reported reports organi[sz]ers?'? participants? competitors? leaderboard winners?
    winning colleagues? classmates? (?:class|course)(?:'s)?\s(?:average|mean|median) et\s?al
    state[\s-]of[\s-]the[\s-]art sota authors? they their them (?:automatic|manual)\sruns?
    (?:teacher|instructor|lecturer|professor)['’]s? (?:group|team)(?:'s)?\s(?:average|mean|median) top[\s-]?\d+\steams?
    groups?\s\d+\s(?:told|got|has|had|report\w*|reach\w*|achiev\w*|obtain\w*) last\s(?:time|week|year|semester)
    textbook lecture tutorial naive majority according
    referenz\w* vergleichs\w+ vorherig\w* frühere\w* vorig\w+ ander\w+ zufäll\w+ zufalls\w+ literatur veröffentlicht\w*
    kommiliton\w+ musterlösung autoren letzte[ns]?\s(?:mal|woche|jahr) basislinie basissystem \w+-baseline laut
    référence précédent\w* antérieur\w* autres? aléatoires? littérature publiée?s? ligne\sde\sbase auteurs?
    état\sde\sl'art système\sde\sbase initiale? selon
    referencia línea\s(?:de\s)?base sistema\sbase anterior(?:es)? otr[oa]s? aleatori[oa]s? literatura publicad[oa]s?
    autor(?:es)? estado\sdel\sarte inicial según
    riferimento precedenti? altr[aeio] casual[ei] letteratura pubblicat[aeio]
    referência linha\sde\sbase outr[ao]s? aleatóri[ao]s? vorige andere willekeurige?
    базов\w+ бейзлайн\w* предыдущ\w+ литератур\w+ случайн\w+ опубликован\w+
"""
_OTHERS_SIGNS = r"""
    基线 基準 基准 对照 之前 以前 论文 文献 随机 其他 别人 他人 参考系统 先行研究 論文 ベースライン 베이스라인 et\sal\.
"""
_OF_OTHERS = _pattern(_OTHERS, _OTHERS_SIGNS)

_OWN = _pattern(
    r"""
    we we've our ours my mine i this\s(?:run|work|system|submission) proposed submitted submission
    wir unser\w* mein\w* ich eigen\w*
    nous notre nos mon ma mes je j'ai
    nosotros nuestr[oa]s? mi mis mío propuest[oa] obtenemos obtuvimos logramos conseguimos alcanzamos
    noi nostr[aeio] otteniamo abbiamo nós noss[oa]s? obtivemos ons onze wij мы наш\w* мо[йяе]
    """,
    "我们 我們 我的 本文 本系统 本组 本次 私たち 我々 提案 本研究 우리",
)

_COMPARISONS = r"""
    than over above below beat\w* outperform\w* exceed\w* surpass\w* compared\s(?:to|with) relative\sto against versus
    vs\.?     improv\w+\s(?:on|upon) unlike instead\sof by\scomparison\swith
    als gegenüber übertr\w+ schl[aä]g\w+ (?:im\s)?vergleich\w*\s(?:zu[rm]?|mit)
    que par\srapport\s(?:à|aux?) dépass\w+ bat(?:tent|tons)?
    respecto\s(?:al?|de) frente\sa comparad[oa]s?\scon super\w+ mejora\w*
"""
_BEHIND_COMPARISONS = r"""
    with by at and while reaching achieving having in mit und bei erreich\w* erziel\w* avec et en con y e
"""
_COMPARED = re.compile(
    rf"(?i)(?<!\w)(?:{either(_COMPARISONS)})\s(?:[^\W_]+['\s-]\s?){{0,3}}?(?:{either(_OTHERS)})"
    r"(?:\s(?:run|system|lauf|système|sistema))?"
    rf"(?=(?:'s)?\s?(?:[,;:.)]|$|(?:{either(_BEHIND_COMPARISONS)})(?!\w)))"
    rf"|(?:比|优于|高于|超过|超越|相比|相较于?|与)\s?(?:{either(_OTHERS_SIGNS)})(?!的)(?:相比|系统)?"
)
"""A comparison with others; a number next to it is the student's own."""

_EACH = "each|every|per|single|one|this|that|first|second|third|last|hardest|easiest|worst|best|some"
_QUERIES = "quer(?:y|ies)|topics?|anfragen?|themen?|requêtes?|consultas?|sujets?|temas?"
_ELSEWHERE = _pattern(
    rf"""
    train(?:ing)?[\s-]?(?:set|data|split|queries|topics|folds?) train (?:on|for)\s(?:the\s)?training
    training(?=\s?(?:[:|]|$))
    dev(?:elopment)?(?:[\s-]?(?:set|data|split|queries|topics))? validation valid[\s-]set tuning folds? epochs?
    (?:{_QUERIES}|question|frage)\s(?:no\.?\s|nr\.?\s|n°\s?|\#)?[a-z]{{0,3}}-?\d+
    (?:{_EACH})[\s-]+(?:single\s)?(?:{_QUERIES})
    (?:jede|einzelne|eine|diese)[rnms]?\s(?:{_QUERIES}) (?:chaque|cette|seule|cada|esta|una)\s(?:{_QUERIES})
    trainings\w* entwicklungs\w* validierungs\w* entraînement apprentissage développement
    entrenamiento desarrollo validación addestramento sviluppo treinamento desenvolvimento обучающ\w+ валидацион\w+
    """,
    r"训练 开发集 验证集 查询\s?[0-9]+ 单个查询 每个查询 第\s?[0-9一二三]+\s?个查询 訓練 検証",
)
"""Words about other queries than those of the assignment, or about a single one."""

_TESTED = _pattern(r"tests? testing heldout held[\s-]out final official")

_EXAMPLES = "example e\\.\\s?g beispiel\\w* z\\.\\s?b exemple ejemplo esempio exemplo например"
_EARLIER = re.compile(
    r"(?i)(?<!\w)(?:on|in|for|at|auf|im|in|dans|en|sur)\s(?:the\s|our\s|my\s|unserem\s|la\s|le\s|el\s)?"
    r"(?:sheet|exercise|assignment|homework|lab|(?:übungs)?blatt|übung|aufgabe|tp|exercice|devoir|ejercicio|práctica)\s?\d+(?!\w)"
    r"|(?:第\s?[0-9一二三]+\s?次作业|上周|上次|去年)"
)
_CITED = re.compile(
    r"[A-Z][^\W\d]+(?:,?\s(?:and|&|und|et|y)\s[A-Z][^\W\d]+|\set\sal\.?)?,?\s[(\[]?(?:19|20)\d\d[a-z]?[)\]]"
)
_COLLECTION = re.compile(
    r"(?i)(?:TREC[\s-]?(?:\d|[A-Z])[\w-]*|MS\s?MARCO|Robust\s?'?(?:20)?0\d|Cranfield|Natural\sQuestions|BEIR|ClueWeb\w*|GOV2"
    r"|WT10g|NTCIR)(?!\w)"
)

_EXAMPLE = _pattern(_EXAMPLES, "例如 比如 例えば 示例")

_NOT_MEASURED = _pattern(
    rf"""
    would could should might if suppose assum(?:e|ing|ed) imagine hypothetical(?:ly)? goals? targets? aim(?:s|ed)?
    expect(?:s|ed)? hop(?:e|ed|ing) ideal(?:ly)? perfect oracle upper\s?bound theoretical(?:ly)? must need(?:s|ed)?
    require[sd]? threshold typical(?:ly)? usual(?:ly)? normally generally commonly means indicates? corresponds?
    or\s(?:more|better|higher|above) at\sleast todo tbd
    (?:mean|average)\s(?:of|over|across)\s(?:(?:the|our|my|all)\s)?(?:\d+\s)?(?:runs|systems|seeds|models|groups|teams)
    considered cannot without ablat\w+ variants? removing disabling instead initially no\s[a-z]+ing no\sstop\s?words
    first\s(?:attempt|experiment|version|try|run)
    würden? könnten? sollten? falls angenommen ziel\w* erwarte\w* perfekt\w* ideal\w* üblich\w* bedeutet heißt ohne muss
    mindestens wäre
    serai(?:t|ent) pourrai(?:t|ent) devrai(?:t|ent) supposons objectif attend\w*
    parfaite?s? idéale?s? signifie sans doit
    sería[ns]? podría[ns]? debería[ns]? fuera supongamos objetivo esperad\w* perfect[oa]s? significa sin debe
    sarebbe potrebbe dovrebbe obiettivo seria poderia deveria если цель
    {_EXAMPLES}
    """,
    "如果 假设 假如 目标 期望 应该 可能 理想 表示 意味 没有 もし 例如 比如 例えば 示例",
)
"""Words about nothing that was measured (wishes, examples, conditions), or about another run than the counting one."""

_SPREAD = _pattern(
    r"""
    std(?:dev|\.)? stdev sd standard[\s-]?(?:deviation|error)s? var(?:iance)? σ min(?:imum)? max(?:imum)? median
    quartiles? percentiles? ci intervals? correlat\w+ kendall\w* pearson\w* spearman\w* tau τ rho kappa
    standardabweichung varianz streuung korrelation\w* korrelier\w+ écart[\s-]type variance corrélation
    desviación varianza correlación deviazione desvio отклонение
    """,
    "标准差 方差 最大 最小 中位 相关 標準偏差",
)
_CHANGE = _pattern(
    r"""
    p p[\s-]?(?:value|wert)s? significan\w+ effect t-?test wilcoxon δ delta diff(?:erences?)?\.? improvements? gains?
    increases? decreases? drops? loss(?:es)? change relative rel\.? higher lower better worse upper count range
    n runtime time seconds latency
    verbesserung\w* steigerung\w* anstieg\w* zuwachs unterschied\w* differenz\w* rückgang höher besser
    améliorations? augmentation hausse baisse différences? supérieure? inférieure?
    mejoras? aumento incremento diferencias? ganancia miglioramento differenza melhoria diferença
    улучшение разница прирост
    """,
    "提升 提高 下降 差异 增加 改进 显著 向上 差",
)

_STANDARD = re.compile(
    r"(?i)(?:bm ?25|okapi|tf-?idf|ql(?:d|jm)?|lm|query likelihood|dirichlet)"
    r"(?: \(?(?:pyserini|anserini|lucene|terrier|run|system|ranking|default|default settings)\)?)?"
)

_MEANS = """
    all mean average avg avg. overall macro total amean measures metrics scores results aggregate aggregated summary
    mittel mittelwert durchschnitt gesamt alle moyenne tous toutes media promedio todos todas média gemiddelde среднее
    平均 平均値 全部 所有 总体
"""
OF_ALL = frozenset(_MEANS.split())
"""Names of rows with the mean over all queries."""


class Whose(Enum):
    """The owner of a number."""

    OWN = "said to be the student's own"
    UNSAID = "not said"
    OTHERS = "others', or of other queries, or not measured"


def is_of_own(text: str) -> bool:
    """Tell whether words attribute something to the student."""
    return _OWN.search(text) is not None


def is_asked_of(text: str) -> bool:
    """Tell whether words are about single queries or queries of another set."""
    return _ELSEWHERE.search(text) is not None


def is_spread(text: str) -> bool:
    """Tell whether words are about a deviation, an extreme or a correlation."""
    return _SPREAD.search(text) is not None


def is_change(text: str) -> bool:
    """Tell whether words are about a difference, a test or a time."""
    return _CHANGE.search(text) is not None


def is_example(text: str) -> bool:
    """Tell whether words introduce an example."""
    return _EXAMPLE.search(text) is not None


def is_cited(text: str) -> bool:
    """Tell whether a sentence cites a publication, or is about an earlier exercise."""
    return _CITED.search(text) is not None or _EARLIER.search(text) is not None


def is_of_collection(text: str) -> bool:
    """Tell whether a sentence names a well-known test collection, which may differ from that of the assignment."""
    return _COLLECTION.search(text) is not None


def is_standard(label: str) -> bool:
    """Tell whether a label is only the name of a system that is often used as a baseline."""
    return _STANDARD.fullmatch(label.strip(" *:")) is not None


def told_of(text: str) -> Whose:
    """Return the owner of the numbers that words are about.

    Examples
    --------
    >>> told_of("the baseline").name, told_of("our system beats the baseline").name, told_of("the system").name
    ('OTHERS', 'OWN', 'UNSAID')
    """
    plain = _COMPARED.sub(" ", text)
    if (
        _OF_OTHERS.search(plain)
        or (_ELSEWHERE.search(plain) and not _TESTED.search(plain))
        or _NOT_MEASURED.search(plain)
    ):
        return Whose.OTHERS
    return Whose.OWN if _OWN.search(plain) else Whose.UNSAID


_CONTRASTS = (
    "while whereas but although though however compared während aber jedoch hingegen tandis mais alors mientras pero"
    " aunque mentre ma enquanto mas"
)
_PIECES = re.compile(rf"(?i)[,;:—–，；：]|\s-\s|(?<![^\W_])(?:{either(_CONTRASTS)})(?![^\W_])|而|但")


def pieces_of(text: str) -> list[str]:
    """Split a sentence where its subject may change."""
    # A word that begins a comparison belongs to the piece after it.
    cuts = [0, *(cut.start() if cut.group().isalpha() else cut.end() for cut in _PIECES.finditer(text))]
    return [text[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def whose(text: str, start: Whose) -> Whose:
    """Return the owner of a number after a text, given the owner before that text."""
    state = start
    for piece in pieces_of(text):
        told = told_of(piece)
        state = state if told is Whose.UNSAID else told
    return state


_ASIDE_OF_OTHERS = re.compile(
    r"(?i)[(\[]\s*(?:(?:the|our|my|of|for|from|by|in|with|only)\s)*"
    r"(?:baselines?|previous|earlier|before|old|others?|paper|reference|published|random|sample|bm25|tf-?idf)(?![^\W_])"
)
_ONLY_OF_OTHERS = re.compile(rf"{_ASIDE_OF_OTHERS.pattern}(?:\s[^\W\d]+)?\s*[)\]]\s*")
_ASIDES = re.compile(r"[(\[]([^()\[\]=]*)[)\]]")


def is_of_others(name: str) -> bool:
    """Tell whether an aside in a name shows that the number is not the student's own, or not a mean.

    Examples
    --------
    >>> is_of_others("MAP (baseline)"), is_of_others("MAP (std)"), is_of_others("MAP (better than the baseline)")
    (True, True, False)
    """
    return _ASIDE_OF_OTHERS.search(name) is not None or any(
        told_of(aside) is Whose.OTHERS or is_spread(aside) or (is_change(aside) and len(aside.split()) < 3)
        for aside in _ASIDES.findall(name)
    )


def is_only_of_others(aside: str) -> bool:
    """Tell whether an aside after a number names another owner, and has no number of its own."""
    return _ONLY_OF_OTHERS.fullmatch(aside) is not None or (
        "=" not in aside and not re.search(r"\d[.,]\d", aside) and told_of(aside) is Whose.OTHERS
    )
