#!/usr/bin/env python3
"""Say which conventions a scorer of ranked runs follows. Needs Python 3.11 and nothing else.

    run.py [options] -- COMMAND ...             a program that prints trec_eval's lines
    run.py [options] --protocol -- COMMAND ...  a program that answers JSON lines
    run.py --recorded 10 -- COMMAND ...         a program that takes trec_eval's place: its recorded outputs

In COMMAND, {measure}, {qrels} and {run} are replaced, for one measure at a time:

    run.py --tool trec_eval -- trec_eval -q -m {measure} {qrels} {run}

With --protocol, COMMAND is started once, reads a case on each line of standard input and answers on a line of standard
output. docs/conformance.md describes both, and adapters/ has examples.

Exit status: 0 if the program was asked, whatever it answered (with --recorded: if it printed what trec_eval prints);
1 if its values are wrong where all conventions agree; 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import json
import math
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE = 300
"""Seconds that an answer may take."""
CLOSE = 5.1e-5
"""Values this close are equal: four decimals may have been printed. Values of different answers are further apart."""

TREC_EVAL = {
    "AP": "map", "AP@": "map_cut.", "nDCG": "ndcg", "nDCG@": "ndcg_cut.", "RR": "recip_rank", "P@": "P.",
    "R@": "recall.", "Success@": "success.", "Rprec": "Rprec", "Bpref": "bpref", "IPrec@": "iprec_at_recall.",
}  # fmt: skip
"""What trec_eval calls the kit's measures; those that it lacks are not here."""


# Cases --------------------------------------------------------------------------------------------


def load(name):
    """Return the content of a file of the kit."""
    return json.loads((HERE / name).read_text("utf-8"))


@functools.cache
def cases():
    """Return each probe and agreement case with its measures."""
    probes = [
        {
            **probe,
            "measures": list(dict.fromkeys(m for answer in probe["answers"].values() for m in measures_of(answer))),
        }
        for probe in load("probes.json")["probes"]
    ]
    agreement = [
        {**case, "measures": list(next(iter(case["values"].values())))} for case in load("agreement.json")["cases"]
    ]
    return probes, agreement


def measures_of(answer):
    """Return the measures that an answer has values of."""
    return [measure for row in answer["values"] for measure in row["of"]]


def asked(case):
    """Return a case as the scorer gets it: without what is expected."""
    qrels = [[qid, docid, int(label)] for qid, _, docid, label in map(str.split, case["qrels"])]
    run = [[qid, docid, int(rank), number(score)] for qid, _, docid, rank, score, _ in map(str.split, case["run"])]
    return {"id": case["id"], "measures": case["measures"], "qrels": qrels, "run": run}


def number(text):
    """Return a score as JSON can hold it: infinity stays a text."""
    return float(text) if math.isfinite(float(text)) else text


# Scorers ------------------------------------------------------------------------------------------


class Command:
    """A program that reads two files and prints trec_eval's lines: name, query, value."""

    def __init__(self, command, names, seconds=PATIENCE):
        self.command, self.names, self.about, self.seconds = command, names, {}, seconds

    def answer(self, case):
        """Return the values of a case, a measure at a time."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("qrels", "run"):
                Path(folder, name).write_text("\n".join(case[name]) + "\n", "utf-8")
            values = {
                measure: self.value(self.named(measure), folder) for measure in case["measures"] if self.named(measure)
            }
        return {"values": values}

    def named(self, measure):
        """Return what the program calls a measure; None if it has none."""
        if measure in self.names:
            return self.names[measure]
        name, at, cutoff = measure.partition("@")
        return self.names[name + at] + cutoff if name + at in self.names else None

    def value(self, name, folder):
        """Return the printed values of a measure by query, or the message with which the program refused."""
        slots = {"{measure}": name, "{qrels}": "qrels", "{run}": "run"}
        words = [re.sub(r"\{(measure|qrels|run)\}", lambda found: slots[found[0]], word) for word in self.command]
        try:
            done = subprocess.run(
                words,
                cwd=folder,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=self.seconds,
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {self.seconds:g} s"
        if done.returncode != 0:
            return said(done.stderr, done.returncode)
        lines = [line.split() for line in done.stdout.splitlines()]
        return {line[-2]: float(line[-1]) for line in lines if len(line) >= 3 and is_number(line[-1])} or None

    def close(self):
        """Nothing is running."""


class Protocol:
    """A program that answers a JSON line for each JSON line."""

    def __init__(self, command, seconds=PATIENCE):
        self.command, self.seconds = command, seconds
        self.process = None
        self.about = self.ask({"about": True})

    def ask(self, question):
        """Send a line, and return the line that comes back."""
        if self.process is None:
            self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process runs
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
            )
            self.lines = queue.Queue()
            # A thread, because nothing else waits for a pipe with a limit of time on every system.
            self.reader = threading.Thread(target=pass_on, args=(self.process.stdout, self.lines), daemon=True)
            self.reader.start()
        message = ""
        try:
            self.process.stdin.write(json.dumps(question, ensure_ascii=False).encode() + b"\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=self.seconds)
        except (OSError, queue.Empty):
            line = b""
        if line:
            try:
                return json.loads(line)
            except ValueError:
                message = f"its answer is not JSON: {line[:80]!r}"
        # It ended, does nothing or talks: the next case gets a new process.
        self.process.kill()
        status = self.process.wait()
        self.errors.seek(0)
        message = message or said(self.errors.read().decode("utf-8", "replace"), status)
        self.close()
        if "about" in question:
            raise SystemExit(f"{' '.join(self.command)}: does not answer the first line. It said: {message}")
        return {"refused": message}

    def answer(self, case):
        """Return the values of a case."""
        return self.ask(asked(case))

    def close(self):
        """End the process."""
        if self.process is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()
            self.errors.close()
            self.process = None


def pass_on(stream, lines):
    """Put the lines of a stream into a queue, and an empty one at its end."""
    for line in stream:
        lines.put(line)
    lines.put(b"")


def is_number(text):
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def said(text, status):
    """Return what a program wrote to standard error, as one short line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else f"ended with status {status}")[:160]


# What the values mean -----------------------------------------------------------------------------


def mean(value):
    """Return the mean of a measure: as the scorer gave it, or over the queries that it gave. None if there is none."""
    if isinstance(value, dict):
        if "all" in value:
            return mean(value["all"])
        value = [each for each in value.values() if each is not None]
        value = sum(value) / len(value) if value else None
    return None if value is None or math.isnan(value) else value


def answered(probe, given):
    """Return the scorer's answer to a probe by measure, for each measure that it has."""
    if "cannot" in given:
        return {"all": f"cannot be asked: {given['cannot']}"}
    if "refused" in given:
        return {"all": f"refused: {given['refused']}"}
    values = {measure: value for measure, value in given["values"].items() if measure in probe["measures"]}
    numbers = {measure: mean(value) for measure, value in values.items() if not isinstance(value, str)}
    fits = {measure: fitting(probe, measure, value) for measure, value in numbers.items() if value is not None}
    found = {}
    for measure, value in values.items():
        if isinstance(value, str):
            found[measure] = f"refused: {value}"
        elif measure not in fits:
            found[measure] = "no value"
        else:
            # Of several answers with this value, those that other measures give too.
            names = fits[measure]
            for others in fits.values():
                names = [name for name in names if name in others] or names
            found[measure] = " or ".join(names) or f"other: {numbers[measure]:.4f}"
    return found


def fitting(probe, measure, value):
    """Return the answers to a probe that have this value."""
    return [
        name
        for name, answer in probe["answers"].items()
        for row in answer["values"]
        if measure in row["of"] and abs(row["value"] - value) <= CLOSE
    ]


def compared(case, given):
    """Yield the measure, the query, the expected value and the scorer's of an agreement case."""
    for measure, values in given.get("values", {}).items():
        expected = {qid: row[measure]["value"] for qid, row in case["values"].items() if measure in row}
        if not expected or isinstance(values, str):
            continue
        expected["all"] = sum(expected.values()) / len(expected)
        values = values if isinstance(values, dict) else {"all": values}
        yield from ((measure, qid, expected[qid], value) for qid, value in values.items() if qid in expected)
        if "all" not in values:
            yield measure, "all", expected["all"], mean(values)


def card(scorer, about):
    """Ask a scorer everything, and return its score card."""
    probes, agreement = cases()
    answers = {probe["id"]: answered(probe, scorer.answer(probe)) for probe in probes}
    equal = total = 0
    largest, wrong, measures = 0.0, [], set()
    for case in agreement:
        given = scorer.answer(case)
        if "values" not in given:
            wrong.append(f"{case['id']}: {given.get('refused') or given.get('cannot')}")
        for measure, qid, expected, value in compared(case, given):
            difference = math.inf if value is None else abs(expected - value)
            total += 1
            measures.add(measure)
            if difference <= CLOSE:
                equal += 1
                largest = max(largest, difference)
            else:
                wrong.append(f"{case['id']}: {measure} of {qid} is {value}, expected {expected}")
    every = list(dict.fromkeys(measure for case in [*probes, *agreement] for measure in case["measures"]))
    has = measures.union(*answers.values())
    return {
        **about,
        "answers": {name: together(found) for name, found in answers.items()},
        "agreement": {"values": total, "equal": equal, "largest_difference": rounded(largest), "wrong": wrong},
        "lacks": lacking(every, has),
    }


def rounded(difference):
    """Return the order of magnitude of a difference, as its digits vary from machine to machine."""
    return float(f"1e{math.ceil(math.log10(difference))}") if difference > 1e-15 else 0.0


def lacking(every, has):
    """Return the measures that no case got a value of; a cutoff stands for all of them."""
    name = {measure: re.sub(r"@.*", "@", measure) for measure in every}
    there = {name[measure] for measure in has if measure in name}
    return [each.replace("@", "@k") for each in dict.fromkeys(name.values()) if each not in there]


def together(found):
    """Return answers by measures that share them: one text if all do."""
    texts, said = {}, {}
    for measure, answer in found.items():
        texts.setdefault(kind(answer), []).append(measure)
        said.setdefault(kind(answer), answer)
    if len(texts) <= 1:
        return next(iter(said.values()), None)
    return {", ".join(measures): said[each] for each, measures in texts.items()}


def follows(found):
    """Return the conventions that all measures of a card share, as NAME=VALUE."""
    probes = {probe["id"]: probe for probe in cases()[0]}
    result = {}
    for name, answer in found["answers"].items():
        if isinstance(answer, str) and answer in probes[name]["answers"]:
            for key, value in probes[name]["answers"][answer]["conventions"].items():
                result.setdefault(key, set()).add(value)
    return [f"{key}={values.pop()}" for key, values in sorted(result.items()) if len(values) == 1]


def apart(answer, measures):
    """Return a card's answer to a probe by measure, as it was before `together`."""
    if isinstance(answer, dict):
        return {measure: text for key, text in answer.items() for measure in key.split(", ")}
    return dict.fromkeys(measures, answer) if answer else {}


def alike(found, profiles):
    """Return how many questions each profile answers as a card does, most first: (profile, same, of)."""
    rows = [(profile, shared(found, answers)) for profile, answers in profiles.items()]
    return sorted(((profile, sum(same.values()), len(same)) for profile, same in rows), key=lambda row: -row[1])


def shared(found, answers):
    """Return, for each question that a tool could be asked, whether its card and a profile have the same answer."""
    result = {}
    for probe in cases()[0]:
        ours, theirs = (apart(each[probe["id"]], probe["measures"]) for each in (found["answers"], answers))
        asked = [
            measure
            for measure in probe["measures"]
            if re.sub("@.*", "@k", measure) not in found["lacks"]
            and not ours.get(measure, "cannot").startswith("cannot")
        ]
        if asked:
            result[probe["id"]] = all(kind(ours[measure]) == kind(theirs.get(measure, "")) for measure in asked)
    return result


def kind(text):
    """Return an answer without the words of a message."""
    return text.partition(":")[0] if text.startswith("refused") else text


# Cards --------------------------------------------------------------------------------------------


def markdown(found, profiles):
    """Return a card as Markdown."""
    probes = cases()[0]
    agreement = found["agreement"]
    lines = [f"# {found['tool']} {found['version']}", ""]
    lines += [f"Asked by `{found['call']}`.", ""] if found.get("call") else []
    lines += [
        f"Where all conventions agree, {agreement['equal']} of {agreement['values']} values are right"
        + (f" (to {agreement['largest_difference']:.0e})." if agreement["largest_difference"] else "."),
        *([f"It lacks {', '.join(found['lacks'])}."] if found["lacks"] else []),
        "",
        *(f"* Wrong: {each}" for each in agreement["wrong"]),
        f"It follows {', '.join(follows(found))}.",
        "",
    ]
    if profiles:
        rows = alike(found, profiles)
        best = [row for row in rows if row[1] == rows[0][1]]
        lines += [
            f"{best[0][1]} of its {best[0][2]} answers are those of the profile {', '.join(row[0] for row in best)}.",
            "",
        ]
    lines += ["| question | answer |", "| --- | --- |"]
    lines += [f"| {probe['question']} | {cell(found['answers'][probe['id']])} |" for probe in probes]
    return "\n".join(lines) + "\n"


def cell(answer):
    """Return an answer as the text of a table's cell."""
    if isinstance(answer, dict):
        answer = "; ".join(f"{measures}: {text}" for measures, text in answer.items())
    return (answer or "–").replace("|", "\\|")


# Recorded outputs of trec_eval --------------------------------------------------------------------


def recorded(version, execute):
    """Run the recorded cases of a version of trec_eval; return counts by kind, and why cases failed by id.

    `execute` runs the program with arguments and standard input in a folder, and returns status, output and errors.
    """
    expect, stdout = ("expect", "stdout") if version == "10" else ("expect_9", "stdout_9")
    counts, failed = {}, {}
    for line in gzip.decompress((HERE / "trec_eval.jsonl.gz").read_bytes()).splitlines():
        case = json.loads(line)
        kind, expected = case[expect], coded(case.get(stdout, case["stdout"]))
        with tempfile.TemporaryDirectory() as folder:
            for name, text in case["files"].items():
                Path(folder, name).write_bytes(coded(text))
            status, out, errors = execute(case["args"], coded(case.get("stdin", "")), folder)
        wrong = {
            "match": (status, out) != (0, expected),
            "refuse": status == 0 or out.strip() or not errors.strip(),
        }.get(kind, False)
        right, of = counts.get(kind, (0, 0))
        counts[kind] = right + (not wrong and status >= 0), of + 1
        if wrong or status < 0:
            failed[case["id"]] = f"{' '.join(case['args'])}: status {status}, {out!r}, {errors!r}"
    return counts, failed


def coded(text):
    """Return the bytes of a text of the recorded cases."""
    return text.encode("utf-8", "surrogateescape")


def main():
    """Run what the arguments ask for, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", action="store_true", help="COMMAND answers JSON lines")
    parser.add_argument("--seconds", type=float, help=f"how long an answer may take [{PATIENCE}]")
    parser.add_argument("--tool", help="name of the program on the card [the command's]")
    parser.add_argument("--version", help="its version on the card")
    parser.add_argument(
        "--names", type=Path, help="JSON file: what the program calls the kit's measures [trec_eval's names]"
    )
    parser.add_argument("--format", choices=["markdown", "json"], help="how the card is written [markdown]")
    parser.add_argument("--recorded", choices=["10", "9"], help="run the recorded cases of trec_eval 10.0 or 9.0.8")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    without = ["names", "tool", "version", "seconds", "format"] if options.recorded else ["names"]
    for name in without if options.recorded or options.protocol else []:
        if getattr(options, name) is not None:
            parser.error(f"--{name} has no effect with --{'recorded' if options.recorded else 'protocol'}")
    if options.recorded and options.protocol:
        parser.error("--recorded runs a program that takes trec_eval's place, --protocol one that answers JSON lines")
    patience = PATIENCE if options.seconds is None else options.seconds
    # Each case has a folder of its own, so a path from here would not be found there.
    command = [os.path.abspath(word) if os.sep in word and os.path.exists(word) else word for word in options.command]
    if options.recorded:

        def execute(arguments, stdin, folder):
            done = subprocess.run([*command, *arguments], cwd=folder, input=stdin, capture_output=True, check=False)
            return done.returncode, done.stdout, done.stderr

        counts, failed = recorded(options.recorded, execute)
        print(
            "\n".join(
                [
                    *(f"{name}: {why}" for name, why in failed.items()),
                    ", ".join(f"{kind} {right}/{of}" for kind, (right, of) in sorted(counts.items())),
                ]
            )
        )
        return 1 if failed else 0
    if options.protocol:
        scorer = Protocol(command, patience)
    else:
        names = json.loads(options.names.read_text("utf-8")) if options.names else TREC_EVAL
        scorer = Command(command, names, patience)
    about = {"tool": Path(command[0]).name, "version": "", "call": " ".join(options.command), **scorer.about}
    about |= {key: value for key in ("tool", "version") if (value := getattr(options, key))}
    found = card(scorer, about)
    scorer.close()
    if options.format == "json":
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        profiles = load("profiles.json")["profiles"] if (HERE / "profiles.json").exists() else {}
        print(markdown(found, profiles), end="")
    return 1 if found["agreement"]["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
