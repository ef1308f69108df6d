"""Signatures: how a number was computed, on one line that can be read back and repeated.

A signature has two forms. The long one names everything::

    AP(rel=1,norm=relevant,ties=ordered)|order:score|width:64|ties:docid-desc|self:keep|unjudged:keep|depth:all|dup:refuse|
    missing:out|norel:in|queries:30|set:1f0c93ab|qrels:7b3b1f3e|version:0.1.0|profile:trec_eval-10

The short form names the profile, and only the conventions that differ from it::

    AP(rel=1)|p:trec_eval-10|#:30|q:7b3b1f3e|v:0.1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import encode
from treceval_py.data.preferences import Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.errors import MeasureError, brief
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.notation import several
from treceval_py.measuring.parameters import JUDGED_ONLY
from treceval_py.scoring.conventions import CONVENTIONS, Conventions
from treceval_py.scoring.profiles import PROFILES, profile_named

DIGITS = 8
"""Hexadecimal digits of a hash: enough to tell apart the judgments that one person handles."""

_BY_KEY = {each.key: each for each in CONVENTIONS.values()}
_LONG = {"queries": "queries", "set": "query_set", "qrels": "judgments", "version": "version", "profile": "profile"}
_SHORT = {"#": "queries", "q": "qrels", "v": "version", "p": "profile"}


class Signature(NamedTuple):
    """How a value was computed.

    Attributes
    ----------
    measure : Measure
        The measure with all its parameters.
    conventions : Conventions
        How rankings were ordered and queries averaged.
    queries : int
        Number of averaged queries.
    judgments : str
        The first 8 hexadecimal digits of the SHA-256 of the judgments.
    version : str
        The version of treceval_py.
    profile : str
        The profile under which it was requested.
    query_set : str
        The first digits of the SHA-256 of the ids of the averaged queries, one per line, in byte order; empty if read
        from a short signature.

    Examples
    --------
    >>> import treceval_py as te
    >>> results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["AP"])
    >>> print(results.signatures["AP"].short)
    AP(rel=1)|p:trec_eval-10|#:1|q:fff4dd91|v:0.1.0
    >>> Signature.parse(results.signatures["AP"].short).conventions.ties
    'docid-desc'
    """

    measure: Measure
    conventions: Conventions
    queries: int
    judgments: str
    version: str
    profile: str
    query_set: str = ""

    @property
    def short(self) -> str:
        """The short form: the profile and the differences from it."""
        named = PROFILES.get(self.profile)
        usual = Conventions() if named is None else named.conventions_of(self.measure)
        differing = [
            f"{each.key}:{each.show(getattr(self.conventions, each.name))}"
            for each in usual.differences(self.conventions)
        ]
        parts = [f"#:{self.queries}", f"q:{self.judgments}", f"v:{self.version}"]
        return "|".join([concise(self.measure).notation, f"p:{self.profile}", *differing, *parts])

    @property
    def long(self) -> str:
        """The long form: every parameter and every convention."""
        parts = [f"{key}:{text}" for key, text in self.conventions.written().items()]
        parts += [f"{key}:{getattr(self, name)}" for key, name in _LONG.items()]
        return "|".join([explicit(self.measure).notation, *parts])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the long form by key."""
        others = {key: getattr(self, name) for key, name in _LONG.items()}
        return {"measure": explicit(self.measure).notation, **self.conventions.written(), **others}

    def __str__(self) -> str:
        return self.short

    def __repr__(self) -> str:
        return f"<Signature {brief(self.short, 200)}>"

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse `text`, a signature in either form.

        Raises
        ------
        MeasureError
            The text is not a signature, or has an unknown measure, profile or convention.
        """
        (text,) = several(text, (str,), "a signature is text", "Use one that was printed.")
        # A signature may be copied together with the text printed in front of it.
        text = re.sub(r"^\s*(# )?([^|]*: (?=\S))?", "", text).strip()
        name, *parts = text.split("|")
        fields: dict[str, str] = {}
        for part in parts:
            key, colon, value = part.partition(":")
            if not colon or key in fields:
                raise _malformed(text, f"'{part}' is not of the form key:value, or occurs twice")
            fields[key] = value
        for short, long in _SHORT.items():
            if short in fields and long not in fields:
                fields[long] = fields.pop(short)
        lacks = [key for key in ("profile", "queries", "qrels", "version") if key not in fields]
        if lacks:
            raise _malformed(text, f"it has no {lacks[0]}", "Copy the whole signature.")
        unknown = [key for key in fields if key not in _LONG and key not in _BY_KEY]
        if unknown:
            problem = f"signature '{text}' has the unknown part '{unknown[0]}'"
            raise MeasureError(problem, "Was it made by a later version?")
        measures = parse_measures(name)
        if len(measures) != 1:
            raise _malformed(text, f"'{name}' is not one measure")
        measure, judged_only = ranked_apart(measures[0])
        changes = {_BY_KEY[key].name: _BY_KEY[key].parse(value) for key, value in fields.items() if key in _BY_KEY}
        changes |= {} if judged_only is None else {JUDGED_ONLY.name: judged_only}
        queries, version, profile = fields["queries"], fields["version"], fields["profile"]
        if not re.fullmatch("[0-9]{1,18}", queries):
            raise _malformed(text, f"'{queries}' is not a number of queries")
        if not re.fullmatch(r"[0-9]+(\.[0-9A-Za-z]+)+", version):
            raise _malformed(text, f"'{version}' is not a version", "Copy the whole signature.")
        # A user's own profile is unknown here, but a long signature has all its conventions. Only a rare convention
        # with its usual value is missing, also from signatures written before that convention existed.
        said = all(each.name in changes for each in CONVENTIONS.values() if not each.rare)
        usual = Conventions() if said else profile_named(profile).conventions_of(measure)
        measure, conventions, query_set = explicit(measure), usual.changed(changes), fields.get("set", "")
        return cls(measure, conventions, int(queries), fields["qrels"], version, profile, query_set)

    def differences(self, other: Signature) -> list[str]:
        """Return how this value and `other` were computed differently; empty if they are comparable."""
        differing = []
        mine, others = explicit(self.measure), explicit(other.measure)
        if mine != others:
            differing.append(f"{mine.notation} and {others.notation}")
        for convention in self.conventions.differences(other.conventions):
            if convention.name == "bare":  # which queries count is compared as such
                continue
            here, there = (convention.show(getattr(each.conventions, convention.name)) for each in (self, other))
            differing.append(f"{convention.key} {here} and {there}")
        for name in ("judgments", "version"):
            here, there = getattr(self, name), getattr(other, name)
            if here != there:
                differing.append(f"{name} {here} and {there}")
        return differing


def _malformed(text: str, fault: str, todo: str = "") -> MeasureError:
    return MeasureError(f"'{text}' is not a signature: {fault}", todo)


def read_signatures(given: str | Signature | Iterable[str | Signature]) -> list[Signature]:
    """Return signatures given as such or as text.

    Raises
    ------
    MeasureError
        A text is not a signature.
    """
    each_given = several(
        given, (str, Signature), "a signature is text or a te.scoring.Signature", "Use one that was printed."
    )
    return [Signature.parse(each) if isinstance(each, str) else each for each in each_given]


def ranked_apart(measure: Measure) -> tuple[Measure, bool | None]:
    """Return a measure without parameters that affect the ranking, and whether unjudged documents are removed.

    The second value is None if the measure does not specify it.
    """
    given = dict(measure.parameters)
    if JUDGED_ONLY.name not in given:
        return measure, None
    judged_only = given.pop(JUDGED_ONLY.name)
    return replace(measure, parameters=tuple(given.items()), asked=measure.name), judged_only


def concise(measure: Measure) -> Measure:
    """Return a measure without parameters that have their default value, but with its level."""
    defaults = measure.family.defaults
    kept = [
        (name, concise(value) if isinstance(value, Measure) else value)
        for name, value in measure.parameters
        if name == "level" or name not in defaults or defaults[name] != value
    ]
    return Measure(measure.family, tuple(kept))


def explicit(measure: Measure) -> Measure:
    """Return a measure with its default parameter values written out."""
    given = {name: explicit(value) if isinstance(value, Measure) else value for name, value in measure.parameters}
    for name, default in measure.family.defaults.items():
        if name in measure.family.later:
            if given.get(name) == default:
                del given[name]
        elif name not in given and default is not None:
            given[name] = default
    return Measure(measure.family, tuple(given.items()))


class Fingerprint:
    """A hash of judgments, computed on first use or given as text.

    It is the beginning of the SHA-256 of the judgments, written one per line as ``qid docid rel``, with a group or
    sub-group before the document if there is one, and how it was drawn at the end if they are of a sample; sorted by
    bytes.
    """

    def __init__(self, judgments: Qrels | JudgmentGroups | Preferences | str) -> None:
        self.judgments = judgments
        self._text = ""

    def __repr__(self) -> str:
        return f"<Fingerprint {self}>"

    def __str__(self) -> str:
        judgments = self.judgments
        if isinstance(judgments, str):
            return judgments
        if not self._text:
            known = judgments.digest if isinstance(judgments, Qrels) else None
            self._text = known or _hash(sorted(_lines(judgments)))
            if isinstance(judgments, Qrels):
                judgments.digest = self._text
        return self._text

    def same_table(self, other: Fingerprint) -> bool:
        """Return whether both come from the same table, without reading it."""
        return self is other or (not isinstance(self.judgments, str) and self.judgments is other.judgments)

    def __reduce__(self) -> tuple[object, ...]:
        return (Fingerprint, (str(self),))


def _lines(judgments: Qrels | JudgmentGroups | Preferences) -> Iterator[bytes]:
    if isinstance(judgments, Qrels):
        for row, qid in enumerate(judgments.qids):
            query = encode(qid)
            start, stop = judgments.span(row)
            rels = judgments.rels[start:stop].tolist()
            drawn = judgments.sample and [b" " + encode(text) for text in judgments.sample[start:stop].words]
            ways = drawn or [b""] * len(rels)
            for docid, rel, how in zip(judgments.docids.raw(start, stop), rels, ways, strict=True):
                yield b"%s %s %d%s\n" % (query, docid, rel, how)
    elif isinstance(judgments, JudgmentGroups):
        for qid, groups in judgments.groups.items():
            lines = ((group, docid, rel) for group, labels in groups.items() for docid, rel in labels.items())
            yield from (b"%s %s %s %d\n" % (encode(qid), *line) for line in lines)
    else:
        for qid, rows in judgments.rows.items():
            for judged in rows:
                fields = judged.group, judged.subgroup, judged.docid, repr(judged.level).encode()
                yield b"%s %s %s %s %s\n" % (encode(qid), *fields)


def _hash(lines: Iterable[bytes]) -> str:
    import hashlib

    return hashlib.sha256(b"".join(lines)).hexdigest()[:DIGITS]


def fingerprint_of_queries(qids: Iterable[str]) -> str:
    """Return the hash of query ids."""
    return _fingerprint_of_queries(tuple(qids))


@lru_cache(maxsize=16)
def _fingerprint_of_queries(qids: tuple[str, ...]) -> str:
    # Cached, because many runs have the same queries.
    return _hash([encode(qid) + b"\n" for qid in sorted(qids, key=encode)])
