"""The source of the pool's models: `[[serve.model]]` tables, loaded and checked as the index's model is at a start.

`open_model` makes of a loaded model what requests are answered with: its embedder, tokenizer and all that belongs to them.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Generic, TypeVar

from worker.embedding.engine.llama import BATCH_TOKENS
from worker.embedding.loaded import LoadedModel, chosen_engine, load_model, model_of, uses_vllm, with_cpu_engine
from worker.embedding.model.folder import TUNED
from worker.embedding.model.prepared import PreparedModel, known_model
from worker.embedding.model.stamp import files_of
from worker.embedding.pool.model_bytes import model_bytes, own_memory_bytes, remember_rise, return_freed_memory
from worker.runtime.fair_lock import FairLock
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings

T = TypeVar("T")


class ServedModels(Generic[T]):
    """Implements `ModelSource`: a model that it has loaded agrees with its own files.

    Thread: one at a time, as `ModelSource` says.
    """

    def __init__(
        self,
        settings: Settings,
        open_model: Callable[[ServedModelTable, LoadedModel, FairLock], T],
        close_model: Callable[[T], None],
    ) -> None:
        """`open_model` takes the loaded model over: `close_model` closes its engine, too. If it raises, it has taken nothing."""
        self._settings = settings
        self._open_model = open_model
        self._close_model = close_model

    def version(self, model: ServedModelTable) -> str:
        """Return sizes and times of the files that preparing reads. Raises OSError."""
        return "" if model.folder is None else json.dumps(files_of(model.folder.expanduser()))

    def size_bytes(self, model: ServedModelTable) -> int:
        """Return the bytes that the model takes; prepares it if needed. Raises ModelError."""
        chosen = served_settings(self._settings, model)
        prepared = model_of(chosen)
        return loaded_bytes(on_a_cpu(chosen, prepared), prepared)

    def load(self, model: ServedModelTable, slot: FairLock) -> tuple[T, int]:
        """Load and check the model; returns it and the bytes that it takes. Raises ModelError."""
        before_bytes = own_memory_bytes()
        chosen = served_settings(self._settings, model)
        chosen = on_a_cpu(chosen, model_of(chosen))
        loaded = load_model(chosen)
        with ExitStack() as undo:
            undo.callback(loaded.engine.close)
            opened = self._open_model(model, loaded, slot)
            undo.pop_all()
        after_bytes = own_memory_bytes()
        engine = _engine(chosen, loaded.prepared)
        if before_bytes is not None and after_bytes is not None:
            remember_rise(loaded.prepared, *engine, after_bytes - before_bytes)
        return opened, model_bytes(loaded.prepared, *engine)

    def close(self, loaded: T) -> None:
        """Close the model and hand its memory back to the system."""
        self._close_model(loaded)
        return_freed_memory()


def served_settings(settings: Settings, model: ServedModelTable) -> Settings:
    """Return settings whose model is a served one: as its files say, not as `[model]` does."""
    return settings.model_copy(update={"model": model.as_model(settings.model.cache)})


def on_a_cpu(settings: Settings, prepared: PreparedModel) -> Settings:
    """Return settings whose engine a process can close again, which vLLM is not: where that is chosen, the fastest of a CPU instead."""
    return with_cpu_engine(settings, prepared) if uses_vllm(settings.engine) else settings


def loaded_bytes(settings: Settings, prepared: PreparedModel) -> int:
    """Return the bytes that a model takes with the engine that the settings choose."""
    return model_bytes(prepared, *_engine(settings, prepared))


def known_served(settings: Settings, model: ServedModelTable) -> PreparedModel | None:
    """Return a served model if it is prepared. Raises ModelError."""
    table = model.as_model(settings.model.cache)
    folder = None if table.folder is None else table.folder.expanduser()
    return known_model(folder, table.cache.expanduser(), installed=TUNED if table.name == "auto" else table.name)


def _engine(settings: Settings, prepared: PreparedModel) -> tuple[str, int]:
    """Return the engine's name and the tokens of its batches."""
    return chosen_engine(settings, prepared), max(settings.engine.batch_tokens or BATCH_TOKENS, prepared.max_tokens)
