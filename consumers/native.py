"""Functions of the C files that stand beside their Python modules; `make native` compiles them.

They are given numpy arrays, which ctypes checks: one of another type or with gaps is refused, not read. Sizes are the caller's to get
right. ctypes lets go of the GIL during a call. A C file must not have the name of a module: Python would import its library instead.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np


def array_of(kind: type[np.generic]) -> Any:  # noqa: ANN401 - a type of ctypes
    """Return the type of an array that a function takes, as one of its `arguments`."""
    return np.ctypeslib.ndpointer(kind, ndim=1, flags="C_CONTIGUOUS")


SIZE = ctypes.c_int64
BYTES, PLACES = array_of(np.uint8), array_of(np.int32)
"""Of a column, as `consumers.columns.utf8_of` returns them."""


def c_function(module: str, library: str, name: str, *arguments: Any, returns: Any = None) -> Any:  # noqa: ANN401 - types and functions of ctypes
    """Return a function of the library beside a module, whose `__file__` is given. Raises OSError if it is not compiled."""
    function = np.ctypeslib.load_library(f"{library}.so", Path(module).parent)[name]
    function.argtypes, function.restype = arguments, returns
    return function
