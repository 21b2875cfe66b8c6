"""`vectail search`: sends one question to a running worker, over Kafka, and returns its answer."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from producers.kafka import ProducerMisconfigured
from worker.cli.exits import CommandFailed, failure, user_error
from worker.cli.filter_values import as_text
from worker.cli.query_client import NoReply, QueryClient, QueryTopicMissing
from worker.cli.question import SearchQuestion
from worker.query import MAX_DEADLINE_MS
from worker.settings.tables import KafkaTable


def search_once(kafka: KafkaTable, question: SearchQuestion, *, timeout_s: float) -> dict[str, Any]:
    """Ask once and return what `--json` prints and the screen shows. Raises CommandFailed."""
    with open_query_client(kafka) as client:
        return ask(client, question, timeout_s=timeout_s)


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


def ask(client: QueryClient, question: SearchQuestion, *, timeout_s: float) -> dict[str, Any]:
    """Ask and return the parts of the answer that are shown. Raises CommandFailed if no answer came or the query was refused."""
    started_s = time.monotonic()
    answer = ask_worker(client, question.request(), timeout_s=timeout_s)
    seconds = round(time.monotonic() - started_s, 4)
    if question.around is not None:
        return {"around": str(question.around), "seconds": seconds, "complete": answer["complete"], "hits": answer["hits"]}
    found = "templates" if question.form == "templates" else "hits"
    mode = {"mode": answer["mode"]} if "mode" in answer else {}
    return {"text": question.text, "seconds": seconds, **mode, "complete": answer["complete"], found: answer[found]}


def ask_worker(client: QueryClient, request: Mapping[str, object], *, timeout_s: float) -> dict[str, Any]:
    """Ask with a deadline and return the reply. Raises CommandFailed if no answer came or the query was refused."""
    try:
        deadline_ms = min(max(int(timeout_s * 1000), 1), MAX_DEADLINE_MS)
        answer = client.ask({**request, "deadline_ms": deadline_ms}, timeout_s=timeout_s)
    except QueryTopicMissing as error:
        raise user_error(error) from error
    except NoReply as error:
        raise failure(error) from error
    if "error" in answer:
        raise _refusal(answer["error"])
    return answer


def checked_text(text: str) -> str:
    """Return a query's text with bytes that are not UTF-8 replaced. Raises CommandFailed for blank text."""
    if not text.strip():
        raise user_error("a query needs a text")
    return as_text(text)


def _refusal(error: dict[str, str]) -> CommandFailed:
    reason = f"the worker refused the query: {error['field']}: {error['reason']}"
    return user_error(reason) if error["code"] == "bad_query" else failure(f"no answer in time: {error['reason']}")
