"""``python -m treceval_py``: the command line."""

from treceval_py.cli.main import main

if __name__ == "__main__":
    main()
