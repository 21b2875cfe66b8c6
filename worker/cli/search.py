"""`vectail search`: one question to a running worker, over Kafka, and its answer."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from producers.kafka import ProducerMisconfigured
from worker.cli.ask import Asker, CannotAsk, NoReply
from worker.cli.exits import CommandFailed, must_change, problem
from worker.cli.question import SearchQuestion
from worker.settings.tables import KafkaTable


def search(kafka: KafkaTable, question: SearchQuestion, *, timeout_s: float) -> dict[str, Any]:
    """Ask once; returns what `--json` prints and what the screen shows. Raises CommandFailed."""
    with open_asker(kafka) as asker:
        return ask(asker, question, timeout_s=timeout_s)


@contextmanager
def open_asker(kafka: KafkaTable) -> Iterator[Asker]:
    """Lend a client of the query topic. Raises CommandFailed."""
    try:
        asker = Asker(kafka)
    except ProducerMisconfigured as error:
        raise must_change(error) from error
    try:
        yield asker
    finally:
        asker.close()


def ask(asker: Asker, question: SearchQuestion, *, timeout_s: float) -> dict[str, Any]:
    """Ask and take the answer apart. Raises CommandFailed: nobody answered, or the query was refused."""
    started_s = time.monotonic()
    answer = ask_worker(asker, question.request(), timeout_s=timeout_s)
    seconds = round(time.monotonic() - started_s, 4)
    if question.around is not None:
        return {"around": str(question.around), "seconds": seconds, "complete": answer["complete"], "hits": answer["hits"]}
    found = "templates" if question.form == "templates" else "hits"
    return {"text": question.text, "seconds": seconds, "mode": answer["mode"], "complete": answer["complete"], found: answer[found]}


def ask_worker(asker: Asker, request: Mapping[str, object], *, timeout_s: float) -> dict[str, Any]:
    """Ask with a deadline; returns the reply's document. Raises CommandFailed: nobody answered, or the query was refused."""
    try:
        answer = asker.ask({**request, "deadline_ms": max(int(timeout_s * 1000), 1)}, timeout_s=timeout_s)
    except CannotAsk as error:
        raise must_change(error) from error
    except NoReply as error:
        raise problem(error) from error
    if "error" in answer:
        raise _refusal(answer["error"])
    return answer


def checked_text(text: str) -> str:
    """Return a query's text, bytes that are not UTF-8 replaced. Raises CommandFailed for one that is only spaces."""
    if not text.strip():
        raise must_change("a query needs a text")
    return as_text(text)


def as_text(word: str) -> str:
    """Return a word of the command line, bytes that are not UTF-8 replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refusal(error: dict[str, str]) -> CommandFailed:
    reason = f"the worker refused the query: {error['field']}: {error['reason']}"
    return must_change(reason) if error["code"] == "bad_query" else problem(f"no answer in time: {error['reason']}")
