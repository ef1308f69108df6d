"""Signatures: what they say, that what they say gives the same number again, and what they refuse."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import pickle
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from random_runs import random_pair
from rankings import CHOICES, random_parameters
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.measuring import FAMILIES, Family
from treceval_py.measuring.parameters import Gains
from treceval_py.measuring.registry import TEXT
from treceval_py.rendering.style import Style
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.show import RESULT_FORMATS, Options, results_text
from treceval_py.scoring.signatures import Fingerprint, explicit

# The run lacks a query, so that conventions about missing queries change a number.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning",
    "ignore::treceval_py.errors.SuspectRunWarning",
    "ignore:.* can differ from:treceval_py.errors.TrecevalWarning",
)

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"a": 1.0}, "9": {"a": 1.0}}
QRELS_TEXT = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 z 1\n"
RUN_TEXT = "1 Q0 b 1 3.0 mine\n1 Q0 a 2 2.0 mine\n1 Q0 x 3 1.0 mine\n2 Q0 a 1 1.0 mine\n9 Q0 a 1 1.0 mine\n"

HASH = "331f269e"
"""printf '1 a 1\\n1 b 0\\n1 c 2\\n2 a 1\\n3 z 1\\n' | sha256sum (coreutils 9.1)"""

AP = f"AP(rel=1)|p:trec_eval-10|#:2|q:{HASH}|v:{te.__version__}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS_TEXT)
    (tmp_path / "run").write_text(RUN_TEXT)
    (tmp_path / "tied").write_text("1 Q0 c 1 1 other\n1 Q0 a 2 1 other\n1 Q0 b 3 1 other\n2 Q0 a 1 1.0 other\n")
    return tmp_path


def signed(*arguments: Any, **options: Any) -> te.scoring.Signature:
    return te.evaluate(*arguments, **options).signature(0)


# Repeating ------------------------------------------------------------------------------------------

EXACT = CHOICES | {
    "recalls": [(0.0, 0.5, 1.0), (0.123,)],
    "coefficients": [(1.0, -1.0, 0.0, 0.0), (0.3, -0.1, 0.25, 1e-7)],
    "p": [0.0, 0.5, 0.8, 0.123456789],
    "gains": [*map(Gains, [{1: 3.0, 2: 9.0}, {0: 1.0}, {1: 1 / 3, 2: 0.1 + 0.2}])],
    "weights": [(0.5, 0.0, 0.25, 0.25)],
    "of": te.measuring.parse_measures(["nDCG(gain=exp,ideal=retrieved)@5", "AP(rel=2)", "ERR@3", "gRBP(p=0.5)"]),
    "by": ["max", "std", "diff1"],
}
"""Values that need all their digits, too."""


def random_measure(family: Family, rng: random.Random) -> te.measuring.Measure:
    """Give some parameters of a family values; one with a cutoff always has it."""
    return te.measuring.Measure(family, tuple(random_parameters(family, rng, EXACT, share=0.6).items()))


def families(kind: object) -> list[Family]:
    return [family for family in FAMILIES.values() if family.kind != TEXT and family.judged is kind]


def with_ranks(run: dict[str, dict[str, float]]) -> te.Run:
    """Make a run whose rank column is the order of its items."""
    rows = [(qid, *item) for qid, scores in run.items() for item in enumerate(scores.items(), 1)]
    text = "".join(f"{qid} Q0 {docid} {rank} {score!r} t\n" for qid, rank, (docid, score) in rows)
    return te.read_run(io.BytesIO(text.encode()))


def check_repeated(qrels: Any, run: Any, results: te.Results) -> None:
    """Check that both forms give the same bits, and are themselves what the repetition is signed with."""
    signature = results.signature(0)
    for form in ("short", "long"):
        text = getattr(signature, form)
        again = te.evaluate(qrels, run, signature=text)
        assert again.matrix.tobytes() == results.matrix.tobytes(), text
        assert again.averages.tobytes() == results.averages.tobytes(), text
        assert again.counted.tobytes() == results.counted.tobytes(), text
        assert (again.qids, again.listed.tolist()) == (results.qids, results.listed.tolist()), text
        assert getattr(again.signature(0), form) == text
        assert again.signature(0).long == signature.long
        assert repr(again.mean[again.names[0]]) == repr(results.mean[results.names[0]])


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.filterwarnings("ignore:.*no query counts, because none has a relevant document:UserWarning")
def test_a_signature_gives_the_same_bits_again(profile: str) -> None:
    rng = random.Random(profile)
    repeated = 0
    for _ in range(4):
        nested, run = random_pair(rng)
        qrels, table = te.Qrels(nested), with_ranks(run)
        for family in families(JudgedRun):
            options: dict[str, Any] = {
                "level": rng.choice([None, 0, 1, 2, 3]),
                "complete": rng.random() < 0.5,
                "depth": rng.choice([None, None, 0, 1, 3]),
                "judged_only": rng.random() < 0.3,
                "collection_size": rng.choice([0, 0, 50]),
            }
            try:
                results = te.evaluate(qrels, table, [random_measure(family, rng)], profile=profile, **options)
            except (
                te.errors.MeasureError,
                te.errors.EvaluationError,
            ):  # parameters do not go together, or not with these judgments
                continue
            check_repeated(qrels, table, results)
            repeated += 1
    assert repeated > 3 * len(families(JudgedRun))


GROUPS = te.io.read_judgment_groups(
    io.BytesIO(b"1 A a 1\n1 A b 0\n1 B b 2\n1 B c 1\n1 B a 0\n2 A d 1\n2 C e -1\n3 A f 1\n")
)
PREFERENCES = te.io.read_preferences(
    io.BytesIO(b"1 g s a 2\n1 g s b 1.5\n1 g t c 1\n1 h s a 0\n1 h s c 3\n2 g s d 1\n")
)
TIED = {"1": {"b": 2.0, "a": 2.0, "x": 1.5, "c": 1.0}, "2": {"e": 1.0, "d": 1.0}, "9": {"a": 1.0}}


OTHER_JUDGMENTS = {
    "groups": (GROUPS, JudgedGroups, "alpha_nDCG@10"),
    "preferences": (PREFERENCES, JudgedPreferences, "prefs_simp"),
}


@pytest.mark.parametrize(("judgments", "kind", "name"), OTHER_JUDGMENTS.values(), ids=OTHER_JUDGMENTS)
def test_a_signature_over_other_judgments_gives_the_same_bits_again_unless_the_profile_refuses_them(
    judgments: Any, kind: type, name: str
) -> None:
    run = with_ranks(TIED)
    for at, (profile, declared) in enumerate(PROFILES.items()):
        rng, of = random.Random(profile), declared.conventions
        if (of.unrelevant, of.known, of.extra) != ("in", "all", "out"):  # conventions that are of relevance judgments
            assert "need relevance judgments" in refusal(te.evaluate, judgments, run, [name], profile=profile)
            continue
        for number, family in enumerate(families(kind)[at % 3 :: 3]):
            options: dict[str, Any] = {"level": rng.choice([None, 0, 2]), "depth": rng.choice([None, 2])}
            options["complete"] = bool(number % 2)
            results = te.evaluate(judgments, run, [random_measure(family, rng)], profile=profile, **options)
            check_repeated(judgments, run, results)


def test_a_parameter_keeps_all_its_digits() -> None:
    for name, given in [
        ("rbp", {"p": 1 / 3}),
        ("rbp_binary", {"p": 0.1 + 0.2}),
        ("compat", {"p": 2 / 3}),
        ("set_F", {"beta_squared": 1 / 3}),
        ("utility", {"coefficients": (1 / 3, -1.0, 0.0, 0.0)}),
        ("dcg", {"discount": "jk", "base": 4 / 3}),
    ]:
        results = te.evaluate(QRELS, RUN, [te.measuring.Measure(FAMILIES[name], tuple(given.items()))])  # type: ignore[attr-defined]
        assert te.scoring.Signature.parse(results.signature(0).short).measure == explicit(results.resolved[0]), name
        check_repeated(QRELS, RUN, results)


def test_measures_are_repeated_in_the_order_of_their_signatures() -> None:
    results = te.evaluate(QRELS, RUN, ["nDCG@10", "map", "P@5"])
    texts = [signature.short for signature in results.signatures.values()]
    for given in (texts, list(map(te.scoring.Signature.parse, texts))):
        again = te.evaluate(QRELS, RUN, signature=given)
        assert again.names == ["nDCG@10", "AP(rel=1)", "P(rel=1)@5"]
        assert again.matrix.tobytes() == results.matrix.tobytes()
        assert [signature.short for signature in again.signatures.values()] == texts


def test_signatures_of_several_profiles_are_repeated_under_their_own() -> None:
    texts = [signed(QRELS, RUN, ["P@5"], profile=profile).short for profile in ("trec_eval-10", "ranx")]
    texts[1] = texts[1].replace("@5", "@1")
    again = te.evaluate(QRELS, RUN, signature=texts)
    assert again.signature(0).short == texts[0]
    assert te.scoring.Signature.parse(again.signature(1).short).profile == "ranx"


@pytest.mark.filterwarnings("ignore:.*replaced by a later line")
def test_judgments_whose_last_line_counts_are_repeated(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 a 2\n1 0 b 1\n")
    given = str(tmp_path / "qrels"), {"1": {"a": 1.0, "b": 0.5}}
    check_repeated(*given, te.evaluate(*given, ["nDCG"], profile="ranx"))


def test_the_top_of_the_scale_that_judgments_have_is_repeated_up_to_the_highest_that_can_be_written() -> None:
    run = {"1": {"b": 1.0, "a": 0.5}}
    check_repeated({"1": {"a": 1000, "b": 1}}, run, te.evaluate({"1": {"a": 1000, "b": 1}}, run, ["ERR@20"]))
    assert "a document is judged 1001, and ERR@20 takes judgments up to 1000" in refusal(
        te.evaluate, {"1": {"a": 1001, "b": 1}}, run, ["ERR@20"]
    )


# On the command line --------------------------------------------------------------------------------

MEASURES = ["map", "nDCG(gains={1:3,2:9})@10", "utility.1,-1,0.5,0", "num_rel_ret", "gm_map", "11pt_avg.0.25,0.5"]


def after(text: str, start: str, end: str = "") -> list[str]:
    """Return what stands after the name in lines like ``# NAME: SIGNATURE``."""
    lines = [line for line in text.splitlines() if line.startswith(start) and re.search(r"\|q(rels)?:", line)]
    return [line.partition(": ")[2].removesuffix(end) for line in lines]


def in_columns(text: str, delimiter: str) -> list[str]:
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    return [row["signature"] for row in rows if row["query"] == "all"]


FOUND = {
    "trec": lambda text, form: after(text, "# "),
    "table": lambda text, form: after(text, ""),
    "csv": lambda text, form: in_columns(text, ","),
    "tsv": lambda text, form: in_columns(text, "\t"),
    "json": lambda text, form: [each[form] for each in json.loads(text)["runs"][0]["signatures"].values()],
    "markdown": lambda text, form: after(text, "* `", "`"),
    "latex": lambda text, form: after(text, "% "),
    "html": lambda text, form: after(html.unescape(text), "<li><code>", "</code></li>"),
    "coursework": lambda text, form: after(text, "# "),
}


@pytest.mark.parametrize("form", ["short", "long"])
def test_what_is_printed_can_be_repeated(folder: Path, form: str) -> None:
    assert list(FOUND) == list(RESULT_FORMATS)
    asked = [word for measure in MEASURES for word in ("-m", measure)]
    options = ["--profile", "ir_measures", "-l", "2", "-M", "2", *asked]
    option = "--signature" if form == "short" else "--long-signature"
    files = [str(folder / name) for name in ("qrels", "run")]
    wanted = te.evaluate(*files, MEASURES, profile="ir_measures", level=2, depth=2).signatures.values()
    texts = sorted(getattr(signature, form) for signature in wanted)
    for name, found in FOUND.items():
        done = treceval([option, "--format", name, *options, *files])
        assert sorted(found(done.out.decode(), form)) == texts, name
    repeat = [word for text in texts for word in ("--repeat", text)]
    done = [treceval(["--format", "csv", *given, *files]) for given in (repeat, options)]
    again, values = (csv.DictReader(io.StringIO(each.out.decode())) for each in done)
    assert [each.status for each in done] == [0, 0]
    assert sorted(row["mine"] for row in again) == sorted(row["mine"] for row in values)


def test_signatures_stand_below_what_is_printed(folder: Path) -> None:
    done = treceval(["--signature", "-m", "map", "qrels", "run"], folder=folder)
    assert done.out.decode() == f"map                   \tall\t0.6250\n# map: {AP}\n"
    done = treceval(["--format", "json", "-m", "map", "qrels", "run"], folder=folder)  # without being asked
    (run,) = json.loads(done.out)["runs"]
    assert run["signatures"] == {"map": {"short": AP, "long": signed(QRELS, RUN, "map").long}}
    # Runs that were made alike have one signature, and texts have none.
    done = treceval(["--signature", "-m", "map", "qrels", "run", "tied"], folder=folder)
    assert done.out.decode().split("\n\n")[1] == f"map: {AP}\n"
    options = ["--signature", "--format", "csv", "-q", "-m", "relstring", "-m", "runid", "qrels", "run"]
    rows = csv.reader(io.StringIO(treceval(options, folder=folder).out.decode()))
    assert [row[3] for row in rows] == ["signature", "", "", ""]


def test_of_runs_with_other_queries_each_has_a_signature(folder: Path) -> None:
    (folder / "fewer").write_text("1 Q0 a 1 1.0 fewer\n")
    options = ["--signature", "-m", "map", "qrels", "run", "fewer"]
    below = treceval(options, folder=folder).out.decode().split("\n\n")[1]
    one = AP.replace("#:2", "#:1")
    assert below == f"map of mine: {AP}\nmap of fewer: {one}\n"
    rows = csv.reader(io.StringIO(treceval(["--format", "csv", *options], folder=folder).out.decode()))
    assert list(rows) == [
        ["query", "measure", "mine", "fewer", "signature mine", "signature fewer"],
        ["all", "map", "0.625", "0.5", AP, one],
    ]


def test_a_repetition_takes_the_options_of_printing(folder: Path) -> None:
    done = treceval(["-q", "--digits", "2", "--repeat", AP, "qrels", "run"], folder=folder)
    assert done.out.decode() == (
        "AP(rel=1)             \t1\t0.25\nAP(rel=1)             \t2\t1.00\nAP(rel=1)             \tall\t0.62\n"
    )


def test_a_repetition_reads_groups_by_what_it_computes(folder: Path) -> None:
    (folder / "groups").write_text("1 A a 1\n1 B b 1\n2 A a 1\n")
    asked = treceval(["--signature", "-m", "StRecall@5", "groups", "run"], folder=folder).out.decode()
    (text,) = after(asked, "# ")
    assert text == f"StRecall(rel=1)@5|p:trec_eval-10|#:2|q:{sha('1 A a 1', '1 B b 1', '2 A a 1')}|v:{te.__version__}"
    done = treceval(["--repeat", text, "groups", "run"], folder=folder)
    assert done.out.decode() == "StRecall(rel=1)@5     \tall\t1.0000\n"


# The text -------------------------------------------------------------------------------------------


def test_a_short_signature_has_the_profile_and_what_differs_from_it() -> None:
    for measure, options, said in (
        ("map", {}, "AP(rel=1)|p:trec_eval-10|#:2"),
        ("nDCG@10", {"profile": "ranx", "depth": 5, "judged_only": True}, "nDCG@10|p:ranx|unjudged:drop|depth:5|#:3"),
        ("map", {"complete": True}, "AP(rel=1)|p:trec_eval-10|missing:empty|#:3"),
        # An exception of the profile is no difference from it.
        ("RR@10", {"profile": "ir_measures"}, "RR(rel=1)@10|p:ir_measures|#:3"),
    ):
        found = signed(QRELS, RUN, measure, **options)
        assert found.short == str(found) == f"{said}|q:{HASH}|v:{te.__version__}"
    assert found.conventions.ties == "docid-asc"


LONG = (
    "nDCG(base=2,discount=log2,gain=linear,ideal=judged,ties=ordered)@10|order:score|width:32|ties:docid-desc|self:keep|"
    f"unjudged:keep|depth:all|dup:last|missing:empty|norel:in|bare:judged|queries:3|set:14c5e74c|qrels:{HASH}|"
    f"version:{te.__version__}|profile:ir_measures"
)
"""printf '1\\n2\\n3\\n' | sha256sum begins with 14c5e74c."""


def test_a_long_signature_names_everything() -> None:
    found = signed(QRELS, RUN, "nDCG@10", profile="ir_measures")
    assert found.long == LONG
    assert found.to_dict() == dict(
        [("measure", LONG.partition("|")[0]), *(part.split(":", 1) for part in LONG.split("|")[1:])],
        queries=3,
    )


def test_a_long_signature_has_every_convention_but_the_usual_value_of_a_rare_one() -> None:
    qrels, run = te.Qrels(QRELS), with_ranks(RUN)
    for profile in PROFILES:
        parts = dict(part.split(":", 1) for part in signed(qrels, run, "map", profile=profile).long.split("|")[1:])
        for convention in CONVENTIONS.values():
            conventions = PROFILES[profile].conventions_of(te.measuring.parse_measures("map")[0])
            value, usual = (getattr(each, convention.name) for each in (conventions, te.scoring.Conventions()))
            assert (convention.key in parts) != (convention.rare and value == usual), profile
            assert convention.parse(parts.get(convention.key, convention.show(usual))) == value, profile


def test_a_long_signature_has_every_parameter() -> None:
    for family in families(JudgedRun):
        measure = te.measuring.Measure(family, (("cutoff", 5),) if family.takes("cutoff") else ())
        if family.at is not None and not family.takes("cutoff"):
            measure = te.measuring.Measure(family, ((family.at.name, 0.5),))
        head = signed(QRELS, RUN, [measure]).long.partition("|")[0]
        left_out = {parameter.key for parameter in family.parameters if f"{parameter.key}=" not in head}
        # A cutoff is written @; gains and weights are those of the measure itself unless they are given.
        keys = {parameter.key for parameter in family.parameters if parameter.name in family.later}
        assert left_out <= {"@", "gains", "weights"} | keys, head
        assert family.at is None or "@" in head


def test_how_many_queries_were_averaged_and_which() -> None:
    found = signed(QRELS, RUN, "map")
    assert (found.queries, found.query_set) == (2, "a6e2b7a0")  # printf '1\n2\n' | sha256sum
    found = signed(QRELS, RUN, "map", complete=True)
    assert (found.queries, found.query_set) == (3, "14c5e74c")  # printf '1\n2\n3\n' | sha256sum
    # 9.0.8 counts a missing query as 0 without listing it.
    assert signed(QRELS, RUN, "map", complete=True, profile="trec_eval-9").queries == 3
    # Query 3 has relevant documents but no ranking, query 4 a ranking but no relevant document.
    qrels, run = {**QRELS, "4": {"a": 0}}, {**RUN, "4": {"a": 1.0}}
    assert signed(qrels, run, "map", profile="gdeval").queries == 2
    assert signed(qrels, run, "map").queries == 3


def test_the_ids_of_queries_are_hashed_in_the_order_of_their_bytes() -> None:
    qids = ["é", "10", "9", "Z", "\udcff"]
    qrels, run = {qid: {"a": 1} for qid in qids}, {qid: {"a": 1.0} for qid in reversed(qids)}
    text = b"10\n9\nZ\n\xc3\xa9\n\xff\n"
    assert signed(qrels, run, "map").query_set == hashlib.sha256(text).hexdigest()[:8]


def sha(*lines: str) -> str:
    """Hash lines by hand."""
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:8]


def test_judgments_are_hashed_as_lines_in_the_order_of_their_bytes() -> None:
    assert str(Fingerprint(te.Qrels(QRELS))) == HASH == sha("1 a 1", "1 b 0", "1 c 2", "2 a 1", "3 z 1")
    qrels = {"10": {"d2": -1, "d10": 3}, "9": {"é": 0, "\udcff": 1}}
    assert str(Fingerprint(te.Qrels(qrels))) == sha("10 d10 3", "10 d2 -1", "9 é 0", "9 \udcff 1")
    for given, text in {
        GROUPS: "1 A a 1|1 A b 0|1 B a 0|1 B b 2|1 B c 1|2 A d 1|2 C e -1|3 A f 1",
        PREFERENCES: "1 g s a 2.0|1 g s b 1.5|1 g t c 1.0|1 h s a 0.0|1 h s c 3.0|2 g s d 1.0",
    }.items():
        assert str(Fingerprint(given)) == sha(*text.split("|"))


def test_the_hash_does_not_depend_on_the_order_of_lines_or_on_the_format(tmp_path: Path) -> None:
    for name, form in {"a": "qrels", "a.gz": "qrels", "a.tsv": "beir", "a.json": "json", "a.jsonl": "jsonl"}.items():
        te.io.write_qrels(te.Qrels(QRELS), str(tmp_path / name), format=form)
        assert str(Fingerprint(te.read_qrels(str(tmp_path / name)))) == HASH, name
    lines = QRELS_TEXT.splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    (tmp_path / "shuffled").write_text("# comment\n" + "\n".join(line.replace(" ", "\t") for line in lines))
    assert str(Fingerprint(te.read_qrels(str(tmp_path / "shuffled")))) == HASH
    groups = b"3 A f 1\n2 C e -1\n2 A d 1\n1 B a 0\n1 B c 1\n1 B b 2\n1 A b 0\n1 A a 1\n"
    assert str(Fingerprint(te.io.read_judgment_groups(io.BytesIO(groups)))) == str(Fingerprint(GROUPS))
    for change in ({"a": 2}, {"b": -1}, {"d": 0}):
        assert str(Fingerprint(te.Qrels({**QRELS, "1": {**QRELS["1"], **change}}))) != HASH


# Refused --------------------------------------------------------------------------------------------

NOT_CLEAR = [
    "", "AP(rel=1)", AP[:17], AP.rpartition("|")[0], f"{AP}|", f"{AP}|depth", f"{AP}|#:3", f"{AP}|topics:3",
    f"{AP}|queries:2", f"{AP}|ties:up", f"{AP}|depth:-1", f"{AP}|depth:x", f"{AP}|width:16", AP.replace("-10", "-8"),
    AP.replace("AP", "APP"), AP.replace("AP(rel=1)", "P"), AP.replace("#:2", "#:two"), AP.replace("#:2", "#:-2"),
    AP.replace("rel=1", "rel=x"), "a\nb\x1b[31m", AP.replace("#:2", "#:" + "9" * 5000),
]  # fmt: skip


def unversioned(text: str) -> str:
    return re.sub("9{99,}", "9…", text.replace(te.__version__, "VERSION"))


def test_what_is_no_signature_is_refused(folder: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for text in NOT_CLEAR:
        done = treceval(["--repeat", text, "qrels", "run"], folder=folder)
        assert (done.status, done.out, done.err.count(b"\n")) == (2, b"", 1)
        said[unversioned(text).encode("unicode_escape").decode()] = unversioned(done.err.decode())
        with pytest.raises(te.errors.MeasureError):
            te.evaluate(QRELS, RUN, signature=text)
    assert said == snapshot


def test_a_repetition_of_other_judgments_of_two_measures_or_of_none_is_refused(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    said = [refusal(te.evaluate, {"1": {"a": 1}}, RUN, signature=AP)]
    assert HASH in said[0]
    assert sha("1 a 1") in said[0]
    said += [
        refusal(te.evaluate, QRELS, RUN, signature=[AP, other]) for other in (AP, AP.replace("trec_eval-10", "ranx"))
    ]
    said += [refusal(te.evaluate, QRELS, RUN, signature=[])]
    (folder / "others").write_text("1 0 a 1\n")
    for arguments, status in ((["--repeat", AP, "others"], 1), (["--repeat", AP, "--repeat", AP, "qrels"], 2)):
        done = treceval([*arguments, "run"], folder=folder)
        assert (done.status, done.out) == (status, b"")
        said.append(done.err.decode())
    assert [unversioned(each) for each in said] == snapshot


def test_options_beside_a_signature_are_refused(folder: Path, snapshot: SnapshotAssertion) -> None:
    options: list[dict[str, Any]] = [
        {"measures": ["map"]}, {"level": 1}, {"complete": True}, {"depth": 0}, {"judged_only": True},
        {"collection_size": 5}, {"profile": "ranx"},
    ]  # fmt: skip
    said = {str(given): refusal(te.evaluate, QRELS, RUN, signature=AP, **given) for given in options}
    for words in ("-m map", "-c", "-l 0", "-M 0", "-J", "-N 5", "--profile ranx"):
        done = treceval([*words.split(), "--repeat", AP, "qrels", "run"], folder=folder)
        assert (done.status, done.out) == (2, b"")
        said[words] = done.err.decode()
    assert said == snapshot


# What can be compared -------------------------------------------------------------------------------


def results_of(qrels: Any = QRELS, measure: str = "nDCG@10", **options: Any) -> te.Results:
    return replace(te.Evaluator(qrels, te.Scoring([measure], **options)).scored(RUN), run_name="mine", _rows={})


DIFFERENT: dict[str, tuple[te.Results, te.Results]] = {
    "level": (results_of(measure="map"), results_of(measure="map", level=2)),
    "profile": (results_of(), results_of(profile="ranx")),
    "width": (results_of(), results_of(profile="trec_eval-9")),
    "depth": (results_of(depth=5), results_of()),
    "judgments": (results_of(), results_of({**QRELS, "3": {"z": 2}})),
    "version": (results_of(), replace(results_of(), version="0.0.9", _rows={})),
    "gain": (results_of(), results_of(profile="gdeval")),
}


def test_what_was_made_differently_is_not_compared(snapshot: SnapshotAssertion) -> None:
    said = {}
    for what, (one, other) in DIFFERENT.items():
        said[what] = unversioned(refusal(te.scoring.check_comparable, [one, other]))
        assert refusal(te.scoring.check_comparable, [one, one, other])
        te.scoring.check_comparable([one, other], force=True)
    # The hashes are of the lines as they are above.
    assert f"judgments {HASH} and {sha('1 a 1', '1 b 0', '1 c 2', '2 a 1', '3 z 2')}" in said["judgments"]
    assert said == snapshot


def test_no_format_sets_side_by_side_what_was_made_differently() -> None:
    runs = [te.evaluate(QRELS, RUN, "nDCG@10"), te.evaluate(QRELS, RUN, "nDCG@10", profile="ranx")]
    for name in [name for name in RESULT_FORMATS if name not in ("trec", "coursework", "json")]:
        assert "were made differently" in refusal(results_text, runs, name, Options(), Style()), name
        forced = results_text(runs, name, Options(force=True), Style(digits=4))
        assert [f"{run.mean['nDCG@10']:.4f}" in forced for run in runs] == [True, True], name


def test_what_is_no_difference_is_compared() -> None:
    fewer = te.evaluate(dict(QRELS), {"1": {"a": 1.0}}, "nDCG@10")
    te.scoring.check_comparable([te.evaluate(QRELS, RUN, "nDCG@10"), fewer])
    # 9.0.8 and pytrec_eval rank alike.
    te.scoring.check_comparable([results_of(profile="trec_eval-9"), results_of(profile="pytrec_eval")])
    te.scoring.check_comparable([results_of(measure="map"), results_of(measure="RR", level=2)])
    te.scoring.check_comparable([results_of(measure="runid"), results_of(measure="runid", profile="ranx")])  # texts


def test_results_with_other_measures_are_not_printed_side_by_side(snapshot: SnapshotAssertion) -> None:
    one, other = te.evaluate(QRELS, RUN, ["map", "P@5"]), te.evaluate(QRELS, RUN, ["P@5", "map"])
    assert [refusal(results_text, runs, "csv", Options(), Style()) for runs in ([one, other], [])] == snapshot


def test_pickled_results_keep_their_signatures_and_leave_the_judgments_behind() -> None:
    qrels = {qid: {**judged, f"only-in-the-judgments-{qid}": 0} for qid, judged in QRELS.items()}
    results = te.evaluate(qrels, RUN, ["official", "nDCG(gains={1:0.1,2:0.30000000000000004})@10", "rbp"])
    data = pickle.dumps(results)
    again = pickle.loads(data)
    assert b"only-in-the-judgments" not in data
    assert again.signatures == results.signatures
    assert [each.long for each in again.signatures.values()] == [each.long for each in results.signatures.values()]
    assert again.matrix.tobytes() == results.matrix.tobytes()
    te.scoring.check_comparable([results, again])
    repeated = te.evaluate(qrels, RUN, signature=[each.short for each in again.signatures.values()])
    assert repeated.averages.tobytes() == results.averages[1:].tobytes()  # the first is runid, a text


# Both forms -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*no query counts")
def test_both_forms_say_the_same_but_for_the_set_of_queries() -> None:
    rng = random.Random(1)
    qrels, run = te.Qrels(QRELS), with_ranks(RUN)
    for number, family in enumerate(families(JudgedRun) * 2):
        profile = [*PROFILES][number % len(PROFILES)]
        try:
            signature = signed(qrels, run, [random_measure(family, rng)], profile=profile, complete=rng.random() < 0.5)
        except (te.errors.MeasureError, te.errors.EvaluationError):
            continue
        short, long = te.scoring.Signature.parse(signature.short), te.scoring.Signature.parse(signature.long)
        assert short.query_set == ""
        assert long.query_set == signature.query_set
        assert short._replace(measure=long.measure, query_set=long.query_set) == long
        assert short.long == long._replace(query_set="").long
        assert short.differences(long) == []
        assert te.scoring.Signature.parse(f"  {signature.short}\n") == short


def test_one_measure_has_one_signature_in_every_notation() -> None:
    for names in [
        ("map", "AP", "MAP", "AP(rel=1)", "AP( rel = 1 )"),
        ("ndcg_cut.10", "nDCG@10", "ndcg_cut_10", "NDCG@10", "ndcg_cut(dcg='log2')@10", "nDCG(gain=linear)@10"),
        ("recip_rank", "RR", "MRR"),
        ("P.5", "P@5", "P_5", "Precision(rel=1)@5"),
        ("nDCG(dcg='exp-log2')@5", "nDCG(gain=exp)@5"),
    ]:
        assert len({signed(QRELS, RUN, [name]).long for name in names}) == 1, names
