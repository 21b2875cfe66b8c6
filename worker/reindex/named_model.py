"""Finds a model by the name that a request or the index gives: never by a path. Prepared models are found by their embedding space."""

from collections.abc import Iterator
from pathlib import Path

from worker.embedding.loaded import model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel, load_prepared
from worker.embedding.pool.served_models import served_settings
from worker.settings.settings import Settings
from worker.settings.tables import INSTALLED_NAMES, ModelTable


def named_settings(settings: Settings, name: str) -> Settings:
    """Return settings whose model has this name: a served one, an installed one, or a prepared one in `model.cache`. Raises ModelError."""
    served = next((table for table in settings.serve.model if name == table.name), None)
    if served is not None:
        return served_settings(settings, served)
    installed = next((one for one in INSTALLED_NAMES if one == name), None)
    if installed is not None:
        return _with_model(settings, ModelTable(name=installed, cache=settings.model.cache))
    found = [prepared for prepared in _prepared(settings) if name in (prepared.folder.name, prepared.name)]
    if len(found) > 1:
        raise ModelError(f"several prepared models are called {name}: {', '.join(one.folder.name for one in found)}")
    if not found:
        raise ModelError(f"there is no model {name}: name one of [[serve.model]], or prepare it with `vectail model prepare HF_DIR`")
    return _with_model(settings, ModelTable(folder=found[0].folder, cache=settings.model.cache))


def settings_of_space(settings: Settings, name: str, space: str) -> Settings:
    """Return settings whose model is of this embedding space; `name` is what the index calls it. Raises ModelError."""
    for prepared in _prepared(settings):
        if space_of(prepared).id == space:
            return _with_model(settings, ModelTable(folder=prepared.folder, cache=settings.model.cache))
    chosen = named_settings(settings, name)
    model = model_of(chosen)
    if space_of(model).id != space:
        raise ModelError(f"{name} is here of embedding space {space_of(model).id}, in the index of {space}")
    return chosen


def _prepared(settings: Settings) -> Iterator[PreparedModel]:
    cache = settings.model.cache.expanduser()
    for folder in sorted(cache.iterdir()) if cache.is_dir() else ():
        prepared = _sound(folder)
        if prepared is not None:
            yield prepared


def _sound(folder: Path) -> PreparedModel | None:
    try:
        return load_prepared(folder)
    except ModelError:
        return None


def _with_model(settings: Settings, table: ModelTable) -> Settings:
    return settings.model_copy(update={"model": table})
