"""Makes models on the spot: untrained BERT with a few numbers, in the layout that BGE models have.

Averaged over its tokens an untrained model is a usable one: texts that share words are near each other. Its tokenizer
knows English letters and some words, so that no text is all [UNK].
"""

from __future__ import annotations

import os
import string
import warnings
from collections.abc import Sequence

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "a",
    "for",
    "what",
    "how",
    "are",
    "was",
    "on",
    "with",
    "that",
    "by",
    "as",
    "from",
    "river",
    "water",
    "city",
    "people",
    "war",
    "law",
]


def make_tiny_model(
    folder: str | os.PathLike[str],
    *,
    hidden: int = 32,
    layers: int = 2,
    seed: int = 0,
    words: Sequence[str] = WORDS,
    positions: int = 512,
    spread: float = 0.02,
) -> str:
    """Make a model in a folder: config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    The same arguments give the same bytes.

    Parameters
    ----------
    folder : path
        The folder; it is made.
    hidden : int
        The length of the vectors, a multiple of 2.
    layers : int
        How many layers.
    seed : int
        What the weights are drawn from.
    words : sequence of str
        Words that are one token, beside letters, digits and punctuation.
    positions : int
        How many tokens a text can have.
    spread : float
        The standard deviation of the weights; with 0.02 the first token's vectors are nearly the same for all texts.

    Returns
    -------
    str
        The folder.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    characters = string.ascii_lowercase + string.digits + string.punctuation
    pieces = [*SPECIAL, *characters, *(f"##{each}" for each in characters)]
    pieces += [word for word in dict.fromkeys(words) if word not in pieces]
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=positions,
        initializer_range=spread,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BertModel(config).eval().save_pretrained(os.fspath(folder))
        tokenizer = BertTokenizerFast(vocab={piece: number for number, piece in enumerate(pieces)})
        tokenizer.save_pretrained(os.fspath(folder))
    return os.fspath(folder)
