"""A running worker tells of its index's models, and `vectail reindex` understands what it tells."""

import pytest

from sinks.index_spaces import StoredSpace, VectorSpace
from tests.model_fixture import CACHE
from tests.worker.running import Ended, World, wait_until
from tests.worker.serving.schemas import check
from worker.cli.exits import CommandFailed
from worker.cli.reindex_verb import begin_change, change_told, take_step
from worker.runtime.listening import listen
from worker.runtime.surroundings import wall_ms
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings
from worker.settings.tables import ModelTable


@pytest.fixture
def settings(world: World) -> Settings:
    """Those of a worker of `world`, for verbs."""
    world.http = listen(HttpTable(port=0))
    return Settings(http=HttpTable(port=world.http.port), model=ModelTable(cache=CACHE))


def models_of(running: Ended) -> object:
    document = running.service.view().documents["/api/status"]({})
    check("Status", document)
    return document["index_models"]


def test_the_status_says_how_many_models_the_index_has(world: World, settings: Settings) -> None:
    running = world.start().opened()
    assert models_of(running) == 1
    before, now_ms = world.fake_sink.spaces(), int(wall_ms())
    world.fake_sink.open_view(VectorSpace(8, "space-2"), create=True)
    second = StoredSpace(dim=8, model="another-model", state="building", since_ms=now_ms)
    assert world.fake_sink.change_spaces(before, before.with_view("space-2", second))
    wait_until(lambda: models_of(running) == 2, "a look at the spaces")
    wait_until(lambda: change_told(settings)["error"], "an attempt to load the model")
    told = change_told(settings)
    check("Reindex", told)
    assert [(one["model"], one["state"], one["loaded"]) for one in told["views"]][1:] == [("another-model", "building", False)]
    assert "another-model: there is no model another-model" in told["error"]
    running.stop()


def test_what_a_worker_refuses_ends_the_verb_with_its_reason(world: World, settings: Settings) -> None:
    running = world.start().opened()
    for step, reason in (("rollback", "there is no view to go back to"), ("drop", "the index has one view")):
        with pytest.raises(CommandFailed, match=reason) as refused:
            take_step(settings, step)
        assert refused.value.exit_code == 2
    with pytest.raises(CommandFailed, match="there is no model nothing-of-that-name") as unknown:
        begin_change(settings, "nothing-of-that-name", ())
    assert unknown.value.exit_code == 2
    with pytest.raises(CommandFailed, match=r"must be a list of complete, vectors, speed") as misspelt:
        begin_change(settings, "all-MiniLM-L6-v2", ("sped",))
    assert misspelt.value.exit_code == 2
    running.stop()
