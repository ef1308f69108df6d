"""``python -m treceval_py.sample_eval``: the command of that name."""

from treceval_py.cli.main import main

if __name__ == "__main__":
    main()
