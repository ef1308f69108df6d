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
from treceval_py.retrieval.encoding import Encoder

from treceval_py.retrieval.models import find_model, settings_for

TEXTS = 300
BATCH = 32


def texts(seed: int) -> list[str]:
    """Return texts of 0 to 80 words, of which many have the same number of tokens."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(0, 80))) for _ in range(TEXTS)]


def main(version: str) -> None:
    """Compare each way of pooling, and both kinds of weights."""
    assert metadata.version("FlagEmbedding") == version, metadata.version("FlagEmbedding")
    from FlagEmbedding.inference.embedder.encoder_only.base import BaseEmbedder

    with tempfile.TemporaryDirectory() as folder:
        model = find_model(make_tiny_model(os.path.join(folder, "tiny"), spread=0.2))
        for seed, pooling in enumerate(("cls", "mean")):
            for precision, half in (("fp32", False), ("fp16-weights", True)):
                flag = BaseEmbedder(
                    model.folder, use_fp16=half, devices="cpu", pooling_method=pooling, batch_size=BATCH
                )
                expected = flag.encode(texts(seed), max_length=64)
                settings = settings_for(model, pooling=pooling, precision=precision, passage_max_length=64)
                found = Encoder(model, settings, device="cpu", batch_size=BATCH).encode(texts(seed), side="passages")
                assert found.tobytes() == np.asarray(expected, dtype=np.float32).tobytes(), (
                    version,
                    pooling,
                    precision,
                )
    print(
        f"FlagEmbedding {version}: {TEXTS} vectors are the same bit for bit, by cls and mean, in fp32 and fp16-weights"
    )


if __name__ == "__main__":
    main(sys.argv[1])
