"""Opens the index before anything is polled, and waits while it is unavailable.

`worker.service.service` starts it and waits for the result. It runs on its own thread, because a client may hang while it connects, and a
service that stops does not wait for that.
"""

import threading
import time
from collections.abc import Callable

from sinks.sink import Sink, SinkBusy
from worker.runtime.retry import BACK_OFF_S
from worker.runtime.stage import Crash, Stage

_LOOK_S = 0.2


class SinkOpener:
    """The sink is open once `wait` has returned True, and not before.

    Thread: main; `stage` is its own.
    """

    def __init__(
        self,
        sink: Sink,
        stop: threading.Event,
        *,
        say: Callable[[str], None],
        on_crash: Crash,
        create: bool = True,
        adopt: bool = False,
    ) -> None:
        """`stop` ends the attempts; `create` and `adopt` are those of `Sink.open`."""
        self._sink = sink
        self._create = create
        self._adopt = adopt
        self._stop = stop
        self._say = say
        self._is_open = False
        self.stage = Stage("open", self._body, on_crash)

    def wait(self, until_s: Callable[[], float]) -> bool:
        """Start and wait; False if stopped before the sink opened. `until_s` returns how long an attempt may last after `stop`."""
        self.stage.start()
        while self.stage.is_alive() and not self._stop.is_set():
            self.stage.join(_LOOK_S)
        if self.stage.is_alive():
            self.stage.join(max(until_s() - time.monotonic(), 0.0))
        return self._is_open

    def _body(self) -> None:
        attempt = 0
        while not self._stop.is_set():
            try:
                self._sink.open(create=self._create, adopt=self._adopt)
            except SinkBusy as error:
                if attempt == 0:
                    self._say(f"the index cannot be opened yet ({error}); waiting for it")
                self._stop.wait(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
                attempt += 1
            else:
                self._is_open = True
                return
