"""Loads and checks the model at every start: prepared files, embedding space, engine, golden vectors.

This happens before anything is read or created. Whatever the user must change is a ModelError of one line.
"""

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from worker.embedding.engine.cpu_count import cpu_count
from worker.embedding.engine.engine import Engine
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.engine.matryoshka import TruncatingEngine, truncated
from worker.embedding.engine.remote import RemoteEngine
from worker.embedding.fastest_engine import CpuEngine, Rates, SpeedRecord, fastest_engine
from worker.embedding.guarded_engine import WORST_ALLOWED_COSINE, worst_cosine
from worker.embedding.model.errors import ModelError, WrongVectors
from worker.embedding.model.folder import TUNED
from worker.embedding.model.golden import Golden, load_golden
from worker.embedding.model.nearness import Nearness
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.space import EmbeddingSpace
from worker.embedding.tokenizer import Tokenizer
from worker.runtime.logs import inform, warn
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable

EngineName = Literal["vllm", "llama", "onnx", "remote"]

_LEAST_ROOM_TOKENS = 6
"""One character can be several tokens, and texts are split down to single characters at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model whose engine and tokenizer agree with its own files.

    Thread: main loads it; the engine stage owns `engine`.
    """

    prepared: PreparedModel
    """Its `dim` is the model's own; stored vectors have `space.dim` components."""
    space: EmbeddingSpace
    engine: Engine
    golden: Golden
    new_engine: Callable[[], Engine]
    """Loads another engine like `engine`; raises ModelError."""

    @property
    def nearness(self) -> Nearness | None:
        """How near a question and a line must be; None if that was not measured for these vectors."""
        return self.prepared.nearness if self.space.dim == self.prepared.dim else None

    def new_tokenizer(self) -> Tokenizer:
        """Return a new tokenizer, for one thread."""
        return Tokenizer(self.prepared)


def model_of(settings: Settings) -> PreparedModel:
    """Return the prepared model that the settings name, for `auto` that of a new index; prepares it if needed. Raises ModelError."""
    table = settings.model
    folder = table.folder.expanduser() if table.folder is not None else None
    installed = TUNED if table.name == "auto" else table.name
    prepared = prepare_model(folder, table.cache.expanduser(), pooling=table.pooling, installed=installed)
    max_tokens = table.max_tokens or prepared.max_tokens
    if max_tokens > prepared.max_tokens:
        raise ModelError(f"model.max_tokens is {max_tokens}; {prepared.name} takes at most {prepared.max_tokens}")
    if table.dims is not None and table.dims > prepared.dim:
        raise ModelError(f"model.dims is {table.dims}; the vectors of {prepared.name} have {prepared.dim} components")
    document_prefix = prepared.document_prefix if table.document_prefix is None else table.document_prefix
    query_prefix = prepared.query_prefix if table.query_prefix is None else table.query_prefix
    is_own = (document_prefix, query_prefix) == (prepared.document_prefix, prepared.query_prefix)
    return replace(
        prepared,
        max_tokens=max_tokens,
        document_prefix=document_prefix,
        query_prefix=query_prefix,
        nearness=prepared.nearness if is_own else None,
    )


def space_of(model: PreparedModel, dims: int | None = None) -> EmbeddingSpace:
    """Return the embedding space of a prepared model whose vectors are cut to `dims` components, if given."""
    return EmbeddingSpace(
        weights_sha256=model.weights_sha256,
        architecture=model.architecture,
        tokenizer_sha256=model.tokenizer_sha256,
        pooling=model.pooling,
        dim=dims or model.dim,
        document_prefix=model.document_prefix,
        query_prefix=model.query_prefix,
        splits_words=model.splits_words,
    )


def load_model(settings: Settings) -> LoadedModel:
    """Load the model; check tokenizer parity on a sample, room beside the prefixes, and golden vectors. Raises ModelError."""
    prepared = model_of(settings)
    tokenizer = Tokenizer(prepared)
    try:
        tokenizer.check_parity()
        _check_prefixes(prepared, tokenizer)
    finally:
        tokenizer.close()
    space = space_of(prepared, settings.model.dims)
    _warn_of_unusual(prepared, space.dim)
    golden = load_golden(prepared.golden)
    if space.dim < prepared.dim:
        golden = golden._replace(vectors=truncated(golden.vectors, space.dim))
    new_engine = functools.partial(open_engine, settings, prepared, space.dim)
    engine = new_engine()
    _check_golden(engine, golden)
    return LoadedModel(prepared=prepared, space=space, engine=engine, golden=golden, new_engine=new_engine)


def load_for_queries(settings: Settings, loaded: LoadedModel) -> LoadedModel | None:
    """Load an engine for queries alone, if `query.device` wants one; its vectors are of the same space. Raises ModelError."""
    if settings.query.device == "engine":
        return None
    new_engine = functools.partial(open_engine, with_cpu_engine(settings, loaded.prepared), loaded.prepared, loaded.space.dim)
    engine = new_engine()
    _check_golden(engine, loaded.golden)
    return replace(loaded, engine=engine, new_engine=new_engine)


def chosen_engine(settings: Settings, model: PreparedModel) -> EngineName:
    """Return the engine that the settings choose on this machine."""
    if uses_vllm(settings.engine):
        return "vllm"
    return measured_engine(settings, model) if settings.engine.name == "auto" else settings.engine.name


def uses_vllm(table: EngineTable) -> bool:
    """Whether vLLM computes: `auto` means it wherever it is installed, because somebody did that to have it."""
    return table.name == "vllm" or (table.name == "auto" and _is_installed("vllm"))


def measured_engine(settings: Settings, model: PreparedModel) -> CpuEngine:
    """Return the fastest engine on this machine that needs only a CPU; the first time, that takes a second. Raises ModelError."""
    if not _is_installed("onnxruntime"):
        return "llama"
    table = settings.engine
    engines: dict[CpuEngine, Callable[[], Engine]] = {
        "llama": functools.partial(_llama, table, model),
        "onnx": functools.partial(_onnx, table, model),
    }
    return fastest_engine(engines, load_golden(model.golden), speed_record(settings, model), say=_say_fastest)


def with_cpu_engine(settings: Settings, model: PreparedModel) -> Settings:
    """Return settings that name the fastest engine of a CPU, whatever they name. Raises ModelError."""
    table = settings.engine.model_copy(update={"name": measured_engine(settings, model), "batch_tokens": None})
    return settings.model_copy(update={"engine": table})


def known_engine(settings: Settings, model: PreparedModel) -> EngineName | None:
    """Return what `chosen_engine` would return, without measuring; None: it was not measured on this machine yet."""
    if uses_vllm(settings.engine) or settings.engine.name != "auto":
        return chosen_engine(settings, model)
    rates = speed_record(settings, model).read()
    fastest: list[CpuEngine] = sorted(rates, key=rates.__getitem__)
    return fastest[-1] if fastest else None


def speed_record(settings: Settings, model: PreparedModel) -> SpeedRecord:
    """Return where the speeds of the engines on this machine are kept."""
    return SpeedRecord(settings.model.cache.expanduser(), model, _threads(settings.engine))


def open_engine(settings: Settings, model: PreparedModel, dim: int) -> Engine:
    """Load the engine that the settings choose, with vectors of `dim` components. Raises ModelError."""
    table, chosen = settings.engine, chosen_engine(settings, model)
    engine: Engine
    if chosen == "remote":
        token = table.token.get_secret_value()
        engine = RemoteEngine(model, space=space_of(model).id, url=table.url, token=token, batch_tokens=table.batch_tokens)
    elif chosen == "vllm":
        engine = _vllm(table, model)
    elif chosen == "onnx":
        engine = _onnx(table, model)
    else:
        engine = _llama(table, model)
    return TruncatingEngine(engine, dim) if dim < engine.dim else engine


def _say_fastest(chosen: CpuEngine, rates: Rates) -> None:
    measured = {f"{name}_texts_per_s": round(rate, 1) for name, rate in rates.items()}
    inform("engine.name is auto: the fastest engine on this machine was measured and is remembered", engine=chosen, **measured)


def _is_installed(library: str) -> bool:
    """Whether a package of that name exists, and not only a folder."""
    spec = importlib.util.find_spec(library)
    return spec is not None and spec.origin is not None


def _threads(table: EngineTable) -> int:
    return table.threads or cpu_count()


def _llama(table: EngineTable, model: PreparedModel) -> Engine:
    return LlamaEngine(model, threads=_threads(table), batch_tokens=table.batch_tokens)


def _onnx(table: EngineTable, model: PreparedModel) -> Engine:
    try:
        from worker.embedding.engine.onnx import OnnxEngine  # noqa: PLC0415 - a quarter of a second, and not on every platform
    except ImportError as error:
        raise ModelError(f"engine.name is onnx, and onnxruntime cannot be loaded: {error}; set it to llama") from error
    return OnnxEngine(model, threads=_threads(table), batch_tokens=table.batch_tokens, quantized=table.weights == "q8")


def _vllm(table: EngineTable, model: PreparedModel) -> Engine:
    if not _is_installed("vllm"):
        raise ModelError("engine.name is vllm, which is not installed here: run `make vllm`, or set it to llama")
    from worker.embedding.engine.vllm import VllmEngine  # noqa: PLC0415 - vLLM is optional

    return VllmEngine(
        model,
        threads=_threads(table),
        batch_tokens=table.batch_tokens,
        number_format=table.number_format,
        memory_share=table.memory_share,
    )


def _check_golden(engine: Engine, golden: Golden) -> None:
    """Close the engine and raise ModelError unless it gives the golden vectors."""
    try:
        worst = worst_cosine(engine, golden)
    except (RuntimeError, ValueError) as error:
        engine.close()
        raise ModelError(f"{engine.name} fails on the golden texts: {error}") from error
    if worst < WORST_ALLOWED_COSINE:
        engine.close()
        raise WrongVectors(f"{engine.name} gives wrong vectors for the golden texts (cosine {worst:.4f}, at least {WORST_ALLOWED_COSINE})")


def _warn_of_unusual(model: PreparedModel, dim: int) -> None:
    if model.tokenizer_family != "wordpiece":
        warn("llama.cpp does not tokenize like this model; the model's own tokenizer does all of it, more slowly", model=model.name)
    if dim < model.dim and dim not in model.matryoshka:
        warn("model.dims cuts vectors of a model that does not say it was trained for it; search may get worse", model=model.name, dims=dim)


def _check_prefixes(model: PreparedModel, tokenizer: Tokenizer) -> None:
    for name, prefix in (("document_prefix", model.document_prefix), ("query_prefix", model.query_prefix)):
        tokens = int(tokenizer.count([prefix])[0])
        if tokens + _LEAST_ROOM_TOKENS > model.max_tokens:
            raise ModelError(f"model.{name} takes {tokens} of {model.max_tokens} tokens; at least {_LEAST_ROOM_TOKENS} are for the text")
