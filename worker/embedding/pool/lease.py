"""A lease of a loaded model, and why there is none."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Lease(Generic[T_co]):
    """The model stays loaded until `release`.

    Thread: any.
    """

    def __init__(self, name: str, model: T_co, on_release: Callable[[], None]) -> None:
        """`on_release` is called once."""
        self.name = name
        self.model = model
        self._on_release = on_release
        self._lock = threading.Lock()
        self._is_released = False

    def release(self) -> None:
        """Give the model back; it must not be used afterwards. Safe to call again. Never waits."""
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
        self._on_release()


@dataclass(frozen=True, slots=True)
class PoolRefused:
    """Why a model is not to be had now."""

    name: str
    reason: str
    """One line, for the caller."""
    retry_s: float
    """Seconds after which asking again may help."""
