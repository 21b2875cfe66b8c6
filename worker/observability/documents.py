"""The JSON documents about the worker and its group, and the replay of dead letters: `/api/status`, `/api/lag`, `/api/dead-letters`.

`worker.service` hands them to the HTTP server. `/api/status` is of this process and waits for nothing; the other two ask Kafka.
"""

import time
from collections.abc import Mapping
from typing import Any

from worker.asking.documents import Action, Document
from worker.observability.dead_letter_document import DeadLetterDocument
from worker.observability.dead_letter_replay import DeadLetterReplay
from worker.observability.samples import RunningService, samples
from worker.observability.status_document import status_document


def documents_of(service: RunningService) -> Mapping[str, Document]:
    """Return the documents by path. Called once, before the service starts: the conditions are watched from then on."""
    service.status.conditions.watch(lambda: samples(service, time.monotonic()))

    def lag(_params: Mapping[str, str]) -> Mapping[str, Any]:
        return service.status.group_lag.document()

    return {
        "/api/status": status_document(service),
        "/api/lag": lag,
        "/api/dead-letters": DeadLetterDocument(service.settings, clock=time.monotonic).document,
    }


def actions_of(service: RunningService) -> Mapping[str, Action]:
    """Return the actions by path."""
    return {"/api/dead-letters/replay": DeadLetterReplay(service).replay}
