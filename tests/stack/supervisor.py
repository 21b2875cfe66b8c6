"""First process of a stack's own process namespace: starts the parts, accepts commands for them, stops them.

`unshare --pid --fork --kill-child --mount-proc python -m tests.stack.supervisor FOLDER PORTS RATE` (tests.stack.starting). When it ends for
any reason, the kernel ends everything in the namespace. It prints one JSON object a line until the stack is up. The process that started it
reads them; if that stops reading, the start is abandoned.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.services.missing import ServerMissing
from tests.stack.parts import Part, Unstartable
from tests.stack.place import Place
from tests.stack.stack import Stack

FAILED = 1
MISSING = 2
_LOOK_S = 0.5
_COMMAND_S = 5.0
Say = Callable[[dict[str, Any]], None]


class Supervisor:
    """Carries out commands one after the other.

    Thread: main; a signal handler only sets a flag.
    """

    def __init__(self, place: Place, stack: Stack) -> None:
        self._place = place
        self._stack = stack
        self._told = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._told.set())

    def run(self) -> int:
        """Start, accept commands until `down` or a signal, and leave nothing behind; return the exit code."""
        try:
            with self._place.listen() as listener:
                if code := self._start():
                    return code
                self._take_commands(listener)
        finally:
            self._stack.close(lambda _said: None)
            self._place.remove()
        return 0

    def _start(self) -> int:
        try:
            self._stack.start(lambda said: _print(said=said))
            _print(up={name: part.address for name, part in self._stack.parts.items()})
        except (Unstartable, ServerMissing) as error:
            _print(failed=str(error), code=MISSING if isinstance(error, ServerMissing) else FAILED)
            return FAILED
        # No process reads standard output from here on, so nothing more may be written to it.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        return 0

    def _take_commands(self, listener: socket.socket) -> None:
        listener.settimeout(_LOOK_S)
        while not self._told.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection:
                    self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        def say(said: dict[str, Any]) -> None:
            with contextlib.suppress(OSError):  # the client may have gone; its command is done
                connection.sendall(f"{json.dumps(said)}\n".encode())

        connection.settimeout(_COMMAND_S)
        try:
            command: dict[str, str] = json.loads(connection.makefile().readline())
        except (OSError, ValueError):
            return
        match command["verb"]:
            case "status":
                say({"parts": {name: [part.address, part.lives] for name, part in self._stack.parts.items()}})
            case "down":
                self._told.set()
                self._stack.close(lambda said: say({"said": said}))
            case verb:
                self._change(self._stack.parts[command["part"]], verb, say)

    def _change(self, part: Part, verb: str, say: Say) -> None:
        try:
            if verb == "start":
                part.start()
            else:
                part.stop()
        except Unstartable as error:
            say({"failed": str(error), "code": FAILED})
        else:
            say({"said": f"{part.name} {'runs' if part.lives else 'is stopped'}"})


def _print(**said: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    print(json.dumps(said), flush=True)  # noqa: T201 - the process that started this one reads it


def main() -> int:
    """Run as a program."""
    folder, ports, rate = sys.argv[1:]
    place = Place(Path(folder))
    return Supervisor(place, Stack(place, json.loads(ports), float(rate))).run()


if __name__ == "__main__":
    sys.exit(main())
