"""Retries the start of a server: another process may have taken the port since it was chosen."""

from collections.abc import Callable

_TRIES = 3


def started(begin: Callable[[], None], close: Callable[[], None]) -> None:
    """Call `begin`, and retry after a RuntimeError while tries are left; if it fails in the end, call `close` and raise."""
    for left in reversed(range(_TRIES)):
        try:
            begin()
        except RuntimeError:
            if not left:
                close()
                raise
        except BaseException:
            close()
            raise
        else:
            return
