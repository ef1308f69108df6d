"""Agreement with what sample_eval.pl and statAP_MQ_eval printed, and with their numbers to 1e-9.

The 189 recorded cases are not part of this project: they are read from the folder beside it, where that is. A few cases with
arithmetic in sight are always tried.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from command import Done, command, treceval
from shared import SHARED

import treceval_py as te
from treceval_py.cli.programs import sample_eval, statap
from treceval_py.scoring import programs

CASES = SHARED.parent / "sampled.jsonl"

WAYS: dict[str, tuple[click.Command, list[str]]] = {
    "sample_eval/100": (sample_eval, []),
    "sample_eval/1000": (sample_eval, ["--depth", "1000"]),
    "sample_eval/trecvid": (sample_eval, ["--trecvid"]),
    "statAP/v3": (statap, []),
    "statAP/v4": (statap, ["--version", "4"]),
}
"""The command and the options that print what a recorded program printed."""


class Case(NamedTuple):
    name: str
    program: str
    qrels: str
    run: str
    options: list[str]
    expected: dict[str, Any]


def cases() -> Iterator[Case]:
    if not CASES.is_file():
        pytest.skip("needs the file ../shared/sampled.jsonl")
    _, *lines = CASES.read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        for program, expected in case["expected"].items():
            yield Case(case["id"], program, case["qrels"], case["run"], case.get("options", []), expected)


def executed(program: click.Command, folder: Path, qrels: str, run: str, *options: str) -> Done:
    (folder / "qrels").write_bytes(qrels.encode())
    (folder / "run").write_bytes(run.encode())
    mapped = options[options.index("-G") :] if "-G" in options else ()
    others = options[: len(options) - len(mapped)]
    return command([*([] if mapped else ["-q"]), *others, "qrels", "run", *mapped], program, folder=folder)


def same(ours: str, theirs: str) -> bool:
    """Compare texts; the last of 15 digits follows the order of a hash in statAP_MQ_eval."""
    number = r"-?\d+\.\d{9,}(?:e-\d+)?|-?\d(?:\.\d+)?e-\d+"
    one, other = ([float(text) for text in re.findall(number, each)] for each in (ours, theirs))
    alike = len(one) == len(other) and all(math.isclose(a, b, rel_tol=2e-14) for a, b in zip(one, other, strict=True))
    return alike and re.sub(number, "#", ours) == re.sub(number, "#", theirs)


def test_all_recorded_outputs_are_printed_and_refused_where_the_program_dies(tmp_path: Path) -> None:
    wrong, count = [], 0
    for case in cases():
        program, options = WAYS[case.program]
        done = executed(program, tmp_path, case.qrels, case.run, *options, *case.options)
        count += 1
        if "dies" in case.expected:
            good = done.status == programs.DIES and done.out == b"" and done.err.count(b"\n") == 1
        elif "printed" not in case.expected:  # ties, for which statAP_MQ_eval has no rule: any of several values
            (shown,) = re.findall(r"\tAP=(\S+)", done.out.decode())
            good = any(abs(float(shown) - value) <= 0.0005 for value in case.expected["possible_AP"])
        elif case.program.startswith("sample_eval"):
            good = done.out.decode() == case.expected["printed"]
        else:
            good = same(done.out.decode(), case.expected["printed"])
        if not good:
            wrong.append((case.name, case.program, done))
    # 114 cases of three programs, and 75 of two.
    assert (wrong, count) == ([], 492)


ON = "_on_valid_topics"
MEANS = {"valid_topics": "valid_topics", f"statMAP{ON}": "AP", "VAR_MAP": "varAP", f"statMRP{ON}": "R-prec"}


def values_of(case: Case) -> dict[tuple[str, str], float]:
    """Return all values of a case by query and name."""
    qrels, run, options = case.qrels.encode(), case.run.encode(), case.options
    if case.program.startswith("sample_eval"):
        return programs.sample_eval(
            qrels,
            run,
            depth=100 if case.program.endswith("/100") else 1000,
            trecvid=case.program.endswith("trecvid"),
            gains=dict(pair.split("=") for pair in options[1:]),
        )
    kind = "NEU" if "-n" in options else "MIXED" if "-m" in options else ""
    topics, means = programs.statap(qrels, run, version=case.program[-2:], fixed="-f" in options, kind=kind)
    of_topics = {(qid, name): value for qid, (_, of_topic) in topics.items() for name, value in of_topic.items()}
    names = {name: theirs for theirs, name in MEANS.items()}
    for name in means.keys() - names.keys():
        names[name] = name.replace("Prec_at", "statMPC").replace("nDCG", "statMNDCG") + ON
    return of_topics | {("all", names[name]): value for name, value in means.items()}


def test_all_recorded_values_are_computed() -> None:
    wrong, count = [], 0
    for case in cases():
        if "values" not in case.expected:
            continue
        ours = values_of(case)
        for qid, values in case.expected["values"].items():
            for name, value in values.items():
                # A topic without relevant documents has no precision in version 3, which prints 0.
                if name != "kind" and not (name == "Prec_at_30" and not values.get("Relevant", 1)):
                    count += 1
                    if not math.isclose(ours[qid, name], value, rel_tol=1e-9, abs_tol=0):
                        wrong.append((case.name, case.program, qid, name, ours[qid, name], value))
    assert wrong == []
    assert count > 16_000


PROFILE_OF = {
    "sample_eval/100": ("sample_eval", None),
    "sample_eval/1000": ("sample_eval", 1000),
    "sample_eval/trecvid": ("sample_eval-trecvid", None),
    "statAP/v3": ("statap-3", None),
    "statAP/v4": ("statap-4", None),
}
NAMES = {
    "INumRelRet": "inum_rel_ret", "INumRel": "inum_rel", "NumRet": "num_ret", "statAP": f"statMAP{ON}", "varAP": "VAR_MAP",
    "statRprec": f"statMRP{ON}", "statPC@30": f"statMPC_30{ON}", "statNDCG@30": f"statMNDCG{ON}",
}  # fmt: skip
READ_OTHERWISE = (
    "duplicate leading-zeros -G -f -n -m interleaved bad-probability single-sampled no-valid no-common-query"
)


@pytest.mark.filterwarnings("ignore")
def test_the_profiles_give_the_means_of_the_programs() -> None:
    wrong, count = [], 0
    tags = (
        {each["id"]: each["tags"] for each in map(json.loads, CASES.read_text().splitlines()[1:])}
        if CASES.is_file()
        else {}
    )
    for case in cases():
        of_case = " ".join([*tags[case.name], *case.options])
        if "values" not in case.expected or any(tag in of_case for tag in READ_OTHERWISE.split()):
            continue
        profile, depth = PROFILE_OF[case.program]
        kind = "sampled" if case.program.startswith("sample_eval") else "prels"
        qrels, run = te.read_qrels(text=case.qrels, format=kind), te.read_run(text=case.run)
        means = te.evaluate(qrels, run, profile=profile, depth=depth).mean
        theirs = case.expected["values"]["all"]
        for name, value in means.items():
            v4 = re.sub(r"^stat(PC|NDCG)@(\d+)$", rf"statM\1_\2{ON}", name)
            theirs_name = NAMES.get(name) or (v4 if v4 != name else name.replace("@", ""))
            if theirs_name in theirs:
                count += 1
                if not math.isclose(value, theirs[theirs_name], rel_tol=1e-9):
                    wrong.append((case.name, profile, name, value, theirs[theirs_name]))
    assert wrong == []
    assert count > 3000


QRELS = "1 0 a top 2\n1 0 b rest 1\n1 0 c rest 0\n1 0 d rest -1\n1 0 e rest -1\n2 0 a top 1\n7 0 z top 0\n"
RUN = "1 Q0 b 1 3 r\n1 Q0 d 2 2 r\n1 Q0 a 3 1 r\n2 Q0 x 1 1 r\n"


def test_sample_eval_prints_the_means_and_with_q_each_topic(tmp_path: Path) -> None:
    done = executed(sample_eval, tmp_path, QRELS, RUN)
    shown = [line.split("\t") for line in done.out.decode().splitlines()]
    values = {(fields[0], next(filter(None, fields[1:]))): fields[-1].strip() for fields in shown}
    # Topic 1: R̂ = 1 + 4/2 = 3; b: 2 · 1/1; a: (1 + 2 · 1/1) / 3.  (2 + 1) / 3 = 1, less what epsilon takes: 0.99998.
    # inum_rel adds topics 2 and 7, of which the run lacks 7.
    wanted = {
        ("infAP", "1"): "1.0000",
        ("infAP", "2"): "0.0000",
        ("infAP", "all"): "0.5000",
        ("inum_rel", "1"): "3.0000",
    }
    assert wanted.items() <= values.items()
    assert (values["inum_rel", "all"], values["num_ret", "all"]) == ("4.0000", "4")
    means = executed(sample_eval, tmp_path, QRELS, RUN, "-G", "2=3")
    assert {line.split()[1] for line in means.out.decode().splitlines()} == {"all"}


PRELS = "1 a 1 1 0.5\n1 b 1 1 1\n1 c 0 1 0.5\n2 a 1 0 1\n"


def test_statap_prints_the_means_and_with_q_each_topic(tmp_path: Path) -> None:
    done = executed(statap, tmp_path, PRELS, "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n")
    # R̂ = 2 + 1; (2 · 1/1 + 1 · (1 + 2) / 2) / 3 = 3.5 / 3.
    assert b"\ttopic=1  NEU \n\tRelevant=3.000000  sampled=3 sampled_relev=2\n" in done.out
    assert b"\tAP=1.166667  R-prec=1.000000  Prec_at_30=0.100000  nDCG=1\n" in done.out
    assert b"\n\ttopic=2  UMASS\n\n valid_topics=1\n statMAP_on_valid_topics=1.16666666666667 " in done.out


REFUSED: dict[str, tuple[click.Command, str, str, list[str], str]] = {
    "no topic in common": (sample_eval, QRELS, "3 Q0 a 1 1 r\n", [], "no query has a value"),
    "a field lacks": (sample_eval, QRELS, "1 Q0 a 1 1\n", [], "5 words, which are not lines of 6"),
    "no number": (sample_eval, QRELS, "1 Q0 a 1 high r\n", [], "'high' is not a number"),
    "no grade": (sample_eval, "1 0 a top 0.5\n", RUN, [], "'0.5' is not a grade"),
    "gains with -q": (sample_eval, QRELS, RUN, ["-q", "-G", "1=2"], "Give two files"),
    "gains without -G": (sample_eval, QRELS, RUN, ["1=2"], "Give two files"),
    "one judged document": (statap, "1 a 1 1 0.5\n", RUN, [], "divides by zero"),
    "a probability of 0": (statap, "1 a 1 1 0\n1 b 0 1 1\n", RUN, [], "divides by zero"),
    "a short line": (statap, PRELS, "1 Q0 a 1 1 r\n1 Q0 b\n", [], "run: a line with less than 5 fields"),
    "two kinds": (statap, PRELS, RUN, ["-n", "-m"], "Give -n or -m, not both"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_programs_cannot_score_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    program, qrels, run, options, said = REFUSED[name]
    done = executed(program, tmp_path, qrels, run, *options)
    assert done.status != 0
    assert done.out == b""
    assert said in done.err.decode()
    assert done.err.count(b"\n") == 1


def signs_of(qrels: te.Qrels, measures: list[str]) -> list[str]:
    with pytest.warns(te.errors.SuspectRunWarning):
        return [sign.text for sign in te.evaluate(qrels, {"1": {"a": 1.0}}, measures).signs]


def test_values_that_a_sample_biases_are_noted_with_the_measure_that_estimates_the_same() -> None:
    strata = te.read_qrels(text="1 0 a top 1\n1 0 b rest -1\n1 0 c rest 0\n", format="sampled")
    lacking = "the judgments are of a sample; 1 of 3 pooled documents was not judged, so "
    assert signs_of(strata, ["AP", "num_ret", "judged.10"]) == [f"{lacking}AP is biased. xinfAP and estAP estimate AP."]
    two = (
        f"{lacking}AP(rel=2), nDCG are biased. xinfAP(rel=2) and estAP(rel=2) estimate AP(rel=2); infNDCG and estNDCG "
    )
    two += "estimate nDCG."
    assert signs_of(strata, ["AP(rel=2)", "nDCG"]) == [two]
    assert signs_of(strata, ["P@5"]) == [f"{lacking}P@5 is biased. iP@5 estimates P@5."]
    assert signs_of(strata, ["P@5", "P@10"]) == [f"{lacking}P@5, P@10 are biased. iP@k estimates P@k."]
    assert signs_of(strata, ["infAP"]) == [f"{lacking}infAP is biased. xinfAP and estAP estimate AP."]
    assert signs_of(strata, ["nDCG@10"]) == [f"{lacking}nDCG@10 is biased. estNDCG@10 estimates nDCG@10."]
    # Measures that compute something else are not named: other gains, another divisor, reciprocal rank.
    for other in ("nDCG(gain=exp)", "AP(norm=capped)@10", "RR"):
        assert signs_of(strata, [other]) == [f"{lacking}{other} is biased. No measure here estimates it from a sample."]
    them = f"{lacking}RR, bpref are biased. No measure here estimates them from a sample."
    assert signs_of(strata, ["RR", "bpref"]) == [them]
    assert signs_of(strata, ["infAP", "AP"]) == [f"{lacking}infAP, AP are biased. xinfAP and estAP estimate AP."]
    prels = te.read_qrels(text="1 a 1 1 0.5\n1 b 0 1 1\n", format="prels")
    share = "1 of 2 judged documents was drawn with a probability below 1"
    assert signs_of(prels, ["AP"]) == [
        f"the judgments are of a sample; {share}, so AP is biased. statAP and estAP estimate AP."
    ]


def test_the_bias_is_noted_once_for_all_runs(tmp_path: Path) -> None:
    for name, text in (("qrels", QRELS), ("one", RUN), ("two", RUN.replace("r\n", "t\n"))):
        (tmp_path / name).write_text(text)
    for words in ("", "--ties", "--format json"):
        said = treceval(["qrels", "one", "two", "-m", "AP", *words.split()], folder=tmp_path).err.decode()
        assert said.startswith(
            "note: 2 runs (one, two): the judgments are of a sample; 2 of 7 pooled documents were not "
        )
        assert said.count("of a sample") == 1


def test_teachers_are_told_of_the_bias_and_boards_and_gates_note_it(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name, text in (("qrels", QRELS), ("class/ann", RUN), ("class/bob", RUN.replace("r\n", "t\n"))):
        (tmp_path / name).write_text(text)
    lacking = "the judgments are of a sample; 2 of 7 pooled documents were not judged, so "
    done = treceval(["grade", "qrels", "class", "-o", "out"], folder=tmp_path)
    assert done.err.decode().splitlines()[0].startswith(f"note: {lacking}AP")
    assert done.err.decode().splitlines()[0].endswith(" iP@10 estimates P@10.")
    assert lacking in (tmp_path / "out" / "overview.html").read_text()
    for words in ("board qrels class --no-cache", "gate qrels class/ann class/bob"):
        assert treceval([*words.split(), "-m", "AP"], folder=tmp_path).out.decode().count(lacking) == 1


def test_a_note_that_asks_has_no_full_stop(tmp_path: Path) -> None:
    for name, text in (("qrels", "1 0 z 1\n"), ("one", RUN), ("two", RUN.replace("r\n", "t\n"))):
        (tmp_path / name).write_text(text)
    for words in ("board qrels one two --no-cache", "gate qrels one two"):
        assert "Is the run for another collection?\n" in treceval(words.split(), folder=tmp_path).out.decode()


def test_a_faulty_line_of_a_sample_is_named_when_the_format_is_given(tmp_path: Path) -> None:
    (tmp_path / "prels").write_text("1 a 1 1 0.5\n1 b 1 1 2\n")
    with pytest.raises(te.errors.InputError, match=r"or sampled or prels if they are judgments of a sample"):
        te.read_qrels(tmp_path / "prels")
    with pytest.raises(te.errors.InputError, match=r"prels:2: '2' is not a probability"):
        te.read_qrels(tmp_path / "prels", format="prels")


@pytest.mark.filterwarnings("error")
def test_nothing_is_noted_of_measures_for_a_sample_nor_of_judgments_that_lack_nothing() -> None:
    strata = te.read_qrels(text="1 0 a top 1\n1 0 b rest -1\n1 0 c rest 0\n", format="sampled")
    assert te.evaluate(strata, {"1": {"a": 1.0}}, ["xinfAP", "num_ret"]).signs == ()
    whole = te.read_qrels(text="1 0 a top 1\n1 0 b rest 0\n", format="sampled")
    assert te.evaluate(whole, {"1": {"a": 1.0}}, ["AP"]).signs == ()
    # trec_eval's infAP is for one stratum.
    one = te.read_qrels(text="1 0 a all 1\n1 0 b all -1\n1 0 c all 0\n", format="sampled")
    assert te.evaluate(one, {"1": {"a": 1.0}}, ["infAP"]).signs == ()


def test_how_documents_were_drawn_is_in_the_fingerprint_of_judgments() -> None:
    texts = ("1 0 a top 1\n1 0 b top 0\n", "1 0 a top 1\n1 0 b rest 0\n")
    tables = [te.read_qrels(text=text, format="sampled") for text in texts]
    prints = [te.evaluate(table, {"1": {"a": 1.0}}, ["xinfAP"]).fingerprint for table in tables]
    assert len(set(map(str, prints))) == 2
