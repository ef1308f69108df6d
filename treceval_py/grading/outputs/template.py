"""The folder of a new exercise: rules, where submissions go, and what students are told."""

from __future__ import annotations

import os
from importlib.resources import files

from treceval_py.errors import OutputError
from treceval_py.grading.rule_keys import USUAL_MEASURES, example_rules
from treceval_py.io.target import written_whole


def write_template(folder: str) -> None:
    """Write the folder of a new exercise; nothing that is there is replaced.

    Parameters
    ----------
    folder : str
        The folder, which must be new or empty.

    Raises
    ------
    OutputError
        The folder has files, or cannot be written.
    """
    try:
        if os.path.isdir(folder) and os.listdir(folder):
            raise OutputError("the folder is not empty", "Name a new one.", file=folder)
        for name in ("submissions", "for-students"):
            os.makedirs(os.path.join(folder, name))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", file=folder) from None
    texts = files(__package__)
    for name, text in {
        "README.md": (texts / "for_teachers.md").read_text("utf-8"),
        "rules.toml": example_rules(),
        "for-students/README.md": (texts / "for_students.md").read_text("utf-8"),
        "for-students/claims.csv": "measure,value\n" + "".join(f"{name},\n" for name in USUAL_MEASURES),
    }.items():
        with written_whole(os.path.join(folder, name)) as stream:
            stream.write(text.encode())
