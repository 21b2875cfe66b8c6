"""A C file's library is loaded only beside the file that it was compiled from, and Python gives its functions what their C asks for."""

import ctypes
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consumers.native import SIZE, NotCompiled, c_function
from tests.source_rules import PRODUCT_PACKAGES, Source, read_sources
from tests.worker.cli.console import in_one_line, vectail

ROOT = Path(__file__).parents[1]
LEAVES = ("consumers", "sinks")
PRODUCT = [source for source in read_sources(ROOT) if source.package() in PRODUCT_PACKAGES]
NUMBERS: dict[str, tuple[type[Any], ...]] = {
    "uint8_t": (np.uint8, np.bool_),
    "bool": (np.bool_,),
    "Table": (np.uint8,),  # memory of `table_bytes()`
    **{f"{kind.__name__}_t": (kind,) for kind in (np.int8, np.int16, np.int32, np.int64, np.uint64)},
}
ANSWERS = {"void": None, "bool": ctypes.c_bool, "int64_t": ctypes.c_int64}
OLD_S, NEW_S = 0, 4_000_000_000
SEVEN = '#include <stdint.h>\n__attribute__((visibility("default"))) int64_t number(void) { return 7; }\n'


# What Python declares


def _exported() -> dict[str, tuple[str, list[str]]]:
    """Return the functions of all C files: what each returns, and its parameters."""
    texts = [source.read_text(encoding="utf-8") for leaf in LEAVES for source in (ROOT / leaf).rglob("*.c")]
    found = [one for text in texts for one in re.findall(r"^EXPORTED (\w+) (\w+)\(([^)]*)\)", text, re.MULTILINE)]
    return {name: (answer, [] if given == "void" else re.split(r",\s*", given)) for answer, name, given in found}


def _declared(source: Source) -> Iterator[Any]:
    return (value for value in vars(importlib.import_module(source.module())).values() if hasattr(value, "argtypes"))


def _takes(declared: Any, array: np.ndarray[Any, Any]) -> bool:  # noqa: ANN401 - a type of ctypes
    try:
        declared.from_param(array)
    except TypeError:
        return False
    return True


def _fits(parameter: str, declared: Any) -> bool:  # noqa: ANN401 - a type of ctypes
    parts = re.fullmatch(r"(const )?(\w+) (\*?)(?:restrict )?\w+", parameter)
    assert parts is not None, parameter
    is_read, kind, is_array = parts.groups()
    if not is_array:
        return kind == "int64_t" and declared is SIZE
    if declared is ctypes.c_char_p:
        return bool(is_read) and kind == "uint8_t"
    (array,) = (one for number in NUMBERS[kind] if _takes(declared, one := np.zeros(4, number)))
    unaligned = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    refused = [array[::2], array.reshape(2, 2), *([] if unaligned.flags.aligned else [unaligned])]
    array = array.copy()
    array.flags.writeable = False
    return _takes(declared, array) is bool(is_read) and not any(_takes(declared, one) for one in refused)


def test_python_declares_every_function_as_its_c_file_does() -> None:
    exported = _exported()
    declared = {function.__name__: function for source in PRODUCT if "c_function(" in source.text for function in _declared(source)}
    assert declared.keys() == exported.keys()
    for name, (answer, parameters) in exported.items():
        assert declared[name].restype is ANSWERS[answer], name
        assert len(declared[name].argtypes) == len(parameters), name
        for parameter, argument in zip(parameters, declared[name].argtypes, strict=True):
            assert _fits(parameter, argument), f"{name}: {parameter}"


def test_libraries_are_loaded_in_one_place() -> None:
    assert [source.path for source in PRODUCT if ".c.so" in source.text] == ["consumers/native.py"]


# What stands in a library


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A C file whose function `number` returns 7, compiled."""
    source = tmp_path / "sinks" / "seven.c"
    source.parent.mkdir()
    (tmp_path / "deploy").mkdir()
    for name in ("Makefile", "deploy/compile_c.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    source.write_text(SEVEN)
    _make(source)
    return source


def _make(source: Path) -> None:
    subprocess.run(["make", "--silent", "native"], cwd=source.parents[1], check=True)


def _number(source: Path) -> int:
    answer: int = c_function(str(source.with_suffix(".py")), source.stem, "number", returns=SIZE)()
    return answer


@pytest.mark.process
@pytest.mark.parametrize("library_s", [OLD_S, NEW_S])
def test_a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again(source: Path, library_s: int) -> None:
    library = source.with_suffix(".c.so")
    source.write_text(SEVEN.replace("7", "8"))
    os.utime(library, (library_s, library_s))
    with pytest.raises(NotCompiled) as refused:
        _number(source)
    assert str(refused.value) == f"{library} was compiled from another seven.c: run `make native`"
    _make(source)
    assert _number(source) == 8


@pytest.mark.process
def test_a_library_of_its_source_is_loaded_whatever_its_time_and_make_leaves_it(source: Path) -> None:
    library = source.with_suffix(".c.so")
    os.utime(library, (OLD_S, OLD_S))
    _make(source)
    assert library.stat().st_mtime == OLD_S
    assert _number(source) == 7


@pytest.mark.process
def test_what_is_missing_or_cannot_be_loaded_is_named(source: Path) -> None:
    library = source.with_suffix(".c.so")
    whole = library.read_bytes()
    library.write_bytes(b"no library" + whole)  # the hash stands in it
    with pytest.raises(NotCompiled, match=rf"^{library}: .*: run `make native`$"):
        _number(source)
    for gone in (library, source):
        gone.rename(gone.with_suffix(".gone"))
        with pytest.raises(NotCompiled, match=rf"^{gone}: No such file or directory: run `make native`$"):
            _number(source)
        gone.with_suffix(".gone").rename(gone)


# The program


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the product in which one C file is another than its library was compiled from."""
    for package in PRODUCT_PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    tokens = tmp_path / "sinks" / "tokens.c"
    tokens.write_text(tokens.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("words", [("run",), ("search", "x"), ("estimate", "-")])
def test_a_verb_that_needs_what_is_not_compiled_ends_with_2_and_one_line(changed: Path, words: tuple[str, ...]) -> None:
    ended = vectail(*words, cwd=changed)
    assert ended.exit_code == 2
    assert in_one_line(ended) == f"{changed}/sinks/tokens.c.so was compiled from another tokens.c: run `make native`"


@pytest.mark.process
def test_what_needs_no_c_works_without_it_and_the_doctor_names_it(changed: Path) -> None:
    assert vectail("config", "show", cwd=changed).exit_code == 0
    ended = vectail("doctor", cwd=changed)
    assert ended.exit_code == 1
    assert "tokens.c.so was compiled from another tokens.c" in " ".join(ended.out.split())
