"""Any BERT folder loads, and engines and golden vectors agree with it."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.transformers_reference import transformers_vectors
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.engine.llama_native import free_model, load_model
from worker.embedding.engine.onnx import OnnxEngine
from worker.embedding.guarded_engine import worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import PreparedModel, prepare_model

FAMILIES = {
    "heads of 16": Tiny(dim=64, heads=4),
    "heads of 32, one layer": Tiny(dim=32, heads=1, layers=1),
    "heads of 64, four layers": Tiny(dim=64, heads=1, layers=4),
    "no number is a multiple of 32": Tiny(dim=30, heads=3, feed_forward=50),
    "cls, as bge": Tiny(pooling="cls"),
    "cls, without Normalize": Tiny(pooling="cls", normalize=False),
    "mean, without Normalize": Tiny(normalize=False),
    "no modules": Tiny(modules=False, weight_prefix=""),
    "prompts, as e5": Tiny(prompts={"query": "query: ", "passage": "passage: "}),
    "few positions": Tiny(positions=16),
    "one token type": Tiny(token_types=1),
    "another gelu": Tiny(activation="gelu_new"),
    "bfloat16": Tiny(number_format="BF16"),
    "float16": Tiny(number_format="F16"),
    "shards": Tiny(shards=3),
    "bfloat16 shards without a prefix": Tiny(shards=2, number_format="BF16", weight_prefix=""),
    "unigram, as multilingual e5": Tiny(unigram=True, pooling="cls"),
    "vocab.txt, cased": Tiny(vocab_txt_only=True, lowercase=False),
}


@pytest.fixture(params=FAMILIES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return make_folder(tmp_path / "hf", FAMILIES[request.param])


@pytest.fixture
def prepared(source: Path, tmp_path: Path) -> PreparedModel:
    return prepare_model(source, tmp_path / "cache")


def test_llama_cpp_and_onnx_runtime_agree_with_the_golden_vectors(prepared: PreparedModel) -> None:
    golden = load_golden(prepared.golden)
    assert len(golden.ids) >= 2
    for engine, least in ((LlamaEngine(prepared, threads=1), 0.9999), (OnnxEngine(prepared, threads=1), 0.999999)):
        assert worst_cosine(engine, golden) >= least
        engine.close()


@pytest.mark.usefixtures("transformers_installed")
def test_transformers_agrees_with_the_golden_vectors(source: Path, prepared: PreparedModel) -> None:
    golden = load_golden(prepared.golden)
    assert np.linalg.norm(golden.vectors, axis=1) == pytest.approx(1, abs=1e-6)
    for folder in (source, prepared.hf):
        right = transformers_vectors(folder, golden.ids, pooling=prepared.pooling)
        assert (right * golden.vectors).sum(axis=1).min() >= 0.99999


@pytest.mark.usefixtures("transformers_installed")
def test_transformers_tells_another_pooling(tmp_path: Path) -> None:
    model = prepare_model(make_folder(tmp_path / "hf"), tmp_path / "cache")
    golden = load_golden(model.golden)
    assert (transformers_vectors(model.hf, golden.ids, pooling="cls") * golden.vectors).sum(axis=1).min() < 0.9


def test_the_folder_for_vllm_holds_float32_weights_and_shape_only(source: Path, prepared: PreparedModel) -> None:
    assert sorted(file.name for file in prepared.hf.iterdir()) == ["config.json", "model.safetensors"]
    config = json.loads((prepared.hf / "config.json").read_text(encoding="utf-8"))
    assert (config["architectures"], config["model_type"], config["torch_dtype"]) == (["BertModel"], "bert", "float32")
    assert json.loads((source / "config.json").read_text(encoding="utf-8")).items() <= config.items()
    header = json.loads((prepared.hf / "model.safetensors").read_bytes()[8:].split(b"}}", maxsplit=1)[0] + b"}}")
    names = set(header) - {"__metadata__"}
    assert len(names) == 5 + 16 * config["num_hidden_layers"]
    assert all(name.startswith(("embeddings.", "encoder.layer.")) for name in names)
    assert {header[name]["dtype"] for name in names} == {"F32"}


def test_another_tokenizer_than_wordpiece_is_the_models_own_affair(tmp_path: Path) -> None:
    model = prepare_model(make_folder(tmp_path / "hf", Tiny(unigram=True)), tmp_path / "cache")
    assert model.tokenizer_family == "other"
    assert prepare_model(make_folder(tmp_path / "wordpiece"), tmp_path / "cache").tokenizer_family == "wordpiece"
    free_model(load_model(model, vocabulary_only=True))
    engine = LlamaEngine(model, threads=1)
    last = model.vocabulary_size - 1
    assert engine.embed([np.array([0, last, 2], dtype=np.int32)]).shape == (1, 64)
    with pytest.raises(RuntimeError, match="invalid token"):
        engine.embed([np.array([0, last + 1, 2], dtype=np.int32)])
    engine.close()


WORDPIECE = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", r"tokenizer\.json is not a tokenizer: EOF"),
        ("[]", r"tokenizer\.json is not a tokenizer: invalid type"),
        ('{"model": {"type": "Foo"}}', r"tokenizer\.json is not a tokenizer: "),
        (json.dumps({"model": WORDPIECE | {"vocab": {"a": 0}}}), r"tokenizer\.json is not a tokenizer: .*Missing \[UNK\]"),
        (json.dumps({"model": WORDPIECE | {"vocab": {"[UNK]": 122}}}), "has ids up to 122, its model only 122 tokens"),
    ],
)
def test_a_tokenizer_that_cannot_serve_the_model_is_refused_in_one_line(tmp_path: Path, content: str, reason: str) -> None:
    source = make_folder(tmp_path / "hf")
    (source / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=reason) as refused:
        prepare_model(source, tmp_path / "cache")
    assert "\n" not in str(refused.value)
    assert list((tmp_path / "cache").iterdir()) == []
