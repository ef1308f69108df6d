"""Models of every kind, made on the spot: their vectors are those of sentence-transformers, and of FlagEmbedding."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from packages import flag_embedding, skip_without
from tiny_models import TEXTS, byte_tokenizer, make_decoder, make_tiny_model, make_xlm_roberta

from treceval_py.errors import RunnerError
from treceval_py.retrieval.engines import encoder_maker
from treceval_py.retrieval.models import find_model, settings_for

skip_without("sentence_transformers")

pytestmark = pytest.mark.slow

TASK = "Given a web search query, retrieve relevant passages that answer the query"


@pytest.fixture(scope="module", autouse=True)
def _packages():
    """Import what takes seconds when a test runs: not where tests are only collected."""
    global sentence_transformers, layers
    import sentence_transformers
    import sentence_transformers.sentence_transformer.modules as layers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kinds")


def encoder_of(folder, engine=None, **settings):
    model = find_model(folder)
    return encoder_maker(model, settings_for(model, **settings), 4, engine)("cpu")


def encode(encoder, side="passages"):
    return encoder.work(encoder.prepare((TEXTS, TEXTS, side)), lambda _: None)


def saved(folder, transformer, *more, **told):
    """Save a model as sentence-transformers does, with what it says of itself."""
    from sentence_transformers.base.modules import Transformer

    first = Transformer(transformer)
    made = [
        layer(first.get_embedding_dimension()) if callable(layer) and not isinstance(layer, type) else layer()
        for layer in more
    ]
    sentence_transformers.SentenceTransformer(modules=[first, *made], device="cpu", **told).save(str(folder))
    return str(folder)


def agrees(encoder, folder, *, query="", passage="", longest=None):
    """Compare with sentence-transformers' own vectors, given the instruction itself and 4 texts at once."""
    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    if longest is not None:
        model.max_seq_length = longest
    for side, prompt in (("queries", query), ("passages", passage)):
        expected = model.encode(TEXTS, prompt=prompt, batch_size=4)
        np.testing.assert_allclose(encode(encoder, side), expected, atol=1e-6)


def pooling(mode, **more):
    return lambda width: layers.Pooling(width, mode, **more)


# Encoders


@pytest.fixture(scope="module")
def bert(folder):
    return make_tiny_model(folder / "bert", spread=0.2)


def test_a_model_in_the_layout_of_bge(folder, bert):
    made = saved(folder / "bge-tiny", bert, pooling("cls"), layers.Normalize)
    expected = flag_embedding().FlagModel(made, use_fp16=False, devices="cpu", batch_size=4).encode(TEXTS)
    for engine, name in ((None, "FlagEmbedding"), ("sentence-transformers", "sentence-transformers")):
        encoder = encoder_of(made, engine)
        assert encoder.by["engine"] == name
        agrees(encoder, made)
        np.testing.assert_array_equal(encode(encoder), expected)


def test_prompts_of_query_and_passage(folder, bert):
    prompts = {"query": "query: ", "passage": "passage: "}
    made = saved(folder / "prompts", bert, pooling("mean"), layers.Normalize, prompts=prompts)
    agrees(encoder_of(made), made, **prompts)


def test_prompts_that_are_left_out_of_the_mean(folder, bert):
    prompts = {"query": "the query of people: ", "document": "text: "}
    made = saved(folder / "excluded", bert, pooling("mean", include_prompt=False), layers.Normalize, prompts=prompts)
    encoder = encoder_of(made)
    agrees(encoder, made, query=prompts["query"], passage=prompts["document"])
    # They are left out of the mean and not of what the model reads.
    alone = encode(encoder_of(made, instruction=""), "queries")
    assert not np.allclose(encode(encoder, "queries"), alone, atol=1e-3)


def test_a_layer_after_the_pooling_and_a_length(folder, bert):
    made = saved(folder / "dense", bert, pooling("mean"), lambda width: layers.Dense(width, 8), layers.Normalize)
    (folder / "dense" / "sentence_bert_config.json").write_text('{"max_seq_length": 40}')
    model = find_model(made)
    assert (model.dimensions, settings_for(model).max_length) == (8, 40)
    agrees(encoder_of(made), made, longest=40)


def test_a_model_for_inner_products_and_two_poolings(folder, bert):
    made = saved(folder / "two", bert, lambda width: layers.Pooling(width, ("cls", "max")), similarity_fn_name="dot")
    assert find_model(made).dimensions == 64
    agrees(encoder_of(made), made)


def test_a_model_in_the_layout_of_bge_m3(folder):
    xlm = make_xlm_roberta(folder / "xlm")
    made = saved(folder / "bge-m3", xlm, pooling("cls"), layers.Normalize)
    flag = flag_embedding().BGEM3FlagModel(made, use_fp16=False, devices="cpu", batch_size=4)
    expected = flag.encode(TEXTS, max_length=512)["dense_vecs"]
    for engine in (None, "sentence-transformers"):
        encoder = encoder_of(made, engine)
        agrees(encoder, made, longest=512)
        np.testing.assert_array_equal(encode(encoder), expected)


# Decoders


@pytest.mark.parametrize(
    ("name", "kind", "form"),
    [
        ("Qwen3-Embedding-0.6B", "qwen3", "Instruct: {}\nQuery:{}"),
        ("e5-mistral-7b-instruct", "mistral", "Instruct: {}\nQuery: {}"),
        ("bge-multilingual-gemma2", "gemma2", "<instruct>{}\n<query>{}"),
    ],
)
def test_a_decoder_that_says_nothing_is_run_as_its_model_card_has_it(folder, name, kind, form):
    made = make_decoder(folder / name, kind)
    flag = flag_embedding().FlagLLMModel(
        made, use_fp16=False, devices="cpu", batch_size=4, query_instruction_format=form,
        query_instruction_for_retrieval=f"{TASK}." if kind == "gemma2" else TASK,
    )  # fmt: skip
    for engine in ("flagembedding", "sentence-transformers"):
        encoder = encoder_of(made, engine)
        assert encoder.notes == ()
        for side, function in (("queries", flag.encode_queries), ("passages", flag.encode_corpus)):
            if engine == "flagembedding":
                np.testing.assert_array_equal(encode(encoder, side), function(TEXTS))
            np.testing.assert_allclose(encode(encoder, side), function(TEXTS), atol=1e-6)


def test_a_decoder_that_describes_itself(folder):
    made = saved(
        folder / "decoder", make_decoder(folder / "causal", "qwen3"), pooling("lasttoken"), layers.Normalize,
        prompts={"query": "Instruct: find\nQuery:", "document": ""},
    )  # fmt: skip
    agrees(encoder_of(made), made, query="Instruct: find\nQuery:", longest=512)


def test_a_tokenizer_that_does_not_end_texts_is_noted(folder):
    made = make_decoder(folder / "endless", "mistral", ends=False)
    (note,) = encoder_of(made, pooling="lasttoken").notes
    assert note == (
        "The vector of a text is that of its last token, and the tokenizer puts none of its own at the end: "
        "if the model was trained with one, texts will rank badly."
    )


# Damage, and models of other kinds


def test_truncated_weights_are_refused(folder, bert):
    made = shutil.copytree(bert, folder / "truncated")
    weights = (made / "model.safetensors").read_bytes()
    (made / "model.safetensors").write_bytes(weights[:-8])
    with pytest.raises(RunnerError, match=f"^{made}: the model cannot be loaded: .* Copy it again, or use another"):
        encoder_of(made, pooling="mean")


def test_what_sentence_transformers_saves_of_other_kinds_is_refused(folder):
    import transformers

    tokenizer = byte_tokenizer("<s>", "</s>")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        pad_token_id=2, num_labels=1,
    )  # fmt: skip
    masked, scores = str(folder / "masked"), str(folder / "scores")
    transformers.BertForMaskedLM(config).save_pretrained(masked)
    transformers.BertForSequenceClassification(config).save_pretrained(scores)
    for each in (masked, scores):
        tokenizer.save_pretrained(each)
    sentence_transformers.SparseEncoder(masked, device="cpu").save(str(folder / "sparse"))
    sentence_transformers.CrossEncoder(scores, device="cpu").save_pretrained(str(folder / "cross"))
    assert find_model(folder / "sparse", wanted="sparse").dimensions == len(tokenizer)
    assert find_model(folder / "cross", wanted="reranker").kind == "reranker"
    for each, option in (("sparse", "--retriever sparse"), ("cross", "--rerank"), ("scores", "--rerank")):
        with pytest.raises(RunnerError, match=option):
            find_model(folder / each)
