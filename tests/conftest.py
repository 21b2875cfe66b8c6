"""Fixtures for every test: brokers, real and mock, the prepared model, and names that no other test uses."""

import uuid
from collections.abc import Callable, Iterator

import hypothesis
import pytest
import structlog

import tests.compiled  # noqa: F401 - before the modules that load the libraries
from tests.heavy import transformers_installed, vllm_installed
from tests.model_fixture import close_bindings_files, own, prepared_model, tokenizer
from tests.quick import NoProcesses, Quick
from tests.services.docker_kafka import DockerKafka
from tests.services.docker_milvus import DockerMilvus
from tests.services.kafka import KafkaServer, open_kafka
from tests.services.local_kafka import LocalKafka
from tests.services.milvus import MilvusServer, open_milvus
from tests.services.mock_kafka import MockKafka
from tests.services.wheel_milvus import WheelMilvus

__all__ = ["close_bindings_files", "own", "prepared_model", "tokenizer", "transformers_installed", "vllm_installed"]


_USUAL = hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name())
hypothesis.settings.register_profile("patient", _USUAL, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--long` and `--quick`."""
    parser.addoption("--long", action="store_true", help="do more of what takes long, as `make faults` does")
    parser.addoption("--quick", action="store_true", help="only tests without servers, models and processes, as `make quick` does")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse processes where no mark announces them, and set up `--quick`."""
    config.pluginmanager.register(NoProcesses(), "no_processes")
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick(), "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as long, unless there is time."""
    if not config.getoption("--long"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(autouse=True)
def _logs_as_at_first() -> Iterator[None]:
    """What a verb run in this process has configured would write to a stream that is closed by then."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for more."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """One real broker for the whole run; a test may kill it, the next test finds it running."""
    server = open_kafka(DockerKafka, LocalKafka)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _kafka_runs_again(request: pytest.FixtureRequest) -> Iterator[None]:
    server: KafkaServer | None = request.getfixturevalue("kafka") if "kafka" in request.fixturenames else None
    yield
    if server is not None:
        server.start()


@pytest.fixture(scope="session")
def milvus() -> Iterator[MilvusServer]:
    """One real Milvus for the whole run; every test has its own collections, and drops them."""
    server = open_milvus(DockerMilvus, WheelMilvus)
    yield server
    server.close()


@pytest.fixture
def mock_kafka() -> Iterator[MockKafka]:
    """A mock cluster of librdkafka's, new and empty."""
    cluster = MockKafka()
    yield cluster
    cluster.close()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Make a topic's or a group's name that no other test and no other run uses."""

    def name(stem: str) -> str:
        return f"{stem}-{uuid.uuid4().hex[:12]}"

    return name
