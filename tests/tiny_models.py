"""Makes models on the spot: untrained ones with a few numbers, BERT in the layout that BGE models have and others.

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

TEXTS = [
    "the river and the sea",
    "",
    "what is the law of the city?",
    "war",
    "music from a film " * 8,
    "A",
    "people " * 90,
]
"""Texts that encoders are given: one is empty, one shorter than a word, one longer than most models take."""


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


def make_decoder(folder: str | os.PathLike[str], kind: str, *, ends: bool = True) -> str:
    """Make a model that reads from left to right in a folder, as its architecture's configuration has it.

    Parameters
    ----------
    folder : path
        The folder; it is made.
    kind : {"qwen3", "mistral", "gemma2"}
        The architecture. Padding is on the left, but for Mistral's.
    ends : bool
        Whether the tokenizer puts a token at the end of a text.

    Returns
    -------
    str
        The folder.
    """
    import torch
    import transformers

    config, model = {
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3Model),
        "mistral": (transformers.MistralConfig, transformers.MistralModel),
        "gemma2": (transformers.Gemma2Config, transformers.Gemma2Model),
    }[kind]
    tokenizer = byte_tokenizer("" if kind == "qwen3" else "<s>", "</s>" if ends else "", left=kind != "mistral")
    torch.manual_seed(0)
    made = config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=1024,
        initializer_range=0.2,
        # or what is there by default is outside of this small vocabulary
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.convert_tokens_to_ids("<s>"),
        eos_token_id=tokenizer.convert_tokens_to_ids("</s>"),
    )
    model(made).eval().save_pretrained(os.fspath(folder))
    tokenizer.save_pretrained(os.fspath(folder))
    return os.fspath(folder)


def byte_tokenizer(begins: str, ends: str, *, left: bool = False):  # type: ignore[no-untyped-def]
    """Return a tokenizer whose tokens are bytes, with what is put before and after each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ("<s>", "</s>", "<pad>", "<mask>")
    pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    made = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(
        single=[each for each in (begins, "$A", ends) if each],
        pair=[each for each in (begins, "$A", ends, "$B", ends) if each],
        special_tokens=[(each, pieces.index(each)) for each in special],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        mask_token="<mask>",
        padding_side="left" if left else "right",
    )


def make_xlm_roberta(folder: str | os.PathLike[str]) -> str:
    """Make a model of the architecture of bge-m3."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaModel

    tokenizer = byte_tokenizer("<s>", "</s>")
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=1026, pad_token_id=2, bos_token_id=0, eos_token_id=1, type_vocab_size=1,
        initializer_range=0.2,
    )  # fmt: skip
    XLMRobertaModel(config).save_pretrained(os.fspath(folder))
    tokenizer.save_pretrained(os.fspath(folder))
    return os.fspath(folder)


def make_tiny_reranker(folder: str | os.PathLike[str], *, labels: int = 1, positions: int = 512) -> str:
    """Make an untrained cross-encoder: BERT with a head."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    make_tiny_model(folder, positions=positions)
    config = BertConfig.from_pretrained(folder)
    config.num_labels, config.initializer_range = labels, 0.3
    torch.manual_seed(0)
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return str(folder)


def make_language_model_reranker(folder: str | os.PathLike[str]) -> str:
    """Make an untrained reranker on a language model, of the architecture of bge-reranker-v2-gemma."""
    import torch
    from transformers import GemmaConfig, GemmaForCausalLM

    tokenizer = byte_tokenizer("<s>", "", left=True)
    torch.manual_seed(0)
    config = GemmaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=1024, initializer_range=0.2,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    GemmaForCausalLM(config).eval().save_pretrained(os.fspath(folder))
    tokenizer.save_pretrained(os.fspath(folder))
    return os.fspath(folder)
