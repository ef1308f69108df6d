"""What the report's page brings along from others is as they published it, with its licence."""

from __future__ import annotations

from hashlib import sha256

import pytest

from treceval_py.reporting.page import FOLDER, FONTS, LIBRARY

# Made with sha256sum of the files in the packages of the npm registry.
PUBLISHED = {
    # d3@7.9.0: dist/d3.min.js
    "d3.min.js": "f2094bbf6141b359722c4fe454eb6c4b0f0e42cc10cc7af921fc158fceb86539",
    # @fontsource-variable/source-sans-3@5.3.0 and source-serif-4@5.3.1: files/
    "source-sans-3-latin-wght-normal.woff2": "7a19a7027e125257d310c6dbd78ae3a30b5ea1e3794d60b12bb28227a003bfda",
    "source-serif-4-latin-wght-normal.woff2": "382475f38242c52d42a3e5ff8dc69b5d73f10d0d21e4550b5fe232984688779a",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_as_published(name: str) -> None:
    assert sha256((FOLDER / "vendor" / name).read_bytes()).hexdigest() == PUBLISHED[name]


def test_nothing_else_is_brought_along() -> None:
    assert sorted(PUBLISHED) == sorted(name.removeprefix("vendor/") for name in (LIBRARY, *FONTS.values()))
    licences = {"d3.LICENSE", "source-sans-3.LICENSE", "source-serif-4.LICENSE"}
    assert {file.name for file in (FOLDER / "vendor").iterdir()} == licences | set(PUBLISHED)


def test_the_library_stands_in_a_page_as_it_is() -> None:
    script = (FOLDER / LIBRARY).read_bytes()
    assert b"</script" not in script.lower()
    assert b"<!--" not in script
    assert b"\r" not in script  # a browser would read another line end, and the hash of the policy would be another
