"""The lock under which steps compute; it says whether it is held."""

from worker.runtime.fair_lock import FairLock


class WatchedLock(FairLock):
    """A fair lock that says whether it is held, and counts its turns.

    Thread: the test's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_held = False
        self.turns = 0

    def __enter__(self) -> None:
        super().__enter__()
        self.is_held = True
        self.turns += 1

    def __exit__(self, *error: object) -> None:
        self.is_held = False
        super().__exit__(*error)
