"""Versions of packages that cannot encode are refused before anything is loaded, as the installed packages state them."""

from __future__ import annotations

import configparser
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from command import treceval

from treceval_py.errors import RunnerError
from treceval_py.retrieval import hub

ROOT = Path(__file__).parent.parent
WORKS = {"sentence-transformers": "6.2.0", "transformers": "5.23.0", "FlagEmbedding": "1.4.2"}

Installed = Callable[..., None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Let every package be importable, and some have other versions or no metadata (None)."""
    monkeypatch.setattr(hub, "find_spec", lambda package: package)

    def install(**versions: str | None) -> None:
        found = {**WORKS, **{name.replace("_", "-"): each for name, each in versions.items()}}

        def version(package: str) -> str:
            if (each := found[package]) is None:
                raise PackageNotFoundError(package)
            return each

        monkeypatch.setattr(hub, "version", version)

    return install


@pytest.mark.parametrize(
    "versions",
    [
        {},
        {"sentence_transformers": "6.0"},
        {"sentence_transformers": "6.0.0.dev0"},
        {"sentence_transformers": "7.0.0"},
        {"sentence_transformers": None},
        {"transformers": "5.0.0"},
        {"transformers": "5.24.0"},  # FlagEmbedding 1.4.2 cannot be imported with it, and nothing imports that
        {"transformers": "5.99.9"},
        {"transformers": None},
    ],
)
def test_versions_that_work_are_accepted(installed: Installed, versions: dict[str, str | None]) -> None:
    installed(**versions)
    hub.check_packages(*hub.ENCODING)


@pytest.mark.parametrize(
    ("package", "version", "range_"),
    [
        ("sentence-transformers", "5.9.9", ">=6.0"),
        ("transformers", "4.99.0", ">=5.0,<6"),
        ("transformers", "6", ">=5.0,<6"),
        ("transformers", "6.0.0", ">=5.0,<6"),
    ],
)
def test_a_version_that_cannot_work_is_refused_before_anything_is_loaded(
    installed: Installed, tmp_path: Path, package: str, version: str, range_: str
) -> None:
    installed(**{package.replace("-", "_"): version})
    told = f"encoding needs {package}{range_}, and {version} is installed. pip install '.[retrieve]', in your clone of treceval_py"
    for retriever in ("dense", "sparse"):
        given = ["retrieve", str(ROOT / "data"), "-o", str(tmp_path / "run.txt"), "--retriever", retriever]
        done = treceval([*given, "--model", "nobody/no-such-model"])  # it is not looked for
        assert (done.status, done.err.decode()) == (1, f"treceval: {told}\n")
    with pytest.raises(RunnerError) as caught:
        hub.check_packages(*hub.ENCODING)
    assert str(caught.value) == told
    hub.check_packages("torch", "transformers")  # reranking: these versions load cross-encoders
    hub.check_packages("bm25s")


def test_versions_that_cannot_work_are_not_installed_by_the_extra() -> None:
    declared = configparser.ConfigParser()
    declared.read(ROOT / "setup.cfg", "utf-8")
    lines = declared["options.extras_require"]["retrieve"].split("\n")
    for package, (_, least, _) in hub.VERSIONS.items():
        assert any(line.startswith(f"{package}>={'.'.join(map(str, least))}") for line in lines), package


def test_a_package_that_is_missing_comes_before_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda package: None if package in {"ray", "Stemmer"} else package)
    for package, name, extra in (("ray", "ray", "ray"), ("Stemmer", "PyStemmer", "retrieve")):
        with pytest.raises(RunnerError) as caught:
            hub.check_packages("torch", package)
        told = f"this needs the package {name}, which is not installed. pip install '.[{extra}]', in your clone of treceval_py"
        assert str(caught.value) == told
