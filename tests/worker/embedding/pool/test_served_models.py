"""Models of `[[serve.model]]` as the pool loads them: checked, measured, and gone when they are closed."""

from pathlib import Path

import numpy as np
import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder
from tests.worker.embedding.pool.test_model_pool import WAIT_S, Asker
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.errors import ModelError, WrongVectors
from worker.embedding.model.golden import load_golden, save_golden
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.pool import pool_states, served_models
from worker.embedding.pool.model_bytes import measured_bytes, model_bytes, own_memory_bytes, remember_rise
from worker.embedding.pool.model_pool import ModelPool
from worker.embedding.pool.served_models import ServedModels
from worker.runtime.fair_lock import FairLock
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable, ModelTable

BATCH_TOKENS = 512
MB = 1_000_000


class Opener:
    """Makes of a loaded model only its name, and notes what it was given."""

    def __init__(self, settings: Settings) -> None:
        self.error: ModelError | None = None
        self.opened: dict[str, LoadedModel] = {}
        self.slots: list[FairLock] = []
        self.source: ServedModels[str] = ServedModels(settings, self._open, self._close)

    def _open(self, model: ServedModelTable, loaded: LoadedModel, slot: FairLock) -> str:
        self.opened[model.name] = loaded
        self.slots.append(slot)
        if self.error is not None:
            raise self.error
        return model.name

    def _close(self, name: str) -> None:
        self.opened.pop(name).engine.close()

    def is_closed(self, loaded: LoadedModel) -> bool:
        try:
            loaded.engine.embed([loaded.golden.ids[0]])
        except RuntimeError:
            return True
        return False


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    return Opener(Settings(model=ModelTable(cache=tmp_path / "cache"), engine=EngineTable(name="llama", threads=1)))


@pytest.fixture
def table(tmp_path: Path) -> ServedModelTable:
    return ServedModelTable(name="tiny", folder=make_folder(tmp_path / "tiny"))


@pytest.fixture
def prepared(table: ServedModelTable, tmp_path: Path) -> PreparedModel:
    return prepare_model(table.folder, tmp_path / "cache")


def test_a_model_is_measured_when_it_is_loaded_and_its_engine_is_closed_with_it(
    opener: Opener, table: ServedModelTable, prepared: PreparedModel
) -> None:
    source, slot = opener.source, FairLock()
    assert measured_bytes(prepared) is None
    opened, size_bytes = source.load(table, slot)
    loaded = opener.opened["tiny"]
    assert (opened, opener.slots, size_bytes) == ("tiny", [slot], source.size_bytes(table))
    assert measured_bytes(prepared) == size_bytes
    assert not opener.is_closed(loaded)
    source.close(opened)
    assert opener.is_closed(loaded)


def test_an_engine_that_nobody_takes_over_is_closed(opener: Opener, table: ServedModelTable) -> None:
    opener.error = ModelError("no thread")
    with pytest.raises(ModelError, match="no thread"):
        opener.source.load(table, FairLock())
    assert opener.is_closed(opener.opened["tiny"])


def test_wrong_vectors_are_told_from_other_errors_and_changed_files_from_the_same(
    opener: Opener, table: ServedModelTable, prepared: PreparedModel
) -> None:
    assert table.folder is not None
    golden = load_golden(prepared.golden)
    save_golden(golden._replace(vectors=np.roll(golden.vectors, 1, axis=1)), prepared.golden)
    before = opener.source.version(table)
    with pytest.raises(WrongVectors):
        opener.source.load(table, FairLock())
    assert opener.source.version(table) == before
    (table.folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "added": 1}')
    assert opener.source.version(table) != before


def test_the_least_rise_counts_and_one_far_from_the_estimate_is_not_believed(prepared: PreparedModel) -> None:
    estimated = model_bytes(prepared, "llama", BATCH_TOKENS)
    rise = estimated - prepared.gguf.stat().st_size
    for measured, believed in ((100 * rise, 2 * rise), (rise + 1, rise + 1), (rise + 5, rise + 1), (-7, rise // 2)):
        remember_rise(prepared, "llama", BATCH_TOKENS, measured)
        assert model_bytes(prepared, "llama", BATCH_TOKENS) == prepared.gguf.stat().st_size + believed
    assert model_bytes(prepared, "onnx", BATCH_TOKENS) == estimated, "another engine is measured for itself"
    (prepared.folder / "memory.json").write_text("[")
    assert model_bytes(prepared, "llama", BATCH_TOKENS) == estimated


def test_memory_of_this_process_is_told() -> None:
    own = own_memory_bytes()
    assert own is not None
    assert own > MB


def test_two_models_take_turns_in_a_budget_for_one_and_give_the_same_vectors_again(
    opener: Opener, table: ServedModelTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_states, "MIN_STAY_S", 0.0)
    monkeypatch.setattr(served_models, "own_memory_bytes", lambda: None)  # so that estimates stay: what is measured is less
    other = ServedModelTable(name="other", folder=make_folder(tmp_path / "other", Tiny(dim=32)))
    crashes: list[Exception] = []
    budget_bytes = opener.source.size_bytes(table) + MB
    pool = ModelPool(
        [table, other], opener.source, budget_bytes=budget_bytes, load_wait_s=WAIT_S, on_crash=lambda _, error: crashes.append(error)
    )
    pool.start()
    vectors: dict[str, list[bytes]] = {}
    for name in ("tiny", "other") * 2:
        lease = Asker(pool, name).leased()
        loaded = opener.opened[lease.model]
        assert list(opener.opened) == [name]
        vectors.setdefault(name, []).append(loaded.engine.embed([loaded.golden.ids[0]]).tobytes())
        lease.release()
    pool.close(WAIT_S)
    assert crashes == []
    assert opener.opened == {}
    assert all(first == second for first, second in vectors.values())
    assert pool.facts()["tiny"].evictions == 2
