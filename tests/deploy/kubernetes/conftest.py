"""What the Go programs are made of is missing: the tests are skipped at home, and fail in CI."""

from pathlib import Path

import pytest

from tests.deploy.kubernetes.go_programs import go_programs
from tests.deploy.kubernetes.schemas import schemas
from tests.services.missing import ServerMissing, skip_or_fail


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with helm, kubeconform and kubernetes_check."""
    try:
        return go_programs()
    except ServerMissing as missing:
        skip_or_fail(str(missing))


@pytest.fixture(scope="session")
def kubernetes_schemas() -> Path:
    """The folder with the schemas for kubeconform."""
    try:
        return schemas()
    except ServerMissing as missing:
        skip_or_fail(str(missing))
