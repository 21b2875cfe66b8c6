"""Functions of the C files that stand beside their Python modules, in consumers/ and in sinks/; `make native` compiles them.

A library holds the hash of the file that it was compiled from, and is loaded only if that is the file beside it. Another one might find
words by another rule, which would be stored, or write beyond the arrays that Python allocates. Python modules and C files arrive together,
so the file stands for what Python expects; a wheel has the C files for that reason.

Functions are given numpy arrays, which ctypes checks: one of another type, with gaps, or read-only where C writes is refused. Sizes are
the caller's to get right. ctypes lets go of the GIL during a call. `X.c` becomes `X.c.so`: Python would import an `X.so` in place of
`X.py`.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

CType = Any
"""A type of ctypes or of numpy's interface to it, which have no public type; None: nothing is returned."""


class NotCompiled(ImportError):
    """A library is missing, or was compiled from another file; one line for the user."""


def array_of(kind: type[np.generic]) -> CType:
    """Return the type of an array that a function reads, as one of its `arguments`."""
    return np.ctypeslib.ndpointer(kind, ndim=1, flags=("C_CONTIGUOUS", "ALIGNED"))


def output_of(kind: type[np.generic]) -> CType:
    """Return the type of an array that a function writes to, as one of its `arguments`."""
    return np.ctypeslib.ndpointer(kind, ndim=1, flags=("C_CONTIGUOUS", "ALIGNED", "WRITEABLE"))


SIZE = ctypes.c_int64
BYTES, PLACES = array_of(np.uint8), array_of(np.int32)
"""Of a column, as `utf8_of` returns them."""


def c_function(module: str, library: str, name: str, *arguments: CType, returns: CType = None) -> Callable[..., Any]:
    """Return a function of the library beside a module, whose `__file__` is given. Raises NotCompiled."""
    function = _load(Path(module).with_name(f"{library}.c"))[name]
    function.argtypes, function.restype = arguments, returns
    return function


def library_fault(source: Path) -> str:
    """Return in one line what is wrong with the library of a C file; empty if it was compiled from this file."""
    library = source.with_suffix(".c.so")
    try:
        if sha256(source.read_bytes()).hexdigest().encode() in library.read_bytes():
            return ""
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return f"{library} was compiled from another {source.name}"


@cache
def _load(source: Path) -> ctypes.CDLL:
    if fault := library_fault(source):
        raise NotCompiled(f"{fault}: run `make native`")
    try:
        return ctypes.CDLL(str(source.with_suffix(".c.so")))
    except OSError as error:  # of another kind of machine, or cut off
        raise NotCompiled(f"{error}: run `make native`") from error
