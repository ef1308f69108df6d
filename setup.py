"""Builds the compiled scanner; all else about the package stands in setup.cfg."""

from setuptools import Extension, setup

# Optional: where there is no compiler the Python reader serves.
scan = Extension("treceval_py.scan._scan", ["treceval_py/scan/_scan.pyx"], extra_compile_args=["-O3"], optional=True)

setup(ext_modules=[scan])
