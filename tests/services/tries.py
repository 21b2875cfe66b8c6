"""Servers are started again where a start fails: someone may have taken the port since we looked."""

from collections.abc import Callable

_TRIES = 3


def started(begin: Callable[[], None], close: Callable[[], None]) -> None:
    """Call `begin`, again after each RuntimeError while there are tries left; whatever it fails with in the end, `close` is called."""
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
