"""Fixtures for every test: brokers, real and mock, the prepared model, and names that no other test uses."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest
import structlog

import tests.compiled  # noqa: F401 - before the modules that load the libraries
from tests.durations import Durations, Stopwatch
from tests.heavy import mark_vllm, transformers_installed, vllm_installed
from tests.model_fixture import close_bindings_files, own, plain_model, prepared_model, tokenizer
from tests.ordering import keep_together, shuffle
from tests.pace import Pace
from tests.quick import NoProcesses, Quick
from tests.services import shared
from tests.services.kafka import KafkaServer, OwnKafka
from tests.services.milvus import MilvusServer
from tests.services.mock_kafka import MockKafka

__all__ = ["own", "plain_model", "prepared_model", "tokenizer", "transformers_installed", "vllm_installed"]


_USUAL = hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name())
hypothesis.settings.register_profile("patient", _USUAL, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")
_FAST_TO_FAIL = [phase for phase in hypothesis.Phase if phase not in (hypothesis.Phase.shrink, hypothesis.Phase.explain)]
hypothesis.settings.register_profile("unshrunk", hypothesis.settings.get_profile("patient"), phases=_FAST_TO_FAIL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the tiers."""
    parser.addoption("--long", action="store_true", help="also the tests marked `long`, and more of those that take the fixture `long`")
    parser.addoption("--nightly", action="store_true", help="only those two kinds of tests, as `make nightly` does")
    parser.addoption("--quick", action="store_true", help="only tests without servers, models and processes, as `make quick` does")
    parser.addoption("--servers", action="store_true", help="start one Kafka, one Milvus and one Redis for all processes of the run")
    parser.addoption("--record", type=Path, metavar="FILE", help="write what each test and fixture took, and list the dearest")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse processes where no mark announces them, and set up what the options ask for."""
    starts_run = not hasattr(config, "workerinput")  # xdist's processes are started by another one, to which they report
    config.pluginmanager.register(NoProcesses(), "no_processes")
    if (file := config.getoption("--record")) is not None:
        config.pluginmanager.register(Stopwatch(does_more=config.getoption("--nightly")), "stopwatch")
        if starts_run:
            config.pluginmanager.register(Durations(file, Pace()), "durations")
    config.add_cleanup(close_bindings_files)
    if config.getoption("--servers") and starts_run:
        servers = ExitStack()
        servers.enter_context(shared.shared_servers())
        config.add_cleanup(servers.close)
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick(), "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as long, unless there is time, and keep together what shares something."""
    mark_vllm(items)
    left_out: list[pytest.Item] = []
    if config.getoption("--nightly"):
        left_out = [item for item in items if not (item.get_closest_marker("long") or "long" in getattr(item, "fixturenames", ()))]
        items.sort(key=_limit_s, reverse=True)  # what takes half an hour begins first
    elif not config.getoption("--long"):
        left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in {*left_out}]
    if getattr(config.option, "loadgroup", False):
        keep_together(items)
    if (seed := config.getoption("--shuffle")) is not None:
        shuffle(items, seed)


def _limit_s(item: pytest.Item) -> float:
    """Return the time limit of a test that has one of its own."""
    limit = item.get_closest_marker("timeout")
    return 0.0 if limit is None else float(limit.args[0])


@pytest.fixture(autouse=True)
def _logs_as_at_first() -> Iterator[None]:
    """What a verb run in this process has configured would write to a stream that is closed by then."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for more."""
    return bool(request.config.getoption("--long") or request.config.getoption("--nightly"))


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """The broker that all tests of the run share."""
    with shared.open_kafka() as server:
        yield server


@pytest.fixture(autouse=True)
def _topics_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delete what a test has created on the shared broker; what fixtures of its module have created goes with the broker."""
    server: KafkaServer | None = request.getfixturevalue("kafka") if "kafka" in request.fixturenames else None
    before = 0 if server is None else len(server.topics)
    yield
    if server is not None:
        server.delete_topics(before)


@pytest.fixture(scope="session")
def private_kafka() -> Iterator[OwnKafka]:
    """The broker of the group `own_kafka`."""
    with shared.own_kafka() as server:
        yield server


@pytest.fixture
def own_kafka(private_kafka: OwnKafka) -> Iterator[OwnKafka]:
    """A broker that the test may stop or kill; the next one finds it running. Its tests belong to the group `own_kafka`."""
    yield private_kafka
    private_kafka.start()


@pytest.fixture(scope="session")
def milvus() -> Iterator[MilvusServer]:
    """The Milvus that all tests of the run share: every test has its own collections, and drops them."""
    with shared.open_milvus() as server:
        yield server


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
