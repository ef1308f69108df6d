"""Builds the compiled scanner; all else about the package is in setup.cfg.

The scanner uses the limited API, so one build serves Python 3.11 and every later version. Where there is no compiler it
is left out, and the Python reader serves. ``TRECEVAL_RELEASE=1`` is for wheels that are published: the scanner must
compile, a function unknown to the compiler is an error (the scanner could not be imported), and debugging symbols are
left out.
"""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

RELEASE = os.environ.get("TRECEVAL_RELEASE", "") not in ("", "0")
OLDEST = (3, 11)  # of the limited API; before, it has no buffers
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")  # without the GIL, what the limited API made is not loaded

compiling, linking = [], []
if sys.platform != "win32":  # there, setuptools optimises for speed by itself
    compiling = ["-O3"]
    if RELEASE:
        compiling += ["-g0", "-Werror=implicit-function-declaration"]
        linking = ["-Wl,-x" if sys.platform == "darwin" else "-Wl,-s"]


class BuildScanner(build_ext):
    """Leaves one scanner in the source tree: Python would prefer one made for its own version, however old."""

    def copy_extensions_to_source(self):
        """Remove what was built before."""
        for ending in ("so", "pyd"):
            for old in Path("treceval_py/scan").glob(f"_scan.*.{ending}"):
                old.unlink()
        super().copy_extensions_to_source()


scan = Extension(
    "treceval_py.scan._scan",
    ["treceval_py/scan/_scan.pyx"],
    define_macros=[("Py_LIMITED_API", "0x{:02X}{:02X}0000".format(*OLDEST))] if LIMITED else [],
    py_limited_api=LIMITED,
    extra_compile_args=compiling,
    extra_link_args=linking,
    optional=not RELEASE,
)

setup(
    ext_modules=[scan],
    cmdclass={"build_ext": BuildScanner},
    options={"bdist_wheel": {"py_limited_api": "cp{}{}".format(*OLDEST)}} if LIMITED else {},
)
