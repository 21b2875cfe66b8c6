"""`vectail lag` on a real Kafka: how far behind a group is, with and without members."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.services.mock_kafka import MockKafka
from tests.services.ports import free_port
from tests.worker.cli.log_group import OLD_MS, WAIT_S, LogGroup
from worker.cli.exits import CommandFailed
from worker.cli.lag_verb import LagOptions, show_lag, take_outlooks
from worker.cli.screen import Screen
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable


class Pauses(threading.Event):
    """A stop event that calls a function at each wait instead of waiting, and is set after the last one.

    Thread: the test's.
    """

    def __init__(self, *turns: Callable[[], object]) -> None:
        super().__init__()
        self._turns = list(turns)

    def wait(self, timeout: float | None = None) -> bool:
        if self._turns:
            self._turns.pop(0)()
            return super().wait(min(timeout or 0, 0.05))
        self.set()
        return True


def looks(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_group_that_never_committed_says_so_and_has_a_rate_of_0(group: LogGroup) -> None:
    ended = group.verb("lag", "--interval", "0.1")
    assert (ended.exit_code, ended.err) == (0, "")
    total = next(line.split() for line in ended.out.splitlines() if line.startswith("total"))
    assert (total[1], total[3], total[4:6]) == ("10", "d", ["0.0", "0.0"])
    assert " ".join(total[6:]) == "not known yet in 1 of 2 partitions"
    assert f"group {group.name}: does not exist yet; has never committed in any partition" in " ".join(ended.out.split())


def test_as_json_one_look_is_one_object(group: LogGroup) -> None:
    group.commit(4)
    ended = group.verb("lag", "--interval", "0.1", "--json")
    assert ended.out.count("\n") == 1
    shown_once = json.loads(ended.out)
    assert (shown_once["group"], shown_once["members"]) == (group.name, 0)
    first, second = shown_once["partitions"]
    assert (first["committed"], first["end_offset"], first["lag_records"]) == (4, 10, 6)
    assert first["lag_s"] == pytest.approx((shown_once["time"] - OLD_MS - 4_000) / 1000)
    assert (first["rate"], first["growth"], first["outlook"], first["caught_up_in_s"]) == (0.0, 0.0, "unknown", None)
    assert (second["committed"], second["lag_records"], second["lag_s"], second["outlook"]) == (None, 0, 0.0, "caught_up")
    assert shown_once["total"]["lag_records"] == 6


def test_watching_it_sees_what_is_committed_and_produced_between_two_looks(group: LogGroup, capsys: pytest.CaptureFixture[str]) -> None:
    options = LagOptions(watch=True, interval_s=5.0, queries=False, as_json=True)

    def both() -> None:
        group.commit(9)
        group.produce(1)

    stop = Pauses(lambda: group.commit(4), lambda: group.produce(3), both, lambda: group.commit(14))
    show_lag(group.settings, options, Screen(silent=True), stop)
    totals = [look["total"] for look in looks(capsys)]
    assert [total["lag_records"] for total in totals] == [10, 6, 9, 5, 0]
    assert (totals[0]["rate"], totals[0]["outlook"]) == (None, "unknown")
    assert totals[1]["rate"] > totals[1]["growth"] == 0.0
    assert [total["rate"] / total["growth"] for total in totals[2:]] == pytest.approx([4 / 3, 9 / 4, 14 / 4], rel=0.01)
    assert [total["outlook"] for total in totals[1:]] == ["unknown", "unknown", "unknown", "caught_up"]
    assert totals[4]["lag_s"] == 0.0


def shown(outlook: str = "unknown", text: str = "not known yet", in_s: list[float] | None = None) -> dict[str, Any]:
    return {"outlook": outlook, "outlook_text": text, "caught_up_in_s": in_s}


def test_what_the_own_looks_do_not_know_the_worker_says() -> None:
    soon, still = shown("catches_up", "caught up in 3 to 5 min", [170.0, 290.0]), shown("stands_still", "stands still")
    document: dict[str, Any] = {
        "group": "logs",
        "total": shown(),
        "partitions": [{"topic": "a", "partition": n, **shown()} for n in (0, 1)],
    }
    answer = {"groups": [{"group": "other", **still}, {"group": "logs", **soon, "partitions": [{"topic": "a", "partition": 1, **soon}]}]}
    for unusable in ({}, answer | {"error": "Kafka does not answer"}, {"groups": answer["groups"][:1]}, {"groups": [{"group": "logs"}]}):
        take_outlooks(document, unusable)
        assert document["total"] == shown()
    take_outlooks(document, answer)
    assert document["total"] == soon
    assert [one["outlook_text"] for one in document["partitions"]] == ["not known yet", "caught up in 3 to 5 min"]


def test_a_broker_that_goes_away_while_watching_is_said_once_and_waited_for(
    mock_kafka: MockKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    Producer({"bootstrap.servers": mock_kafka.bootstrap, "log_level": 0}).list_topics("logs", timeout=WAIT_S)
    options = LagOptions(watch=True, interval_s=1.0, queries=False, as_json=True, answer_s=3.0)
    show_lag(
        Settings(kafka=KafkaTable(bootstrap_servers=mock_kafka.bootstrap)),
        options,
        Screen(silent=True),
        Pauses(mock_kafka.close, lambda: None, lambda: None),
    )
    written = capsys.readouterr()
    assert [json.loads(line)["total"]["lag_records"] for line in written.out.splitlines()] == [0]
    assert written.err.startswith(f"vectail: kafka at {mock_kafka.bootstrap} is away (")
    assert written.err.endswith("; looking again\n")
    assert written.err.count("\n") == 1


def test_a_broker_that_is_away_from_the_beginning_ends_it() -> None:
    options = LagOptions(watch=True, interval_s=1.0, queries=False, as_json=True, answer_s=0.3)
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(CommandFailed, match=f"kafka at {address} is away") as failed:
        show_lag(Settings(kafka=KafkaTable(bootstrap_servers=address)), options, Screen(silent=True), Pauses())
    assert failed.value.exit_code == 1
