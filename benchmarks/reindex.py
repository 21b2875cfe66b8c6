"""A change of the index's model under questions and a feed: how long it takes, what questions and indexing pay, and that no answer mixes.

    python -m benchmarks.reindex [--quick] [--json]

Caveats first. One machine does it all: worker, embedded broker, index (Milvus Lite), feed and questions. The index is written directly
(`benchmarks.page_index`): its templates are made up, and the first model's vectors are random, so what is found with it is noise; the
second model's are its own. The index goes from all-MiniLM-L6-v2-logs to all-MiniLM-L6-v2.

- `seconds`: from the request until questions are answered with the second model, while no lines come in; 5 questions a second are asked.
- `p99_wait_embed_s`: of these questions, what they waited for their vector; `capped_batch_s` is what a batch takes meanwhile, at most.
- `unanswered`: questions without an answer through fill, flip, roll back and drop. `mixed_answers`: answers that are neither the one
  model's nor the other's, and those of the old one to questions that came 2 s after the flip or later.
- `rollback_s`: one request. `bulk_loss_share`: by how much fewer lines a second are indexed while the second view is filled again.
"""

import http.client
import json
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from benchmarks.copies import copied
from benchmarks.own_service import fed
from benchmarks.page_index import fill_for_page, synthetic
from benchmarks.page_worker import Running, opened
from benchmarks.program import Figures, program
from benchmarks.race import Wrong
from worker.embedding.model.folder import PLAIN

_QUESTIONS: Final = ("a connection was refused", "the disk is full", "a user has logged in", "memory runs out", "the request timed out")
_EVERY_S: Final = 0.2
_TIMEOUT_S: Final = 30.0
_LONGEST_S: Final = 3_600.0
_LATE_S: Final = 2.0
_FED: Final = 32_000
"""Different lines that are fed, again and again with other digits."""
_WARM_S: Final = 120.0

Hits = tuple[tuple[str, float], ...]


class Plan(NamedTuple):
    """How much of everything."""

    templates: int = 100_000
    window_s: float = 20.0
    """In which lines a second are counted."""


QUICK = Plan(templates=10_000, window_s=12.0)


class Asked(NamedTuple):
    """A question's answer."""

    at_s: float
    """When it was asked."""
    question: str
    hits: Hits | None
    """None: it had none."""
    vector_s: float
    """It waited so long for its vector."""


class Client:
    """Asks the worker over HTTP.

    Thread: any; each call has a connection of its own.
    """

    def __init__(self, url: str) -> None:
        self._netloc = urlsplit(url).netloc

    def call(self, method: str, path: str, body: dict[str, object] | None = None) -> tuple[int, dict[str, Any]]:
        """Return status and JSON."""
        with closing(http.client.HTTPConnection(self._netloc, timeout=_TIMEOUT_S)) as connection:
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def change(self, **body: object) -> dict[str, Any]:
        """Ask for a step. Raises Wrong."""
        status, told = self.call("POST", "/api/reindex", body)
        if status != http.client.OK:
            raise Wrong(f"{body} was answered with {status}: {told}")
        return told

    def told(self) -> dict[str, Any]:
        """Return how far the change is."""
        until_s = time.monotonic() + _TIMEOUT_S
        while (answer := self.call("GET", "/api/reindex"))[0] != http.client.OK:  # the index is busy
            if time.monotonic() > until_s:
                raise Wrong(f"the worker does not tell how far it is: {answer}")
        return answer[1]

    def ask(self, question: str) -> Asked:
        """Ask by meaning."""
        at_s = time.monotonic()
        try:
            status, told = self.call("POST", "/api/search", {"text": question, "mode": "dense", "k": 10})
        except OSError:
            return Asked(at_s, question, None, 0.0)
        if status != http.client.OK:
            return Asked(at_s, question, None, 0.0)
        hits = tuple((hit["template"], round(hit["score"], 3)) for hit in told["hits"])
        return Asked(at_s, question, hits, told["seconds"]["wait"] + told["seconds"]["embed"])


class Asker:
    """Asks five times a second, a text that is new each time for its vector and one that can be compared.

    Thread: its own.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ended = threading.Event()
        self.comparable: list[Asked] = []
        self.new: list[Asked] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        due_s = time.monotonic()
        for number in count():
            due_s += _EVERY_S
            if self._ended.wait(max(due_s - time.monotonic(), 0.0)):
                return
            question = _QUESTIONS[number // 2 % len(_QUESTIONS)]
            if number % 2:
                self.comparable.append(self._client.ask(question))
            else:
                letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
                self.new.append(self._client.ask(f"{question} in unit {letters}"))


def change_under_load(plan: Plan) -> Figures:
    """Fill an index, change its model there and back, and return the figures. Raises Missing, Wrong."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name, opened(Path(name), partial(_fill, plan)) as running:
        client = Client(running.url)
        client.ask(_QUESTIONS[0])
        figures = _there_and_back(running, client, plan)
        return figures | {"bulk_loss_share": _loss(running, client, plan)}


def _there_and_back(running: Running, client: Client, plan: Plan) -> Figures:
    home = client.told()["asked"]
    old = {question: client.ask(question).hits for question in _QUESTIONS}
    asker = Asker(client)
    began_s = time.monotonic()
    client.change(to=PLAIN)
    _wait(lambda: client.told()["asked"] != home)
    flipped_s = time.monotonic()
    new = {question: client.ask(question).hits for question in _QUESTIONS}
    time.sleep(2 * _LATE_S)
    told_s = time.monotonic()
    client.change(do="rollback")
    back_s = time.monotonic()
    time.sleep(_LATE_S)
    client.change(do="drop")
    _wait(lambda: len(client.told()["views"]) == 1)
    time.sleep(_LATE_S)
    asker.end()
    every = [*asker.comparable, *asker.new]
    mixed = [one for one in asker.comparable if one.hits not in (None, old[one.question], new[one.question])]
    late = [one for one in asker.comparable if flipped_s + _LATE_S < one.at_s < told_s and one.hits == old[one.question]]
    if old == new:
        raise Wrong("both models answer alike: nothing can be told apart")
    return {
        "templates": plan.templates,
        "seconds": flipped_s - began_s,
        "p99_wait_embed_s": float(np.quantile([one.vector_s for one in asker.new if one.hits is not None], 0.99)),
        "capped_batch_s": running.settings.query.target_batch_s,
        "unanswered": sum(one.hits is None for one in every),
        "asked": len(every),
        "mixed_answers": len(mixed) + len(late),
        "rollback_s": back_s - told_s,
    }


def _loss(running: Running, client: Client, plan: Plan) -> float:
    """Fill the second view again while lines come in."""
    texts = list(synthetic(_FED, int(time.time() * 1000)))
    lists = ([text.encode() for text in copied(texts, copy)] for copy in count())
    with fed(running.settings, running.service, lists):
        _wait(lambda: running.lines > _FED, _WARM_S)
        before = _lines_per_s(running, plan.window_s)
        client.change(to=PLAIN)
        _wait(lambda: client.told()["written"] > 0 or len(client.told()["findings"]) > 0)
        during = _lines_per_s(running, plan.window_s)
        if {view["state"] for view in client.told()["views"]} != {"ready", "building"}:
            raise Wrong("the view was filled before the lines were counted; take more templates")
        client.change(do="drop")
        after = _lines_per_s(running, plan.window_s)
    return 1 - during / ((before + after) / 2)


def _lines_per_s(running: Running, window_s: float) -> float:
    began, began_s = running.lines, time.monotonic()
    time.sleep(window_s)
    return (running.lines - began) / (time.monotonic() - began_s)


def _wait(is_so: Callable[[], bool], longest_s: float = _LONGEST_S) -> None:
    until_s = time.monotonic() + longest_s
    while not is_so():
        if time.monotonic() > until_s:
            raise Wrong("the change does not go on")
        time.sleep(0.1)


def _fill(plan: Plan, folder: Path, space: str) -> None:
    fill_for_page(folder, 2 * plan.templates, plan.templates // 2, space=space, now_ms=int(time.time() * 1000)).sink.close()


def measure(chosen: Namespace) -> Figures:
    """Measure as asked for."""
    return change_under_load(QUICK if chosen.quick else Plan())


main = program(__doc__, measure, quick="10,000 templates instead of 100,000")

if __name__ == "__main__":
    main()
