"""``python -m treceval_py.trec_eval``: the command under trec_eval's name, which `main` reads from ``sys.argv[0]``."""

from treceval_py.cli.main import main

if __name__ == "__main__":
    main()
