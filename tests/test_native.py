"""The C files touch no memory but what they are given, and nothing that they do is undefined: their tests pass with GCC's sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sabotage.planting import Copy

SANITIZED = "-g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
TESTS = (
    "tests/consumers/decode/test_from_line.py",
    "tests/consumers/decode/test_line_levels.py",
    "tests/consumers/decode/test_line_services.py",
    "tests/consumers/decode/test_line_times.py",
    "tests/consumers/decode/test_times.py",
    "tests/consumers/text/test_codes.py",
    "tests/consumers/text/test_field_values.py",
    "tests/consumers/text/test_text_forms.py",
    "tests/consumers/text/test_known_forms.py",
    "tests/consumers/text/test_drop_words.py",
    "tests/consumers/text/test_mask.py",
    "tests/properties/test_mask.py",
    "tests/properties/test_times.py",
    "tests/properties/test_words.py",
    "tests/sinks/reading/test_literals.py",
    "tests/sinks/test_field_pairs.py",
    "tests/sinks/test_words.py",
)
pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project whose libraries end the process at the first mistake.

    There, texts are copied out of Arrow's memory: it is padded, so that a read beyond the last text would not be noticed.
    """
    folder = tmp_path_factory.mktemp("sanitized") / "project"
    Copy(folder)
    for name, texts in (("consumers/columns.py", "utf8"), ("sinks/arrow.py", "texts")):
        whole, uncopied = (folder / name).read_text(), f"return {texts}[ends[0] : ends[-1]], "
        assert whole.count(uncopied) == 1
        (folder / name).write_text(whole.replace(uncopied, f"return {texts}[ends[0] : ends[-1]].copy(), "))
    subprocess.run(["make", "--silent", "clean", "native", f"CFLAGS={SANITIZED}"], cwd=folder, check=True)
    return folder


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    library = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip("the C compiler is not GCC on Linux, whose sanitizers can be loaded into a Python that knows nothing of them")
    # Memory comes from the allocator that the sanitizer watches, not from a pool of Python's or Arrow's.
    environment = os.environ | {
        "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system",
    }  # fmt: skip
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_tests_pass_with_sanitizers(sanitized: Path) -> None:
    ran = _run(sanitized, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-8_000:]
