"""`python -m tests.fuzz.one TARGET FOLDER [libFuzzer's options]`: fuzzes one target in this process, which `tests.fuzz` starts.

It writes each new kind of finding into FOLDER, the value and why, and goes on; a crash or a hang ends it, and libFuzzer writes the value.
"""

import hashlib
import resource
import sys
import traceback
import warnings
from pathlib import Path

import atheris

_MOST_MEMORY_BYTES = 8 << 30
"""Of addresses: Arrow and the libraries of the model reserve some that they never use. libFuzzer watches what is used."""
_INSTRUMENTED = ["consumers", "producers", "sinks", "worker"]


class Findings:
    """Keeps the first value of each place in the source where a check or a decoder fails.

    Thread: the fuzzer's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: set[str] = set()

    def add(self, value: bytes, error: BaseException) -> None:
        """Write down a value that fails, unless another one fails at the same place."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{type(error).__name__} {[(frame.filename, frame.lineno) for frame in frames[-2:]]}"
        if place in self._places:
            return
        self._places.add(place)
        name = self._folder / f"fails-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
        name.write_bytes(value)
        name.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), "utf-8")


def main() -> None:
    target_name, folder, *options = sys.argv[1:]
    with atheris.instrument_imports(include=_INSTRUMENTED):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - instrumented
    warnings.simplefilter("error")
    target = TARGETS[target_name]()
    findings = Findings(Path(folder))

    def check(value: bytes) -> None:
        try:
            target.check(value)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            findings.add(value, error)

    for seed in target.seeds:
        check(seed)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    atheris.Setup([sys.argv[0], *options], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
