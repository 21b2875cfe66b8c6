"""Arrays at whose end a writer adds while readers hold what was there before."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_GROWTH = 1.25
_Scalar = TypeVar("_Scalar", bound=np.generic)


class Growing(Generic[_Scalar]):
    """Numbers, to which others are added.

    Thread: one at a time; what `seen` returned, any.
    """

    def __init__(self, kind: type[_Scalar]) -> None:
        self._used = 0
        self._array: NDArray[_Scalar] = np.empty(64, kind)

    def __len__(self) -> int:
        return self._used

    def add(self, values: NDArray[_Scalar]) -> None:
        """Add values at the end, where no reader was given anything yet."""
        used = self._used + len(values)
        if used > len(self._array):
            larger = np.empty(max(used, int(len(self._array) * _GROWTH)), self._array.dtype)
            larger[: self._used] = self._array[: self._used]
            self._array = larger
        self._array[self._used : used] = values
        self._used = used

    def seen(self) -> NDArray[_Scalar]:
        """Return what is there now; what is added later does not change it."""
        return self._array[: self._used]
