"""A change of the model as a test sees it: the steps over HTTP, and questions that are asked all the while."""

import json
import threading
from typing import Any

from tests.faults.pages import Pages
from tests.faults.worker_process import WorkerProcess
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel

QUESTIONS = ("connection refused by the peer", "disk is full", "user logged in")
EVERY_S = 0.6
SOON_S = 60.0


class Change:
    """What a test sees of one worker's change."""

    def __init__(self, worker: WorkerProcess, to: PreparedModel) -> None:
        self.pages = Pages(worker)
        self.worker = worker
        self.to = to

    def told(self) -> dict[str, Any]:
        status, body = self.pages.get("/api/reindex")
        assert status == 200, body
        told: dict[str, Any] = json.loads(body)
        return told

    def post(self, **body: object) -> None:
        status, answer = self.pages.post("/api/reindex", body)
        assert status == 200, answer

    def start(self) -> None:
        self.post(to=self.to.folder.name)

    def states(self) -> dict[str, str]:
        return {view["space"]: view["state"] for view in self.told()["views"]}

    def wait_running(self) -> None:
        self.pages.wait_until("running", lambda: json.loads(self.pages.get("/api/status")[1])["phase"] == "running")

    def wait_asked(self, model: PreparedModel) -> None:
        self.pages.wait_until("asked", lambda: self.told()["asked"] == space_of(model).id, SOON_S)

    def wait_same(self, within_s: float = SOON_S) -> None:
        """Wait until both views have the same templates, or there is one."""
        self.pages.wait_until("followed", lambda: (told := self.told())["same"] or len(told["views"]) == 1, within_s)


class Asking:
    """Asks the same questions again and again, as a user does; keeps what came back."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._stopped = threading.Event()
        self.wrong: list[str] = []
        self.answers: dict[str, list[list[tuple[str, float]]]] = {question: [] for question in QUESTIONS}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, question: str) -> list[tuple[str, float]] | None:
        status, body = self._pages.post("/api/search", {"text": question, "k": 10, "mode": "dense", "deadline_ms": 20_000})
        if status != 200:
            self.wrong.append(f"{status}: {body}")
            return None
        return [(hit["template"], round(hit["score"], 4)) for hit in json.loads(body)["hits"]]

    def end(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            for question in QUESTIONS:
                found = self.ask(question)
                if found is not None:
                    self.answers[question].append(found)
