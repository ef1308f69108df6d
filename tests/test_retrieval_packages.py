"""Versions of packages that cannot encode are refused before anything is loaded, as the installed packages state them."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest
from command import treceval

from treceval_py.errors import RunnerError
from treceval_py.retrieval import hub

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("version", ["6.0", "6.0.0.dev0", "6.2.0", "10.0", "not installed"])
def test_versions_that_work_are_accepted(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A copy on the path that was not installed says no version."""
    monkeypatch.setattr(hub, "find_spec", lambda package: package)
    monkeypatch.setattr(hub, "version_of", {"sentence-transformers": version}.__getitem__)
    hub.check_packages(*hub.ENCODING)


@pytest.mark.parametrize("version", ["5.9.9", "0.4"])
def test_a_version_that_cannot_work_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda package: package)
    monkeypatch.setattr(hub, "version_of", {"sentence-transformers": version}.__getitem__)
    told = (
        f"encoding needs sentence-transformers>=6.0, and {version} is installed. "
        "pip install '.[retrieve]', in your clone of treceval_py"
    )
    for retriever in ("dense", "sparse"):
        given = ["retrieve", str(ROOT / "data"), "-o", str(tmp_path / "run.txt"), "--retriever", retriever]
        done = treceval([*given, "--model", "nobody/no-such-model"])  # it is not looked for
        assert (done.status, done.err.decode()) == (1, f"treceval: {told}\n")
    with pytest.raises(RunnerError) as caught:
        hub.check_packages(*hub.ENCODING)
    assert str(caught.value) == told
    hub.check_packages("torch", "transformers")
    hub.check_packages("bm25s")


def test_versions_that_cannot_work_are_not_installed_by_the_extra() -> None:
    declared = configparser.ConfigParser()
    declared.read(ROOT / "setup.cfg", "utf-8")
    assert "sentence-transformers>=6.0" in declared["options.extras_require"]["retrieve"].split("\n")


def test_a_package_that_is_missing_comes_before_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda package: None if package in {"ray", "Stemmer"} else package)
    for package, name, extra in (("ray", "ray", "ray"), ("Stemmer", "PyStemmer", "retrieve")):
        with pytest.raises(RunnerError) as caught:
            hub.check_packages("torch", package)
        told = f"this needs the package {name}, which is not installed. pip install '.[{extra}]', in your clone of treceval_py"
        assert str(caught.value) == told
