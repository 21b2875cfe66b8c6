"""Sends one question to a running worker, over Kafka, and returns its answer."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from producers.kafka import ProducerMisconfigured
from worker.asking.places import RecordPlace
from worker.asking.question import MAX_DEADLINE_MS
from worker.cli import dlq
from worker.cli.absent_server import said_if_slow
from worker.cli.exits import CommandFailed, failure, user_error
from worker.cli.output import warn
from worker.cli.query_client import NoReply, QueryClient, QueryTopicMissing
from worker.settings.tables import KafkaTable


def ask_once(kafka: KafkaTable, request: Mapping[str, object], *, timeout_s: float) -> dict[str, object]:
    """Ask once; see `ask`. Raises CommandFailed."""
    where = f"{kafka.query_topic} at {kafka.bootstrap_servers}"
    with open_query_client(kafka) as client, said_if_slow(warn, f"waiting for an answer on {where}, for up to {timeout_s:g} s (--timeout)"):
        return ask(client, request, timeout_s=timeout_s)


def with_dead_letter(kafka: KafkaTable, around: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return what is around a place; if the record there is not in the index but is a dead letter, and Kafka tells in time, with that."""
    place = RecordPlace(around["topic"], around["partition"], around["offset"])
    if any((hit["topic"], hit["partition"], hit["offset"]) == place for hit in answer["hits"]):
        return answer
    with suppress(CommandFailed):
        letter = dlq.letter_of_record(kafka, place)
        return answer if letter is None else {"dead_letter": letter, **answer}
    return answer


@contextmanager
def open_query_client(kafka: KafkaTable) -> Iterator[QueryClient]:
    """Yield a client of the query topic. Raises CommandFailed."""
    try:
        client = QueryClient(kafka)
    except ProducerMisconfigured as error:
        raise user_error(error) from error
    try:
        yield client
    finally:
        client.close()


def ask(client: QueryClient, request: Mapping[str, object], *, timeout_s: float) -> dict[str, object]:
    """Ask with a deadline and return the answer, with the text of the question and the seconds that it took here.

    Raises CommandFailed if no answer came or the query was refused.
    """
    started_s = time.monotonic()
    try:
        deadline_ms = min(max(int(timeout_s * 1000), 1), MAX_DEADLINE_MS)
        answer = client.ask({**request, "deadline_ms": deadline_ms}, timeout_s=timeout_s)
    except QueryTopicMissing as error:
        raise user_error(error) from error
    except NoReply as error:
        raise failure(error) from error
    if "error" in answer:
        raise _refusal(answer["error"])
    seconds = round(time.monotonic() - started_s, 4)
    lists_last = sorted(answer.items(), key=lambda part: isinstance(part[1], list))
    return {"text": request.get("text"), **dict(lists_last), "seconds": seconds}


def _refusal(error: dict[str, str]) -> CommandFailed:
    reason = f"the worker refused the query: {error['field']}: {error['reason']}"
    return user_error(reason) if error["code"] == "bad_query" else failure(f"no answer in time: {error['reason']}")
