"""The folder of a new exercise: rules, where submissions go, and what students are told."""

from __future__ import annotations

import os

from treceval_py.errors import OutputError
from treceval_py.grading.rule_keys import DEFAULT_RULES, example_rules
from treceval_py.io.target import written_whole

_STUDENTS = """\
# What to hand in

1. `run.txt`, your run: a line for each retrieved document, `query Q0 document rank score name`.
2. `claims.csv`, your numbers: write each number beside its measure. Only these numbers are claims.

        measure,value
        map,0.3088

   With several runs, add a column `run` with the name of the file.
3. Your report, in any format. Numbers in it are compared with your run, and never cost a point.

Instead of `claims.csv`, hand in the output of trec_eval, or a text file of nothing but lines such as `MAP = 0.3088`.
"""

_TEACHER = """\
# An exercise for treceval grade

| file | what it is for |
|---|---|
| `rules.toml` | measures, points, deadline; each key has a comment |
| `qrels.txt` | put your judgments here |
| `submissions/` | a file or folder for each student; or keep the export of your platform beside it |
| `for-students/` | give it to your students: it says what to hand in, and has an empty `claims.csv` |

    treceval grade qrels.txt submissions/ --rules rules.toml -o graded
"""


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
    claims = "measure,value\n" + "".join(f"{rule.name},\n" for rule in DEFAULT_RULES.measures)
    try:
        if os.path.isdir(folder) and os.listdir(folder):
            raise OutputError("the folder is not empty", "Name a new one.", file=folder)
        for name in ("submissions", "for-students"):
            os.makedirs(os.path.join(folder, name))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", file=folder) from None
    for name, text in {
        "README.md": _TEACHER,
        "rules.toml": example_rules(),
        "for-students/README.md": _STUDENTS,
        "for-students/claims.csv": claims,
    }.items():
        with written_whole(os.path.join(folder, name)) as stream:
            stream.write(text.encode())
