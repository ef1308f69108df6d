"""``python -m treceval_py.sample_eval``: the command under that program's name, which `main` reads from ``sys.argv[0]``."""

from treceval_py.cli.main import main

if __name__ == "__main__":
    main()
