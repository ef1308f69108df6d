"""Completion in shells: what is asked and answered, and real sessions of bash, zsh and fish where these are installed."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import click
import pytest

import treceval_py as te
from treceval_py.cli.commands import treceval
from treceval_py.cli.completion import TABLES, complete
from treceval_py.measuring import FAMILIES
from treceval_py.rendering import FORMATS

HOME = Path(__file__).parent.parent


def program(folder: Path) -> dict[str, str]:
    """Put the command into a folder by its name, and return an environment that has it."""
    file = folder / "bin" / "treceval"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nPYTHONPATH="{HOME}" exec "{sys.executable}" -m treceval_py "$@"\n')
    file.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{file.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "PS1": "> ",
    }


def asked(instruction: str, words: str = "", word: str = "") -> str:
    """Ask as a shell does when the tab key is pressed."""
    environment = {"COMP_WORDS": words, "COMP_CWORD": word}
    with (
        patch.dict(os.environ, environment),
        redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        assert complete(instruction) == 0
    assert err.getvalue() == ""
    out.flush()
    return out.buffer.getvalue().decode()


def by_bash(line: str) -> list[str]:
    """Return what bash is answered for a line, which it splits at some punctuation too."""
    pieces = [piece for word in line.split(" ") for piece in re.split("([@=:])", word) if piece or not word]
    answers = [
        answer.partition(",") for answer in asked("bash_complete", "\n".join(pieces), f"{len(pieces) - 1}").splitlines()
    ]
    return [value if kind == "plain" else f"<{kind}>" for kind, _, value in answers]


def by_zsh(line: str) -> list[str]:
    words = line.split(" ")
    answers = asked("zsh_complete", line, str(len(words) - 1)).splitlines()
    return [value if kind == "plain" else f"<{kind}>" for kind, value in zip(answers[::3], answers[1::3], strict=False)]


def by_fish(line: str) -> list[str]:
    answers = [answer.partition(",") for answer in asked("fish_complete", line, line.split(" ")[-1]).splitlines()]
    return [value.partition("\t")[0] if kind == "plain" else f"<{kind}>" for kind, _, value in answers]


def test_a_measure_is_completed_with_its_cutoffs() -> None:
    found = by_bash("treceval -m nDC")
    assert found == ["nDCG", *(f"nDCG@{cutoff}" for cutoff in FAMILIES["ndcg_cut"].cutoffs)]
    assert by_bash("treceval -m map_c")[:2] == ["map_cut", "map_cut.5"]


def test_of_a_word_with_an_at_sign_bash_gets_the_piece_that_it_replaces() -> None:
    # Unlike what follows an equals sign, this piece has the sign itself.
    assert by_bash("treceval -m nDCG@1") == ["@10", "@15", "@100", "@1000"]
    assert set(by_bash("treceval -m nDCG@")) >= {"@10", "@15", "@100", "@1000"}
    assert (
        by_zsh("treceval -m nDCG@1") == by_fish("treceval -m nDCG@1") == ["nDCG@10", "nDCG@15", "nDCG@100", "nDCG@1000"]
    )


@pytest.mark.parametrize("by_shell", [by_bash, by_zsh, by_fish])
def test_nothing_typed_gives_all_names_without_cutoffs(by_shell: Callable[[str], list[str]]) -> None:
    found = by_shell("treceval -m ")
    assert {"map", "AP", "ndcg_cut", "official"} <= set(found)
    assert not [name for name in found if "@" in name]
    te.measuring.parse_measures(found)


def test_the_case_of_a_measure_need_not_be_known() -> None:
    # All begin alike: a shell shortens what is typed to the beginning that its completions share.
    assert {name[:4] for name in by_bash("treceval -m NDCG")} == {"nDCG"}


def test_profiles_and_formats_are_completed() -> None:
    assert by_bash("treceval --profile ") == list(te.scoring.PROFILES)
    assert by_bash("treceval explain q r --against ra") == ["ranx"]
    assert set(FORMATS) <= set(by_bash("treceval --format "))
    assert by_bash("treceval compare --test wi") == ["wilcoxon"]
    assert by_bash("treceval convert a b --to par") == ["parquet"]
    assert by_bash("treceval check --explain R10")[0] == "R101"


def test_a_value_after_an_equals_sign() -> None:
    assert by_bash("treceval --profile=ra") == by_bash("treceval score --profile=ra") == ["ranx"]
    assert by_bash("treceval --profile=") == list(te.scoring.PROFILES)
    assert by_zsh("treceval --profile=ra") == by_fish("treceval --profile=ra") == ["--profile=ranx"]


@pytest.mark.parametrize("by_shell", [by_bash, by_zsh, by_fish])
def test_the_first_word_is_a_command_a_file_or_an_option_of_scoring(by_shell: Callable[[str], list[str]]) -> None:
    assert by_shell("treceval com") == ["<file>", "compare"]
    assert by_shell("treceval --prof") == ["--profile"]
    everything = by_shell("treceval ")
    assert set(everything) == {"<file>", "score", *treceval.list_commands(click.Context(treceval))}


def test_the_default_command_and_its_name_are_completed_alike() -> None:
    for rest in ("-m nDC", "--form", "qrels.txt -", "qrels.txt ru", "qrels.txt run.txt --profile ", "-c --format "):
        assert by_bash(f"treceval {rest}") == by_bash(f"treceval score {rest}")


@pytest.mark.parametrize(
    "line", ["treceval q", "treceval qrels.txt r", "treceval -o r", "treceval compare a", "treceval -m map -o out q",
             "treceval report -o ", "treceval --plugin mine", "treceval -m map qrels.txt "]
)  # fmt: skip
def test_files_elsewhere(line: str) -> None:
    assert by_bash(line)[:1] == ["<file>"]


@pytest.mark.parametrize("line", ["treceval --digits ", "treceval --pro --x", "treceval --format csv --digits 4 --"])
def test_what_cannot_be_completed_is_no_message(line: str) -> None:
    found = by_bash(line)
    assert "<file>" not in found


def test_an_unknown_instruction_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treceval_py"],
        env={**os.environ, "_TRECEVAL_COMPLETE": "tcsh_source"}, cwd=HOME, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "treceval: _TRECEVAL_COMPLETE=tcsh_source is not known. Set it to bash_source or zsh_source or fish_source.\n"
    )


def test_each_text_is_a_name_of_a_kind_or_a_file() -> None:
    context = click.Context(treceval)
    named = {}
    for name in ("score", *treceval.list_commands(context)):
        command = treceval.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter.type, click.types.StringParamType):
                items = parameter.shell_complete(click.Context(command), "")
                assert items
                if [item.type for item in items] != ["file"]:
                    named[f"{name} {parameter.name}"] = {item.value for item in items}
    assert named["measures names"] == named["retrieve measures"] == named["gate floors"] == set(by_bash("treceval -m "))
    assert named["profiles names"] == named["explain against"] == named["fuse profile"] == set(te.scoring.PROFILES)
    assert {"compare tests", "check ignore", "convert source_format"} <= set(named)
    assert len(TABLES) + 2 == len({frozenset(names) for names in named.values()})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_itself_answers_each_shell(shell: str, tmp_path: Path) -> None:
    env = program(tmp_path)
    done = subprocess.run(
        ["treceval"], env={**env, "_TRECEVAL_COMPLETE": f"{shell}_source"}, capture_output=True, check=True
    )
    assert f"_TRECEVAL_COMPLETE={shell}_complete".encode() in done.stdout
    words = {"COMP_WORDS": "treceval --profile ra", "COMP_CWORD": {"bash": "2", "zsh": "2", "fish": "ra"}[shell]}
    env |= {"_TRECEVAL_COMPLETE": f"{shell}_complete", **words}
    done = subprocess.run(["treceval"], env=env, capture_output=True, check=True)
    assert b"ranx" in done.stdout
    assert done.stderr == b""


# --- real sessions ---


def typed(shell: list[str], env: dict[str, str], folder: Path, setup: list[str], keys: str) -> str:
    """Type into a shell at a terminal, a tab where there is one; return the line that is there then."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, env)
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < end, f"no {text!r} in {seen!r}"
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace")

    try:
        for number, line in enumerate(setup):
            os.write(terminal, f"{line}; echo do''ne{number}\n".encode())
            until(f"done{number}")
        # The line is not called but printed: its beginning becomes echo.
        os.write(terminal, keys.encode())
        time.sleep(0.3)  # a tab that comes with other keys is not always one
        os.write(terminal, b"\x01echo the''-line: \x05 :e''nd\n")
        until(":end")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    return re.findall(r"the-line: (.*?) *:end", seen)[-1]


BASH = ["bash", "--norc", "--noprofile", "-i"]
ZSH = ["zsh", "-f", "-i"]
SETUP = {
    "bash": ['eval "$(_TRECEVAL_COMPLETE=bash_source treceval)"'],
    "zsh": [
        "autoload -Uz compinit",
        "compinit -u -D",
        'eval "$(_TRECEVAL_COMPLETE=zsh_source treceval)"',
        "bindkey -e",
    ],
}
SESSIONS = [
    ("treceval -m nDCG@3\t", "treceval -m nDCG@30"),
    ("treceval --profile=ranx\t", "treceval --profile=ranx"),
    ("treceval --profile rank\b\t", "treceval --profile ranx"),
    ("treceval comp\t", "treceval compare"),
    ("treceval bo\t", "treceval board"),
    ("treceval qr\t", "treceval qrels.txt"),
    ("treceval board qr\t", "treceval board qrels.txt"),
    ("treceval -o a\\ f\t", "treceval -o a file.txt"),
    ("treceval check --expl\t", "treceval check --explain"),
    ("treceval -m map_cut.50\t", "treceval -m map_cut.500"),
]


@pytest.mark.slow
@pytest.mark.parametrize("keys", SESSIONS, ids=lambda pair: repr(pair[0]))
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_in_a_session_of_a_shell(shell: str, keys: tuple[str, str], tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    env = program(tmp_path)
    for name in ("qrels.txt", "a file.txt", "run.txt"):
        (tmp_path / name).touch()
    assert typed(BASH if shell == "bash" else ZSH, env, tmp_path, SETUP[shell], keys[0]) == keys[1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_in_fish(tmp_path: Path) -> None:
    env = program(tmp_path)
    (tmp_path / "qrels.txt").touch()

    def completed(line: str) -> list[str]:
        script = f"_TRECEVAL_COMPLETE=fish_source treceval | source; complete --do-complete '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    assert completed("treceval -m nDCG@3") == ["nDCG@30"]
    assert completed("treceval --profile=ra") == ["--profile=ranx"]
    assert completed("treceval bo") == ["board"]
    assert completed("treceval qr") == ["qrels.txt"]
