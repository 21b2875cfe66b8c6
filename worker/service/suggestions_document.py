"""The document at `/api/suggestions`: masks that would merge families of the index that differ in one word.

`worker.service.service` hands it to the HTTP server, and to the doctor. The query lane is asked, as any client asks it.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from worker.asking.lane_question import TakeRequest, ask_lane
from worker.asking.refusals import Refused
from worker.asking.worker_answers import SuggestionsJson
from worker.masks.offered_masks import offer_masks
from worker.settings.settings import Settings

_ANSWER_S: Final = 7.0
"""For one's turn and both questions: the doctor waits for 10 s, a reply may be late by one, and finding suggestions takes another."""
_AGAIN_S: Final = 60.0
"""A younger answer is given to the next who asks: finding suggestions takes a second, and what they rest on changes slowly."""
_MOST_REMEMBERED: Final = 8


class OfferedMasks:
    """Finds suggestions for one who asks at a time.

    Thread: any.
    """

    def __init__(self, settings: Settings, take_request: TakeRequest, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._take_request = take_request
        self._clock = clock
        self._turn = threading.Lock()
        self._found: dict[str | None, tuple[float, SuggestionsJson]] = {}

    def document(self, parameters: Mapping[str, str]) -> SuggestionsJson:
        """Return the suggestions for the index, or for `topic`. Raises Refused."""
        topic = parameters.get("topic")
        until_s = self._clock() + _ANSWER_S

        def ask(query: Mapping[str, object]) -> Mapping[str, Any]:
            return ask_lane(self._take_request, query, limit_s=max(until_s - self._clock(), 0.0))

        if not self._turn.acquire(timeout=_ANSWER_S):
            raise Refused("expired", f"others have been asking for {_ANSWER_S:g} s")
        try:
            found_s, found = self._found.get(topic, (-_AGAIN_S, None))
            if found is None or self._clock() - found_s > _AGAIN_S:
                found = offer_masks(self._settings, ask, topic)
                if len(self._found) >= _MOST_REMEMBERED:
                    self._found.clear()
                self._found[topic] = self._clock(), found
            return found
        finally:
            self._turn.release()
