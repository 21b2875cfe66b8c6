"""Every verb, six faults: it ends soon, with a documented exit code and one line that names what is wrong, where, and what to do.

No broker, no worker or topic, no Milvus, a bad setting, a missing file, a bad option. What a verb needs stands in `NEEDS`. Left out where
they do not apply: `run` waits for servers, `doctor` and `mcp` report them as answers (`test_doctor.py`, `test_mcp.py`), `demo` needs none.
Only Kafka itself says that a group has no members, so only those tests need a real one.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from producers.kafka import EmbeddedBroker
from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.worker.cli.conftest import RunHere, new_topic
from tests.worker.cli.console import EndedVerb, in_one_line
from tests.worker.cli.test_help import VERBS

SOON_S = 20.0
"""A few seconds, and room on a busy machine: what waits out a time-out or its patience takes a minute."""
NEEDS = {
    "demo FILE": "",
    "run": "",
    "serve": "",
    "peek FILE": "",
    "peek TOPIC": "kafka topic",
    "feed FILE --topic TOPIC": "kafka",
    "search disk": "kafka worker",
    "search --around logs/0@1": "kafka worker",
    "lag": "kafka topic",
    "offsets show": "kafka topic",
    "offsets reset --to latest --yes": "kafka topic",
    "dlq ls": "kafka",
    "dlq show 0/1": "kafka",
    "dlq replay --yes": "kafka",
    "verify": "milvus",
    "verify --vectors": "milvus",
    "compact": "kafka milvus",
    "reindex --status": "",
    "templates": "kafka worker",
    "templates --direct": "milvus",
    "templates --suggest FILE": "",
    "templates --suggest TOPIC": "kafka topic",
    "counts": "kafka worker",
    "masks list": "",
    "masks diff default default FILE": "",
    "doctor": "",
    "estimate FILE": "",
    "mcp": "",
    "topics init": "kafka",
    "config check": "",
    "config show": "",
    "model prepare": "",
    "model show": "",
    "model check": "",
    "version": "",
}
TAKES_NO_SETTINGS = ("masks diff", "version")
CONFIGURED = [line for line in NEEDS if not line.startswith(TAKES_NO_SETTINGS)]


def that_need(what: str) -> list[str]:
    return [line for line, needs in NEEDS.items() if what in needs.split()]


class Place:
    """A folder with a file of lines and settings, for verbs to be run in.

    Thread: the test's.
    """

    def __init__(self, folder: Path, run_here: RunHere, name: str) -> None:
        self.folder = folder
        self.topic = name
        self.milvus = f"http://127.0.0.1:{free_port()}"
        self._run_here = run_here
        (folder / "app.log").write_text("disk full\n")

    def run(self, line: str, kafka: str = "", *, file: str = "app.log") -> EndedVerb:
        """Run a verb, soon; with `kafka`, with settings of that broker."""
        words = line.replace("FILE", str(self.folder / file)).replace("TOPIC", self.topic).split()
        if kafka:
            name = self.topic
            topics = f'query_topic = "{name}-q"\nquery_group = "{name}-q"\nreply_topic = "{name}-r"\ndead_letter_topic = "{name}-d"\n'
            (self.folder / "vectail.toml").write_text(
                f'{topic_line(name)}[kafka]\nbootstrap_servers = "{kafka}"\ngroup = "{name}"\n{topics}[milvus]\nuri = "{self.milvus}"\n'
            )
            words += ["-c", str(self.folder / "vectail.toml")]
        begun_s = time.monotonic()
        ended = self._run_here(*words)
        assert time.monotonic() - begun_s < SOON_S
        assert "Traceback" not in ended.err
        return ended


@pytest.fixture
def place(tmp_path: Path, run_here: RunHere, unique: Callable[[str], str]) -> Place:
    return Place(tmp_path, run_here, unique("logs"))


def test_every_verb_is_in_the_table() -> None:
    assert {verb for verb in VERBS if not any(f"{line} ".startswith(f"{verb} ") for line in NEEDS)} == set()


@pytest.mark.parametrize("line", that_need("kafka"))
def test_without_a_broker_its_address_is_named(place: Place, line: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    ended = place.run(line, address)
    assert (ended.exit_code, ended.out) == (1, "")
    said = in_one_line(ended).removeprefix(f"there is no file {place.topic}, so it was taken for a topic: ")
    assert said.startswith(f"kafka at {address} is away (")
    assert said.endswith("; is it running, and is its address right (--bootstrap-servers)?")


@pytest.mark.parametrize("line", that_need("topic") + that_need("worker"))
def test_without_its_topic_it_says_which_and_what_makes_it(place: Place, broker: EmbeddedBroker, line: str) -> None:
    ended = place.run(line, broker.bootstrap_servers)
    assert (ended.exit_code, ended.out) == (2, "")
    topic = f"{place.topic}-q" if line in that_need("worker") else place.topic
    assert in_one_line(ended).endswith(f"topic {topic} does not exist (`vectail topics init` creates it)")


@pytest.mark.parametrize("line", that_need("worker"))
def test_without_a_worker_the_group_is_named(place: Place, kafka: KafkaServer, line: str) -> None:
    for suffix in ("q", "r"):
        kafka.create_topic(f"{place.topic}-{suffix}", partitions=1)
    ended = place.run(line, kafka.bootstrap)
    assert (ended.exit_code, ended.out) == (1, "")
    group = f"group {place.topic}-q at {kafka.bootstrap}"
    assert in_one_line(ended) == f"no worker is running: {group} has no members; start one with `vectail run`"


@pytest.mark.parametrize("line", that_need("milvus"))
def test_without_milvus_its_address_is_named(place: Place, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setenv("VECTAIL_MILVUS__TIMEOUT_S", "2")
    new_topic(broker, place.topic)
    ended = place.run(line, broker.bootstrap_servers)
    assert (ended.exit_code, ended.out) == (1, "")
    assert in_one_line(ended).startswith(f"milvus at {place.milvus} does not answer (")
    assert in_one_line(ended).endswith("; is it running, and is milvus.uri right?")


@pytest.mark.parametrize("line", CONFIGURED)
def test_a_bad_setting_is_named_with_its_file_and_the_near_name(place: Place, line: str) -> None:
    wrong = place.folder / "wrong.toml"
    wrong.write_text('[kafka]\nbootstrap_server = "127.0.0.1:1"\n')
    ended = place.run(f"{line} -c {wrong}")
    assert (ended.exit_code, ended.out) == (2, "")
    assert in_one_line(ended) == f"{wrong}: unknown setting kafka.bootstrap_server; did you mean 'bootstrap_servers'?"


@pytest.mark.parametrize("line", CONFIGURED)
def test_a_missing_settings_file_is_named(place: Place, line: str) -> None:
    ended = place.run(f"{line} -c {place.folder / 'missing.toml'}")
    assert (ended.exit_code, ended.out) == (2, "")
    assert in_one_line(ended) == f"settings file {place.folder / 'missing.toml'} cannot be read: No such file or directory"


@pytest.mark.parametrize("line", [line for line in NEEDS if "FILE" in line])
def test_a_missing_file_is_named(place: Place, line: str) -> None:
    ended = place.run(line, file="missing.log")
    assert (ended.exit_code, ended.out) == (2, "")
    assert in_one_line(ended) == f"{place.folder / 'missing.log'}: no such file"


@pytest.mark.parametrize("line", NEEDS)
def test_a_bad_option_is_named_with_the_near_one_and_where_the_help_is(place: Place, line: str) -> None:
    option = "--help" if line in ("config check", "run", "serve", "mcp") else "--json"
    ended = place.run(f"{line} {option[:-1]}x")
    assert (ended.exit_code, ended.out) == (2, "")
    verb = max((verb for verb in VERBS if f"{line} ".startswith(f"{verb} ")), key=len)
    said = f"No such option: {option[:-1]}x; did you mean {option!r}? (see `vectail {verb} --help`)"
    assert in_one_line(ended) == said
