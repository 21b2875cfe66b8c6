"""Without a broker a verb says so within seconds, in one line that names the address; `peek` says what it took a name for."""

import time

import pytest

from producers.kafka import EmbeddedBroker
from tests.services.ports import free_port
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line

SOON_S = 5.0
TAKEN = "there is no file nofile, so it was taken for a topic: "


@pytest.mark.parametrize(
    "line", ["search disk", "counts --by level", "templates", "lag", "offsets show", "peek nofile", "dlq ls", "dlq show 0/1"]
)
def test_without_a_broker_it_ends_soon_with_the_address(run_here: RunHere, line: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    begun_s = time.monotonic()
    ended = run_here(*line.split(), "--bootstrap-servers", address)
    assert time.monotonic() - begun_s < SOON_S
    assert (ended.exit_code, ended.out) == (1, "")
    assert f"kafka at {address}" in in_one_line(ended)
    assert in_one_line(ended).startswith(TAKEN if line == "peek nofile" else "kafka at ")


def test_a_mistyped_file_is_said_not_to_be_there_and_which_broker_was_asked(run_here: RunHere, broker: EmbeddedBroker) -> None:
    ended = run_here("peek", "nofile", "--bootstrap-servers", broker.bootstrap_servers)
    assert ended.exit_code == 2
    assert in_one_line(ended).startswith(f"{TAKEN}kafka at {broker.bootstrap_servers}: topic nofile does not exist")
