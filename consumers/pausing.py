"""Decides whether partitions deliver. `consumers.poller` asks once a turn; which partitions a pause concerns is the source's to know."""


class Pausing:
    """Pauses where waiting does not help, and resumes with room to spare: a pause discards what the client has fetched ahead.

    Thread: the poller's.
    """

    def __init__(self, *, patience_s: float, most_held_records: int) -> None:
        self._patience_s = patience_s
        self._most_held_records = most_held_records
        self._admitted_s = 0.0
        self.is_paused = False

    def note_admitted(self, now_s: float) -> None:
        """Note that the ledger has admitted something."""
        self._admitted_s = now_s

    def decide(self, held_records: int, now_s: float, *, has_room: bool, is_ended: bool) -> bool:
        """Return whether partitions are to be paused. `is_ended`: intake has stopped, so nothing more is wanted."""
        if not held_records:
            self._admitted_s = now_s
        is_stuck = held_records > 0 and now_s - self._admitted_s >= self._patience_s
        if is_stuck or held_records > self._most_held_records or is_ended:
            self.is_paused = True
        elif not held_records and has_room:
            self.is_paused = False
        return self.is_paused
