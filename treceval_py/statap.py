"""``python -m treceval_py.statap``: the command of that name."""

from treceval_py.cli.main import main

if __name__ == "__main__":
    main()
