"""Compare vectors with those of FlagEmbedding's FlagModel bit for bit: ``flag_embedding_comparison.py VERSION``.

The version is the one that must be imported, of several that are installed in folders of their own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import metadata

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from tiny_models import WORDS, make_tiny_model

from treceval_py.retrieval.engines import ENGINES, encoder_maker
from treceval_py.retrieval.models import find_model, settings_for

TEXTS = 300
BATCH = 32


def texts(seed: int) -> list[str]:
    """Return texts of 0 to 80 words, of which many have the same number of tokens."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(0, 80))) for _ in range(TEXTS)]


def main(version: str) -> None:
    """Compare each way of pooling and both kinds of weights, by both engines."""
    assert metadata.version("FlagEmbedding") == version, metadata.version("FlagEmbedding")
    from FlagEmbedding import FlagModel

    with tempfile.TemporaryDirectory() as folder:
        model = find_model(make_tiny_model(os.path.join(folder, "bge-tiny"), spread=0.2))
        for seed, pooling in enumerate(("cls", "mean")):
            for precision, half in (("fp32", False), ("fp16", True)):
                flag = FlagModel(model.folder, use_fp16=half, devices="cpu", pooling_method=pooling, batch_size=BATCH)
                expected = flag.encode(texts(seed), max_length=64)
                settings = settings_for(model, pooling=pooling, precision=precision, max_length=64)
                for engine in ENGINES:
                    encoder = encoder_maker(model, settings, BATCH, engine)("cpu")
                    made = encoder.work(encoder.prepare((texts(seed), texts(seed), "passages")), lambda _: None)
                    assert made.tobytes() == expected.tobytes(), (version, pooling, precision, engine)
    print(f"FlagEmbedding {version}: {TEXTS} vectors are the same bit for bit, by cls and mean, in fp32 and fp16")


if __name__ == "__main__":
    main(sys.argv[1])
