"""Functions of the C files that stand beside their Python modules; `make native` compiles them.

They are given numpy arrays, which ctypes checks: one of another type, with gaps, or read-only where C writes is refused. Sizes are the
caller's to get right. ctypes lets go of the GIL during a call. `X.c` becomes `X.c.so`: Python would import an `X.so` in place of `X.py`.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np


def array_of(kind: type[np.generic]) -> Any:  # noqa: ANN401 - a type of ctypes
    """Return the type of an array that a function reads, as one of its `arguments`."""
    return np.ctypeslib.ndpointer(kind, ndim=1, flags=("C_CONTIGUOUS", "ALIGNED"))


def output_of(kind: type[np.generic]) -> Any:  # noqa: ANN401 - a type of ctypes
    """Return the type of an array that a function writes to, as one of its `arguments`."""
    return np.ctypeslib.ndpointer(kind, ndim=1, flags=("C_CONTIGUOUS", "ALIGNED", "WRITEABLE"))


SIZE = ctypes.c_int64
BYTES, PLACES = array_of(np.uint8), array_of(np.int32)
"""Of a column, as `consumers.columns.utf8_of` returns them."""


def c_function(module: str, library: str, name: str, *arguments: Any, returns: Any = None) -> Any:  # noqa: ANN401 - types and functions of ctypes
    """Return a function of the library beside a module, whose `__file__` is given. Raises OSError if it is not compiled."""
    function = np.ctypeslib.load_library(f"{library}.c.so", Path(module).parent)[name]
    function.argtypes, function.restype = arguments, returns
    return function
