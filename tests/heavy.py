"""The parts that only `make vllm` installs: vLLM, torch and Transformers. Absent, their tests are skipped; under CI=true they fail."""

import importlib.util

import pytest

from tests.services.missing import skip_or_fail


def need(library: str) -> None:
    """Skip the test unless the library is installed; under CI=true its absence is a failure."""
    if importlib.util.find_spec(library) is None:
        skip_or_fail(f"{library} is not installed: run `make vllm`")


def mark_vllm(items: list[pytest.Item]) -> None:
    """Mark the tests that need what only `make vllm` installs, so that `-m "not vllm"` leaves them out."""
    for item in items:
        if {"vllm_installed", "transformers_installed"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.vllm)


@pytest.fixture(scope="session")
def vllm_installed() -> None:
    """VLLM can be imported."""
    need("vllm")


@pytest.fixture(scope="session")
def transformers_installed() -> None:
    """Transformers and torch can be imported."""
    need("torch")
    need("transformers")
