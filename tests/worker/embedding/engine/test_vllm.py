"""vLLM beyond the contract, on the CPU: right vectors in every number format, errors that leave it usable, and a separate process."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.transformers_reference import transformers_vectors
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.guarded_engine import GuardedEngine, worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.vectors import EmbeddingFailed, TokenIds, Vectors

if TYPE_CHECKING:
    from worker.embedding.engine.vllm import VllmEngine

pytestmark = pytest.mark.usefixtures("vllm_installed")

NewEngine = Callable[..., "VllmEngine"]
LIMIT = 256
START_S = 540


@pytest.fixture
def new_engine() -> Iterator[NewEngine]:
    """Make engines that are closed after the test."""
    from worker.embedding.engine.vllm import VllmEngine  # noqa: PLC0415 - it may be absent

    made: list[VllmEngine] = []

    def new(model: PreparedModel, **settings: Any) -> VllmEngine:  # noqa: ANN401 - whatever the engine takes
        made.append(VllmEngine(model, threads=2, **settings))
        return made[-1]

    yield new
    for engine in made:
        engine.close()


@pytest.fixture(scope="module")
def in_float32(prepared_model: PreparedModel) -> "Iterator[VllmEngine]":
    """The default model as llama.cpp computes it. Its start, with what vLLM compiles in an empty cache, is no work of the test."""
    from worker.embedding.engine.vllm import VllmEngine  # noqa: PLC0415 - it may be absent

    engine = VllmEngine(prepared_model, threads=2, number_format="float32")
    yield engine
    engine.close()


def texts_of(lengths: list[int], vocabulary: int, seed: int = 1) -> list[TokenIds]:
    numbers = random.Random(seed)
    return [np.array([numbers.randrange(5, vocabulary) for _ in range(length)], dtype=np.int32) for length in lengths]


def embed_all(engine: "VllmEngine | LlamaEngine", texts: list[TokenIds]) -> Vectors:
    """Embed texts in batches as large as the engine takes."""
    batches: list[list[TokenIds]] = [[]]
    for text in texts:
        if sum(map(len, batches[-1])) + len(text) > engine.batch_tokens:
            batches.append([])
        batches[-1].append(text)
    return np.concatenate([engine.embed(batch) for batch in batches])


def worst(left: Vectors, right: Vectors) -> float:
    return float((left * right).sum(axis=1).min())


@pytest.fixture(scope="module")
def texts(prepared_model: PreparedModel) -> list[TokenIds]:
    """Texts of lengths from one to the limit, in any order."""
    lengths = [*range(1, 18), 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 160, 191, 192, 193, 224, 254, 255, LIMIT]
    random.Random(2).shuffle(lengths)
    return texts_of(lengths, prepared_model.vocabulary_size)


@pytest.fixture(scope="module")
def right(prepared_model: PreparedModel, texts: list[TokenIds]) -> Vectors:
    """Their vectors as Transformers computes them."""
    return transformers_vectors(prepared_model.hf, texts, pooling=prepared_model.pooling)


@pytest.mark.vllm
@pytest.mark.usefixtures("transformers_installed")
def test_vllm_gives_the_vectors_of_transformers_in_mixed_batches_and_any_order(
    in_float32: "VllmEngine", texts: list[TokenIds], right: Vectors
) -> None:
    assert worst(embed_all(in_float32, texts), right) >= 0.9999
    assert worst(embed_all(in_float32, texts[::-1])[::-1], right) >= 0.9999


@pytest.mark.vllm
@pytest.mark.usefixtures("transformers_installed")
def test_llama_cpp_gives_the_vectors_of_transformers(prepared_model: PreparedModel, texts: list[TokenIds], right: Vectors) -> None:
    llama = LlamaEngine(prepared_model, threads=2)
    assert worst(embed_all(llama, texts), right) >= 0.9999
    llama.close()


@pytest.mark.long
@pytest.mark.usefixtures("transformers_installed")
def test_in_bfloat16_vectors_are_those_of_transformers_but_for_a_thousandth(prepared_model: PreparedModel, new_engine: NewEngine) -> None:
    texts = texts_of([1, 2, 3, 17, 129, LIMIT], prepared_model.vocabulary_size)
    right = transformers_vectors(prepared_model.hf, texts, pooling=prepared_model.pooling)
    bfloat16 = new_engine(prepared_model, number_format="bfloat16")
    assert worst(embed_all(bfloat16, texts), right) >= 0.999


@pytest.mark.long
@pytest.mark.parametrize(
    "tiny",
    [
        Tiny(pooling="cls"),
        Tiny(pooling="mean", lowercase=False, layers=3, dim=96, heads=3),
        Tiny(unigram=True, modules=False, dim=64, heads=1, layers=1),
        Tiny(number_format="BF16", shards=2, activation="gelu_new"),
    ],
)
def test_other_bert_models_load_and_match_the_reference(tiny: Tiny, tmp_path: Path, new_engine: NewEngine) -> None:
    model = prepare_model(make_folder(tmp_path / "hf", tiny), tmp_path / "cache")
    engine = new_engine(model, number_format="float32")
    assert (engine.dim, engine.max_tokens) == (tiny.dim, model.max_tokens)
    assert worst_cosine(engine, load_golden(model.golden)) >= 0.9999


@pytest.mark.long
@pytest.mark.parametrize("token_id", [-1, 2**31 - 1])
def test_an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives(
    tmp_path: Path, new_engine: NewEngine, token_id: int
) -> None:
    model = prepare_model(make_folder(tmp_path / "hf"), tmp_path / "cache")
    engine = new_engine(model, number_format="float32")
    good = texts_of([5, 7], model.vocabulary_size)
    before = engine.embed(good)
    with pytest.raises(RuntimeError, match="vLLM failed on 3 texts: "):
        engine.embed([good[0], np.array([1, token_id, 2], dtype=np.int32), good[1]])
    assert worst(engine.embed(good), before) > 0.99999
    assert worst_cosine(engine, load_golden(model.golden)) >= 0.9999


@pytest.mark.long
def test_a_shape_that_vllm_cannot_compute_is_refused_with_its_reason(tmp_path: Path, new_engine: NewEngine) -> None:
    """On a CPU vLLM has no attention for heads of 16, and fails at the first batch."""
    model = prepare_model(make_folder(tmp_path / "hf", Tiny(heads=4)), tmp_path / "cache")
    with pytest.raises((RuntimeError, ModelError), match="head_dim=16"):
        new_engine(model).embed(texts_of([5], model.vocabulary_size))


@pytest.mark.long
def test_weights_that_are_not_there_are_refused_in_one_line(prepared_model: PreparedModel, tmp_path: Path, new_engine: NewEngine) -> None:
    with pytest.raises(ModelError, match="vLLM cannot load all-MiniLM-L6-v2-logs: ") as refused:
        new_engine(replace(prepared_model, hf=tmp_path))
    assert "\n" not in str(refused.value)


class Confused:
    """A vLLM engine whose answers are changed: `confuse` gets the outputs of one step."""

    def __init__(self, inside: Any, confuse: Callable[[list[Any]], list[Any]]) -> None:  # noqa: ANN401 - vLLM has no types here
        self._inside = inside
        self._confuse = confuse

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        return getattr(self._inside, name)

    def step(self) -> list[Any]:
        return self._confuse(self._inside.step())


def exchanged(outputs: list[Any]) -> list[Any]:
    """Swap the request ids of the first and the last answer."""
    if len(outputs) > 1:
        outputs[0].request_id, outputs[-1].request_id = outputs[-1].request_id, outputs[0].request_id
    return outputs


@pytest.mark.long
@pytest.mark.parametrize(("confuse", "reason"), [(exchanged, "not about the text"), (lambda outputs: outputs[1:], "answered 2 of 3")])
def test_an_answer_that_is_not_about_its_text_is_a_broken_engine_and_no_text_is_blamed(
    tmp_path: Path, new_engine: NewEngine, confuse: Callable[[list[Any]], list[Any]], reason: str
) -> None:
    model = prepare_model(make_folder(tmp_path / "hf"), tmp_path / "cache")
    broken = new_engine(model)
    texts = texts_of([5, 7, 9], model.vocabulary_size)
    right = broken.embed(texts)
    broken._engine = Confused(broken._engine, confuse)  # noqa: SLF001 - vLLM does not do this by itself
    said: list[str] = []
    guarded = GuardedEngine(broken, load_golden(model.golden), new_engine=lambda: new_engine(model), say=said.append, clock=time.monotonic)
    outcomes = guarded.embed(texts)
    assert worst(np.stack([outcome for outcome in outcomes if not isinstance(outcome, EmbeddingFailed)]), right) > 0.99999
    assert reason in said[0]


PROGRAM = """
import resource, sys, time
from pathlib import Path
import numpy as np
import psutil
from worker.embedding.engine.vllm import VllmEngine
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import load_prepared
from worker.embedding.model.vectors import EmbeddingFailed

{main}
if __name__ == "__main__":
    main()
"""
NO_MEMORY = """
def main():
    model = load_prepared(Path(sys.argv[1]))
    said = []
    engine = VllmEngine(model, threads=2, batch_tokens=16384)
    guarded = GuardedEngine(engine, load_golden(model.golden), new_engine=lambda: engine, say=said.append, clock=time.monotonic)
    guarded.check_engine()
    texts = [np.arange(2000, 2254, dtype=np.int32) + row for row in range(32)]
    right = np.concatenate([engine.embed(texts[:2]), engine.embed(texts[2:4])])
    print("quiet", file=sys.stderr, flush=True)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 96 * 1024 * 1024, resource.RLIM_INFINITY))
    vectors = guarded.embed(texts)
    assert not any(isinstance(vector, EmbeddingFailed) for vector in vectors), "a text was blamed"
    assert (np.stack(vectors[:4]) * right).sum(axis=1).min() > 0.9999
    assert "too small for a batch" in said[0], said
    assert 254 <= guarded.limit_tokens <= 16 * 254, guarded.limit_tokens
    print("lived")
"""


def run_program(main: str, model: PreparedModel, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in its own process, with the prepared model's folder as argument."""
    script = folder / "script.py"
    script.write_text(PROGRAM.replace("{main}", main), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script), str(model.folder)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_it_prints_nothing_and_without_memory_for_a_batch_that_is_halved_and_nobody_is_blamed(
    tmp_path: Path, prepared_model: PreparedModel
) -> None:
    """The process's memory is limited once the engine is loaded."""
    ended = run_program(NO_MEMORY, prepared_model, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "lived\n"), ended.stderr
    assert ended.stderr.startswith("quiet\n"), ended.stderr
