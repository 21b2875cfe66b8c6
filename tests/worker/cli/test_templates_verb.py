"""`vectail templates --direct`: reads a Milvus server without worker and Kafka. Through a worker: `test_serve.py`."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from consumers.text.families import family_of
from sinks.milvus.fields import templates_name
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.row import TemplateRow, TemplateText
from tests.model_fixture import CACHE
from tests.services.milvus import MilvusServer, drop
from tests.services.ports import free_port
from tests.template_ids import id_of
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line
from tests.world import blocks, line
from worker.connections import vector_space
from worker.embedding.loaded import load_model
from worker.querying.query_text import new_query_encoder
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable, ModelTable

TEMPLATES = {"disk full": 3, "user logged in": 2, "network unreachable": 1}


@pytest.fixture(scope="module")
def filled(milvus: MilvusServer) -> Iterator[str]:
    """Return the name of a collection with these templates, at most an hour old."""
    name = f"templates_{time.time_ns()}"
    settings = Settings(
        milvus=MilvusSettings(uri=milvus.uri, collection=name), model=ModelTable(cache=CACHE), engine=EngineTable(name="llama")
    )
    model = load_model(settings)
    encoder = new_query_encoder(settings, model)
    texts = encoder.treat(list(TEMPLATES))
    vectors = model.engine.embed([encoder.encode(text).ids for text in texts])
    encoder.tokenizer.close()
    model.engine.close()
    sink = MilvusSink(settings.milvus, vector_space(model.space), consumer_group=settings.kafka.group)
    sink.open()
    now_ms = int(time.time() * 1000)
    sink.templates.upsert(
        [TemplateRow(id_of(text.masked), vector, TemplateText(text.masked)) for text, vector in zip(texts, vectors, strict=True)]
    )
    lines = [
        line(offset, text=f"{text} {n}", template_text=text, time=now_ms - 600_000 * n)
        for offset, (text, n) in enumerate((text, n) for text, lines in TEMPLATES.items() for n in range(lines))
    ]
    sink.write_blocks(blocks(lines, 4))
    assert sink.counts() == (2, len(TEMPLATES))
    sink.close()
    yield name
    drop(milvus.uri, name, templates_name(name, model.space.id))


@pytest.fixture
def named(filled: str, milvus: MilvusServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the settings name the server and this collection."""

    def name(collection: str = filled) -> None:
        monkeypatch.setenv("VECTAIL_MILVUS__URI", milvus.uri)
        monkeypatch.setenv("VECTAIL_MILVUS__COLLECTION", collection)

    name()
    return name


@pytest.mark.usefixtures("named")
def test_the_most_frequent_come_first_with_first_last_and_example(run_here: RunHere) -> None:
    ended = run_here("templates", "--direct", "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    answer = json.loads(ended.out)
    assert {template["text"]: template["lines"] for template in answer["templates"]} == TEMPLATES
    first = answer["templates"][0]
    assert (first["example"], first["last"] - first["first"]) == ("disk full 0", 1_200_000)
    assert (first["family"], first["templates"]) == (family_of("disk full"), 1)
    assert answer["complete"] is True


@pytest.mark.usefixtures("named")
def test_the_templates_of_a_family_are_listed_one_by_one(run_here: RunHere) -> None:
    ended = run_here("templates", "--direct", "--json", "--expand", "--family", family_of("disk full"))
    (template,) = json.loads(ended.out)["templates"]
    assert (template["template"], template["family"], template["lines"]) == (id_of("disk full"), family_of("disk full"), 3)


@pytest.mark.usefixtures("named")
def test_those_like_a_text_come_nearest_first(run_here: RunHere) -> None:
    ended = run_here("templates", "--direct", "--like", "the host cannot be reached", "-k", "1")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "network unreachable" in ended.out
    assert "disk full" not in ended.out


@pytest.mark.usefixtures("named")
def test_those_like_a_text_say_how_near_they_are_and_where_nothing_is(run_here: RunHere) -> None:
    near = json.loads(run_here("templates", "--direct", "--json", "--like", "network unreachable", "-k", "1").out)
    assert (near["templates"][0]["similarity"], "nothing_close" in near) == ("strong", False)
    far = json.loads(run_here("templates", "--direct", "--json", "--like", "the cat sleeps on the sofa").out)
    assert ({one["similarity"] for one in far["templates"]}, far["nothing_close"]) == ({"none"}, True)


def test_an_index_that_is_not_there_is_not_made(run_here: RunHere, named: Callable[[str], None]) -> None:
    named("nowhere_at_all")
    for _ in range(2):
        ended = run_here("templates", "--direct")
        assert ended.exit_code == 2
        assert "nowhere_at_all" in in_one_line(ended)


def test_a_server_that_is_away_is_one_line(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("VECTAIL_MILVUS__URI", uri)
    monkeypatch.setenv("VECTAIL_MILVUS__TIMEOUT_S", "1")
    ended = run_here("templates", "--direct")
    assert ended.exit_code == 1
    assert in_one_line(ended).startswith(f"milvus at {uri} does not answer (")


def test_a_folder_is_refused(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MILVUS__URI", "./index")
    ended = run_here("templates", "--direct")
    assert ended.exit_code == 2
    assert "./index is a folder" in in_one_line(ended)
